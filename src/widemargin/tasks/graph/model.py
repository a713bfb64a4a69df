"""Trained labellers of graphs: types, labels and weights. Model files call their structure ``graph``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, get_args

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.header import Fields, flag, many, names, one_of, row, text, whole
from widemargin.core.problem import predict
from widemargin.core.stored import Stored
from widemargin.errors import UnsupportedError
from widemargin.structures.examples import PartExamples, WithSums, part_examples
from widemargin.structures.graph import Graphs, Inference, graphs
from widemargin.structures.graph_costs import GraphCosts
from widemargin.tasks.answers import Probable, above_least
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.graph import MOST_STATES
from widemargin.tasks.graph.features import TIES, Compiled, GraphScheme, compiled_graphs, states_in
from widemargin.tasks.graph.inputs import Graph, as_graphs
from widemargin.tasks.graph.rules import with_rules

WIDEST = 10_000_000
"""The most features of edges."""
STATES = many(whole(at_least=-MOST_STATES, at_most=MOST_STATES**2), at_least=1, at_most=MOST_STATES)
INFERENCE: tuple[Inference, ...] = get_args(Inference)


class Decoded(NamedTuple):
    """The states of all nodes, and where the nodes of each graph begin."""

    states: LongVector
    compiled: Compiled

    def each(self) -> Iterator[tuple[LongVector, LongVector]]:
        """The types and the states of the nodes of each graph."""
        for begin, end in pairwise(self.compiled.nodes.tolist()):
            yield self.compiled.types[begin:end], self.states[begin:end]


def as_examples(compiled: Compiled, inference: Inference, structure: Graphs | None = None) -> PartExamples:
    """Compiled graphs to be decoded; relaxations are for learning, predictions have whole labels."""
    if structure is None:
        structure = graphs(compiled.shapes, inference="auto" if inference == "relaxed" else inference)
    costs = GraphCosts(structure, compiled.sizes, compiled.nodes, np.empty(0, dtype=np.int32))
    return part_examples(structure, compiled.features, costs, np.empty(0))


def best_states(compiled: Compiled, examples: PartExamples, w: FloatVector, n_threads: int) -> LongVector:
    """The best states of all nodes."""
    structure: Graphs = examples.structure
    return states_in(structure, compiled.sizes, np.concatenate([np.empty(0), *predict(examples, w, n_threads)]))


@dataclass
class GraphModel(Probable):
    """A trained labeller of graphs."""

    kind: ClassVar[str] = "graph"
    predicts: ClassVar[str] = "labels of nodes"
    fields: ClassVar[Fields] = {
        "labels": names(str, int, at_least=1),
        "n_states": whole(at_least=1, at_most=MOST_STATES),
        "types": many(row(text(), whole(at_least=0, at_most=2**31 - 1), STATES), at_least=1),
        "pairs": many(row(text(), text(), whole(at_least=0, at_most=WIDEST))),
        "tie": one_of(*TIES),
        "symmetric": many(whole(at_least=0)),
        "antisymmetric": many(whole(at_least=0)),
        "intercept": flag(),
        "inference": one_of(*INFERENCE),
    }

    scheme: GraphScheme
    inference: Inference
    weights: FloatVector

    @property
    def w(self) -> FloatVector:
        """All weights as one vector."""
        return self.weights

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of labels, of features of nodes and of edges, and of weights."""
        features, of_edges = sum(self.scheme.widths.values()), sum(self.scheme.pairs.values())
        return {
            "labels": len(self.labels),
            "features": features,
            "edge_features": of_edges,
            "weights": len(self.weights),
        }

    def compiled(self, X: Any) -> tuple[list[Graph], Compiled]:
        """Graphs, checked and as arrays."""
        given = as_graphs(X)
        return given, compiled_graphs(self.scheme, given)

    def decoded(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None
    ) -> tuple[list[Graph], Decoded]:
        """Graphs, and the best states of their nodes, under the `constraints` if there are any."""
        given, compiled = self.compiled(X)
        structure = None
        if constraints is not None:
            compiled, structure = with_rules(self.scheme, self.labels, given, compiled, constraints)
        examples = as_examples(compiled, self.inference, structure)
        return given, Decoded(best_states(compiled, examples, self.weights, n_threads), compiled)

    def predict(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Any]:
        """The labels of the nodes of every graph: an array, or a dict of arrays if types have names."""
        given, decoded = self.decoded(X, n_threads, constraints)
        return self.labelled(given, decoded)

    def labelled(self, given: Sequence[Graph], decoded: Decoded) -> list[Any]:
        """States as labels, in the form of each graph."""
        return [self._outputs(graph, *each) for graph, each in zip(given, decoded.each(), strict=True)]

    def _outputs(self, graph: Graph, types: LongVector, states: LongVector) -> Any:
        found = {kind: self._of_type(kind, states[types == t]) for t, kind in enumerate(self.scheme.types)}
        if graph.named:
            return {kind: found[kind] for kind in graph.nodes if kind in found}
        if any(self.scheme.states[kind][0] < 0 for kind in found):
            found = {k: np.full(len(each), None) if self.scheme.states[k][0] < 0 else each for k, each in found.items()}
        parts = [each for each in found.values() if len(each)]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _of_type(self, kind: str, states: LongVector) -> AnyArray:
        """The labels of nodes; the numbers of their states if they have none."""
        own = self.scheme.states[kind]
        if own[0] < 0:
            return -1 - own[states]
        return np.array(self.labels)[self.scheme.labels_of(kind)[states]]

    # Probabilities.

    def predict_proba(self, X: Any, n_threads: int = 1) -> list[FloatMatrix]:
        """For each graph, a row per node with the probability of each label."""
        beta = self.beta
        _, compiled = self.compiled(X)
        examples = as_examples(compiled, self.inference)
        if not isinstance(examples, WithSums):
            raise UnsupportedError(
                "probabilities need sums over all outputs: some of these graphs have too many loops for that"
                + (", or inference='bounded' was asked for" if self.inference != "auto" else "")
            )
        everything = np.arange(examples.n_examples, dtype=np.int32)
        rows, _ = examples.probabilities(beta * self.weights, everything)
        found = np.zeros((len(rows), len(self.labels)))
        for t, kind in enumerate(self.scheme.types):
            here = np.flatnonzero(compiled.types == t)
            for state, label in enumerate(self.scheme.labels_of(kind).tolist()):
                if label >= 0:
                    found[here, label] += rows[here, state]
        return np.split(found, compiled.nodes[1:-1])

    def predict_minimum_risk(self, X: Any, n_threads: int = 1) -> list[AnyArray]:
        """The most probable label of each node."""
        return [np.array(self.labels)[each.argmax(axis=1)] for each in self.predict_proba(X, n_threads)]

    def expected_counts(self, X: Any, n_threads: int = 1) -> FloatMatrix:
        """The expected number of nodes with each label, a row per graph."""
        found = [each.sum(axis=0) for each in self.predict_proba(X, n_threads)]
        return np.stack(found) if found else np.empty((0, len(self.labels)))

    def likely(self, X: Any, n_threads: int = 1, **limits: Any) -> list[dict[str, Any]]:
        """For each node the probabilities of its labels."""
        return [
            {"probabilities": [above_least(self.labels, row) for row in rows.tolist()]}
            for rows in self.predict_proba(X, n_threads)
        ]

    # Its file.

    def compact(self) -> Self:
        """The same model: features are columns of the user's matrices, and few."""
        return self

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        scheme = self.scheme
        header = {
            "n_states": scheme.n_states,
            "types": [[kind, scheme.widths[kind], states.tolist()] for kind, states in scheme.states.items()],
            "pairs": [[*pair, width] for pair, width in scheme.pairs.items()],
            "tie": scheme.tie,
            "symmetric": list(scheme.symmetric),
            "antisymmetric": list(scheme.antisymmetric),
            "intercept": scheme.intercept,
            "inference": self.inference,
        }
        return header, {"weights": self.weights}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        header = stored.header
        scheme = GraphScheme(
            len(header["labels"]),
            header["n_states"],
            {kind: np.array(states, dtype=np.int64) for kind, _, states in header["types"]},
            {kind: width for kind, width, _ in header["types"]},
            {(one, two): width for one, two, width in header["pairs"]},
            header["tie"],
            tuple(header["symmetric"]),
            tuple(header["antisymmetric"]),
            header["intercept"],
        )
        wrong = scheme.fault()
        if wrong:
            raise stored.place.damaged(wrong)
        weights = stored.vector("weights", np.float64, scheme.n_weights)
        return cls(header["labels"], scheme, header["inference"], weights, summary=header["summary"])


def label_numbers(scheme: GraphScheme, decoded: Decoded) -> IntVector:
    """The number of the label of every node; −1 for nodes of types without labels."""
    found = np.full(len(decoded.states), -1, dtype=np.int32)
    for t, kind in enumerate(scheme.types):
        here = decoded.compiled.types == t
        found[here] = scheme.labels_of(kind)[decoded.states[here]]
    return found
