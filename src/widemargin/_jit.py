"""The one kernel decorator: how the library's hot loops are compiled, and where the compiled code is kept.

The cache is in the user's own folder, which also serves installations that cannot be written to. `_kernel_cache` says
what is in it, `_compiler` how it is made; where that does not work with the Numba that is installed, or
`WIDEMARGIN_COMPILER=plain` says so, `_plain` makes it.
"""

import gc
import hashlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from types import FrameType, ModuleType
from typing import Any, ParamSpec, TypeVar, cast

import llvmlite
import numba
import numpy as np
from numba import config
from numba.core import event as events
from numba.core.compiler_lock import global_compiler_lock

from widemargin._kernel_cache import KernelCache, checked_content, private_directory, write_content
from widemargin.errors import WidemarginError

P = ParamSpec("P")
R = TypeVar("R")

LOG = logging.getLogger(__name__)
WAYS = ("layered", "plain", "not kept")
"""How kernels are compiled, from the best way to the one that always works: by `_compiler`, or by `_plain` and kept in
the cache or not."""


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


def _cache_directory() -> Path | None:
    """The folder of compiled kernels; None if there can be none, so that every process compiles them anew."""
    try:
        base = Path(config.CACHE_DIR).absolute() if config.CACHE_DIR else _user_cache() / "widemargin"
    except RuntimeError:  # no home directory
        return None
    return private_directory(base / "widemargin-kernels")


_DIRECTORY = _cache_directory()


def _compile(way: str, function: Callable[..., Any], directory: Path | None) -> Any:
    """A function compiled in one of the `WAYS`."""
    compiler: ModuleType
    if way == "layered":
        from widemargin import _compiler

        compiler = _compiler
    else:
        from widemargin import _plain

        compiler = _plain
    compiled = compiler.compile_kernel(function)
    if directory is not None and way != "not kept":
        compiled._cache = KernelCache(function, directory, compiler)
    return compiled


def _way(directory: Path | None) -> str:
    """The best of the `WAYS` that works here; what was found once is remembered beside the kernels."""
    wanted = os.environ.get("WIDEMARGIN_COMPILER", "")
    if wanted not in ("", "plain"):
        raise WidemarginError(f"WIDEMARGIN_COMPILER is {wanted!r}; it may be 'plain', or not be set")
    ways, remembered = WAYS[1:] if wanted else WAYS, None
    if directory is not None:
        remembered = directory / f"compiler-{_test_digest(wanted)}.kernel"
        found = (checked_content(remembered) or b"").decode()
        if found in ways:
            return found
    way = _first_working(ways, directory)
    if remembered is not None:
        with suppress(OSError):  # then it is tried again
            write_content(remembered, way.encode())
    return way


def _test_digest(wanted: str) -> str:
    """A digest of all that the answer to `_way` depends on."""
    folder, names = Path(__file__).parent, ("_compiler", "_plain", "_kernel_cache", "_self_test", "_jit")
    versions = f"{numba.__version__} {llvmlite.__version__} {np.__version__} {sys.version} {wanted}"
    sources = b"".join((folder / f"{name}.py").read_bytes() for name in names)
    return hashlib.sha256(versions.encode() + sources).hexdigest()[:16]


def _first_working(ways: Sequence[str], directory: Path | None) -> str:
    """The first of the `ways` that passes the test, or the last."""
    from widemargin._self_test import failure

    costs = {"layered": "kernels take about twice as long to compile", "plain": "every process compiles its kernels"}
    for way in ways[:-1]:
        reason = failure(partial(_compile, way), directory)
        if not reason:
            return way
        LOG.warning("with Numba %s %s (%s)", numba.__version__, costs[way], reason)
    return ways[-1]


_WAY = "" if config.DISABLE_JIT else _way(_DIRECTORY)


def kernel_directory() -> Path | None:
    """The folder of compiled kernels; None if they are not kept, or not compiled at all."""
    return None if config.DISABLE_JIT or _WAY == "not kept" else _DIRECTORY


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` without the GIL, cached across processes."""
    if config.DISABLE_JIT:
        return function
    return cast("Callable[P, R]", _compile(_WAY, function, _DIRECTORY))


def in_callback(frame: FrameType | None) -> bool:
    """Whether an error raised here would be lost, or would spoil the compiler for good.

    LLVM calls Python when it has made machine code, and loses errors raised there. Numba reads its registries only
    once: if it is interrupted while reading, the rest is never read.
    """
    while frame is not None:
        name = frame.f_code.co_name
        reads = name in ("install_registry", "refresh") and frame.f_globals.get("__name__", "").startswith("numba.")
        if reads or name.startswith("_raw_object_cache"):
            return True
        frame = frame.f_back
    return False


if hasattr(os, "register_at_fork"):
    # A fork waits until no thread compiles: else the child would wait for ever for a thread it does not have.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


class _CtrlC:
    """Ctrl-C while a kernel is being compiled: an error that a callback would lose is raised when the kernel is done.

    It only replaces Python's own handler, never that of a program.
    """

    def __init__(self) -> None:
        self._ours = self._pressed = False

    def begin(self) -> None:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._ours, self._pressed = True, False
            signal.signal(signal.SIGINT, self._answer)

    def end(self) -> None:
        if self._ours:
            self._ours = False
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self._pressed:
                raise KeyboardInterrupt

    def _answer(self, number: int, frame: FrameType | None) -> None:
        if not in_callback(frame):
            raise KeyboardInterrupt
        self._pressed = True


class _Collector:
    """Keeps Python from searching for garbage while a kernel is being compiled: that took a seventh of the time.

    The compiler makes a great many objects and keeps most of them until it is done, so a search finds little. A program
    that has switched the collector off finds it off.
    """

    def __init__(self) -> None:
        self._was_on = False

    def begin(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def end(self) -> None:
        if self._was_on:
            gc.enable()


class _Clock(events.Listener):  # type: ignore[misc]
    """Counts the seconds that kernels took to compile; those compiled on behalf of others are counted once."""

    def __init__(self) -> None:
        self.watchers: list[Callable[[bool], None]] = []
        self._depth, self._ctrl_c, self._collector = 0, _CtrlC(), _Collector()
        self._counted: tuple[float, float | None] = 0.0, None  # the seconds before, and when the running ones began

    @property
    def seconds(self) -> float:
        """The seconds so far, those of a kernel that is being compiled included."""
        before, begin = self._counted
        return before if begin is None else before + perf_counter() - begin

    @property
    def begin(self) -> float | None:
        """When the kernel that is being compiled was begun; None if there is none."""
        return self._counted[1]

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._counted = self.seconds, perf_counter()
            self._collector.begin()
            self._ctrl_c.begin()
            self._tell(True)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            before, self._counted = self._counted[0], (self.seconds, None)
            self._collector.end()
            self._tell(False)
            if LOG.isEnabledFor(logging.DEBUG):
                function = event.data["dispatcher"].py_func
                name = f"{function.__module__}.{function.__qualname__}"
                LOG.debug("compiled %s in %.2f s", name, self.seconds - before)
            self._ctrl_c.end()

    def _tell(self, begins: bool) -> None:
        for watcher in list(self.watchers):
            watcher(begins)


_clock = _Clock()
events.register("numba:compile", _clock)


def seconds_compiling() -> float:
    """The seconds that this process has spent on compiling kernels; loading them from the cache does not count."""
    return _clock.seconds


def now() -> float:
    """A clock that stands still while kernels are compiled: the first run is not cut short for being the first."""
    return perf_counter() - seconds_compiling()


def is_compiling() -> bool:
    """Whether a kernel is being compiled at this moment."""
    return _clock.begin is not None


@contextmanager
def watched_compiler(watcher: Callable[[bool], None]) -> Iterator[None]:
    """Tell `watcher`, in the thread that compiles, when a kernel begins to be compiled (True) and when it is done."""
    _clock.watchers.append(watcher)
    try:
        yield
    finally:
        _clock.watchers.remove(watcher)
