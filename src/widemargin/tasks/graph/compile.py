"""From graphs with labels to examples: labels, hidden states, widths, costs."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.structures.examples import part_examples
from widemargin.structures.graph import ExactGraphs, gold_outputs, graphs
from widemargin.structures.graph_costs import GraphCosts
from widemargin.tasks.graph import MOST_STATES, GraphParameters
from widemargin.tasks.graph.features import GraphScheme, compiled_graphs
from widemargin.tasks.graph.inputs import Graph, Pair, as_cells, as_graphs
from widemargin.tasks.graph.model import (
    WIDEST,
    Decoded,
    GraphModel,
    as_examples,
    best_states,
    label_numbers,
)
from widemargin.tasks.plan import solver_and_objective
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Compiled, Data
from widemargin.text.labels import check_kinds, cost_matrix, label_weights
from widemargin.text.partial import Cell, labels_in


class Facts(NamedTuple):
    """What must be known of all graphs: counts and weights of labels, the labels of each type, and widths."""

    counts: Counter[Any]
    weights: Counter[Any]
    of_types: frozenset[tuple[str, Any]]
    widths: dict[Any, int]

    @property
    def labels(self) -> list[Any]:
        """The labels, the most frequent first."""
        return sorted(self.counts, key=lambda label: (-self.counts[label], label))


def survey_graphs(parameters: GraphParameters, data: Data) -> Survey:
    """The labels and the widths of features of a piece of the data."""
    _check(parameters)
    given = as_graphs(data.X)
    cells = as_cells(given, data.y, types_of(given))
    if parameters.n_states > 1 or parameters.hidden_types or is_partial(cells):
        refuse_latent("some labels or states are hidden")
    facts = _facts(given, cells, data.sample_weight)
    kinds = frozenset(type(label).__name__ for label in facts.counts)
    found = {"weights of labels": facts.weights, "labels of types": facts.of_types, "size": facts.widths}
    return Survey(facts.counts, facts=found | {"kinds of labels": kinds})


def compile_graphs(parameters: GraphParameters, data: Data, *, survey: Survey | None = None) -> Compiled[GraphModel]:
    """Compile graphs and labels to arrays; with a `survey` of all pieces, as if all of them were there."""
    _check(parameters)
    given = as_graphs(data.X)
    if not given and survey is None:
        raise DataError("there is no graph to learn from")
    if survey is None:
        cells = as_cells(given, data.y, types_of(given))
        facts = _facts(given, cells, data.sample_weight)
    else:
        found = survey.facts
        facts = Facts(survey.labels, found["weights of labels"], found["labels of types"], found["size"])
        cells = as_cells(given, data.y, _types_in(facts))
    labels = facts.labels
    check_kinds(labels)
    scheme = scheme_of(parameters, labels, facts)
    compiled = compiled_graphs(scheme, given)
    truth, rows = _truth(parameters, scheme, labels, cells, compiled.types, facts)
    hides = is_partial(cells) or parameters.n_states > 1 or bool(parameters.hidden_types)
    structure = graphs(compiled.shapes, inference=parameters.inference)
    costs = GraphCosts(structure, compiled.sizes, compiled.nodes, truth, [each.costs for each in rows])
    limits = (
        GraphCosts(structure, compiled.sizes, compiled.nodes, truth, [each.limits for each in rows]) if hides else None
    )
    first = np.array([int(each.limits.argmax()) for each in rows], dtype=np.int64)[truth]
    gold = gold_outputs(structure, compiled.sizes, np.split(first, compiled.nodes[1:-1]) if given else [])
    examples = part_examples(structure, compiled.features, costs, gold, limits)
    if hides and not isinstance(structure, ExactGraphs):
        examples.exact = False  # completions have bounds, too, which the rounds do not take into account
    score = None if data.dev is None else _dev_score(parameters, scheme, labels, *data.dev)
    return Compiled(
        examples,
        partial(_model, labels, scheme, parameters.inference),
        labels,
        score,
        "accuracy",
        data.sample_weight,
    )


def types_of(given: Sequence[Graph]) -> list[str]:
    """The types of nodes, in order; those that are numbered by their numbers."""
    found = {kind for graph in given for kind in graph.nodes}
    return sorted(found, key=lambda kind: (len(kind), kind))


def _types_in(facts: Facts) -> list[str]:
    found = {key[1] for key in facts.widths if key[0] == "nodes"}
    return sorted(found, key=lambda kind: (len(kind), kind))


def is_partial(cells: Sequence[Sequence[Cell]]) -> bool:
    """Whether any label is unknown or a set."""
    return any(cell is None or isinstance(cell, frozenset) for each in cells for cell in each)


def _check(parameters: GraphParameters) -> None:
    for kind, n in (parameters.hidden_types or {}).items():
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_STATES:
            wanted = f"a whole number from 1 to {MOST_STATES}"
            raise WidemarginError(f"hidden_types[{kind!r}] must be {wanted}, not {n!r}")


def _facts(given: Sequence[Graph], cells: Sequence[Sequence[Cell]], sample_weight: Any) -> Facts:
    weight = checked_weights(sample_weight, len(given)).tolist()
    counts, weights, of_types = Counter[Any](), Counter[Any](), set[tuple[str, Any]]()
    widths: dict[Any, int] = {}
    types = types_of(given)
    for i, graph in enumerate(given):
        for kind, features in graph.nodes.items():
            if features.shape != (0, 0):
                _note(widths, ("nodes", kind), int(features.shape[1]), i, "features of nodes")
            widths.setdefault(("nodes", kind), 0)
        for pair, edges in graph.edges.items():
            if len(edges.ends):
                width = 0 if edges.features is None else int(edges.features.shape[1])
                _note(widths, ("edges", *pair), width, i, "features of edges")
        begin = 0
        for kind, n in zip(types, graph.counts(types).tolist(), strict=True):
            own = Counter(cells[i][begin : begin + n])
            for cell, count in own.items():
                for label in labels_in(cell):
                    sure = 0 if isinstance(cell, frozenset) else count
                    counts[label] += sure
                    weights[label] += weight[i] * sure
                    of_types.add((kind, label))
            begin += n
    return Facts(counts, weights, frozenset(of_types), widths)


def _note(widths: dict[Any, int], key: Any, width: int, i: int, what: str) -> None:
    if widths.setdefault(key, width) != width:
        raise DataError(f"graph {i} has {width} {what}, where others have {widths[key]}")


def scheme_of(parameters: GraphParameters, labels: list[Any], facts: Facts) -> GraphScheme:
    """The weights for these labels, types and widths."""
    if not labels:
        raise DataError("there is no labelled node to learn from")
    states = _states(parameters, labels, facts)
    pairs = {key[1:]: width for key, width in sorted(facts.widths.items()) if key[0] == "edges"}
    tie = parameters.pairs
    if tie == "auto":
        tie = "any" if any(pairs.values()) else "symmetric"
    one, other = (tuple(_columns(parameters, name, pairs)) for name in ("symmetric", "antisymmetric"))
    scheme = GraphScheme(
        len(labels),
        int(parameters.n_states),
        states,
        {kind: facts.widths["nodes", kind] for kind in states},
        pairs,
        tie,
        one,
        other,
        bool(parameters.fit_intercept),
    )
    if set(one) & set(other):
        raise WidemarginError(
            f"column {min(set(one) & set(other))} of edge features is both symmetric and antisymmetric"
        )
    if max(map(len, states.values())) > MOST_STATES or max(pairs.values(), default=0) > WIDEST:
        raise UnsupportedError(f"there may be at most {MOST_STATES} states of nodes and {WIDEST:,} features of edges")
    if scheme.n_weights == 0:
        raise DataError("there are no features and no biases, so there is nothing to learn")
    if scheme.n_weights > 2**31 - 1:
        raise UnsupportedError(f"{scheme.n_weights:,} weights are too many: take fewer features, or pairs='potts'")
    return scheme


def _states(parameters: GraphParameters, labels: list[Any], facts: Facts) -> dict[str, LongVector]:
    """The states of each type: those of the labels that its nodes have, or hidden ones."""
    number, hidden = {label: k for k, label in enumerate(labels)}, dict(parameters.hidden_types or {})
    S, states = int(parameters.n_states), dict[str, LongVector]()
    for kind in _types_in(facts):
        own = sorted(number[label] for of, label in facts.of_types if of == kind)
        if own and kind in hidden:
            raise DataError(f"hidden_types names {kind!r}, but nodes of this type have labels")
        if not own and kind not in hidden:
            raise DataError(f"no node of the type {kind!r} has a label; if they are hidden, say so by hidden_types")
        if own:
            states[kind] = (np.array(own)[:, None] * S + np.arange(S)).ravel()
        else:
            states[kind] = -1 - np.arange(int(hidden[kind]))
    for kind in hidden:
        if kind not in states:
            raise DataError(f"hidden_types names {kind!r}; the types of nodes are {', '.join(map(repr, states))}")
    return states


def _columns(parameters: GraphParameters, name: str, pairs: dict[Pair, int]) -> list[int]:
    given = getattr(parameters, name)
    found = [] if given is None else [each.item() if isinstance(each, np.generic) else each for each in given]
    most = min((width for pair, width in pairs.items() if pair[0] == pair[1]), default=0)
    for column in found:
        if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < most:
            raise WidemarginError(f"{name} holds {column!r}; edges have the columns 0 … {most - 1}")
    return sorted(set(found))


class _Row(NamedTuple):
    """The knowledge of a node: the cost of each of its states, and 0 or −∞ for states that may be right or not."""

    costs: FloatVector
    limits: FloatVector


def _truth(
    parameters: GraphParameters,
    scheme: GraphScheme,
    labels: list[Any],
    cells: Sequence[Sequence[Cell]],
    types: AnyArray,
    facts: Facts,
) -> tuple[IntVector, list[_Row]]:
    """For each node the number of what is known of it, and a row for each that occurs."""
    costs = costs_of(parameters, labels, facts)
    own = [scheme.labels_of(kind) for kind in scheme.types]
    number, known, rows = {label: k for k, label in enumerate(labels)}, dict[Any, int](), list[_Row]()
    flat = (cell for each in cells for cell in each)
    truth = np.empty(len(types), dtype=np.int32)
    for v, key in enumerate(zip(types.tolist(), flat, strict=True)):
        if key not in known:
            known[key] = len(rows)
            rows.append(_row(costs, own[key[0]], [number[label] for label in labels_in(key[1])]))
        truth[v] = known[key]
    return truth, rows


def _row(costs: FloatMatrix, of_states: AnyArray, right: list[int]) -> _Row:
    if not right:
        return _Row(np.zeros(len(of_states)), np.zeros(len(of_states)))
    return _Row(costs[right].min(axis=0)[of_states], np.where(np.isin(of_states, right), 0.0, -np.inf))


def costs_of(parameters: GraphParameters, labels: list[Any], facts: Facts) -> FloatMatrix:
    """The cost of each error times the weight of its gold label."""
    found = cost_matrix(parameters.costs, labels)
    costs: FloatMatrix = 1.0 - np.eye(len(labels)) if found is None else found
    if parameters.class_weight is None:
        return costs
    solver, objective = solver_and_objective(parameters)
    if not solver.heeds_errors or getattr(objective, "error_scale", 1.0) == 0.0:
        raise UnsupportedError(
            "class_weight weighs errors, of which this objective or solver takes no account; use the objective margin "
            "or softmax-margin, with a solver such as auto"
        )
    weights = np.array([float(facts.weights[label]) for label in labels])
    return label_weights(parameters.class_weight, labels, weights)[:, None] * costs


def _dev_score(parameters: GraphParameters, scheme: GraphScheme, labels: list[Any], X: Any, y: Any) -> Score:
    """The accuracy on development data as a function of the weights."""
    given = as_graphs(X)
    compiled = compiled_graphs(scheme, given)
    cells = [cell for each in as_cells(given, y, scheme.types) for cell in each]
    examples, n_threads = as_examples(compiled, parameters.inference), count_threads(parameters.n_jobs)

    def score(w: FloatVector) -> float:
        states = best_states(compiled, examples, w, n_threads)
        return accuracy(labels, cells, label_numbers(scheme, Decoded(states, compiled)))

    return score


def accuracy(labels: Sequence[Any], cells: Sequence[Cell], numbers: IntVector) -> float:
    """The share of right labels among nodes whose label is known."""
    pairs = zip(cells, numbers.tolist(), strict=True)
    right = [labels[k] in labels_in(cell) for cell, k in pairs if cell is not None and k >= 0]
    return sum(right) / len(right) if right else 0.0


def _model(
    labels: list[Any], scheme: GraphScheme, inference: Any, solution: Solution, summary: dict[str, Any]
) -> GraphModel:
    return GraphModel(labels, scheme, inference, solution.w.copy(), summary=summary)
