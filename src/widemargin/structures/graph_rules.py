"""Graphs whose labels obey rules: sums over labels of nodes within limits, decoded by integer programmes.

    low ≤ Σ_k weight_k [y_v(k) = label(k)] ≤ high

`implies`, `at_most`, `exactly` and `together` make such rules. Where the best labels break none, they are the best ones
that obey, so the programme is only for the other graphs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.decoders.coverage import Limits
from widemargin.decoders.polytope import Polytope, solve
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.flat import Scores
from widemargin.structures.graph import plans_of
from widemargin.structures.graph_batch import Shape
from widemargin.structures.graph_programmes import LIMITS, SolvedGraphs, labels_of, theta_of

Part: TypeAlias = tuple[int, int]
"""A node and a label that it may have."""


class Rule(NamedTuple):
    """How many of these parts an output may have, each counted with its weight; `words` say it."""

    parts: tuple[Part, ...]
    weights: tuple[float, ...]
    low: float
    high: float
    words: str

    def counted(self, labels: Any) -> float:
        """The weights of the parts that these labels have."""
        return sum(weight for (v, label), weight in zip(self.parts, self.weights, strict=True) if labels[v] == label)

    def is_met(self, labels: Any) -> bool:
        """Whether these labels obey."""
        return self.low <= self.counted(labels) <= self.high


def at_most(k: int, parts: Sequence[Part]) -> Rule:
    """No more than `k` of these parts."""
    return Rule(tuple(parts), (1.0,) * len(parts), -np.inf, k, f"at most {k} of {_named(parts)}")


def exactly(k: int, parts: Sequence[Part]) -> Rule:
    """As many of these parts as `k`."""
    return Rule(tuple(parts), (1.0,) * len(parts), k, k, f"exactly {k} of {_named(parts)}")


def implies(part: Part, *others: Part) -> Rule:
    """With this part, at least one of the others."""
    weights = (1.0, *[-1.0] * len(others))
    return Rule((part, *others), weights, -np.inf, 0.0, f"{_named([part])} implies one of {_named(others)}")


def together(*parts: Part) -> list[Rule]:
    """All of these parts or none."""
    return [implies(part, other) for part, other in zip(parts, [*parts[1:], *parts[:1]], strict=True) if part != other]


def _named(parts: Sequence[Part]) -> str:
    return ", ".join(f"node {v} with label {label}" for v, label in parts)


class RuledGraphs(SolvedGraphs):
    """Graphs whose outputs obey the rules of their shape; gold labels must, too."""

    def __init__(self, shapes: Sequence[Shape], rules: Sequence[Sequence[Rule]], limits: Limits = LIMITS) -> None:
        if len(rules) != len(shapes):
            raise DataError(f"there are {len(shapes)} graphs, but rules for {len(rules)}")
        for i, (shape, each) in enumerate(zip(shapes, rules, strict=True)):
            for rule in each:
                for v, label in rule.parts:
                    if not (0 <= v < len(shape.widths) and 0 <= label < shape.widths[v]):
                        raise DataError(f"graph {i}: there is no node {v} with label {label}, but a rule names it")
        different = {id(shape): shape for shape in shapes}
        plans = dict(zip(different, plans_of(list(different.values())), strict=True))
        super().__init__(shapes, [plans[id(shape)] for shape in shapes], limits)
        self.rules = rules

    @property
    def about(self) -> str:
        """How many graphs have rules."""
        n_ruled = sum(len(each) > 0 for each in self.rules)
        texts = [super().about, f"the labels of {n_ruled} graphs obey rules" if n_ruled else ""]
        return "; ".join(text for text in texts if text)

    def outputs_of(self, sizes: LongVector, labels: Sequence[Sequence[int] | IntVector]) -> FloatVector:
        """These labels, which must obey, as outputs."""
        for i, (size, each) in enumerate(zip(sizes.tolist(), labels, strict=True)):
            for rule in self.rules[size]:
                if not rule.is_met(each):
                    raise DataError(f"the labels of example {i} break a rule: {rule.words}")
        return super().outputs_of(sizes, labels)

    def best(self, scores: Scores) -> FloatVector:
        """The best labels that obey."""
        found, at = super().best(scores), 0
        for k, size in enumerate(scores.sizes.tolist()):
            n, rules = len(self.shapes[size].widths), self.rules[size]
            output, at = found[at : at + n + 1], at + n + 1
            if not all(rule.is_met(output[:n]) for rule in rules):
                output[:] = self._obeying(scores, k, size)
        return found

    def _obeying(self, scores: Scores, k: int, size: int) -> FloatVector:
        point = solve(
            self._with_rules(size, self.rules[size]), theta_of(self, scores, k), whole=True, limits=self.limits
        )
        if point.mu is None:
            if point.bound > -np.inf:
                raise WidemarginError(f"HiGHS found no labels of a graph that obey its rules within {self.limits}")
            raise DataError(self._contradiction(size))
        labels = np.append(labels_of(self.shapes[size], point.mu), 0.0)
        one = scores._replace(starts=scores.starts[k : k + 1], sizes=scores.sizes[k : k + 1])
        labels[-1] = max(point.bound - float(self.total(one, labels)[0]), 0.0)
        return labels

    def _contradiction(self, size: int) -> str:
        """Which rules nobody can obey."""
        nothing = np.zeros(self.shapes[size].n_own)
        for count in range(1, len(self.rules[size]) + 1):
            if solve(self._with_rules(size, self.rules[size][:count]), nothing, whole=True).bound == -np.inf:
                last = self.rules[size][count - 1].words
                return f"no labels of graph {size} obey all rules: '{last}' contradicts the {count - 1} before it"
        return f"scores of −∞ forbid all labels of graph {size} that obey its rules"

    def _with_rules(self, size: int, rules: Sequence[Rule]) -> Polytope:
        from scipy.sparse import coo_array, vstack

        shape, plain = self.shapes[size], self.polytope_of(size)
        row = np.repeat(np.arange(len(rules)), [len(rule.parts) for rule in rules])
        column = np.array([shape.at_node[v] + label for rule in rules for v, label in rule.parts], dtype=np.int64)
        entry = np.array([weight for rule in rules for weight in rule.weights])
        added = coo_array((entry, (row, column)), shape=(len(rules), shape.n_own))
        low, high = np.array([rule.low for rule in rules]), np.array([rule.high for rule in rules])
        return plain._replace(
            rows=vstack([plain.rows, added]).tocsr(),
            low=np.concatenate([plain.low, low]),
            high=np.concatenate([plain.high, high]),
        )
