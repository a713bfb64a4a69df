"""Label sequences and segmentations, over scores of labels or segments, and of transitions.

chain     score(y) = begin[y_0] + Σ_t emissions[t, y_t] + Σ_{t>0} transitions[t, y_{t-1}, y_t] + end[y_{n-1}]
segments  score(y) = begin[y_1] + Σ_j segments[t_j, d_j, y_j] + Σ_{j>1} transitions[y_j-1, y_j] + end[y_p]

Segments follow one another without a gap: a semi-Markov chain.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError, WidemarginError
from widemargin.structures import chain
from widemargin.torch.losses import Likelihood, Loss, Reduction, reduced
from widemargin.torch.scored import Extents, Layout, Scored
from widemargin.torch.structure import Padded
from widemargin.torch.tensors import Tensors, check_outputs, check_shape, first_of


class _Sequences(Padded):
    """Structures over a first tensor whose second dimension is tokens, and scores of pairs, first and last labels."""

    dimensions: ClassVar[tuple[str, ...]]
    """The dimensions of the first tensor."""

    @abstractmethod
    def parts(self, scores: Tensors) -> Any:
        """The structure of parts."""

    def prepared(self, scores: Tensors) -> tuple[Any, int]:
        """Sequences of up to T tokens."""
        first = scores[0]
        check_shape(self.names[0], first, *self.dimensions)
        L = first.shape[-1]
        if 0 in first.shape[2:]:
            raise DataError(f"the {self.names[0]} have no labels or no lengths: a dimension is empty")
        shapes = ((*first.shape[:2], L, L) if self._by_token(scores) else (L, L), (L,), (L,))
        for name, tensor, shape in zip(self.names[1:], scores[1:], shapes, strict=False):
            check_shape(name, tensor, *shape)
        return self.parts(scores), int(first.shape[1])

    def _by_token(self, scores: Tensors) -> bool:
        """Whether each token has its own transitions, which only chains allow."""
        return len(self.dimensions) == 3 and len(scores) > 1 and scores[1].ndim == 4


class Chain(_Sequences):
    """Label sequences.

    Scores are up to four tensors: emissions (B, T, L); transitions (L, L), from rows to columns, or (B, T, L, L), whose
    [b, t] leads from t − 1 to t; begin (L,) and end (L,), of the first and the last label. Tensors left out are zero.
    Outputs are (B, T) labels.

    >>> switch = torch.tensor([[-9.0, 0.0], [0.0, -9.0]])
    >>> Chain().decode((torch.tensor([[[1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]]), switch))
    tensor([[0, 1, 0]])
    """

    names: ClassVar[tuple[str, ...]] = ("emissions", "transitions", "begin", "end")
    dimensions: ClassVar[tuple[str, ...]] = ("B", "T", "L")

    def parts(self, scores: Tensors) -> chain.Chain:
        """Chains, whose tokens may have their own transitions."""
        return chain.Chain(scores[0].shape[2], by_position=self._by_token(scores))

    def extents(self, scores: Tensors, lengths: LongVector) -> Extents:
        """Emissions, and transitions if each token has its own."""
        return ((lengths,),) * (2 if self._by_token(scores) else 1)

    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise unless there is a label for each token."""
        B, T, L = layout.shapes[0]
        check_outputs(name, outputs, B, T)
        for b, t in first_of(layout.inside & ((outputs < 0) | (outputs >= L))):
            raise DataError(f"{name}[{b}, {t}] is {outputs[b, t]}, but there are {L} labels, from 0 on")

    def work(self, layout: Layout) -> FloatVector:
        """Microseconds, measured."""
        L = layout.structure.n_labels
        return layout.lengths * (0.05 + L * L * 0.0005)


class Segments(_Sequences):
    """Segmentations.

    Scores are up to four tensors: segments (B, T, M, L), whose [b, t, d] scores the segment of d + 1 tokens from t on;
    transitions (L, L) between segments; begin (L,) and end (L,), of the first and the last segment. Tensors left out
    are zero. Outputs are (B, T) codes: twice the label of a token's segment, plus one where the segment begins.

    >>> scores = torch.zeros(1, 3, 2, 2)
    >>> scores[0, 1, 1, 1] = 1.0
    >>> Segments().decode(scores)
    tensor([[1, 3, 2]])
    """

    names: ClassVar[tuple[str, ...]] = ("segments", "transitions", "begin", "end")
    dimensions: ClassVar[tuple[str, ...]] = ("B", "T", "M", "L")

    def parts(self, scores: Tensors) -> chain.Segments:
        """Segmentations with segments of up to M tokens."""
        _, _, M, L = scores[0].shape
        return chain.Segments(L, M)

    def extents(self, scores: Tensors, lengths: LongVector) -> Extents:
        """Segments that fit into the sequence."""
        return ((lengths, np.minimum(scores[0].shape[2], lengths)),)

    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise unless these are segmentations."""
        B, T, M, L = layout.shapes[0]
        check_outputs(name, outputs, B, T)
        begins, previous = outputs & 1 == 1, np.roll(outputs, 1, axis=1)
        start = np.maximum.accumulate(np.where(begins, np.arange(T), 0), axis=1)
        goes_on = (np.arange(T) > 0) & (outputs >> 1 == previous >> 1) & (np.arange(T) - start < M)
        for b, t in first_of(layout.inside & ~((outputs >= 0) & (outputs < 2 * L) & (begins | goes_on))):
            raise DataError(
                f"{name}[{b}, {t}] is {outputs[b, t]}, but a code is twice one of {L} labels, the same in all of a "
                f"segment of at most {M} tokens, plus one where a segment begins"
            )

    def work(self, layout: Layout) -> FloatVector:
        """Microseconds, measured."""
        M, L = layout.structure.longest, layout.structure.n_labels
        return layout.lengths * (0.1 + (L * L + 2 * M * L) * 0.0005)


class LinearChain(torch.nn.Module):
    """The transitions of a chain as a module, learnt together with another module that computes emission scores.

    Its arguments and parameters are those of pytorch-crf.

    Parameters
    ----------
    num_tags
        The number of labels.
    batch_first
        Whether emissions are (B, T, L), instead of (T, B, L).
    loss
        A class of losses, `Likelihood` by default.
    n_jobs
        The number of threads, as in `Chain`.
    """

    def __init__(
        self,
        num_tags: int,
        batch_first: bool = False,
        *,
        loss: type[Loss] = Likelihood,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__()
        if num_tags < 1:
            raise WidemarginError(f"num_tags must be at least 1, not {num_tags}")
        self.num_tags, self.batch_first = num_tags, batch_first
        self.chain = Chain(n_jobs=n_jobs)
        self.loss = loss(self.chain, reduction="none")
        self.start_transitions = torch.nn.Parameter(torch.empty(num_tags).uniform_(-0.1, 0.1))
        self.end_transitions = torch.nn.Parameter(torch.empty(num_tags).uniform_(-0.1, 0.1))
        self.transitions = torch.nn.Parameter(torch.empty(num_tags, num_tags).uniform_(-0.1, 0.1))

    def scores(self, emissions: torch.Tensor) -> Tensors:
        """All scores of a batch, for `Chain` and losses."""
        return emissions, self.transitions, self.start_transitions, self.end_transitions

    def forward(
        self,
        emissions: torch.Tensor,
        tags: torch.Tensor,
        mask: torch.Tensor | None = None,
        reduction: Reduction = "sum",
    ) -> torch.Tensor:
        """The negative loss, to be maximised; by default the log-likelihood of `tags`."""
        if not self.batch_first:
            emissions, tags = emissions.transpose(0, 1), tags.transpose(0, 1)
            mask = None if mask is None else mask.transpose(0, 1)
        scored = Scored.of(self.chain, self.scores(emissions), mask)
        return -reduced(self.loss.of_examples(scored, scored.checked(tags, "tags"), None), scored, reduction)

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor | None = None) -> list[list[int]]:
        """The best labels of each sequence."""
        if not self.batch_first:
            emissions = emissions.transpose(0, 1)
            mask = None if mask is None else mask.transpose(0, 1)
        scored = Scored.of(self.chain, self.scores(emissions), mask)
        return [row[:n] for row, n in zip(scored.best().tolist(), scored.lengths.tolist(), strict=True)]
