"""Progress as lines of text, where there is no terminal: a line per epoch, and when kernels are compiled."""

from typing import TextIO

from widemargin._jit import seconds_compiling
from widemargin.report.text import shown

BEGINS = "compiling kernels, first run only"


class Lines:
    """Writes lines to a stream, as long as there is somebody to read it; all begin with `prefix`."""

    def __init__(self, stream: TextIO, prefix: str = "") -> None:
        self._stream: TextIO | None = stream
        self._prefix = prefix
        self._told = seconds_compiling()  # the seconds of compiling that have been told of
        self._first = True

    def compiling(self) -> None:
        """Say that kernels are being compiled; those that come later are only counted."""
        if self._first:
            self._first = False
            self._write(BEGINS)

    def compiled(self) -> None:
        """Say how long kernels took to compile, if there are any of which this has not been said yet."""
        seconds = seconds_compiling() - self._told
        if seconds > 0:
            self._told += seconds
            self._write(f"compiled kernels in {seconds:.1f} s")

    def write(self, line: str) -> None:
        """Write a line; what was compiled before comes first."""
        self.compiled()
        self._write(line)

    def _write(self, line: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(shown(f"{self._prefix}{line}") + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # whoever could have read it has gone; training goes on
            self._stream = None
