"""The transitions of a chain as a module, for those who come from pytorch-crf: the same arguments and parameters."""

import torch

from widemargin.errors import WidemarginError
from widemargin.torch.losses import Likelihood, Loss, Reduction, reduced
from widemargin.torch.scored import Scored
from widemargin.torch.sequences import Chain
from widemargin.torch.tensors import Tensors


class LinearChain(torch.nn.Module):
    """Scores of transitions, learnt with the emission scores that another module computes.

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
        """The loss with a minus: the log-likelihood of `tags`, which is to be maximised."""
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
