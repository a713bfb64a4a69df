"""The one place that runs work on several threads.

Kernels release the GIL, so a small pool of Python threads, each running the same serial kernel on its share of a
batch, keeps all cores busy. Unlike Numba's own thread layers, it may be entered from anywhere.

BLAS, in contrast, is kept to one thread while something is learnt: how it splits a sum depends on the number of its
threads, and so would the last bits of the result.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.errors import WidemarginError

T = TypeVar("T")

WAKING = 150.0  # µs to wake a thread, measured; more than on bare metal


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_threads(n_jobs: int | None) -> int:
    """scikit-learn's convention: None is one thread, −1 all cores, −2 all but one, …

    >>> count_threads(3), count_threads(None)
    (3, 1)
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int) or n_jobs == 0:
        raise WidemarginError(f"n_jobs must be a positive number of threads, or -1 for all cores, not {n_jobs!r}")
    return n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(32, cores()), thread_name_prefix="widemargin")


if hasattr(os, "register_at_fork"):
    # A forked child inherits the pool but none of its threads.
    os.register_at_fork(after_in_child=_executor.cache_clear)


def run(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all `tasks`, in order; the calling thread takes the first, so one task costs no hand-over.

    When the interpreter is shutting down there is no pool, so the calling thread takes all tasks.
    """
    others: list[Callable[[], T]] = []
    for task in tasks[1:]:
        try:
            others.append(_executor().submit(task).result)
        except RuntimeError as error:
            if "shutdown" not in str(error):
                raise
            others.append(task)
    return [task() for task in tasks[:1]] + [other() for other in others]


def shares(batch: IntVector, work: FloatVector | None, n_threads: int) -> list[IntVector]:
    """`batch` in up to `n_threads` contiguous parts that should be done at about the same time; `work` is in µs.

    The first part, the caller's own, is larger by the work that fits into the time it takes to wake a thread. The batch
    stays whole if `work` is None or too little to be worth waking a thread.

    >>> [part.tolist() for part in shares(np.arange(4), np.array([900.0, 300.0, 300.0, 300.0]), 2)]
    [[0], [1, 2, 3]]
    """
    if work is None or n_threads == 1 or len(batch) < 2:
        return [batch]
    done = np.cumsum(work[batch])
    if done[-1] < 2 * n_threads * WAKING:
        return [batch]
    each = (done[-1] - WAKING) / n_threads
    ends = np.searchsorted(done, done[-1] - each * np.arange(n_threads - 1, 0, -1), side="right")
    return [part for part in np.split(batch, ends) if len(part)]


def share_ends(indptr: LongVector, work: float, n_threads: int) -> list[int]:
    """Where `shares` would split sequences that begin at `indptr`, with `work` µs for each of their parts.

    >>> share_ends(np.array([0, 900, 1200, 1500, 1800]), 1.0, 2)
    [0, 1, 4]
    """
    n = len(indptr) - 1
    if n_threads == 1 or n < 2:
        return [0, n]
    parts = shares(np.arange(n, dtype=np.int32), work * np.diff(indptr), n_threads)
    return [0, *(int(part[-1]) + 1 for part in parts)]


@lru_cache(maxsize=1)
def _blas(n_modules: int) -> list[Any]:
    """The BLAS libraries loaded; looked for again when modules have been imported since."""
    from threadpoolctl import ThreadpoolController  # only training needs it

    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


def _set_blas(library: Any, n_threads: int) -> None:
    """Set the number of threads of a library, whichever thread asks.

    From version 3.8 on, threadpoolctl lets only the first thread set it, so that threads do not undo each other's
    numbers. The callers here do not, so its check is bypassed.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n_threads)


_limited: list[tuple[Any, int]] = []  # libraries, and how many threads they had
_n_limiting = 0
_limiting = threading.RLock()
if hasattr(os, "register_at_fork"):
    # Otherwise a child might inherit a lock that is held by a thread it does not have.
    os.register_at_fork(before=_limiting.acquire, after_in_parent=_limiting.release, after_in_child=_limiting.release)


@contextmanager
def one_blas_thread(*modules: str) -> Iterator[None]:
    """Keep BLAS to one thread; may be nested, and entered from several threads at once.

    A library that is loaded inside is not limited: name the `modules` that may bring a BLAS of their own, and they are
    imported first.
    """
    global _n_limiting  # noqa: PLW0603 — the limit is the process's, and so is this count of those who want it
    for module in modules:
        import_module(module)
    with _limiting:
        _n_limiting += 1
        for library in _blas(len(sys.modules)):
            if library.num_threads != 1:
                _limited.append((library, library.num_threads))
                _set_blas(library, 1)
    try:
        yield
    finally:
        with _limiting:
            _n_limiting -= 1
            while not _n_limiting and _limited:
                _set_blas(*_limited.pop())
