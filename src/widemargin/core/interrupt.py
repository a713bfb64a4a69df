"""How training hears that it should stop.

Ctrl-C sets an event, which the loop looks at before every oracle call, instead of raising an error at an arbitrary
moment. A program that answers signals itself, such as the command line, sets the event of `take_over`.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_taken_over: threading.Event | None = None


def take_over() -> threading.Event:
    """From now on training in the main thread ends when this event is set, and no longer listens for Ctrl-C."""
    global _taken_over  # noqa: PLW0603 — signals are a matter of the whole process
    _taken_over = _taken_over or threading.Event()
    return _taken_over


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that is set when training should stop; a second Ctrl-C raises as usual."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and _taken_over is not None:
        yield _taken_over
        return
    flag = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    ours = in_main_thread and before is signal.default_int_handler

    def set_flag(number: int, frame: FrameType | None) -> None:
        flag.set()
        signal.signal(signal.SIGINT, before)

    if ours:
        signal.signal(signal.SIGINT, set_flag)
    try:
        yield flag
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
