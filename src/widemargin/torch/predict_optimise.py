"""Losses for predict-then-optimise: a model predicts the scores of an optimisation problem, which is then solved.

The problem is argmax_y ⟨θ, y⟩, where y are the part counts of an output and θ the predicted scores. If the right scores
s are known, the regret of θ is ⟨s, y*⟩ − ⟨s, y(θ)⟩, with y* = y(s). Its convex upper bound (SPO+, Elmachtoub & Grigas
2022, Definition 3, here for maximisation: their costs are −θ and −s) is

    ℓ(θ) = max_y ⟨2θ − s, y⟩ − 2⟨θ, y*⟩ + ⟨s, y*⟩          with the subgradient 2 (y(2θ − s) − y*)

If only the right output y* is known, noise makes the optimum a smooth function of θ (Berthet et al. 2020), whose
Fenchel–Young loss is

    ℓ(θ) = E max_y ⟨θ + σZ, y⟩ − ⟨θ, y*⟩,   Z normal       with the gradient E y(θ + σZ) − y*

up to a constant. Expectations are means over samples.
"""

from dataclasses import replace

import torch

from widemargin._types import AnyArray
from widemargin.errors import WidemarginError
from widemargin.torch.losses import Costs, Loss, Reduced, Reduction, reduced
from widemargin.torch.scored import Scored, Scores
from widemargin.torch.structure import Structure


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
