"""When training stops, and who is told about it on the way."""

from collections.abc import Callable
from dataclasses import dataclass

from widemargin._types import FloatVector
from widemargin.core.checks import is_number
from widemargin.core.solution import Epoch
from widemargin.errors import WidemarginError

Score = Callable[[FloatVector], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """When to stop: as soon as one of the rules holds. None switches a rule off.

    Parameters
    ----------
    epochs : after this many epochs
    seconds : early enough that the closing certificate is finished within this time, too; compiling does not count
    gap : when the relative duality gap is proven to be at most this; if the oracle is not exact, when a full pass
        shows a gap of at most this
    patience : after this many epochs in a row without a better development score; those in which a dual solver still
        has a gap above 20 % do not count
    """

    epochs: int | None = 20
    seconds: float | None = None
    gap: float | None = 1e-2
    patience: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("seconds", 0), ("gap", 0), ("patience", 1)):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value >= least):
                raise WidemarginError(f"the stop rule {name} must be a number of at least {least}, not {value!r}")
        if self.epochs is None and self.seconds is None and self.gap is None and self.patience is None:
            raise WidemarginError(
                "without any stop rule training would never end; give epochs, seconds, gap or patience"
            )

    def is_close(self, gap: float, primal: float) -> bool:
        """Whether weights with this objective and relative gap are good enough."""
        return self.gap is not None and gap <= self.gap


class Callback:
    """Is told about training as it proceeds; override the methods you need.

    All methods are called in the thread that trains, which waits for them. An error that one of them raises ends
    training.
    """

    def on_run(self, name: str) -> None:
        """One of several runs is about to begin, such as ``restart 2/5`` or ``C 0.1``."""

    def on_read(self, n_examples: int, megabytes: float) -> None:
        """So many examples have been read, which take so many megabytes on disk (`tasks.out_of_core`)."""

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
