"""A live progress bar for training: epochs, objective, gap, dev score, time spent and time left.

Training reports every oracle call, perhaps ten thousand times a second, so `on_batch` is one look at the clock and one
comparison unless a redraw is due. When there is nothing to show, the next redraw is infinitely far off and rich is
never imported.
"""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from math import inf, log
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from widemargin.core.loop import Callback
from widemargin.core.solution import Epoch

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

SECONDS_PER_DRAW = 0.1
RECENT = 5  # epochs over which the fall of the gap is measured


class Progress(Callback):
    """Show the progress of training on a terminal.

    It is a callback of the training loop, to be used in a `with` block so that an error leaves the terminal in order.

    Parameters
    ----------
    tol
        The relative gap at which training stops, if any; it improves the estimate of the time left.
    prefix
        Text before the number of the epoch, such as which of several runs this is.
    keep
        Whether the last figures stay on the terminal.
    enabled
        False shows nothing. Nothing is shown either if `stream` is not a terminal.
    stream
        Where to write; standard error unless given.
    more
        Further figures, asked for with every redraw.
    """

    def __init__(
        self,
        *,
        tol: float | None = None,
        prefix: str = "",
        keep: bool = True,
        enabled: bool = True,
        stream: TextIO | None = None,
        more: Callable[[], str] | None = None,
    ) -> None:
        self._tol = tol
        self._prefix = f"{prefix}: " if prefix else ""
        self._keep = keep
        self._enabled = enabled
        self._stream = stream
        self._more = more
        self._bar: Bar | None = None
        self._next_draw = inf
        self._max_epochs: int | None = None
        self._n_examples = 0
        self._visited = 0
        self._recent: deque[Epoch] = deque(maxlen=RECENT)
        self._begin = self._since = 0.0
        self._round, self._before, self._last = "", 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()

    def on_start(self, max_epochs: int | None, n_examples: int) -> None:
        """Training begins: at most `max_epochs` epochs over `n_examples` blocks."""
        self._close()
        self._max_epochs, self._n_examples, self._visited = max_epochs, n_examples, 0
        self._recent.clear()
        self._begin = self._since = monotonic()
        self._round, self._before, self._last = "", 0, 0
        stream = self._stream or sys.stderr
        if self._enabled and stream is not None and stream.isatty():
            self._bar = _started_bar(stream, keep=self._keep)
            self._draw(self._bar)

    def on_batch(self, visited: int) -> None:
        """`visited` blocks of the epoch are done."""
        if monotonic() >= self._next_draw and self._bar is not None:
            self._visited = visited
            self._draw(self._bar)

    def on_round(self, number: int, most: int) -> None:
        """A round begins, whose epochs count anew."""
        self._round, self._since = f"round {number}/{most}, ", monotonic()
        self._before = self._last
        self._recent.clear()
        self.on_batch(0)

    def on_epoch(self, epoch: Epoch) -> None:
        """An epoch is over."""
        self._last = epoch.epoch
        epoch = epoch._replace(epoch=epoch.epoch - self._before)
        self._recent.append(epoch)
        self.on_batch(0)

    def on_stop(self, reason: str) -> None:
        """Training is over: the last figures and the reason stay on the terminal."""
        if self._bar is not None:
            self._visited = 0
            self._draw(self._bar, reason)
        self._close()

    def _close(self) -> None:
        self._next_draw = inf
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self, bar: "Bar", stopped: str = "") -> None:
        share = min(self._visited / max(self._n_examples, 1), 1.0)
        done = self._recent[-1].epoch if self._recent else 0
        most = self._max_epochs
        running = done if stopped else done + 1
        bar.update(
            bar.task_ids[0],
            description=self._prefix
            + self._round
            + (f"epoch {running}" if most is None else f"epoch {min(running, most)}/{most}"),
            # Without a known end the bar shows only the running epoch.
            total=1 if most is None else most,
            completed=share if most is None else done + share,
            figures="  ".join([_figures(self._recent[-1]) if self._recent else "", self._more() if self._more else ""]),
            time=_clock(monotonic() - self._begin)
            + (f", stopped by {stopped}" if stopped else self._left(done + share)),
            visible=True,
        )
        bar.refresh()
        self._next_draw = monotonic() + SECONDS_PER_DRAW

    def _left(self, done: float) -> str:
        """The time left, estimated from the time that the `done` epochs took."""
        epochs = epochs_left(self._recent, done, self._max_epochs, self._tol)
        if epochs is None or done == 0:
            return ""
        return f", {_clock(epochs * (monotonic() - self._since) / done)} left"


def epochs_left(trace: Sequence[Epoch], done: float, max_epochs: int | None, tol: float | None) -> float | None:
    """How many epochs remain after `done`, which counts the running one in part; None if not known yet.

    Training ends after `max_epochs`, or before if the gap goes on falling by the same factor per epoch as it did over
    `trace` and so reaches `tol`.

    >>> halving = [Epoch(n, n, n, 1.0, 0.0, 0.5**n, None, False) for n in (1, 2, 3)]
    >>> epochs_left(halving, 3.25, max_epochs=10, tol=1 / 64)
    2.75
    >>> epochs_left(halving, 3.25, max_epochs=5, tol=1 / 64)
    1.75
    """
    ends: list[float] = [] if max_epochs is None else [max_epochs]
    gaps = [(epoch.epoch, epoch.gap) for epoch in trace if epoch.gap]
    if tol and len(gaps) > 1:
        (first, high), (last, low) = gaps[0], gaps[-1]
        if low < high:
            ends.append(last + (last - first) * log(low / tol) / log(high / low))
    return max(min(ends) - done, 0.0) if ends else None


def _figures(epoch: Epoch) -> str:
    figures = []
    if epoch.primal is not None:
        figures.append(f"objective {epoch.primal:.6g}")
    if epoch.gap is not None:
        figures.append(f"gap {100 * epoch.gap:.3g} %")
    if epoch.score is not None:
        figures.append(f"dev {epoch.score:.4f}")
    return "  ".join(figures)


def _clock(seconds: float) -> str:
    """Minutes and seconds, with hours and days where there are any."""
    return str(timedelta(seconds=round(seconds))).removeprefix("0:")


def _started_bar(stream: TextIO, *, keep: bool) -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[figures]}"),
        TextColumn("{task.fields[time]}"),
        console=Console(file=stream),
        auto_refresh=False,  # no thread beside the training
        redirect_stdout=False,  # what a program prints on standard output belongs there, even when that is a file
        expand=True,
        transient=not keep,
    )
    bar.add_task("", visible=False, figures="", time="")
    bar.start()
    return bar
