"""Segmentations: labelled segments that follow one another without a gap (a semi-Markov chain).

score(y) = begin[y_1] + Σ_j segments[t_j, d_j, y_j] + Σ_{j>1} transitions[y_j-1, y_j] + end[y_p]
"""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.structures import segments
from widemargin.torch.decoding import Batch
from widemargin.torch.flat import Flat
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Segments(Flat):
    """Segmentations.

    Scores are up to four tensors: segments (B, T, M, L), of which [b, t, d] is about d + 1 tokens from t on;
    transitions (L, L), begin (L,) and end (L,), between segments, of the first and of the last. Those left out are
    zero. Outputs are (B, T) codes: twice the label of a token's segment, plus one where the segment begins.

    >>> import torch
    >>> scores = torch.zeros(1, 3, 2, 2)
    >>> scores[0, 1, 1, 1] = 1.0
    >>> Segments().decode(scores)
    tensor([[1, 3, 2]])
    """

    names: ClassVar[tuple[str, ...]] = ("segments", "transitions", "begin", "end")

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensors with their shapes checked, and zeros for those that were left out."""
        if not 1 <= len(scores) <= 4:
            raise DataError(f"Segments takes segments, transitions, begin and end, not {len(scores)} tensors")
        check_shape("segments", scores[0], "B", "T", "M", "L")
        L = scores[0].shape[3]
        if 0 in scores[0].shape[2:]:
            raise DataError("the segments have no labels or no lengths: a dimension is empty")
        shapes = [(L, L), (L,), (L,)]
        given = scores + tuple(scores[0].new_zeros(shape) for shape in shapes[len(scores) - 1 :])
        for name, tensor, shape in zip(self.names[1:], given[1:], shapes, strict=True):
            check_shape(name, tensor, *shape)
        return given

    def longest(self, scores: Tensors) -> int:
        """T."""
        return int(scores[0].shape[1])

    def check(self, batch: Batch, outputs: AnyArray, name: str) -> None:
        """Raise if these are no segmentations."""
        B, T, M, L = batch.scores[0].shape
        if outputs.shape != (B, T):
            raise DataError(f"{name} must have the shape {(B, T)}, not {outputs.shape}")
        inside = np.arange(T) < batch.lengths[:, None]
        begins, previous = outputs & 1 == 1, np.roll(outputs, 1, axis=1)
        start = np.maximum.accumulate(np.where(begins, np.arange(T), 0), axis=1)
        goes_on = (np.arange(T) > 0) & (outputs >> 1 == previous >> 1) & (np.arange(T) - start < M)
        for b, t in np.argwhere(inside & ~((outputs >= 0) & (outputs < 2 * L) & (begins | goes_on)))[:1]:
            raise DataError(
                f"{name}[{b}, {t}] is {outputs[b, t]}, but a code is twice one of {L} labels, the same in all of a "
                f"segment of at most {M} tokens, plus one where a segment begins"
            )

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        M, L = batch.scores[0].shape[2:]
        return batch.lengths * (0.1 + (L * L + 2 * M * L) * 0.0005)

    def shared(self, batch: Batch) -> tuple[bool, ...]:
        """All but the scores of segments."""
        return False, True, True, True

    def flat(self, batch: Batch) -> tuple[segments.Segments, segments.SegmentScores]:
        """The rows of all tokens, padding among them."""
        scores, transitions, begin, end = map(doubles, batch.scores)
        B, T, M, L = scores.shape
        flat = segments.SegmentScores(
            np.arange(B) * T, batch.lengths, scores.reshape(-1, M, L), transitions, begin, end
        )
        return segments.Segments(L, M), flat

    def shaped(self, batch: Batch, counts: segments.SegmentCounts) -> Arrays:
        """The probabilities of segments; how often pairs, first and last labels are expected."""
        B, T, M, L = batch.scores[0].shape
        found = counts.segments.reshape(B, T, M, L)
        b, t, d = np.nonzero(np.arange(T)[:, None] + np.arange(1, M + 1) == batch.lengths[:, None, None])
        last = np.zeros((B, L))
        np.add.at(last, b, found[b, t, d])
        return found, counts.pairs, found[:, :1].sum(axis=(1, 2)), last

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of segments and transitions."""
        found, transitions, begin, end = into
        b, t = np.nonzero((np.arange(outputs.shape[1]) < lengths[:, None]) & (outputs & 1 == 1))
        labels, same = outputs[b, t] >> 1, b[1:] == b[:-1]
        ends = lengths[b]
        ends[:-1][same] = t[1:][same]
        found[b, t, ends - t - 1, labels] += weights[b]
        np.add.at(transitions, (labels[:-1][same], labels[1:][same]), weights[b[1:][same]])
        some = np.flatnonzero(lengths > 0)
        np.add.at(begin, outputs[some, 0] >> 1, weights[some])
        np.add.at(end, outputs[some, lengths[some] - 1] >> 1, weights[some])
