"""Losses with sums over all outputs; they are smooth, and their gradients are expected part counts minus gold ones.

likelihood      log Σ_y exp(score(y)) − score(gold)                  (a CRF: Lafferty et al. 2001)
softmax-margin  log Σ_y exp(score(y) + Δ(y)) − score(gold)           (Gimpel & Smith 2010)
"""

import torch

from widemargin._types import AnyArray
from widemargin.torch.losses import Costs, Loss
from widemargin.torch.scored import Scored


class Likelihood(Loss):
    """−log p(gold), with p(y) proportional to exp(score(y)); costs are ignored."""

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        return scored.log_partition() - scored.gold_score(gold)


class SoftmaxMargin(Loss):
    """The same with each part's cost added to its score: likely outputs should be nearly right ones."""

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        augmented = scored.plus(scored.costs(gold, costs))
        return augmented.log_partition() - augmented.gold_score(gold)
