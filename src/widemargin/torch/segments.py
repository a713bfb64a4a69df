"""Segmentations: labelled segments that follow one another without a gap (a semi-Markov chain).

score(y) = begin[y_1] + Σ_j segments[t_j, d_j, y_j] + Σ_{j>1} transitions[y_j-1, y_j] + end[y_p]
"""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.torch import segment_kernels as kernels
from widemargin.torch.decoding import Batch, Sums
from widemargin.torch.structure import Structure
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Segments(Structure):
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
        b, t = kernels.first_wrong(outputs, batch.lengths, M, L)
        if b >= 0:
            raise DataError(
                f"{name}[{b}, {t}] is {outputs[b, t]}, but a code is twice one of {L} labels, the same in all of a "
                f"segment of at most {M} tokens, plus one where a segment begins"
            )

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        M, L = batch.scores[0].shape[2:]
        return batch.lengths * (0.1 + (L * L + 2 * M * L) * 0.0005)

    def best(self, batch: Batch) -> AnyArray:
        """The best segmentations."""
        codes = self.padded(batch, batch.scores[0].shape[1])
        self.in_shares(batch, lambda each: kernels.decode(_parts(batch, each), batch.lengths[each], codes[each]))
        return codes

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best segmentations."""
        codes, totals = self.padded(batch, k, batch.scores[0].shape[1]), np.full((len(batch.lengths), k), -np.inf)
        self.in_shares(
            batch, lambda each: kernels.k_best(_parts(batch, each), batch.lengths[each], codes[each], totals[each])
        )
        return codes, totals

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these segmentations."""
        totals = np.empty(len(outputs))
        kernels.totals(_parts(batch), batch.lengths, outputs, totals)
        return totals

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of segments and transitions."""
        kernels.add_counts(kernels.SegmentParts(*into), lengths, outputs, weights)

    def sums(self, batch: Batch) -> Sums:
        """Semi-Markov forward–backward."""
        segments, lengths = batch.scores[0], batch.lengths
        n, L = len(segments), segments.shape[3]
        totals, expected, pairs = np.empty(n), np.zeros(segments.shape), np.zeros((n, L, L))
        self.in_shares(
            batch,
            lambda each: kernels.sums(_parts(batch, each), lengths[each], totals[each], expected[each], pairs[each]),
        )
        ends = np.zeros((n, L))
        for b, length in enumerate(lengths):
            back = np.arange(min(length, segments.shape[2]))
            ends[b] = expected[b, length - 1 - back, back].sum(axis=0)
        return Sums(totals, (expected, pairs, expected[:, :1].sum(axis=(1, 2)), ends))


def _parts(batch: Batch, each: slice = slice(None)) -> kernels.SegmentParts:
    segments, transitions, begin, end = batch.scores
    return kernels.SegmentParts(doubles(segments[each]), doubles(transitions), doubles(begin), doubles(end))
