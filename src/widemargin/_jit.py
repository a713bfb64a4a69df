"""The one kernel decorator: how the library's hot loops are compiled, and where the compiled code is kept.

The cache is in the user's own folder, which also serves installations that cannot be written to. `_kernel_cache` says
what is in it, `_compiler` how it is made.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event as numba_event

from widemargin._compiler import Kernel
from widemargin._kernel_cache import KernelCache, private_directory

P = ParamSpec("P")
R = TypeVar("R")

config: Any = numba.config


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


def kernel_directory() -> Path | None:
    """The folder of compiled kernels; None if they are not kept, or not compiled at all."""
    return None if config.DISABLE_JIT else _DIRECTORY


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` without the GIL, cached across processes."""
    if config.DISABLE_JIT:
        return function
    compiled = Kernel(function)
    if _DIRECTORY is not None:
        compiled._cache = KernelCache(function, _DIRECTORY)
    return cast("Callable[P, R]", compiled)


events: Any = numba_event


class _Clock(events.Listener):  # type: ignore[misc]  # Numba has no types
    """Counts the seconds that kernels took to compile; those compiled on behalf of others are counted once."""

    def __init__(self) -> None:
        self.seconds, self.depth, self.begin = 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:
        if not self.depth:
            self.begin = perf_counter()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if not self.depth:
            self.seconds += perf_counter() - self.begin


_clock = _Clock()
events.register("numba:compile", _clock)


def seconds_compiling() -> float:
    """The seconds that this process has spent on compiling kernels; loading them from the cache does not count."""
    return _clock.seconds
