"""What users may ask of any structure over scores."""

from typing import NamedTuple

import numpy as np
import torch

from widemargin._types import FloatVector
from widemargin.errors import DataError
from widemargin.torch.decoding import Decoding
from widemargin.torch.scored import Scored, Scores
from widemargin.torch.tensors import Arrays, Tensors


class Best(NamedTuple):
    """The k best outputs of each example, (B, k, …), best first, and their scores, (B, k); −inf where there is none."""

    outputs: torch.Tensor
    scores: torch.Tensor


def _inner(expectations: Arrays, scores: Arrays) -> FloatVector:
    """Σ of each example's expected counts times scores; what has no share does not count, forbidden or not."""
    totals = np.zeros(len(expectations[0]))
    for expected, score in zip(expectations, scores, strict=True):
        counted = np.where(expected > 0.0, score, 0.0)
        totals += (expected * counted).reshape(len(totals), -1).sum(axis=1)
    return totals


class Structure(Decoding):
    """A structure over scores: `Decoding` is what each offers, the rest follows from it."""

    def decode(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The best output of each example.

        Parameters
        ----------
        scores
            One tensor, or a tuple of several, as the class describes.
        mask
            (B, T), true for tokens and false for padding, which comes last; or (B,), how long each example is.
        allowed
            Which parts outputs may have, of a shape that broadcasts to that of the first tensor of scores.
        """
        scored = self._scored(scores, mask, allowed)
        return torch.from_numpy(scored.best()).long().to(scored.device)

    def k_best(
        self, scores: Scores, k: int, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> Best:
        """The `k` best outputs of each example, best first; those beyond the last are −1 and score −inf."""
        if k < 1:
            raise DataError(f"k must be at least 1, not {k}")
        scored = self._scored(scores, mask, allowed)
        outputs, totals = self.best_k(scored.batch, k)
        return Best(torch.from_numpy(outputs).long().to(scored.device), torch.from_numpy(totals).to(scored.device))

    def marginals(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> Tensors:
        """The probability of each part, for each tensor of scores that is given; of shared ones the expected counts.

        The probability of an output is proportional to exp(score). Expected counts have a first dimension for examples.
        """
        scored = self._scored(scores, mask, allowed)
        n_given = len(scores) if isinstance(scores, tuple) else 1
        expectations = self.sums(scored.batch).expectations[:n_given]
        return tuple(torch.from_numpy(each).to(scored.device) for each in expectations)

    def log_partition(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """log Σ_y exp(score(y)) of each example, (B,); its gradients are marginals."""
        return self._scored(scores, mask, allowed).log_partition()

    def sample(
        self,
        scores: Scores,
        n: int = 1,
        mask: torch.Tensor | None = None,
        *,
        allowed: torch.Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """`n` outputs of each example, (B, n, …), drawn with probabilities proportional to exp(score)."""
        scored = self._scored(scores, mask, allowed)
        seed = int(torch.randint(2**62, (), generator=generator))
        drawn = self.draws(scored.batch, n, np.random.default_rng(seed))
        return torch.from_numpy(drawn).long().to(scored.device)

    def entropy(
        self, scores: Scores, mask: torch.Tensor | None = None, *, allowed: torch.Tensor | None = None
    ) -> torch.Tensor:
        """−Σ_y p(y) log p(y) of each example, (B,), with p(y) proportional to exp(score(y)); it has no gradient."""
        scored = self._scored(scores, mask, allowed)
        log_z, expectations = self.sums(scored.batch)
        return torch.from_numpy(log_z - _inner(expectations, scored.batch.scores)).to(scored.scores[0])

    def kl_divergence(
        self,
        scores: Scores,
        other: Scores,
        mask: torch.Tensor | None = None,
        *,
        allowed: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Σ_y p(y) log p(y) / q(y) of each example, (B,), for p of the `scores` and q of the `other` ones.

        Its gradient is that of q; p counts as given, as a teacher is in distillation.
        """
        given, learnt = (self._scored(each, mask, allowed) for each in (scores, other))
        log_z, expectations = self.sums(given.batch)
        entropy = torch.from_numpy(log_z - _inner(expectations, given.batch.scores)).to(learnt.scores[0])
        # Parts without a share in p do not count, forbidden or not.
        shared = torch.zeros_like(entropy)
        for expected, score in zip(expectations, learnt.scores, strict=True):
            share = torch.from_numpy(np.ascontiguousarray(expected)).to(score)
            product = share * torch.where(share > 0.0, score, torch.zeros_like(score))
            shared = shared + product.reshape(len(entropy), -1).sum(dim=1)
        return learnt.log_partition() - shared - entropy

    def score(self, scores: Scores, outputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The scores of the given outputs, one for each example; their gradients are part counts."""
        scored = self._scored(scores, mask)
        return scored.score(scored.checked(outputs, "outputs"))

    def _scored(self, scores: Scores, mask: torch.Tensor | None = None, allowed: torch.Tensor | None = None) -> Scored:
        return Scored.of(self, scores, mask, allowed)
