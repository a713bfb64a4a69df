"""Label sequences and segmentations, over scores of labels or segments, and of what follows what.

chain     score(y) = begin[y_0] + Σ_t emissions[t, y_t] + Σ_{t>0} transitions[t, y_{t-1}, y_t] + end[y_{n-1}]
segments  score(y) = begin[y_1] + Σ_j segments[t_j, d_j, y_j] + Σ_{j>1} transitions[y_j-1, y_j] + end[y_p]

Segments follow one another without a gap: a semi-Markov chain.
"""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.structures import chain, segments
from widemargin.torch.flat import Extents, Padded
from widemargin.torch.tensors import Arrays, Batch, Tensors, check_shape


class _Sequences(Padded):
    """Structures over a first tensor whose second dimension are tokens, and scores of pairs, first and last labels."""

    dimensions: ClassVar[tuple[str, ...]]
    """Those of the first tensor."""

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensors with their shapes checked."""
        if not 1 <= len(scores) <= 4:
            *most, last = self.names
            raise DataError(f"{type(self).__name__} takes {', '.join(most)} and {last}, not {len(scores)} tensors")
        first = scores[0]
        check_shape(self.names[0], first, *self.dimensions)
        L = first.shape[-1]
        if 0 in first.shape[2:]:
            raise DataError(f"the {self.names[0]} have no labels or no lengths: a dimension is empty")
        shapes = ((*first.shape[:2], L, L) if self._by_token(scores) else (L, L), (L,), (L,))
        for name, tensor, shape in zip(self.names[1:], scores[1:], shapes, strict=False):
            check_shape(name, tensor, *shape)
        return scores

    def longest(self, scores: Tensors | Arrays) -> int:
        """T."""
        return int(scores[0].shape[1])

    def _by_token(self, scores: Tensors | Arrays) -> bool:
        """Whether each token has transitions of its own, as it may in chains."""
        return len(self.dimensions) == 3 and len(scores) > 1 and scores[1].ndim == 4


class Chain(_Sequences):
    """Label sequences.

    Scores are up to four tensors: emissions (B, T, L); transitions (L, L), from rows to columns, or (B, T, L, L), whose
    [b, t] leads from t − 1 to t; begin (L,) and end (L,), of the first and the last label. Those left out are zero.
    Outputs are (B, T) labels.

    >>> import torch
    >>> switch = torch.tensor([[-9.0, 0.0], [0.0, -9.0]])
    >>> Chain().decode((torch.tensor([[[1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]]), switch))
    tensor([[0, 1, 0]])
    """

    names: ClassVar[tuple[str, ...]] = ("emissions", "transitions", "begin", "end")
    dimensions: ClassVar[tuple[str, ...]] = ("B", "T", "L")

    def structure(self, scores: Arrays) -> chain.Chain:
        """Chains, whose tokens may differ in their transitions."""
        return chain.Chain(scores[0].shape[2], by_position=self._by_token(scores))

    def extents(self, scores: Arrays, lengths: LongVector) -> Extents:
        """Emissions, and transitions if tokens differ in them."""
        return ((lengths,),) * (2 if self._by_token(scores) else 1)

    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if these are not a label for each token."""
        B, T, L = scores[0].shape
        if outputs.shape != (B, T):
            raise DataError(f"{name} must have the shape {(B, T)}, not {outputs.shape}")
        inside = np.arange(T) < lengths[:, None]
        for b, t in np.argwhere(inside & ((outputs < 0) | (outputs >= L)))[:1]:
            raise DataError(f"{name}[{b}, {t}] is {outputs[b, t]}, but there are {L} labels, from 0 on")

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        L = batch.scores[0].shape[2]
        return batch.lengths * (0.05 + L * L * 0.0005)


class Segments(_Sequences):
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
    dimensions: ClassVar[tuple[str, ...]] = ("B", "T", "M", "L")

    def structure(self, scores: Arrays) -> segments.Segments:
        """Segmentations with segments of up to M tokens."""
        _, _, M, L = scores[0].shape
        return segments.Segments(L, M)

    def extents(self, scores: Arrays, lengths: LongVector) -> Extents:
        """Segments that are not longer than the sequence."""
        return ((lengths, np.minimum(scores[0].shape[2], lengths)),)

    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if these are no segmentations."""
        B, T, M, L = scores[0].shape
        if outputs.shape != (B, T):
            raise DataError(f"{name} must have the shape {(B, T)}, not {outputs.shape}")
        inside = np.arange(T) < lengths[:, None]
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
