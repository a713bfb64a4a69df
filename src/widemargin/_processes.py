"""The one place that runs work in several processes: for decoders that hold the interpreter.

A pool asks its subject, training examples for instance, questions at a point w. Workers are joblib's (loky), so what is
defined in a notebook reaches them, too. The subject is written to a file when workers need it, and each reads it once;
w is in a file that all processes map into memory. Answers come in the order of the questions, and an error in a worker
is raised here as if there were one process: the first one in order.

Nothing that is answered depends on who answers, so clocks may decide that. Starting a worker takes a second: this
process works alone for a while, and goes on until the workers are ready. A worker that dies is replaced, and its
question is asked again.
"""

import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector, IntVector
from widemargin.errors import WidemarginError

Question = Callable[[Any, FloatVector, IntVector], Any]
"""Asked of a subject at w about some of its examples; the answer must not depend on how these are split."""

ALONE = 0.2  # s of work before workers are started
WORTH = 0.002  # s of work that is worth handing over; handing over takes some tenths of a millisecond
LOOK = 0.1  # s between two looks at whether to stop
MOST_DEATHS = 3  # of workers, one after the other, while nothing is answered
MOST_SUBJECTS = 4  # that a pool remembers: training and development data, say


class Failure(NamedTuple):
    """An error in a worker, and where it was raised."""

    error: Exception
    trace: str


class InWorker(Exception):  # noqa: N818 — it is the cause of an error, never raised by itself
    """Where in a worker process an error was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass
class _Subject:
    """What questions are about, the name of its file, and what will be written there; None if it cannot be pickled."""

    subject: Any
    name: str
    pickled: bytes | None


def alone(question: Question, subject: Any, w: FloatVector, batch: IntVector, look: Callable[[], None]) -> list[Any]:
    """The answers of this process, which looks about as often as `LOOK` says, and at most after each slow example."""
    found, done, size = [], 0, 1
    while done < len(batch):
        if done:
            look()
        begin = perf_counter()
        found.append(question(subject, w, batch[done : done + size]))
        done += size
        if 4.0 * (perf_counter() - begin) < LOOK:
            size *= 2
    return found


class Pool:
    """Up to `n` worker processes."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._folder: Path | None = None
        self._executor: Any = None
        self._ready: list[Future[Any]] = []
        self._subjects: dict[int, _Subject] = {}  # by identity; oldest first
        self._points: dict[int, FloatVector] = {}
        self._worked, self._calls, self._numbers = 0.0, 0, 0

    def answers(
        self, subject: Any, question: Question, w: FloatVector, batch: IntVector, look: Callable[[], None]
    ) -> list[Any]:
        """The answers about successive parts of the batch; `look` is called now and then, and may raise to end this."""
        known = self.know(subject)
        if known.pickled is None:
            return alone(question, subject, w, batch, look)
        found, done = [], 0
        while done < len(batch) and not self._worth(known, len(batch) - done):
            begin = perf_counter()
            found.append(question(subject, w, batch[done : done + 1]))
            self._note(perf_counter() - begin, 1)
            done += 1
            if done < len(batch):
                look()
        if done < len(batch):
            found += self._handed_over(known, question, w, batch[done:], look)
        return found

    def know(self, subject: Any) -> "_Subject":
        """The record of a subject, made on first use; warns if it cannot be sent to other processes."""
        if id(subject) not in self._subjects:
            self._numbers += 1
            pickled: bytes | None = None
            try:
                pickled = _dumps(subject)
            except Exception as error:  # whatever the user's own classes raise
                warnings.warn(
                    f"one process decodes, since structure and data cannot be pickled for others ({error}); "
                    "take n_jobs=1, or set releases_gil = True if decoding releases the interpreter",
                    stacklevel=2,
                )
            while len(self._subjects) >= MOST_SUBJECTS:
                old = self._subjects.pop(next(iter(self._subjects)))
                if self._folder is not None:
                    (self._folder / old.name).unlink(missing_ok=True)
            self._subjects[id(subject)] = _Subject(subject, f"subject-{self._numbers}", pickled)
        return self._subjects[id(subject)]

    def close(self) -> None:
        """End all workers, even at work, and remove all files."""
        self._stop()
        self._points.clear()
        if self._folder is not None:
            from joblib.externals.loky.backend import resource_tracker

            shutil.rmtree(self._folder, ignore_errors=True)
            resource_tracker.unregister(str(self._folder), "folder")
            self._folder = None

    def start(self, path: Path) -> None:
        """Start the workers, which read a subject, without waiting for them."""
        if self._executor is None:
            from joblib.externals.loky import ProcessPoolExecutor  # slow to import

            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            self._executor = ProcessPoolExecutor(self.n, initializer=_begin, initargs=(os.getpid(),), env=threads)
            self._ready = [self._executor.submit(_read, str(path)) for _ in range(self.n)]

    def _home(self) -> Path:
        """The folder of the files; it is removed even if this process is killed."""
        if self._folder is None:
            from joblib.externals.loky.backend import resource_tracker

            shared = Path("/dev/shm")  # in memory, where there is such a folder
            self._folder = Path(tempfile.mkdtemp(prefix="widemargin-", dir=shared if shared.is_dir() else None))
            resource_tracker.register(str(self._folder), "folder")
        return self._folder

    def _written(self, known: "_Subject") -> Path:
        """The file of a subject."""
        path = self._home() / known.name
        if known.pickled:
            path.write_bytes(known.pickled)
            known.pickled = b""
        return path

    def _worth(self, known: "_Subject", n: int) -> bool:
        """Whether to hand `n` examples over: workers are ready, and there is enough to do."""
        if self._worked < ALONE:
            return False
        self.start(self._written(known))
        ready = any(each.done() for each in self._ready)
        return ready and n > 1 and n * self._worked > WORTH * self._calls

    def _note(self, seconds: float, calls: int) -> None:
        self._worked, self._calls = self._worked + seconds, self._calls + calls

    def _handed_over(
        self, known: "_Subject", question: Question, w: FloatVector, batch: IntVector, look: Callable[[], None]
    ) -> list[Any]:
        size = max(1, min(int(WORTH * self._calls / max(self._worked, WORTH)), -(-len(batch) // self.n)))
        parts = [batch[begin : begin + size] for begin in range(0, len(batch), size)]
        path, asked = self._written(known), _dumps(question)
        tasks = [(str(path), str(self._write(w)), len(w), asked, part, np.geterr()) for part in parts]
        answers: list[Any] = [None] * len(tasks)
        left, deaths = list(range(len(tasks))), 0
        while left:
            before = len(left)
            left = self._gathered(tasks, left, answers, look)
            deaths = deaths + 1 if len(left) == before else 0
            if deaths >= MOST_DEATHS:
                raise WidemarginError(
                    f"worker processes died {deaths} times in a row while decoding; is there enough memory for "
                    f"{self.n} of them?"
                )
        return [self._opened(answer, part) for answer, part in zip(answers, parts, strict=True)]

    def _gathered(
        self, tasks: Sequence[Any], left: list[int], answers: list[Any], look: Callable[[], None]
    ) -> list[int]:
        """Write answers of the tasks with these numbers; return the numbers of those whose worker has died.

        If this raises, nobody reads the few answers that are still under way, so it does not matter that w may change.
        """
        self.start(Path(tasks[0][0]))
        died: list[int] = []
        waiting: deque[tuple[int, Future[Any]]] = deque()
        ahead = iter(left)
        try:
            while True:
                # Few at a time: loky hangs if it ends after questions were cancelled, so no more are asked than needed.
                for k in islice(ahead, 2 * self.n - len(waiting)):
                    waiting.append((k, self._executor.submit(_answer, *tasks[k])))
                if not waiting:
                    break
                k, future = waiting.popleft()
                while not future.done():
                    wait([future], timeout=LOOK)
                    look()
                answers[k] = future.result()
                if answers[k][0] is None:  # the first error in order: whatever follows is not waited for
                    self._opened(answers[k], tasks[k][4])
        except BrokenExecutor:
            died = [k for k in left if answers[k] is None]
            self._stop()
        return died

    def _opened(self, answer: tuple[bytes | None, Any, float], part: IntVector) -> Any:
        found, failure, seconds = answer
        self._note(seconds, len(part))
        if found is None:
            raise failure.error from InWorker(failure.trace)
        return pickle.loads(found)

    def _write(self, w: FloatVector) -> Path:
        """Write w where workers read it; no task of an earlier w is running."""
        path = self._home() / f"w-{len(w)}"
        if len(w) not in self._points:
            self._points[len(w)] = np.memmap(path, dtype=np.float64, mode="w+", shape=(max(len(w), 1),))
        self._points[len(w)][: len(w)] = w
        return path

    def _stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor, self._ready = None, []


_subjects: dict[str, Any] = {}  # of a worker, by file; oldest first
_points: dict[str, FloatVector] = {}


def _begin(first: int) -> None:
    """Make a worker ready. Ctrl-C reaches every process of a terminal, but only the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(first,), daemon=True).start()


def _end_with(first: int) -> None:
    """Wait until the process that asks has gone, be it killed; then end this one."""
    while os.getppid() == first:
        time.sleep(LOOK)
    os._exit(1)


def _read(path: str) -> None:
    """Read a subject, unless it is known."""
    if path not in _subjects:
        while len(_subjects) >= MOST_SUBJECTS:
            del _subjects[next(iter(_subjects))]
        _subjects[path] = pickle.loads(Path(path).read_bytes())


def _answer(
    path: str, place: str, n_weights: int, asked: bytes, part: IntVector, floating: dict[str, Any]
) -> tuple[bytes | None, Failure | None, float]:
    """The pickled answer of a worker, or its error, and the seconds it took."""
    begin = perf_counter()
    try:
        _read(path)
        if place not in _points:
            _points[place] = np.memmap(place, dtype=np.float64, mode="r")
        w = np.asarray(_points[place])[:n_weights]
        begin = perf_counter()
        with one_blas_thread(), np.errstate(**floating):
            found = pickle.loads(asked)(_subjects[path], w, part)
        return _dumps(found), None, perf_counter() - begin
    except Exception as error:
        return None, _sendable(error), perf_counter() - begin


def _sendable(error: Exception) -> Failure:
    """The error; one that cannot be pickled as one of the library that tells its name and words."""
    trace = traceback.format_exc()
    try:
        same = pickle.loads(_dumps(error))
        if type(same) is type(error) and str(same) == str(error):
            return Failure(error, trace)
    except Exception:
        pass
    return Failure(WidemarginError(f"{type(error).__name__}: {error}"), trace)


def _dumps(what: Any) -> bytes:
    """Pickles definitions of a notebook or a test by value, and all else as usual."""
    from joblib.externals.loky.backend.reduction import dumps  # slow to import

    return bytes(dumps(what))


_scope = threading.local()


@contextmanager
def processes(n: int) -> Iterator[None]:
    """Let `n` processes answer questions of this thread while the block lasts; they end with the outermost block."""
    if n == 1 or current() is not None:
        yield
        return
    _scope.pool = Pool(n)
    try:
        yield
    finally:
        pool, _scope.pool = _scope.pool, None
        pool.close()


def current() -> Pool | None:
    """The pool of this thread."""
    pool: Pool | None = getattr(_scope, "pool", None)
    return pool
