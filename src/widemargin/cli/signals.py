"""Signals and standard streams of the command line, put in order before anything slow is imported.

| a signal arrives | answer |
| --- | --- |
| while there is nothing to keep | the program ends at once; files are as they were |
| once something has been learnt | training ends at its next oracle call; what has been learnt is saved |
| for the second time | the program ends at once |

A separate thread answers signals, so that no answer waits for a long kernel or for the compiler. Answers never raise
errors in the main thread, because most code is not safe to interrupt at an arbitrary moment.
"""

import os
import signal
import sys
import threading
from contextlib import suppress

from widemargin._temporary import remove_all
from widemargin.core.interrupt import take_over

NAMES = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
SHOW_CURSOR = b"\r\x1b[?25h"  # progress bars hide it


class Signals:
    """The answers to signals; `keep` says whether there is something to keep."""

    def __init__(self) -> None:
        self.keep, self.number = False, int(signal.SIGINT)
        self._stop: threading.Event | None = None
        self._heard: list[int] = []

    @property
    def code(self) -> int:
        """The exit code of a program ended by the last signal."""
        return 128 + self.number

    @property
    def sentence(self) -> str:
        """The message if the program ends before there is anything to keep."""
        return f"{NAMES[signal.Signals(self.number).name]}; no file has been changed"

    def listen(self) -> None:
        """Answer signals from now on, except those that the parent process has set to be ignored (`nohup`)."""
        self._stop = take_over()
        reading, writing = os.pipe()
        if os.name == "posix":
            os.set_blocking(writing, False)
        known = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
        self._heard = [each for each in known if signal.getsignal(each) is not signal.SIG_IGN]
        for each in self._heard:
            signal.signal(each, lambda number, frame: None)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=[reading], daemon=True).start()

    def ignore(self) -> None:
        """Ignore signals once the work is done, so that none changes the exit code while Python cleans up."""
        for each in self._heard:
            signal.signal(each, signal.SIG_IGN)

    def _wait(self, reading: int) -> None:
        """Wait for signals: Python writes their numbers into the pipe, whatever other threads are doing."""
        while True:
            (number,) = os.read(reading, 1)
            if number in self._heard:
                self._answer(number)

    def _answer(self, number: int) -> None:
        self.number = number
        if self._stop is not None and self.keep and not self._stop.is_set():
            self._stop.set()
            return
        sentence = "ended at once by a second signal" if self.keep else self.sentence
        remove_all()
        with suppress(OSError, ValueError, AttributeError):
            stream = sys.stderr.fileno()
            os.write(stream, SHOW_CURSOR * os.isatty(stream) + f"error: {sentence}\n".encode())
        os._exit(self.code)


SIGNALS = Signals()


def open_streams() -> None:
    """Open closed standard streams, because the next file to be opened would take their number and get their output.

    Reading the new input and writing to the new output fails; messages to standard error are dropped.
    """
    streams = {"stdin": ("r", os.O_WRONLY), "stdout": ("w", os.O_RDONLY), "stderr": ("w", os.O_WRONLY)}
    for name, (mode, flags) in streams.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode))  # noqa: SIM115 — for as long as the program runs
