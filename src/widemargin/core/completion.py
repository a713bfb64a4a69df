"""Completing latent examples: all at once at some weights, by a rule to begin with, or one by one during an epoch.

A completion is a gold output (y_i, h) with an h that is filled in (`core.examples.Latent`).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.core.examples import Differences, Examples, FirstCompletions, Latent, LatentMarginals, Outputs, Scale
from widemargin.core.problem import Problem, in_shares
from widemargin.core.sparse import Rows, plus
from widemargin.errors import WidemarginError


def complete(latent: Any, w: FloatVector, n_threads: int = 1) -> Outputs:
    """The best completions of all examples at `w`."""
    return _joined(in_shares(latent, partial(latent.complete, w), n_threads))


def begin(latent: Any, init: Any, rng: np.random.Generator, n_threads: int = 1) -> Outputs:
    """Completions to begin with.

    `init` is ``"random"``; ``"rule"``, which uses the structure's own rule, or random completions if it has none; the
    weights of a model; or completions.
    """
    if isinstance(init, str):
        if init not in ("rule", "random"):
            raise WidemarginError(f"completions begin by 'rule' or at 'random', not by {init!r}")
        return latent.first_completions() if init == "rule" and has_rule(latent) else latent.guess(rng)
    weights = isinstance(init, np.ndarray) and init.dtype == np.float64 and init.shape == (latent.n_weights,)
    return complete(latent, init, n_threads) if weights else init


def has_rule(latent: Any) -> bool:
    """Whether the structure has a rule of its own for the first completions."""
    return isinstance(latent, FirstCompletions)


def shifts(examples: Examples, before: Outputs) -> Rows:
    """φ(gold) minus φ of the completions `before`, a row per example; `examples` are completed."""
    return examples.difference(np.arange(examples.n_examples, dtype=np.int32), before).psi


def _joined(parts: Sequence[Outputs]) -> Outputs:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [completion for part in parts for completion in part]


class CompletedOnTheWay:
    """Latent examples that are completed whenever they are decoded, at the weights of that moment.

    Their cuts are subgradients of the objective (5) of `core.latent`. That objective is not convex, so the cuts do not
    hold at other weights: only solvers that keep no cuts can use them (perceptron, MIRA, AdaGrad). No gap is proven.
    """

    exact = convex = False

    def __init__(self, latent: Latent, first: Outputs) -> None:
        self.latent: Any = latent
        self.base: Any = latent.completed(first)
        self.n_examples, self.n_weights, self.work = self.base.n_examples, self.base.n_weights, self.base.work

    def contents(self) -> Any:
        """The latent examples, for digests (`core.contents`): the first completions make no difference."""
        return self.latent

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> tuple[Outputs, Outputs]:
        """The best outputs, and the best completions."""
        return self.base.decode(w, batch, error_scale=error_scale), self.latent.complete(w, batch)

    def difference(self, batch: IntVector, outputs: tuple[Outputs, Outputs]) -> Differences:
        """Errors of the outputs, and the features of the completions minus those of the outputs."""
        decoded, completions = outputs
        errors, psi = self.base.difference(batch, decoded)
        minus = self.base.difference(batch, completions).psi
        each = np.arange(len(batch), dtype=np.int32)
        return Differences(errors, plus(psi, np.full(len(batch), -1.0), minus, each))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights that decoding and completing the batch read."""
        runs: LongMatrix = self.base.support(batch)
        return runs


class SummedOnTheWay(CompletedOnTheWay):
    """The same for likelihoods: all completions count at once, so none is chosen."""

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log Σ_h p(y_i, h), and the expected features of completions minus those of all outputs."""
        found: Differences = self.latent.expectation_over_completions(w, batch, error_scale=error_scale)
        return found


def sums_completions(problem: Problem) -> bool:
    """Whether objective and examples sum over all outputs and completions, so that no completion must be chosen."""
    return problem.objective.kind == "smooth" and isinstance(problem.examples, LatentMarginals)
