"""How training is cut short, by Ctrl-C or a time limit: `Watch` is called before every oracle call.

Ctrl-C sets an event that the watch checks, instead of raising an error at an arbitrary moment. It raises
`KeyboardInterrupt` as usual only while a kernel is being compiled and nothing has been learnt yet: nothing is lost, and
nobody has to wait. A program that handles signals itself, such as the command line, sets the event of `take_over`.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType

_taken_over: threading.Event | None = None


class Interruption(threading.Event):
    """An event that Ctrl-C sets; `has_learnt` says whether there are weights worth keeping."""

    has_learnt = False


def keep_from_now_on(event: threading.Event) -> None:
    """Record that weights worth keeping exist, so that an interruption returns them."""
    if isinstance(event, Interruption):
        event.has_learnt = True


class Halt(Exception):  # noqa: N818 — it ends an epoch; nothing went wrong
    """Ends an epoch early, at a moment when the solver's state is consistent."""


class Watch:
    """Is called before every oracle call: the only place where training can be cut short.

    `visited` counts the examples of the running epoch.
    """

    def __init__(
        self, event: threading.Event, is_time_up: Callable[[], bool], on_batch: Sequence[Callable[[int], None]]
    ) -> None:
        self.event, self.is_time_up, self.on_batch = event, is_time_up, on_batch
        self.visited, self._aside = 0, False

    def __call__(self, n_examples: int) -> None:
        """Raise `Halt` if training should end; else count `n_examples` as visited."""
        if self.event.is_set():
            raise Halt("interrupted")
        if self._aside:
            return
        if self.visited:
            keep_from_now_on(self.event)
        if self.is_time_up():
            raise Halt("seconds")
        for tell in self.on_batch:
            tell(self.visited)
        self.visited += n_examples

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Make oracle calls that belong to no epoch, and that only Ctrl-C cuts short."""
        self._aside = True
        try:
            yield
        finally:
            self._aside = False


def take_over() -> threading.Event:
    """The event that, from now on, ends training in the main thread instead of Ctrl-C."""
    global _taken_over  # noqa: PLW0603 — signals are a matter of the whole process
    _taken_over = _taken_over or threading.Event()
    return _taken_over


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that is set when training should stop; call `keep_from_now_on` once there are weights worth keeping.

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
        if is_compiling() and not flag.has_learnt and not in_callback(frame):
            raise KeyboardInterrupt

    def answer_late(begins: bool) -> None:
        if begins and flag.is_set() and not flag.has_learnt:
            raise KeyboardInterrupt

    if ours:
        signal.signal(signal.SIGINT, answer)
    try:
        with watched_compiler(answer_late) if ours else nullcontext():
            yield flag
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
