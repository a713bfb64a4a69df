"""Progress of training: epochs, objective, gap, dev score, time spent and time left; and when kernels are compiled.

On a terminal it is a live bar, elsewhere a line per epoch. Training reports every oracle call, perhaps ten thousand
times a second, so `on_batch` is one look at the clock and one comparison unless a redraw is due. Without a bar the next
redraw is infinitely far off and rich is never imported.

Training reports nothing while a kernel is being compiled, so a thread redraws the bar then and its clock moves. Time
spent on compiling does not count as time spent on training.
"""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from math import inf, log
from threading import Event, RLock, Thread
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from widemargin._jit import now, seconds_compiling, watched_compiler
from widemargin.core.solution import Epoch
from widemargin.core.stop import Callback
from widemargin.report.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


SECONDS_PER_DRAW = 0.1
SECONDS_PER_LINE = 10.0  # while data are read
RECENT = 5  # epochs over which the fall of the gap is measured


class Progress(Callback):
    """Show the progress of training: a bar on a terminal, a line per epoch elsewhere.

    It is a callback of the training loop, for use in a `with` block: it then reports compiling even before training
    begins, and restores the terminal after an error.

    Parameters
    ----------
    tol : the relative gap at which training stops, if any; it improves the estimate of the time left
    prefix : text before the number of the epoch, such as which of several runs this is
    keep : whether the last figures stay on the terminal, and whether there is a line per epoch elsewhere
    enabled : False shows nothing
    stream : where to write; standard error unless given
    more : further figures, asked for with every redraw and every line
    unit : what an epoch is called
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
        unit: str = "epoch",
    ) -> None:
        self._tol = tol
        self._prefix = f"{prefix}: " if prefix else ""
        self._keep = keep
        self._enabled = enabled
        self._stream = stream
        self._more = more
        self._unit = unit
        self._bar: Bar | None = None
        self._lines: Lines | None = None
        self._drawing = RLock()
        self._next_draw = inf
        self._max_epochs: int | None = None
        self._n_examples = 0
        self._visited = 0
        self._recent: deque[Epoch] = deque(maxlen=RECENT)
        self._begin = self._since = 0.0
        self._run, self._round, self._before, self._last = "", "", 0, 0
        self._training, self._compiled = False, Event()
        self._reading, self._next_line = "", 0.0
        self._not_ours = 0.0  # seconds of compiling before the run
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        self._not_ours = seconds_compiling()
        stream = self._stream or sys.stderr
        if self._enabled and stream is not None:
            if not stream.isatty():
                self._lines = Lines(stream, self._prefix)
            self._opened.enter_context(watched_compiler(self._on_compiling))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._opened.close()
        self._compiled.set()
        if self._lines is not None:
            self._lines.end_compiling()
        self._close()

    def on_run(self, name: str) -> None:
        """One of several runs is about to begin."""
        self._run = f"{name}, "

    def on_read(self, n_examples: int, megabytes: float) -> None:
        """`n_examples` have been read so far; their arrays take `megabytes` on disk."""
        self._reading = f"read {n_examples:,} examples, {megabytes:,.0f} MB of arrays"
        if monotonic() >= self._next_line:
            self._tell_reading()
        if self._lines is None:
            self._open_and_draw()

    def _tell_reading(self) -> None:
        """Write a line about examples read since the last such line, if any."""
        if self._lines is not None and self._reading:
            self._lines.write(self._reading)
            self._reading, self._next_line = "", monotonic() + SECONDS_PER_LINE

    def on_start(self, max_epochs: int | None, n_examples: int) -> None:
        """Training begins: at most `max_epochs` epochs over `n_examples` blocks."""
        self._tell_reading()
        if self._training or self._reading:
            self._close()
        self._training, self._reading = True, ""
        self._max_epochs, self._n_examples, self._visited = max_epochs, n_examples, 0
        self._recent.clear()
        self._begin = self._since = now()
        self._round, self._before, self._last = "", 0, 0
        self._open_and_draw()

    def on_batch(self, visited: int) -> None:
        """`visited` blocks of the epoch are done."""
        if monotonic() >= self._next_draw:
            self._visited = visited
            self._draw()

    def on_round(self, number: int, most: int) -> None:
        """A round begins; its epochs count from 1."""
        self._round, self._since = f"round {number}/{most}, ", now()
        self._before = self._last
        self._recent.clear()
        self.on_batch(0)

    def on_epoch(self, epoch: Epoch) -> None:
        """An epoch is over."""
        self._last = epoch.epoch
        epoch = epoch._replace(epoch=epoch.epoch - self._before)
        self._recent.append(epoch)
        if self._lines is not None and self._keep:
            parts = (self._number(epoch.epoch), self._figures(), f"{epoch.seconds:.2f} s")
            self._lines.write("  ".join(part for part in parts if part))
        self.on_batch(0)

    def on_stop(self, reason: str) -> None:
        """Training is over: the last figures and the reason stay on the terminal."""
        self._visited = 0
        self._draw(reason)
        if self._lines is not None and self._keep:
            self._lines.write(f"{self._run}stopped by {reason} after {self._last} {self._unit}s")
        self._close()

    def _on_compiling(self, begins: bool) -> None:
        """The compiler begins or ends work on a kernel; called in the thread that needs the kernel."""
        self._compiled.set()
        if begins and self._lines is not None:
            self._lines.begin_compiling()
        elif begins:
            self._compiled = Event()
            Thread(target=self._move_clock, args=[self._compiled], daemon=True).start()

    def _move_clock(self, compiled: Event) -> None:
        while not compiled.wait(SECONDS_PER_DRAW):
            with self._drawing:
                if not compiled.is_set():
                    self._open_and_draw(compiling=True)

    def _open_and_draw(self, *, compiling: bool = False) -> None:
        stream = self._stream or sys.stderr
        with self._drawing:
            if self._bar is None and self._enabled and stream is not None and stream.isatty():
                self._bar = started_bar(stream, keep=self._keep)
            self._draw(compiling=compiling)

    def _close(self) -> None:
        with self._drawing:
            self._next_draw = inf
            if self._bar is not None:
                self._bar.live.transient |= not self._training  # it has shown compiling only
                self._bar.stop()
                self._bar = None
            self._training = False

    def _number(self, epoch: int) -> str:
        """The number of the epoch, and of the run and round that it belongs to."""
        most = self._max_epochs
        number = f"{self._unit} {epoch}" if most is None else f"{self._unit} {min(epoch, most)}/{most}"
        return f"{self._run}{self._round}{number}"

    def _draw(self, stopped: str = "", *, compiling: bool = False) -> None:
        with self._drawing:
            if self._bar is None:
                return
            share = min(self._visited / max(self._n_examples, 1), 1.0)
            done = self._recent[-1].epoch if self._recent else 0
            most = self._max_epochs
            compiled = seconds_compiling() - self._not_ours
            if self._reading and not self._training:
                name, time = self._reading, ""
            elif compiling:
                name, time = f"{self._run}compiling, first run only", clock(compiled)
            else:
                name, time = self._number(done if stopped else done + 1), clock(now() - self._begin)
                if stopped:
                    time += f" and {clock(compiled)} compiling" if compiled >= 1 else ""
                time += f", stopped by {stopped}" if stopped else self._time_left(done + share)
            self._bar.update(
                self._bar.task_ids[0],
                description=printable(self._prefix + name),
                # Without a known end the bar shows only the running epoch.
                total=1 if most is None else most,
                completed=share if most is None else done + share,
                figures=self._figures(),
                time=time,
                visible=True,
            )
            self._bar.refresh()
            self._next_draw = monotonic() + SECONDS_PER_DRAW
            self._not_ours += compiled if stopped else 0.0

    def _figures(self) -> str:
        figures = [self._recent[-1].figures("  ") if self._recent else "", "" if self._more is None else self._more()]
        return "  ".join(each for each in figures if each)

    def _time_left(self, done: float) -> str:
        """The time left, estimated from the time that the `done` epochs took."""
        epochs = epochs_left(self._recent, done, self._max_epochs, self._tol)
        if epochs is None or done == 0:
            return ""
        return f", {clock(epochs * (now() - self._since) / done)} left"


class Aside(Callback):
    """Shows auxiliary runs that come before the main one: a bar that is removed, or a line for each."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._keep = progress, progress._keep

    def on_run(self, name: str) -> None:
        """A run is about to begin."""
        self._progress.on_run(name)
        if self._progress._lines is not None:
            self._progress._lines.write(name)

    def on_read(self, n_examples: int, megabytes: float) -> None:
        """So many examples have been read."""
        self._progress.on_read(n_examples, megabytes)

    def on_start(self, max_epochs: int | None, n_examples: int) -> None:
        """Training begins."""
        self._progress._keep = False
        self._progress.on_start(max_epochs, n_examples)

    def on_batch(self, visited: int) -> None:
        """`visited` blocks of the epoch are done."""
        self._progress.on_batch(visited)

    def on_epoch(self, epoch: Epoch) -> None:
        """An epoch is over."""
        self._progress.on_epoch(epoch)

    def on_stop(self, reason: str) -> None:
        """Training is over."""
        self._progress.on_stop(reason)
        self._progress._keep = self._keep


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


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours and days where there are any."""
    return str(timedelta(seconds=round(seconds))).removeprefix("0:")


def started_bar(stream: TextIO, *, keep: bool) -> "Bar":
    """A bar on a terminal, which stays when it is stopped if it is to be kept."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[figures]}", markup=False),
        TextColumn("{task.fields[time]}", markup=False),
        console=Console(file=stream),
        auto_refresh=False,  # no thread beside the training, but while compiling
        redirect_stdout=False,  # what a program prints on standard output belongs there, even when that is a file
        expand=True,
        transient=not keep,
    )
    bar.add_task("", visible=False, figures="", time="")
    bar.start()
    return bar


BEGINS = "compiling kernels, first run only"


class Lines:
    """Writes lines that begin with `prefix` to a stream, until writing fails."""

    def __init__(self, stream: TextIO, prefix: str = "") -> None:
        self._stream: TextIO | None = stream
        self._prefix = prefix
        self._told = seconds_compiling()  # seconds of compiling already reported
        self._first = True

    def begin_compiling(self) -> None:
        """Write that kernels are being compiled, the first time only."""
        if self._first:
            self._first = False
            self._write(BEGINS)

    def end_compiling(self) -> None:
        """Write the seconds of compiling since the last report, if any."""
        seconds = seconds_compiling() - self._told
        if seconds > 0:
            self._told += seconds
            self._write(f"compiled kernels in {seconds:.1f} s")

    def write(self, line: str) -> None:
        """Write a line, after a report on compiling if one is due."""
        self.end_compiling()
        self._write(line)

    def _write(self, line: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(printable(f"{self._prefix}{line}") + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # the reader has gone; training continues
            self._stream = None
