"""When training stops, and who is told about it on the way."""

from collections.abc import Callable
from dataclasses import dataclass

from widemargin._types import FloatVector
from widemargin.core.checks import check_declared, number
from widemargin.core.solution import Epoch, percent, relative_gap
from widemargin.errors import WidemarginError

Score = Callable[[FloatVector], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """When to stop: as soon as one of the rules holds. None switches a rule off.

    Parameters
    ----------
    epochs : after this many epochs
    seconds : early enough to finish the closing certificate within this time; compiling does not count
    gap : when the relative duality gap is proven to be at most this; if the oracle is not exact, when a full pass
        shows a gap of at most this
    patience : after this many epochs in a row without a better development score; epochs of a dual solver with a gap
        above 20 % do not count
    """

    epochs: int | None = number(20)
    seconds: float | None = number(None)
    gap: float | None = number(1e-2)
    patience: int | None = number(None, least=1)

    def __post_init__(self) -> None:
        check_declared(self, "the stop rule {}")
        if self.epochs is None and self.seconds is None and self.gap is None and self.patience is None:
            raise WidemarginError(
                "without any stop rule training would never end; give epochs, seconds, gap or patience"
            )

    def is_close(self, gap: float, primal: float) -> bool:
        """Whether weights with this objective and relative gap are good enough."""
        return self.gap is not None and gap <= self.gap

    def suffices(self, primal: float | None, dual: float | None) -> bool:
        """Whether these values would be good enough if they were proven."""
        gap = relative_gap(primal, dual)
        return gap is not None and primal is not None and self.is_close(gap, primal)

    def is_missed_by(self, gap: float | None) -> bool:
        """Whether this gap is larger than the one that was asked for."""
        return self.gap is not None and (gap is None or gap > self.gap)

    def shortfall(self, gap: float | None, epoch: int) -> str | None:
        """By how much a gap misses the one that was asked for, in words; None if it does not."""
        if self.gap is None or not self.is_missed_by(gap):
            return None
        reached = "unknown" if gap is None else percent(gap, "")
        return f"the gap is {reached} after {epoch} epochs, above the {percent(self.gap, '')} wanted"

    def reason(self, row: Epoch | None, *, exact: bool = True, waited: int = 0, own: str = "") -> str:
        """The rule that holds after the epoch of `row` (None before the first); empty if training goes on.

        `waited` counts epochs in a row without a better score, and `own` is why the solver itself cannot go on. With an
        inexact oracle no gap is ever proven, so the gap of a full pass is enough.
        """
        if row is None:
            return "epochs" if self.epochs == 0 else ""
        known = row.gap is not None and row.primal is not None and (row.certified or not exact)
        if known and self.is_close(row.gap or 0.0, row.primal or 0.0):
            return "gap"
        if self.patience is not None and waited >= self.patience:
            return "patience"
        return own or ("epochs" if self.epochs is not None and row.epoch >= self.epochs else "")

    def check_that_it_ends(self, *, provable: bool, has_score: bool) -> None:
        """Raise if no rule can ever hold: a gap must be provable, and patience needs a score."""
        rules = (self.epochs, self.seconds, self.gap if provable else None, self.patience if has_score else None)
        if all(rule is None for rule in rules):
            raise WidemarginError(
                "training would never end: the stop rule gap needs a solver with a dual and an exact decoder, "
                "patience a development score; give epochs or seconds"
            )


class Callback:
    """Is told about training as it proceeds; override the methods you need.

    All methods are called in the thread that trains, which waits for them. An error that one of them raises ends
    training.
    """

    def on_run(self, name: str) -> None:
        """One of several runs is about to begin, such as ``restart 2/5`` or ``C 0.1``."""

    def on_read(self, n_examples: int, megabytes: float) -> None:
        """`n_examples` have been read so far, and take this many megabytes on disk (`tasks.out_of_core`)."""

    def on_start(self, max_epochs: int | None, n_examples: int) -> None:
        """Training begins."""

    def on_batch(self, visited: int) -> None:
        """The oracle is about to be called; `visited` examples of this epoch are done."""

    def on_epoch(self, epoch: Epoch) -> None:
        """An epoch is over."""

    def on_round(self, number: int, most: int) -> None:
        """A round of learning with latent variables begins, one of at most `most` (`core.latent`)."""

    def on_stop(self, reason: str) -> None:
        """Training is over."""
