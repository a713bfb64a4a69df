"""Asking examples: a batch is split over threads or processes, whichever suits them.

    `work` is given     decoding releases the interpreter, and takes as long as that: threads with shares of equal work
    `work` is None      decoding holds the interpreter: processes (`_processes`), if the caller has opened a pool
    … `releases_gil`    plain Python that mostly waits for code that releases it: threads, one example after the other

Answers come in order, and do not depend on how the batch is split, nor on the number of threads or processes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np

from widemargin import _processes
from widemargin._threads import run, shares
from widemargin._types import IntVector

T = TypeVar("T")


def ask(
    question: Callable[[Any, Any, IntVector], T],
    examples: Any,
    w: Any,
    batch: IntVector,
    n_threads: int = 1,
    look: Callable[[], None] | None = None,
) -> list[T]:
    """The answers of `question(examples, w, part)` for successive parts of the batch.

    `look` is called while this waits for processes; it may raise to end the waiting.
    """
    work = examples.work
    if work is not None:
        return run([partial(question, examples, w, part) for part in shares(batch, work, n_threads)])
    if n_threads == 1 or len(batch) < 2:
        return [question(examples, w, batch)]
    if getattr(examples, "releases_gil", False):
        return _in_turn([partial(question, examples, w, batch[k : k + 1]) for k in range(len(batch))], n_threads)
    pool = _processes.current()
    if pool is None or not isinstance(w, np.ndarray):
        return [question(examples, w, batch)]
    return pool.answers(examples, question, w, batch, look or _nothing)


@contextmanager
def helpers(examples: Any, n_threads: int) -> Iterator[None]:
    """Open a pool of processes for as long as the block lasts, if these examples need one.

    Warns at once if the examples cannot be sent to other processes, although the pool may turn out not to be worth it.
    """
    if n_threads == 1 or examples.work is not None or getattr(examples, "releases_gil", False):
        yield
        return
    with _processes.processes(n_threads):
        pool = _processes.current()
        if pool is not None:
            pool.know(examples)
        yield


def _nothing() -> None:
    return


def _in_turn(tasks: list[Callable[[], T]], n_threads: int) -> list[T]:
    """The results of all tasks; each thread takes the next one. Of several errors the first in order is raised."""
    numbers, found, floating = iter(range(len(tasks))), [None] * len(tasks), np.geterr()
    errors: dict[int, BaseException] = {}

    def work_off(taken: Iterator[int]) -> None:
        with np.errstate(**floating):
            for k in taken:
                if errors:
                    return
                try:
                    found[k] = tasks[k]()  # type: ignore[call-overload]
                except BaseException as error:
                    errors[k] = error

    run([partial(work_off, numbers)] * min(n_threads, len(tasks)))
    if errors:
        raise errors[min(errors)]
    return found  # type: ignore[return-value]
