"""Constraints on predictions, given with each call; nothing about them is learnt.

A constraint gives forbidden parts a weight of −∞, so decoders need not know about it. Only two kinds concern whole
outputs instead of parts: rules for graphs (`structures.graph_rules`), and `at_most_one`, which branch and bound
enforces. The best output of a branch bounds the scores of the others. If it has two spans of a type, the first
beginning at b, every output with at most one is in one of two branches,

    no span of the type begins at or before b      or      none begins after b

and the branch with the highest bound is split next.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeAlias, TypeVar

import numpy as np

from widemargin._types import BoolMatrix, FloatVector, IntVector
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError, UnsupportedError
from widemargin.text.spans import Span

T = TypeVar("T")

Windows: TypeAlias = Mapping[str, tuple[int, int]]
"""The first and the last position where spans of a type may begin; types without an entry may begin anywhere."""

RULES = ("implies", "at_most", "exactly", "together")
"""Constraints on labels of graphs."""


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Constraints on predictions.

    Parameters
    ----------
    allowed : for each sequence, the possible labels at each position; None, for a position or a whole sequence, allows
        all labels
    spans : for each sequence, spans (start, end, type) that must be predicted
    forbidden : pairs of labels (before, after) that may not follow each other
    bio : whether labels must mark spans properly: in BIO, I-X only after B-X or I-X
    at_most_one : types that may have at most one span per sequence; implies `bio`
    implies : for each graph, rows of parts (node, label): with the first, at least one of the others
    at_most : for each graph, pairs (k, parts) or (k, label): no more than k of these parts, or nodes with this label
    exactly : for each graph, pairs (k, parts) or (k, label): as many of them as k
    together : for each graph, rows of parts: all of them or none

    Examples
    --------
    >>> Constraints(allowed=[[None, {"O"}]]).allowed_labels([2])
    [(0, 1, {'O'})]
    """

    allowed: Sequence[Sequence[Collection[Any] | None] | None] | None = None
    spans: Sequence[Sequence[tuple[int, int, str]]] | None = None
    forbidden: Collection[tuple[Any, Any]] = ()
    bio: bool = False
    at_most_one: Collection[str] = ()
    implies: Sequence[Sequence[Sequence[Any]] | None] | None = None
    at_most: Sequence[Sequence[tuple[int, Any]] | None] | None = None
    exactly: Sequence[Sequence[tuple[int, Any]] | None] | None = None
    together: Sequence[Sequence[Sequence[Any]] | None] | None = None

    def only_rules(self) -> "Constraints":
        """These constraints with nothing but rules for graphs."""
        return Constraints(**{name: getattr(self, name) for name in RULES})

    def refuse_rules(self) -> None:
        """Raise if there are rules, which only graphs can obey."""
        for name in RULES:
            if getattr(self, name) is not None:
                raise UnsupportedError(f"only labels of graphs can obey {name}")

    def rules(self, n_graphs: int) -> Iterator[tuple[str, int, Any]]:
        """All rules as (name, graph, rule)."""
        for name in RULES:
            given = getattr(self, name)
            if given is not None and len(given) != n_graphs:
                raise DataError(f"there are {n_graphs} graphs, but {name} is given for {len(given)}")
            for i, each in enumerate(given or ()):
                yield from ((name, i, rule) for rule in each or ())

    def allowed_labels(self, lengths: Sequence[int]) -> list[tuple[int, int, Collection[Any]]]:
        """The entries of `allowed` as (sequence, position, labels), checked against the `lengths`."""
        found = []
        for i, positions in self._each("allowed", self.allowed, lengths):
            if positions is not None and len(positions) != lengths[i]:
                raise DataError(f"sequence {i} has {lengths[i]} positions, but {len(positions)} sets of allowed labels")
            for t, labels in enumerate(positions or ()):
                if isinstance(labels, str):
                    raise DataError(f"sequence {i}, position {t}: a set of labels is wanted, not {labels!r}")
                if labels is not None:
                    found.append((i, t, labels))
        return found

    def possible_labels(self, lengths: Sequence[int], number: Mapping[Any, int]) -> BoolMatrix:
        """Whether `allowed` permits each label (column) at each position (row), sequences end to end."""
        possible = np.ones((sum(lengths), len(number)), dtype=bool)
        starts = boundaries(lengths)
        for i, t, labels in self.allowed_labels(lengths):
            numbers = numbers_of(labels, number)
            possible[starts[i] + t] = False
            possible[starts[i] + t, numbers] = True
        return possible

    def possible_pairs(self, number: Mapping[Any, int]) -> BoolMatrix:
        """Whether `forbidden` lets the column's label follow the row's."""
        pairs = np.ones((len(number), len(number)), dtype=bool)
        for pair in self.forbidden:
            before, after = numbers_of(pair, number)
            pairs[before, after] = False
        return pairs

    def forced_spans(self, lengths: Sequence[int]) -> list[tuple[int, Span]]:
        """The spans that must be predicted as (sequence, span), checked against the `lengths`."""
        found = [(i, Span(*span)) for i, spans in self._each("spans", self.spans, lengths) for span in spans]
        for i, span in found:
            if not 0 <= span.start < span.end <= lengths[i]:
                raise DataError(f"sequence {i} has {lengths[i]} positions; it cannot have the span {tuple(span)}")
        return found

    def _each(self, name: str, given: Sequence[Any] | None, lengths: Sequence[int]) -> Iterator[tuple[int, Any]]:
        if given is not None and len(given) != len(lengths):
            raise DataError(f"there are {len(lengths)} sequences, but {name} is given for {len(given)}")
        yield from enumerate(given or ())


def numbers_of(labels: Collection[Any], known: Mapping[Any, int]) -> list[int]:
    """The numbers of the labels that a constraint names."""
    for label in labels:
        if label not in known:
            raise DataError(f"a constraint names the label {label!r}, which the model does not know")
    return [known[label] for label in labels]


def impossible(i: int) -> DataError:
    """The error for sequence `i`, which has no output that meets the constraints."""
    return DataError(f"nothing that could be predicted for sequence {i} complies with the constraints")


def check_possible(batch: IntVector, scores: FloatVector) -> None:
    """Raise an error that names the first sequence of the batch whose best output scores −∞."""
    wrong = np.flatnonzero(scores == -np.inf)
    if len(wrong):
        raise impossible(int(batch[wrong[0]]))


def best_without_repetition(
    decode: Callable[[Windows], tuple[float, T]], repeated: Callable[[T], tuple[str, int] | None], last: int
) -> T | None:
    """The best output in which no restricted type has two spans; None if there is no such output.

    Parameters
    ----------
    decode : the score of the best output whose spans begin within these windows (−inf if none exists), and this output
    repeated : a type with several spans in an output, and where the first of them begins; or None
    last : the last position
    """
    order, branches = count(), list[tuple[float, int, T, Windows]]()

    def branch(windows: Windows) -> None:
        score, output = decode(windows)
        if score > float("-inf"):
            heappush(branches, (-score, next(order), output, windows))

    branch({})
    while branches:
        _, _, output, windows = heappop(branches)
        found = repeated(output)
        if found is None:
            return output
        type_, begin = found
        low, high = windows.get(type_, (0, last))
        branch({**windows, type_: (begin + 1, high)})
        branch({**windows, type_: (low, begin)})
    return None
