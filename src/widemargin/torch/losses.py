"""Losses, each written once for all structures.

    hinge           ξ = max_y score(y) + Δ(y) − score(gold)              (Tsochantaridis et al. 2005, margin scaling)
    squared hinge   ξ²
    slack           max_y Δ(y) (1 + score(y) − score(gold))              (the same, slack scaling)
    perceptron      max_y score(y) − score(gold)                         (Collins 2002)
    likelihood      log Σ_y exp(score(y)) − score(gold)                  (a CRF: Lafferty et al. 2001)
    softmax-margin  log Σ_y exp(score(y) + Δ(y)) − score(gold)           (Gimpel & Smith 2010)

Δ(y) is the sum of the costs of y's parts, by default the number of parts that gold does not have. A subgradient of the
first four is the part counts of the maximising y minus those of gold, times 1, 2ξ, Δ(y) and 1. The last two are smooth;
their gradients are expected part counts minus the part counts of gold.

**Predict, then optimise**: a model predicts the scores of an optimisation problem, which is then solved. The problem is
argmax_y ⟨θ, y⟩, where y are the part counts of an output and θ the predicted scores. If the right scores s are known,
the regret of θ is ⟨s, y*⟩ − ⟨s, y(θ)⟩, with y* = y(s). Its convex upper bound (SPO+, Elmachtoub & Grigas 2022,
Definition 3, here for maximisation: their costs are −θ and −s) is

    ℓ(θ) = max_y ⟨2θ − s, y⟩ − 2⟨θ, y*⟩ + ⟨s, y*⟩          with the subgradient 2 (y(2θ − s) − y*)

If only the right output y* is known, noise makes the optimum a smooth function of θ (Berthet et al. 2020), whose
Fenchel–Young loss is

    ℓ(θ) = E max_y ⟨θ + σZ, y⟩ − ⟨θ, y*⟩,   Z normal       with the gradient E y(θ + σZ) − y*

up to a constant. Expectations are means over samples.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import torch

from widemargin._types import AnyArray
from widemargin.decoders.hull import next_scales
from widemargin.errors import WidemarginError
from widemargin.torch.scored import Scored, Scores
from widemargin.torch.structure import Structure

Reduction: TypeAlias = Literal["mean", "sum", "token_mean", "none"]
Costs: TypeAlias = torch.Tensor | float | None
REDUCTIONS = ("mean", "sum", "token_mean", "none")


def check_reduction(name: str) -> None:
    """Raise if there is no such reduction."""
    if name not in REDUCTIONS:
        raise WidemarginError(f"there is no reduction {name!r}; there are {', '.join(REDUCTIONS)}")


def reduced(losses: torch.Tensor, scored: Scored, reduction: Reduction) -> torch.Tensor:
    """The losses of the examples, unchanged, summed up, or averaged over examples or tokens."""
    check_reduction(reduction)
    if reduction == "none":
        return losses
    total = losses.sum()
    if reduction == "sum":
        return total
    return total / max(1, len(losses) if reduction == "mean" else int(scored.lengths.sum()))


class Reduced(torch.nn.Module):
    """A loss over a structure.

    Parameters
    ----------
    structure
        What outputs are, such as `Chain()`.
    reduction
        "mean" over examples, "sum", "token_mean", the sum divided by the number of tokens, or "none": one loss for each
        example.
    """

    def __init__(self, structure: Structure, *, reduction: Reduction = "mean") -> None:
        super().__init__()
        check_reduction(reduction)
        self.structure, self.reduction = structure, reduction

    def extra_repr(self) -> str:
        """The text that `print` shows in the brackets of the loss."""
        return f"{type(self.structure).__name__}, reduction={self.reduction!r}"


class Loss(Reduced, ABC):
    """A loss of scores against gold outputs."""

    def forward(
        self,
        scores: Scores,
        gold: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        costs: Costs = None,
        allowed: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of a batch.

        Parameters
        ----------
        scores, mask, allowed
            As in `Structure.decode`.
        gold
            The right outputs, in the form that `Structure.decode` returns; entries in the padding are ignored.
        costs
            The cost of each part, of a shape that broadcasts to that of the first tensor of scores, 0 for gold parts;
            or a factor for the default, which is 1 for each part that is not gold.
        """
        scored = Scored.of(self.structure, scores, mask, allowed)
        losses = self.of_examples(scored, scored.checked(gold), costs)
        return reduced(losses, scored, self.reduction)

    @abstractmethod
    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""


class StructuredHinge(Loss):
    """ξ = max_y score(y) + Δ(y) − score(gold)."""

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        augmented = scored.plus(scored.costs(gold, costs))
        return augmented.difference(augmented.best(), gold).clamp(min=0.0)


class SquaredHinge(StructuredHinge):
    """ξ², where ξ is the loss of `StructuredHinge`."""

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        return super().of_examples(scored, gold, costs).square()


class Perceptron(Loss):
    """max_y score(y) − score(gold); costs are ignored."""

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        return scored.difference(scored.best(), gold).clamp(min=0.0)


class SlackScaling(Loss):
    """max_y Δ(y) (1 + score(y) − score(gold)), over the outputs that are best for some λ of score(y) + λ Δ(y).

    `decoders.hull` searches λ, here for all examples of a batch at once.

    Parameters
    ----------
    structure, reduction
        As in `Reduced`.
    most_decodes
        How many λ are tried at most.
    """

    def __init__(self, structure: Structure, *, reduction: Reduction = "mean", most_decodes: int = 12) -> None:
        super().__init__(structure, reduction=reduction)
        self.most_decodes = most_decodes

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        of_parts = scored.costs(gold, costs)
        with torch.no_grad():
            worst = self._worst(scored, gold, of_parts)
        # The costs of gold are subtracted, as in the other losses.
        errors = scored.errors(worst, of_parts) - scored.errors(gold, of_parts)
        difference = scored.difference(worst, gold)
        return torch.as_tensor(errors).to(difference) * (1.0 + difference).clamp(min=0.0)

    def _worst(self, scored: Scored, gold: AnyArray, costs: torch.Tensor) -> AnyArray:
        """The output with the largest Δ(1 + s) that the search finds, gold if none is above 0."""
        n = len(gold)
        gold_errors = scored.errors(gold, costs)
        worst, largest = gold.copy(), np.zeros(n)
        corners, scale, active = np.full((n, 4), np.nan), np.ones(n), np.arange(n)
        for _ in range(self.most_decodes):
            found = scored.plus(costs * scored.per_example(scale)).best()
            errors = scored.errors(found, costs) - gold_errors
            s = scored.difference(found, gold).double().numpy(force=True)
            better = active[(errors * (1.0 + s) > largest)[active]]
            worst[better], largest[better] = found[better], (errors * (1.0 + s))[better]
            next_scales(corners, scale, active, errors[active], s[active])
            active = active[scale[active] > 0.0]
            if not len(active):
                break
        return worst


class Likelihood(Loss):
    """−log p(gold), with p(y) proportional to exp(score(y)); costs are ignored."""

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        return scored.log_partition() - scored.gold_score(gold)


class SoftmaxMargin(Loss):
    """The same with each part's cost added to its score, so that probable outputs become nearly right ones."""

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        augmented = scored.plus(scored.costs(gold, costs))
        return augmented.log_partition() - augmented.gold_score(gold)


class SPOPlus(Reduced):
    """max_y ⟨2θ − s, y⟩ − 2⟨θ, y*⟩ + ⟨s, y*⟩, an upper bound of the regret."""

    def forward(
        self,
        scores: Scores,
        right: Scores,
        mask: torch.Tensor | None = None,
        *,
        allowed: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of a batch.

        Parameters
        ----------
        scores, mask, allowed
            As in `Structure.decode`.
        right
            The right scores, in the same shapes.
        """
        predicted = Scored.of(self.structure, scores, mask, allowed)
        given = right if isinstance(right, tuple) else (right,)
        truth = Scored.of(self.structure, tuple(each.detach() for each in given), mask, allowed)
        optimum = truth.best()
        # Parts that are not allowed stay forbidden by θ = −inf; subtracting −inf as well would give NaN.
        right_scores = (each.masked_fill(each == -torch.inf, 0.0) for each in truth.scores)
        surrogate = replace(
            predicted, scores=tuple(2.0 * a - b for a, b in zip(predicted.scores, right_scores, strict=True))
        )
        return reduced(surrogate.difference(surrogate.best(), optimum), predicted, self.reduction)


class PerturbedFenchelYoung(Loss):
    """E max_y ⟨θ + σZ, y⟩ − ⟨θ, gold⟩; noise is added to the first tensor of scores, and costs are ignored.

    Parameters
    ----------
    structure, reduction
        As in `Reduced`.
    sigma
        σ, the standard deviation of the noise.
    n_samples
        How many times each batch is perturbed and decoded.
    seed
        Of the noise; every call draws new noise.
    """

    def __init__(
        self,
        structure: Structure,
        *,
        reduction: Reduction = "mean",
        sigma: float = 1.0,
        n_samples: int = 8,
        seed: int = 0,
    ) -> None:
        super().__init__(structure, reduction=reduction)
        if not sigma > 0.0 or n_samples < 1:
            raise WidemarginError(f"sigma must be above 0 and n_samples at least 1, not {sigma!r} and {n_samples!r}")
        self.sigma, self.n_samples = sigma, n_samples
        self.generator = torch.Generator().manual_seed(seed)

    def of_examples(self, scored: Scored, gold: AnyArray, costs: Costs) -> torch.Tensor:
        """The loss of each example, (B,)."""
        first = scored.scores[0]
        total = -self.n_samples * scored.gold_score(gold)
        for _ in range(self.n_samples):
            noise = torch.randn(first.shape, generator=self.generator, dtype=torch.float64).to(first)
            perturbed = scored.plus(self.sigma * noise)
            total = total + perturbed.score(perturbed.best())
        return total / self.n_samples
