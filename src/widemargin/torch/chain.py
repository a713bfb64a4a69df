"""Label sequences: a first-order chain over emission and transition scores.

score(y) = begin[y_0] + Σ_t emissions[t, y_t] + Σ_{t>0} transitions[t, y_{t-1}, y_t] + end[y_{n-1}]
"""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.structures import chain as chains
from widemargin.torch.decoding import Batch
from widemargin.torch.flat import Flat
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Chain(Flat):
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
        inside = np.arange(T) < batch.lengths[:, None]
        for b, t in np.argwhere(inside & ((outputs < 0) | (outputs >= L)))[:1]:
            raise DataError(f"{name}[{b}, {t}] is {outputs[b, t]}, but there are {L} labels, from 0 on")

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        L = batch.scores[0].shape[2]
        return batch.lengths * (0.05 + L * L * 0.0005)

    def shared(self, batch: Batch) -> tuple[bool, ...]:
        """Begin and end, and transitions unless they differ by token."""
        return False, batch.scores[1].ndim == 2, True, True

    def flat(self, batch: Batch) -> tuple[chains.Chain, chains.ChainScores]:
        """The rows of all tokens, padding among them."""
        emissions, transitions, begin, end = map(doubles, batch.scores)
        B, T, L = emissions.shape
        scores = chains.ChainScores(
            np.arange(B) * T, batch.lengths, emissions.reshape(-1, L), transitions.reshape(-1, L, L), begin, end
        )
        return chains.Chain(L, by_position=transitions.ndim == 4), scores

    def shaped(self, batch: Batch, counts: chains.ChainCounts) -> Arrays:
        """The probabilities of labels and pairs; those of first and last labels."""
        emissions, transitions, begin, end = batch.scores
        labels, pairs = counts.labels.reshape(emissions.shape), counts.pairs
        first, last = np.zeros((len(labels), len(begin))), np.zeros((len(labels), len(end)))
        some = np.flatnonzero(batch.lengths > 0)
        first[some], last[some] = labels[some, 0], labels[some, batch.lengths[some] - 1]
        return labels, pairs if transitions.ndim == 2 else pairs.reshape(transitions.shape), first, last

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of labels and transitions."""
        emissions, transitions, begin, end = into
        b, t = np.nonzero(np.arange(outputs.shape[1]) < lengths[:, None])
        emissions[b, t, outputs[b, t]] += weights[b]
        some = np.flatnonzero(lengths > 0)
        np.add.at(begin, outputs[some, 0], weights[some])
        np.add.at(end, outputs[some, lengths[some] - 1], weights[some])
        b, t = b[t > 0], t[t > 0]
        place = (outputs[b, t - 1], outputs[b, t])
        np.add.at(transitions, place if transitions.ndim == 2 else (b, t, *place), weights[b])
