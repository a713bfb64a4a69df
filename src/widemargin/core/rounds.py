"""Rounds of learning with latent variables: settings, stop rule, state between two rounds, and completions.

`core.latent` makes the rounds. A completion is a gold output (y_i, h) with an h that is filled in
(`core.examples.Latent`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.checks import check_declared, choice, number
from widemargin.core.examples import Examples, FirstCompletions, Outputs
from widemargin.core.header import Place, many, row, whole
from widemargin.core.problem import ask_all
from widemargin.core.solution import EPOCH, ROUND, Epoch, Round
from widemargin.core.sparse import Rows
from widemargin.core.stop import Stop
from widemargin.errors import WidemarginError

LOOSEST = 0.1  # the gap of the first round
SHARE = 1.0  # a round ends when the gain that is still possible is at most this share of its gain so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How rounds follow each other.

    Parameters
    ----------
    most : stop after this many rounds
    tol : stop when a round provably cannot lower the objective by more than this share; without proofs, when it did
        not. 0 uses the gap that is asked for instead
    self_paced : let easy examples take part first: by ``"slack"`` or ``"uncertainty"``
    rebase : carry cuts and their α over to the next round; False begins each round without cuts
    loose : end rounds when they have gained enough; False solves each to the gap asked for and to `tol`
    """

    most: int = number(50, least=1)
    tol: float = number(1e-3)
    self_paced: str | None = choice(None, "slack", "uncertainty")
    rebase: bool = True
    loose: bool = True

    def __post_init__(self) -> None:
        check_declared(self, "{} of rounds")


@dataclass(slots=True)
class Course:
    """Everything that later rounds depend on; a checkpoint keeps it, and a resumed run continues from it.

    The completions of the running round are the best at `w`, the weights after the previous round; in the first round
    they come from `seed`. `objective` is that of `w`, and `best_w` are the weights that scored best. Examples that are
    harder than `limit` do not take part.
    """

    seed: int = 0
    limit: float = np.inf
    objective: float = np.inf
    taking_part: FloatVector = field(default_factory=lambda: np.empty(0))
    w: FloatVector = field(default_factory=lambda: np.empty(0))
    best_w: FloatVector = field(default_factory=lambda: np.empty(0))
    best_score: float = -np.inf
    waited: int = 0
    rounds: list[Any] = field(default_factory=list)
    trace: list[Any] = field(default_factory=list)
    calls: int = 0
    seconds: float = 0.0

    def check(self, place: Place, n_weights: int, n_examples: int) -> None:
        """Raise an error about the first field with an impossible value."""
        many(row(*(ROUND[name] for name in Round._fields)))(self.rounds, place.at("rounds"))
        many(row(*(EPOCH[name] for name in Epoch._fields)))(self.trace, place.at("trace"))
        whole(at_least=0)(self.seed, place.at("seed"))
        for name, sizes in (("taking_part", (n_examples,)), ("w", (0, n_weights)), ("best_w", (0, n_weights))):
            if len(getattr(self, name)) not in sizes:
                raise place.at(name).wrong(getattr(self, name), f"a vector of {sizes[-1]} numbers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough(Stop):
    """Stops a round that has been solved well enough, given the objective `base` before it."""

    base: float = np.inf
    loose: bool = True

    def is_close(self, gap: float, primal: float) -> bool:
        """Whether the round has gained most of what it can gain, or provably has nothing to gain."""
        if self.gap is None:
            return False
        if not np.isfinite(self.base):
            return gap <= (max(LOOSEST, self.gap) if self.loose else self.gap)
        gained, left = self.base - primal, gap * primal
        return gained + left <= self.gap * self.base or (left <= SHARE * gained if self.loose else gap <= self.gap)


def complete(latent: Any, w: FloatVector, n_threads: int = 1) -> Outputs:
    """The best completions of all examples at `w`."""
    return _join(ask_all(_completed, latent, w, n_threads))


def _completed(latent: Any, w: FloatVector, batch: IntVector) -> Outputs:
    return latent.complete(w, batch)


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


def _join(parts: Sequence[Outputs]) -> Outputs:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [completion for part in parts for completion in part]
