"""Segmentations as codes, and their errors as costs of segments (Sarawagi & Gupta 2008, 4.3.2).

A segmentation is a code per token: twice the label, plus one where a segment begins.

Against the gold segments (t', u', y'), the segment (t, u, y) costs

    L(t, u, y) = M[y', y]                             if (t, u, y') is a gold segment
               = p[y] + Σ r[y'] over t ≤ t' ≤ u       otherwise

If labels are partly known, each token has a set of codes, one of which is right. A segmentation fits if all its codes
are in these sets. The error does not depend on the completion:

    L(t, u, y) = 0                         if a segmentation that fits may have the segment (t, u, y)
               = M[y', y]                  if (t, u, y') is certain
               = p[y] + Σ r over t … u     otherwise

r is charged at the first known token of a segment, for the cheapest of its possible labels. If everything is known,
this is the error above.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.examples import whole_costs
from widemargin.core.sparse import sums
from widemargin.structures.chain import table_of
from widemargin.structures.flat import Scores

Segment = tuple[int, int, int]
"""The first token, the last token and the label."""

NO_REACH: IntMatrix = np.empty((0, 0), dtype=np.int32)
NO_BEGINS: BoolVector = np.empty(0, dtype=np.bool_)


def encode(segments: list[Segment]) -> IntVector:
    """The codes of one sequence's segments, which follow one another without a gap.

    >>> encode([(0, 1, 3), (2, 2, 0)]).tolist()
    [7, 6, 1]
    """
    lengths = [last - first + 1 for first, last, _ in segments]
    codes: IntVector = np.repeat(np.array([2 * label for *_, label in segments], dtype=np.int32), lengths)
    codes[[first for first, *_ in segments]] += 1
    return codes


def segments_of(codes: IntVector) -> list[Segment]:
    """The segments of one sequence of codes.

    >>> segments_of(np.array([7, 6, 1]))
    [(0, 1, 3), (2, 2, 0)]
    """
    firsts = np.flatnonzero(codes & 1)
    lasts = firsts + np.diff(firsts, append=len(codes)) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), (codes[firsts] >> 1).tolist(), strict=True))


def gold_lengths(gold: IntVector) -> IntVector:
    """The length of the gold segment that begins at each token, 0 where none does.

    >>> gold_lengths(np.array([7, 6, 1, 1])).tolist()
    [2, 0, 1, 1]
    """
    begins = np.flatnonzero(gold & 1)
    lengths: IntVector = np.zeros(len(gold), dtype=np.int32)
    lengths[begins] = np.diff(begins, append=len(gold))
    return lengths


class Known(NamedTuple):
    """Everything known about the gold segments.

    Parameters
    ----------
    allowed : (n, 2L) the codes that each token may have
    given : whether anything is known of each token
    lengths : the length of the segment that begins at a token, if its beginning, label and end are certain; else 0
    reach : (n, L) the most tokens of a segment that begins at a token
    begins : (n + 1,) whether a segment may begin at a token, or end before it
    """

    allowed: BoolMatrix
    given: BoolVector
    lengths: IntVector
    reach: IntMatrix
    begins: BoolVector

    @classmethod
    def of(cls, indptr: LongVector, allowed: BoolMatrix, given: BoolVector) -> "Known":
        """Derive everything from the codes that tokens may have."""
        n, width = allowed.shape
        reach, lengths = np.zeros((n, width // 2), dtype=np.int32), np.zeros(n, dtype=np.int32)
        _extents(indptr, allowed, allowed.sum(axis=1) == 1, reach, lengths)
        begins = np.append(allowed[:, 1::2].any(axis=1), True)
        begins[indptr] = True  # sequences end, even if no output of the next one fits
        return cls(allowed, given, lengths, reach, begins)

    @property
    def codes(self) -> IntVector:
        """A possible code of each token; the first token of a certain segment has only one."""
        return self.allowed.argmax(axis=1).astype(np.int32)

    def missed(self, recall: FloatVector) -> FloatVector:
        """The penalty of missing a segment, at its first known token: the least among its possible labels."""
        of_codes = np.where(self.allowed, np.repeat(recall, 2), np.inf)
        return np.where(self.given & self.begins[:-1], of_codes.min(axis=1, initial=np.inf), 0.0)


@kernel
def _extents(indptr: LongVector, allowed: BoolMatrix, sure: BoolVector, reach: IntMatrix, lengths: IntVector) -> None:
    """Write how long segments may be, and the lengths of certain segments; `sure` tokens have a single code."""
    n_labels = reach.shape[1]
    running, certain = np.zeros(n_labels, dtype=np.int32), np.zeros(n_labels, dtype=np.int32)
    for i in range(len(indptr) - 1):
        # From the back: `running` counts the next tokens that may continue a segment; `certain` counts those that must,
        # up to a token that must begin another, and is −1 if that end is uncertain.
        for label in range(n_labels):
            running[label] = certain[label] = 0
        for t in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            for label in range(n_labels):
                go_on, begin = allowed[t, 2 * label], allowed[t, 2 * label + 1]
                reach[t, label] = 1 + running[label] if begin else 0
                if begin and sure[t] and certain[label] >= 0:
                    lengths[t] = 1 + certain[label]
                if not go_on:
                    running[label] = certain[label] = 0
                else:
                    running[label] += 1
                    certain[label] = certain[label] + 1 if sure[t] and certain[label] >= 0 else -1


class CostTables(NamedTuple):
    """Everything about gold that the cost of a segment depends on.

    `codes` and `lengths` are those of the gold segment that begins at each token; the length is 0 if none begins.
    `missed[t]` is the recall penalty of a gold segment that begins at t. If labels are partly known, gold may have
    segments of label y and up to `reach[t, y]` tokens from t on, provided that `begins` lets another begin after them.
    """

    indptr: LongVector
    longest: int
    codes: IntVector
    lengths: IntVector
    missed: FloatVector
    precision: FloatVector
    confusion: FloatMatrix
    reach: IntMatrix
    begins: BoolVector


@kernel
def _cost(tables: CostTables, t: int, d: int, label: int, missed: float) -> float:
    """L(t, t+d, label); `missed` is the recall penalty of the gold segments that begin there."""
    if tables.lengths[t] == d + 1:
        return tables.confusion[tables.codes[t] >> 1, label]
    if len(tables.reach) > 0 and tables.begins[t + d + 1] and tables.reach[t, label] > d:
        return 0.0
    return tables.precision[label] + missed


@kernel
def _fill(tables: CostTables, batch: IntVector, scales: FloatVector, scores: Scores) -> None:
    n_labels = len(tables.precision)
    for k in range(len(batch)):
        n, scale = scores.sizes[k], scales[k]
        segment = table_of(scores.own, scores.starts[k], n, tables.longest, n_labels)
        first = tables.indptr[batch[k]] if scale != 0.0 else 0  # without gold, there are no tables
        for t in range(n):
            missed = 0.0
            for d in range(segment.shape[1]):
                row = segment[t, d]
                if scale == 0.0 or t + d >= n:  # segments past the end are filled in, too, since whole tables are added
                    for label in range(n_labels):
                        row[label] = 0.0
                    continue
                missed += tables.missed[first + t + d]
                # Most segments are not gold: a loop for them without branches is vectorised.
                if tables.lengths[first + t] == d + 1 or len(tables.reach) > 0:
                    for label in range(n_labels):
                        row[label] = scale * _cost(tables, first + t, d, label, missed)
                else:
                    for label in range(n_labels):
                        row[label] = scale * (tables.precision[label] + missed)


@kernel
def _errors(tables: CostTables, batch: IntVector, outputs: IntVector) -> FloatVector:
    errors, read = np.zeros(len(batch)), 0
    for k in range(len(batch)):
        begin, end, start, missed = tables.indptr[batch[k]], tables.indptr[batch[k] + 1], 0, 0.0
        for t in range(begin, end):
            if outputs[read] & 1:
                start, missed = t, 0.0
            missed += tables.missed[t]
            if t == end - 1 or outputs[read + 1] & 1:
                errors[k] += _cost(tables, start, t - start, outputs[read] >> 1, missed)
            read += 1
    return errors


class SegmentCosts:
    """Costs of segments (`structures.parts.Costs`).

    Parameters
    ----------
    indptr : (n + 1,) where each sequence begins among the tokens
    longest : the most tokens that any segment may have
    gold : the gold code of each token; empty without gold
    precision : (L,) error of a wrong segment, by its label
    recall : (L,) error of missing a gold segment, by its label
    confusion : (L, L) error of the column's label on a gold segment with the row's
    known : the facts about partly known gold segments, against which errors are then counted, whatever `gold` is
    """

    def __init__(
        self,
        indptr: LongVector,
        longest: int,
        gold: IntVector,
        precision: FloatVector,
        recall: FloatVector,
        confusion: FloatMatrix,
        known: Known | None = None,
    ) -> None:
        self.recall, self.known = recall, known
        if known is None:
            codes, lengths, reach, begins = gold, gold_lengths(gold), NO_REACH, NO_BEGINS
            missed = np.where(lengths > 0, recall[codes >> 1], 0.0)
        else:
            codes, lengths, reach, begins = known.codes, known.lengths, known.reach, known.begins
            missed = known.missed(recall)
        self.tables = CostTables(indptr, longest, codes, lengths, missed, precision, confusion, reach, begins)

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of segments, times each example's scale."""
        _fill(self.tables, batch, scales, room)

    def errors(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """The errors of segmentations laid end to end."""
        return _errors(self.tables, batch, outputs)

    def whole(self) -> tuple["SegmentCosts", float]:
        """The costs as whole multiples of a unit, and this unit."""
        return self._whole

    @cached_property
    def _whole(self) -> tuple["SegmentCosts", float]:
        # Cached, since every batch asks, and the penalties of all tokens are recomputed.
        own, n = self.tables, len(self.recall)
        penalties, unit = whole_costs(np.concatenate([own.precision, self.recall, own.confusion.ravel()]))
        precision, recall, confusion = np.split(penalties.astype(np.float64), [n, 2 * n])
        given = precision, recall, confusion.reshape(n, n)
        return SegmentCosts(own.indptr, own.longest, own.codes, *given, self.known), unit

    def most(self) -> FloatVector:
        """The error if each token is a wrong segment, and all gold segments are missed."""
        own = self.tables
        return sums(own.missed + max(own.precision.max(), own.confusion.max()), own.indptr)
