"""Progress of work other than training: text that is read, then a known number of steps.

On a terminal it is a live bar, which does not stay; elsewhere a line for every tenth of the steps.
"""

import sys
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Self, TextIO

from widemargin._jit import now, watched_compiler
from widemargin.report.lines import Lines
from widemargin.report.progress import SECONDS_PER_DRAW, clock, started_bar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Steps:
    """Show progress in a `with` block, on standard error unless another stream is given."""

    def __init__(self, *, enabled: bool = True, stream: TextIO | None = None) -> None:
        self._enabled, self._stream = enabled, stream
        self._bar: Bar | None = None
        self._lines: Lines | None = None
        self._opened = ExitStack()
        self._next_draw, self._begin, self._told = 0.0, 0.0, 0

    def __enter__(self) -> Self:
        stream = self._stream or sys.stderr
        if self._enabled and stream is not None:
            if stream.isatty():
                self._bar = started_bar(stream, keep=False)
                self._opened.callback(self._bar.stop)
            else:
                self._lines = Lines(stream)
                self._opened.callback(self._lines.compiled)
            self._opened.enter_context(watched_compiler(self._on_compiling))
        self._begin = now()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def read(self, n_tokens: int) -> None:
        """So many tokens have been read; nobody knows how many there are."""
        self._draw(f"{n_tokens:,} tokens read", 0, None)
        self._begin = now()

    def tell(self, done: int, total: int) -> None:
        """So many steps of all are done."""
        seconds = now() - self._begin
        self._draw(f"{done:,} of {total:,} steps", done, total, f"{clock(seconds * (total - done) / done)} left")
        tenth = 10 * done // total
        if self._lines is not None and tenth > self._told:
            self._told = tenth
            self._lines.write(f"{10 * tenth} % of {total:,} steps  {seconds:.2f} s")

    def _draw(self, what: str, done: int, total: int | None, time: str = "") -> None:
        if self._bar is not None and monotonic() >= self._next_draw:
            self._next_draw = monotonic() + SECONDS_PER_DRAW
            bar, task = self._bar, self._bar.task_ids[0]
            bar.update(task, description=what, completed=done, total=total, time=time, visible=True)
            bar.refresh()

    def _on_compiling(self, begins: bool) -> None:
        if begins and self._lines is not None:
            self._lines.compiling()
        elif begins:
            self._draw("compiling, first run only", 0, None)
