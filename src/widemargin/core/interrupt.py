"""How training hears that it should stop.

Ctrl-C sets an event, which the loop looks at before every oracle call, instead of raising an error at an arbitrary
moment. Only while a kernel is being compiled and nothing has been learnt yet, it raises `KeyboardInterrupt` as usual:
nothing is lost, and nobody has to wait. A program that answers signals itself, such as the command line, sets the event
of `take_over`.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

_taken_over: threading.Event | None = None


class Interruption(threading.Event):
    """An event that Ctrl-C sets, and whether there is something to keep by then."""

    learnt = False


def learnt(event: threading.Event) -> None:
    """From now on there is something to keep when the event is set."""
    if isinstance(event, Interruption):
        event.learnt = True


def take_over() -> threading.Event:
    """From now on training in the main thread ends when this event is set, and no longer listens for Ctrl-C."""
    global _taken_over  # noqa: PLW0603 — signals are a matter of the whole process
    _taken_over = _taken_over or threading.Event()
    return _taken_over


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that is set when training should stop; whoever learns something says so by `learnt`.

    A second Ctrl-C raises as usual.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and _taken_over is not None:
        yield _taken_over
        return
    # The command line listens to signals before it imports anything slow.
    from widemargin._jit import in_callback, is_compiling, watched_compiler

    flag = Interruption()
    before = signal.getsignal(signal.SIGINT)
    ours = in_main_thread and before is signal.default_int_handler

    def answer(number: int, frame: FrameType | None) -> None:
        flag.set()  # other threads may be training, too
        signal.signal(signal.SIGINT, before)
        if is_compiling() and not flag.learnt and not in_callback(frame):
            raise KeyboardInterrupt

    def answer_late(begins: bool) -> None:
        if begins and flag.is_set() and not flag.learnt:
            raise KeyboardInterrupt

    if ours:
        signal.signal(signal.SIGINT, answer)
    try:
        with watched_compiler(answer_late) if ours else nullcontext():
            yield flag
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
