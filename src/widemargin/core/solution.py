"""The result of training: weights, the trace of the run, and a bound on the distance from the optimum."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.header import Fields, flag, many, number, optional, record, text, whole

REMARKS = ("doubt", "shortfall", "about")
ROUNDING = 1e-7  # how far a true lower bound may lie above the objective, relatively


class Epoch(NamedTuple):
    """One row of the training trace, taken after an epoch.

    `primal` is the objective as seen by the epoch's own oracle calls, each at the weights of that moment: an estimate
    that costs nothing. If `certified`, it comes from a full oracle pass at the weights after the epoch, and
    `gap` = (primal − dual) / primal is a proven bound on the relative distance to the optimum.
    """

    epoch: int
    seconds: float
    oracle_calls: int
    primal: float | None
    dual: float | None
    gap: float | None
    score: float | None
    certified: bool

    def figures(self, between: str = ", ") -> str:
        """Objective, gap and development score in words; unknown ones are left out.

        >>> Epoch(3, 0.5, 60, 250.5, 219.2, 0.125, None, False).figures()
        'objective 250.5, gap 12.5 %'
        """
        known = {
            "objective {:.6g}": self.primal,
            "gap {:.3g} %": None if self.gap is None else 100 * self.gap,
            "dev {:.4f}": self.score,
        }
        return between.join(words.format(value) for words, value in known.items() if value is not None)


# Diverged training records values that are not finite.
_VALUES = dict.fromkeys(("primal", "dual"), optional(number(finite=False)))
_COURSE = {
    "epoch": whole(at_least=0),
    "seconds": number(),
    "oracle_calls": whole(at_least=0),
    **_VALUES,
    "gap": optional(number(at_least=0)),
    "certified": flag(),
}
EPOCH: Fields = {**_COURSE, "score": optional(number(finite=False))}
"""The fields of an `Epoch` in a header."""


class Round(NamedTuple):
    """One round of learning with latent variables (`core.latent`): completions were filled in, then w was found.

    `objective` is the non-convex one, at the weights after the round. `gap` is that of the round's convex problem,
    which took `epochs`. `changed` is the number of completions that differ at the new weights, `examples` the number of
    examples that took part: all, unless learning is self-paced.
    """

    round: int
    epochs: int
    seconds: float
    oracle_calls: int
    objective: float | None
    gap: float | None
    certified: bool
    changed: int
    examples: int
    score: float | None


ROUND: Fields = {
    **dict.fromkeys(("round", "epochs", "oracle_calls", "changed", "examples"), whole(at_least=0)),
    "seconds": number(),
    **dict.fromkeys(("objective", "score"), optional(number(finite=False))),
    "gap": optional(number(at_least=0)),
    "certified": flag(),
}
"""The fields of a `Round` in a header."""
SOLUTION = record(
    {**_COURSE, "trace": many(record(EPOCH)), "stopped": text()},
    {
        **dict.fromkeys(REMARKS, optional(text())),
        "rounds": many(record(ROUND)),
        "restarts": many(number(finite=False)),
    },
)
"""The summary of a solution in a header."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The weights that training returns, with their certificate.

    `stopped` says why training ended: ``"gap"``, ``"epochs"``, ``"seconds"``, ``"patience"`` or ``"interrupted"``;
    ``"precision"`` if rounding hides any further progress; with latent variables also ``"stable"``, ``"round_tol"`` or
    ``"rounds"`` (`core.latent`).
    `epoch` is the epoch that the weights come from: the best on the development data if there were any, else the last;
    early ones of a dual solver are averages up to that epoch (`core.loop.fit`).
    `cuts` are the final working sets of a dual solver; another run can start from them. `slacks` are those of every
    block at `w`, if a full pass was made there. `state` is the state of a solver that learns piece by piece, if it
    needs one to go on (`Solver.goes_on_from`). `doubt` says why nothing is proven although a full pass was made: a
    number that is not finite, or a lower bound that is useless or above the objective. `shortfall` says by how much the
    gap missed the one that was asked for. `about` says what the proof is about, or how it comes about, where
    examples have more to say than that decoding is exact.

    With latent variables `primal` is the non-convex objective, `dual` and `gap` belong to the last round's convex
    problem, and `restarts` holds the objectives of all runs; this solution is the best of them.
    """

    w: FloatVector
    trace: tuple[Epoch, ...]
    primal: float | None
    dual: float | None
    gap: float | None
    certified: bool
    stopped: str
    epoch: int
    oracle_calls: int
    seconds: float
    cuts: Any = field(default=None, repr=False, compare=False)
    doubt: str | None = None
    shortfall: str | None = None
    about: str | None = None
    slacks: FloatVector | None = field(default=None, repr=False, compare=False)
    rounds: tuple[Round, ...] = ()
    restarts: tuple[float, ...] = ()
    state: Any = field(default=None, repr=False, compare=False)

    def __eq__(self, other: object) -> bool:
        """Whether weights and summaries are equal; a dataclass would ask arrays for a truth value, which they lack."""
        if not isinstance(other, Solution):
            return NotImplemented
        return np.array_equal(self.w, other.w) and self.summary() == other.summary()

    __hash__ = None  # type: ignore[assignment]  # whoever compares by arrays has no hash, and mypy wants a function

    def summary(self) -> dict[str, Any]:
        """All fields except weights and cuts, in a form that JSON can hold."""
        arrays = ("w", "cuts", "slacks", "state")
        everything = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in arrays}
        for name in (*REMARKS, "rounds", "restarts"):
            if not everything[name]:
                del everything[name]
        rows = {name: [row._asdict() for row in everything[name]] for name in ("trace", "rounds") if name in everything}
        return everything | rows

    @classmethod
    def from_summary(cls, w: FloatVector, summary: Mapping[str, Any]) -> "Solution":
        """The solution with the weights `w` and this `summary`, which fits `SOLUTION`."""
        known = {each.name: summary[each.name] for each in fields(cls) if each.name in summary}
        rows = (Epoch(**{name: row[name] for name in Epoch._fields}) for row in summary["trace"])
        rounds = (Round(**{name: row[name] for name in Round._fields}) for row in summary.get("rounds", ()))
        restarts = tuple(summary.get("restarts", ()))
        return cls(w, **{**known, "trace": tuple(rows), "rounds": tuple(rounds), "restarts": restarts})

    @property
    def locality(self) -> str:
        """Whether the rounds of latent variables have come to rest, in words.

        A fixed point of the rounds is called a local optimum; it may also be a saddle point (Yuille & Rangarajan 2003).
        """
        n = len(self.rounds)
        if self.epoch < len(self.trace):
            return f"the weights that scored best in {n} rounds"
        if self.stopped not in ("stable", "round_tol"):
            return f"not yet a local optimum after {n} rounds"
        changed = self.rounds[-1].changed
        return f"a local optimum after {n} rounds: " + (
            f"{changed} completions still changed in the last one" if changed else "completions are stable"
        )

    def __str__(self) -> str:
        """One sentence for people.

        >>> import numpy as np
        >>> print(Solution(np.zeros(1), (), 2.0, 1.9, 0.05, True, "epochs", 7, 70, 0.25))
        stopped by epochs after 0.2 s and 70 oracle calls: objective 2, proven to be within 5% of the optimum
        """
        text = f"stopped by {self.stopped} after {self.seconds:.1f} s and {self.oracle_calls:,} oracle calls"
        if self.primal is not None:
            text += f": objective {self.primal:.6g}"
        if self.doubt is not None:
            text += f"; nothing is proven: {self.doubt}"
        if self.rounds:
            text += f", {self.locality}"
        if self.gap is not None:
            text += f", {'proven to be' if self.certified else 'perhaps'} within {percent(self.gap, '')} of the optimum"
            text += " with these" if self.rounds else ""
        text += f" ({self.about})" if self.about else ""
        if 0 < self.epoch < len(self.trace) and not self.rounds:
            text += f"; the weights are those of epoch {self.epoch} of {len(self.trace)}"
        return text


def percent(gap: float, blank: str = " ") -> str:
    """A proven share in per cent, rounded up, so as not to claim more than is proven.

    >>> percent(0.0099101), percent(0.0), percent(5e-324)
    ('0.992 %', '0 %', '1e-99 %')
    """
    if gap <= 0:
        return f"0{blank}%"
    value = min(max(100 * gap, 1e-99), 1e99)  # powers of 10 overflow beyond these
    scale = 10.0 ** (2 - floor(log10(value)))
    return f"{ceil(value * scale) / scale:.3g}{blank}%"


def relative_gap(primal: float | None, dual: float | None) -> float | None:
    """(P − D) / P, at least zero: an estimate of P may lie below D, a certified P only by rounding.

    None if either is missing or not finite.
    """
    if primal is None or dual is None or not (isfinite(primal) and isfinite(dual)):
        return None
    return max(primal - dual, 0.0) / primal if primal > 0 else 0.0


def proven_gap(primal: float, dual: float | None) -> tuple[float | None, str | None]:
    """The gap that P(w) of a full pass and a lower bound prove; None and the reason if they contradict each other.

    >>> proven_gap(2.0, 1.5), proven_gap(float("nan"), 1.0)
    ((0.25, None), (None, 'the objective is nan'))
    """
    if not isfinite(primal):
        return None, f"the objective is {primal}"
    if dual is not None and not isfinite(dual):
        return None, f"the lower bound is {dual}"
    if dual is not None and dual - primal > ROUNDING * max(abs(primal), abs(dual)):
        return None, f"the lower bound {dual:.6g} lies above the objective {primal:.6g}"
    return relative_gap(primal, dual), None
