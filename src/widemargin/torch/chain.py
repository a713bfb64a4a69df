"""Label sequences: a first-order chain over emission and transition scores.

score(y) = begin[y_0] + Σ_t emissions[t, y_t] + Σ_{t>0} transitions[t, y_{t-1}, y_t] + end[y_{n-1}]
"""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.torch import chain_kernels as kernels
from widemargin.torch.chain_sums import chain_sums
from widemargin.torch.decoding import Batch, Sums
from widemargin.torch.structure import Structure
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Chain(Structure):
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

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensors with their shapes checked, and zeros for those that were left out."""
        if not 1 <= len(scores) <= 4:
            raise DataError(f"Chain takes emissions, transitions, begin and end, not {len(scores)} tensors")
        emissions = scores[0]
        check_shape("emissions", emissions, "B", "T", "L")
        B, T, L = emissions.shape
        if L == 0:
            raise DataError("the emissions have no labels: their last dimension is empty")
        shapes = [(L, L), (L,), (L,)]
        given = scores[1:] + tuple(emissions.new_zeros(shape) for shape in shapes[len(scores) - 1 :])
        transitions, begin, end = given
        check_shape("transitions", transitions, *((B, T, L, L) if transitions.dim() == 4 else (L, L)))
        check_shape("begin", begin, L)
        check_shape("end", end, L)
        return emissions, transitions, begin, end

    def longest(self, scores: Tensors) -> int:
        """T."""
        return int(scores[0].shape[1])

    def check(self, batch: Batch, outputs: AnyArray, name: str) -> None:
        """Raise if these are not a label for each token."""
        B, T, L = batch.scores[0].shape
        if outputs.shape != (B, T):
            raise DataError(f"{name} must have the shape {(B, T)}, not {outputs.shape}")
        b, t = kernels.first_wrong(outputs, batch.lengths, L)
        if b >= 0:
            raise DataError(f"{name}[{b}, {t}] is {outputs[b, t]}, but there are {L} labels, from 0 on")

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        L = batch.scores[0].shape[2]
        return batch.lengths * (0.05 + L * L * 0.0005)

    def best(self, batch: Batch) -> AnyArray:
        """The best labels (Viterbi)."""
        parts, lengths = _parts(batch), batch.lengths
        labels = self.padded(batch, parts.emissions.shape[1])
        self.in_shares(batch, lambda each: kernels.decode(_cut(parts, each), lengths[each], labels[each]))
        return labels

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best sequences of labels."""
        parts, lengths = _parts(batch), batch.lengths
        labels, totals = self.padded(batch, k, parts.emissions.shape[1]), np.full((len(lengths), k), -np.inf)
        self.in_shares(batch, lambda each: kernels.k_best(_cut(parts, each), lengths[each], labels[each], totals[each]))
        return labels, totals

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these labels."""
        totals = np.empty(len(outputs))
        kernels.totals(_parts(batch), batch.lengths, outputs, totals)
        return totals

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of labels and transitions."""
        emissions, transitions, begin, end = into
        kernels.add_counts(kernels.ChainParts(emissions, _four(transitions), begin, end), lengths, outputs, weights)

    def sums(self, batch: Batch) -> Sums:
        """Forward–backward."""
        parts, lengths = _parts(batch), batch.lengths
        n, T, L = parts.emissions.shape
        totals, labels = np.empty(n), np.zeros_like(parts.emissions)
        shared = batch.scores[1].ndim == 2
        pairs = np.zeros((n, 1 if shared else T, L, L), parts.transitions.dtype)
        self.in_shares(
            batch,
            lambda each: chain_sums(_cut(parts, each), lengths[each], totals[each], labels[each], pairs[each]),
        )
        first, last = np.zeros((n, L)), np.zeros((n, L))
        some = np.flatnonzero(lengths > 0)
        first[some], last[some] = labels[some, 0], labels[some, lengths[some] - 1]
        return Sums(totals, (labels, pairs[:, 0] if shared else pairs, first, last))


def _four(transitions: AnyArray) -> AnyArray:
    """Transitions with dimensions for examples and tokens, which are 1 where all share one table."""
    return transitions[None, None] if transitions.ndim == 2 else transitions


def _parts(batch: Batch) -> kernels.ChainParts:
    emissions, transitions, begin, end = batch.scores
    # All of one type, so that no kernel is compiled for mixtures.
    tables = np.asarray(_four(transitions), dtype=emissions.dtype)
    return kernels.ChainParts(emissions, tables, doubles(begin), doubles(end))


def _cut(parts: kernels.ChainParts, each: slice) -> kernels.ChainParts:
    shared = len(parts.transitions) == 1
    return parts._replace(
        emissions=parts.emissions[each], transitions=parts.transitions if shared else parts.transitions[each]
    )
