"""The protocol of solvers.

Hyper-parameters are the fields of a frozen dataclass; everything that changes is in a separate state.
"""

from dataclasses import Field, field, fields, is_dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from widemargin._types import FloatVector
from widemargin.core.checks import is_number
from widemargin.core.choices import Loss, Penalty
from widemargin.core.cut_store import CutStore, Renumbering
from widemargin.core.evidence import Evidence
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows
from widemargin.errors import WidemarginError


def number(
    default: float | None,
    *,
    least: float = 0.0,
    above: float | None = None,
    most: float = np.inf,
    below: float = np.inf,
    may_be_infinite: bool = False,
) -> Any:
    """A hyper-parameter with a range: `least` ≤ value ≤ `most`, `above` < value < `below`.

    It is checked when a solver is made. Only if it `may_be_infinite` ∞ is in its range.
    """
    limits = {"least": least, "above": above, "most": most, "below": below, "may_be_infinite": may_be_infinite}
    return field(default=default, metadata=limits)


def choice(default: str, *others: str) -> Any:
    """A hyper-parameter that is one of some words; it is checked when a solver is made."""
    return field(default=default, metadata={"choices": (default, *others)})


def later(size: str) -> Any:
    """A vector in a state that is empty at first, and then has the size of the problem named, such as "n_weights"."""
    return field(default_factory=lambda: np.empty(0), metadata={"size": size})


DERIVED: Any = field(metadata={"derived": True})
"""A field of a state that every epoch works out anew from the others, which are up to date between two epochs."""


class Carried(Protocol):
    """What one run leaves for the next: the cuts of every block (`CutStore`), or planes (`solvers.planes`).

    `origin` is the problem that they belong to (`core.contents`); None if whoever passes them on vouches for them.
    """

    origin: Any

    def rebased(self, shifts: Rows, *, times_error: bool) -> "Carried":
        """The same after φ(gold) of every block has moved by its row of `shifts` (`CutStore.rebased`)."""

    def renumbered(self, new: Renumbering) -> "Carried":
        """The cuts whose blocks and weights are those of another problem, too, as it numbers them."""


class Solver(Protocol):
    """Consumes cuts. The training loop owns the clock, the stop rules and the certificate; a solver owns its steps.

    A solver derives from this class and declares what it can do; a mismatch is an error before the run starts.

    `losses`, `penalties`, `kinds` : what it can minimise, its preferred loss first; `kinds` are kinds of objectives
    `online` : it learns from each example as it comes, so `partial_fit` makes sense
    `goes_on_from` : what `partial_fit` can go on from after `fit`: any weights; only its own, since the length of its
        steps does not depend on the others; or only its own state, which then says how long the steps are
    `descends` : it asks for values and gradients only, so P need not be convex
    `heeds_errors` : how large errors are makes a difference to it
    `mixes` : its states are `Movable`, so that the weights of runs on several parts can be mixed (`parts`)
    `usual_epochs` : how many epochs are enough where no gap tells when to stop; None for solvers that prove one

    `problem` is a `Problem`, or for solvers that work on several parts of the data their sum (`parts.problem`).

    A state is a dataclass of arrays, numbers and `CutStore`s, so that a checkpoint can hold it. `later` declares how
    long an array may become that is empty at first. If the state has a method ``flaw(problem)``, it says why what was
    read from a checkpoint is no state of a run on the problem, in words; empty if it may be one. The state of an
    `online` solver has a float for each weight in all its arrays, but for those that are `DERIVED`.
    """

    losses: ClassVar[tuple[Loss, ...]] = ("squared_hinge", "hinge")
    penalties: ClassVar[tuple[Penalty, ...]] = ("l2",)
    kinds: ClassVar[tuple[Kind, ...]] = ("maximum",)
    online: ClassVar[bool] = False
    goes_on_from: ClassVar[Literal["weights", "own weights", "own state"]] = "weights"
    descends: ClassVar[bool] = False
    usual_epochs: ClassVar[int | None] = None
    mixes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse values outside of what `number` and `choice` declare."""
        own: Any = self
        for each in fields(own) if is_dataclass(own) else ():
            if "least" in each.metadata:
                _check_number(type(self).__name__, each, getattr(self, each.name))
            elif getattr(self, each.name) not in each.metadata.get("choices", (getattr(self, each.name),)):
                known, given = ", ".join(each.metadata["choices"]), getattr(self, each.name)
                raise WidemarginError(f"{each.name} of {type(self).__name__} must be one of {known}, not {given!r}")

    @property
    def requires(self) -> tuple[type, ...]:
        """The protocols (`core.examples`) that the examples must offer beyond decoding; may depend on parameters."""
        return ()

    @property
    def requires_of_objective(self) -> tuple[type, ...]:
        """The protocols (`core.objective`) that the objective must offer beyond `cuts`; may depend on parameters."""
        return ()

    @property
    def heeds_errors(self) -> bool:
        """Whether the size of errors makes a difference; it may depend on parameters."""
        return True

    def start(self, problem: Any, w: FloatVector | None = None, cuts: Any = None) -> Any:
        """A fresh state: near the weights `w` if given, or at the dual point that `cuts` hold if given.

        `cuts` are what `carried` returned for another state, rebased if gold has changed since.
        """

    def seasoned(self, problem: Any, state: Any, examples: int) -> None:
        """Count the weights of a fresh state as the result of one epoch over so many examples, more than there are."""
        return

    def epoch(self, problem: Any, state: Any, rng: np.random.Generator) -> None:
        """Visit every block once, changing `state` in place; it is consistent whenever `problem` is asked for cuts."""

    def inform(self, problem: Any, state: Any) -> None:
        """Called when the problem's `slacks` are those at the state's weights, of all blocks that were visited before.

        That is so after a pass that should have proven a gap but did not; by default, nothing is made of it.
        """
        return

    def weights(self, state: Any) -> FloatVector:
        """The weights of the state; may share memory with it."""

    def dual(self, problem: Any, state: Any) -> float | None:
        """A lower bound on P at every w, as far as the solver knows; None for solvers without one.

        It decides when to stop, and proves nothing: a certificate is made of `evidence`.
        """
        return None

    def evidence(self, problem: Any, state: Any) -> Evidence | None:
        """The α and cuts of the state, summed up; None for solvers without, which are certified by `Problem.bounds`."""
        return None

    def ended(self, problem: Any, state: Any) -> str:
        """Why the solver itself has come to an end after an epoch, in a word; empty if it can go on."""
        return ""

    def carried(self, problem: Any, state: Any) -> Carried | None:
        """Cuts or planes for a run on a similar problem to start from; None for solvers that start from weights."""
        return None

    def known(self, state: Any) -> CutStore | None:
        """The cuts that the state keeps of every block; None for solvers that keep none."""
        return None

    def on_a_part(self) -> "Solver | None":
        """The solver for one part of the blocks while others change w, too (`parts`); None if it cannot do that.

        It can if its epochs keep ``state.w`` and the α of ``state.store`` together, step by step, and never compute the
        one from the other.
        """
        return None


@runtime_checkable
class Movable(Protocol):
    """A state of a primal solver that can go on from other weights, so that runs on several parts can be mixed."""

    def last(self) -> FloatVector:
        """w after the last step."""

    def move(self, w: FloatVector) -> None:
        """Go on from `w`; rates and averages stay."""


def start_weights(problem: Problem, w: FloatVector | None, cuts: Any) -> FloatVector:
    """The weights where a primal solver starts: zero, a copy of `w`, or what `cuts` combine to."""
    if isinstance(cuts, CutStore):
        return cuts.combination(problem.n_weights)
    if cuts is not None:
        w = cuts.w
    return np.zeros(problem.n_weights) if w is None else w.copy()


def _check_number(solver: str, parameter: "Field[Any]", value: Any) -> None:
    if value is None and parameter.default is None:
        return
    whole, about = "int" in str(parameter.type), parameter.metadata
    if about["may_be_infinite"] and isinstance(value, float | np.floating) and value == np.inf:
        return
    fits = is_number(value) and (not whole or isinstance(value, int | np.integer))
    low = fits and (value >= about["least"] if about["above"] is None else value > about["above"])
    if not (low and value <= about["most"] and value < about["below"]):
        least = f"at least {about['least']:g}" if about["above"] is None else f"more than {about['above']:g}"
        limit = f" and at most {about['most']:g}" if np.isfinite(about["most"]) else ""
        limit += f" and less than {about['below']:g}" if np.isfinite(about["below"]) else ""
        what = "whole number" if whole else "number"
        raise WidemarginError(f"{parameter.name} of {solver} must be a {what} of {least}{limit}, not {value!r}")
