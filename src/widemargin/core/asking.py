"""Asking examples: a batch is split over threads or processes, whichever suits them.

    `work` is given     decoding releases the interpreter, and takes as long as that: threads with shares of equal work
    `work` is None      decoding holds the interpreter: processes (`_processes`), if the caller has opened a pool
    … `releases_gil`    plain Python that mostly waits for code that releases it: threads, one example after the other

Examples that are `Elsewhere`, on a cluster for instance, pass questions on.

Answers come in order, and do not depend on how the batch is split, nor on the number of threads or processes.
"""

import threading
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

    `look` is called between the answers of plain Python, and while this waits for processes; it may raise to end this.
    """
    work, look = examples.work, look or _nothing
    if (elsewhere := getattr(examples, "answers", None)) is not None:
        found: list[T] = elsewhere(question, w, batch, look)
        return found
    if work is not None:
        return run([partial(question, examples, w, part) for part in shares(batch, work, n_threads)])
    if len(batch) < 2:
        return [question(examples, w, batch)]
    if n_threads > 1 and getattr(examples, "releases_gil", False):
        parts = [batch[k : k + 1] for k in range(len(batch))]
        return _in_turn([partial(question, examples, w, part) for part in parts], n_threads, look)
    pool = None if n_threads == 1 else _processes.current()
    if pool is None or not isinstance(w, np.ndarray):
        return _processes.alone(question, examples, w, batch, look)
    return pool.answers(examples, question, w, batch, look)


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


def _in_turn(tasks: list[Callable[[], T]], n_threads: int, look: Callable[[], None]) -> list[T]:
    """The results of all tasks; each thread takes the next one. Of several errors the first in order is raised.

    `look` is called by this thread, between its tasks.
    """
    numbers, found, floating = iter(range(len(tasks))), [None] * len(tasks), np.geterr()
    errors: dict[int, BaseException] = {}
    own = threading.get_ident()

    def work_off(taken: Iterator[int]) -> None:
        with np.errstate(**floating):
            for k in taken:
                if errors:
                    return
                try:
                    if k and threading.get_ident() == own:
                        look()
                    found[k] = tasks[k]()  # type: ignore[call-overload]
                except BaseException as error:
                    errors[k] = error

    run([partial(work_off, numbers)] * min(n_threads, len(tasks)))
    if errors:
        raise errors[min(errors)]
    return found  # type: ignore[return-value]
