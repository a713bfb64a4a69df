"""The protocol of solvers.

Hyper-parameters are the fields of a frozen dataclass; everything that changes is in a separate state.
"""

from dataclasses import field, is_dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from widemargin._types import FloatVector
from widemargin.core import Loss, Penalty
from widemargin.core.checks import check_declared, choice, number
from widemargin.core.cut_store import CutStore, Renumbering
from widemargin.core.evidence import Evidence
from widemargin.core.objective import Kind
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows

__all__ = ["DERIVED", "Movable", "Solver", "WarmStart", "choice", "later", "number", "start_weights"]


def later(size: str) -> Any:
    """A vector in a state that is empty at first; later its length is the problem's `size`, such as "n_weights"."""
    return field(default_factory=lambda: np.empty(0), metadata={"size": size})


DERIVED: Any = field(metadata={"derived": True})
"""A field of a state that every epoch computes anew from the other fields."""


class WarmStart(Protocol):
    """Cuts that one run leaves for the next: those of every block (`CutStore`), or planes (`solvers.planes`).

    `origin` is the problem that they belong to (`core.contents`); None if the caller vouches for them.
    """

    origin: Any

    def rebase(self, shifts: Rows, *, times_error: bool) -> "WarmStart":
        """The cuts after φ(gold) of every block has moved by its row of `shifts` (`CutStore.rebase`)."""

    def renumber(self, new: Renumbering) -> "WarmStart":
        """The cuts whose block and weights exist in another problem, too, in its numbering."""


class Solver(Protocol):
    """Consumes cuts. The training loop owns the clock, the stop rules and the certificate; a solver owns its steps.

    A solver derives from this class and declares what it can do; a mismatch is an error before the run starts.

    * `losses`, `penalties`, `kinds` : what it can minimise, its preferred loss first; `kinds` are kinds of objectives
    * `online` : it learns from each example as it comes, so `partial_fit` makes sense
    * `goes_on_from` : what `partial_fit` can go on from after `fit`: any weights; only the weights of this solver; or
      only its own state, which holds the length of the next steps
    * `descends` : it asks for values and gradients only, so P need not be convex
    * `heeds_errors` : the sizes of errors matter to it
    * `mixes` : its states are `Movable`, so that the weights of runs on several parts can be mixed (`parts`)
    * `usual_epochs` : how many epochs are enough where no gap tells when to stop; None for solvers that prove one

    `problem` is a `Problem`, or a sum over parts of the data (`parts.problem`).

    A state is a dataclass of arrays, numbers and `CutStore`s, so that a checkpoint can hold it. `later` declares the
    later length of an array that is empty at first. A state may have a method ``flaw(problem)``, which checks a state
    that was read from a checkpoint: it returns why no run on the problem can have it, or "". All arrays in the state of
    an `online` solver have a float for each weight, except those that are `DERIVED`.
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
        """Refuse values that `number` and `choice` do not allow."""
        own: Any = self
        if is_dataclass(own):
            check_declared(own, f"{{}} of {type(self).__name__}")

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

        `cuts` come from `warm_start` of another state, rebased if gold has changed since.
        """

    def count_as_epoch(self, problem: Any, state: Any, examples: int) -> None:
        """Treat the weights of a fresh state as the result of one epoch over this many examples."""
        return

    def epoch(self, problem: Any, state: Any, rng: np.random.Generator) -> None:
        """Visit every block once, changing `state` in place; it is consistent whenever `problem` is asked for cuts."""

    def inform(self, problem: Any, state: Any) -> None:
        """Use the problem's `slacks`, which are now those of all blocks at the state's weights.

        Called after a full pass that did not prove the gap it was made for. By default nothing happens.
        """
        return

    def weights(self, state: Any) -> FloatVector:
        """The weights of the state; may share memory with it."""

    def dual(self, problem: Any, state: Any) -> float | None:
        """The solver's own lower bound on the least P; None for solvers without one.

        It decides when to try a certificate, but proves nothing: a certificate is made of `evidence`.
        """
        return None

    def evidence(self, problem: Any, state: Any) -> Evidence | None:
        """The state's cuts summed up with their α; None for solvers without cuts, which `Problem.bounds` certifies."""
        return None

    def end_reason(self, problem: Any, state: Any) -> str:
        """Why the solver cannot go on after an epoch, in a word; empty if it can."""
        return ""

    def warm_start(self, problem: Any, state: Any) -> WarmStart | None:
        """Cuts or planes for a run on a similar problem to start from; None for solvers that start from weights."""
        return None

    def kept_cuts(self, state: Any) -> CutStore | None:
        """The cuts that the state keeps of every block; None for solvers that keep none."""
        return None

    def on_a_part(self) -> "Solver | None":
        """The solver for one part of the blocks while other parts change w, too (`parts`); None if there is none.

        Its epochs must change ``state.w`` and the α of ``state.store`` together, step by step, and never compute one
        from the other.
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
    """The weights where a primal solver starts: zero, a copy of `w`, or Σ αa of `cuts`."""
    if isinstance(cuts, CutStore):
        return cuts.combination(problem.n_weights)
    if cuts is not None:
        w = cuts.w
    return np.zeros(problem.n_weights) if w is None else w.copy()
