"""Progress without a terminal: a line of text per epoch, and lines about compiling."""

from typing import TextIO

from widemargin._jit import seconds_compiling
from widemargin.report.text import shown

BEGINS = "compiling kernels, first run only"


class Lines:
    """Writes lines that begin with `prefix` to a stream, until writing fails."""

    def __init__(self, stream: TextIO, prefix: str = "") -> None:
        self._stream: TextIO | None = stream
        self._prefix = prefix
        self._told = seconds_compiling()  # seconds of compiling already reported
        self._first = True

    def compiling(self) -> None:
        """Write that kernels are being compiled, the first time only."""
        if self._first:
            self._first = False
            self._write(BEGINS)

    def compiled(self) -> None:
        """Write the seconds of compiling since the last report, if any."""
        seconds = seconds_compiling() - self._told
        if seconds > 0:
            self._told += seconds
            self._write(f"compiled kernels in {seconds:.1f} s")

    def write(self, line: str) -> None:
        """Write a line, after a report on compiling if one is due."""
        self.compiled()
        self._write(line)

    def _write(self, line: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(shown(f"{self._prefix}{line}") + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # the reader has gone; training continues
            self._stream = None
