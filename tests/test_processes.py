"""Worker processes: answers in order, errors as in one process, no process left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from widemargin import _processes
from widemargin._processes import MOST_DEATHS, alone, current, processes
from widemargin.errors import WidemarginError

BATCH = np.arange(12, dtype=np.int32)
W = np.array([2.0, 3.0])


class Odd(Exception):  # noqa: N818 — as users name them
    """An error that cannot be made again from what it says."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Subject:
    """Answers with the process that answers, and what it was asked."""

    def __init__(self, numbers=(), folder=None):
        self.numbers, self.folder = list(numbers), folder

    def sums(self, w, batch):
        return [(os.getpid(), int(i), float(w[0] * i + w[1])) for i in batch]

    def failing(self, w, batch):
        for i in batch.tolist():
            if i in (5, 9):
                time.sleep(0.3 if i == 5 else 0.0)
                raise ZeroDivisionError(f"of example {i}")
        return batch

    def odd(self, w, batch):
        raise Odd("one", "other")

    def dying(self, w, batch):
        """Kill the own process, once for each number."""
        for i in batch.tolist():
            mark = Path(self.folder) / str(i)
            if i in self.numbers and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return batch.tolist()

    def deadly(self, w, batch):
        os.kill(os.getpid(), signal.SIGKILL)

    def unsendable(self, w, batch):
        return (each for each in batch)


@pytest.fixture
def at_once(monkeypatch):
    """No work is done alone: workers answer everything."""
    monkeypatch.setattr(_processes, "ALONE", 0.0)
    monkeypatch.setattr(_processes, "WORTH", 1e-9)
    monkeypatch.setattr(_processes.Pool, "_worth", lambda pool, known, n: True)


def nothing():
    return


def ask(question, subject=None, look=nothing, w=W, n=2):
    with processes(n):
        return current().answers(subject or Subject(), question, w, BATCH, look)


def flat(answers):
    return [each for part in answers for each in part]


@pytest.mark.parametrize("n", [2, 3])
def test_answers_come_in_order_from_other_processes(n, at_once):
    found = flat(ask(Subject.sums, n=n))
    assert [each[1:] for each in found] == [(i, 2.0 * i + 3.0) for i in range(12)]
    assert os.getpid() not in {each[0] for each in found}


def test_a_pool_follows_w_and_knows_several_subjects(at_once):
    with processes(2):
        pool = current()
        for k in range(6):
            subject, w = Subject([k]), np.array([float(k), 1.0])
            for _ in range(2):
                found = flat(pool.answers(subject, Subject.sums, w, BATCH, nothing))
                assert [each[2] for each in found] == [k * i + 1.0 for i in range(12)]
        workers = {each[0] for each in found}
        assert len(pool._subjects) == _processes.MOST_SUBJECTS
    assert all(not Path(f"/proc/{pid}").exists() for pid in workers)


def test_little_work_is_done_alone():
    assert {each[0] for each in flat(ask(Subject.sums))} == {os.getpid()}


def test_work_moves_to_the_workers_as_soon_as_they_are_ready(monkeypatch):
    monkeypatch.setattr(_processes, "ALONE", 0.02)

    def slow(subject, w, batch):
        time.sleep(0.05)
        return subject.sums(w, batch)

    with processes(2):
        found = flat(current().answers(Subject(), slow, W, np.arange(400, dtype=np.int32), nothing))
    assert [each[1] for each in found] == list(range(400))
    assert found[0][0] == os.getpid() != found[-1][0]


def test_the_first_error_in_order_is_raised(at_once):
    with pytest.raises(ZeroDivisionError, match="of example 5") as caught:
        ask(Subject.failing)
    assert "in failing" in str(caught.value.__cause__), "nobody can tell where it was raised"


def test_an_error_that_cannot_be_sent_tells_its_name(at_once):
    with pytest.raises(WidemarginError, match="Odd: one and other"):
        ask(Subject.odd)


def test_an_answer_that_cannot_be_sent(at_once):
    with pytest.raises((TypeError, WidemarginError), match="pickle"):
        ask(Subject.unsendable)


def test_workers_that_are_killed_are_replaced(at_once, tmp_path):
    assert flat(ask(Subject.dying, Subject([3, 7], tmp_path))) == list(range(12))


def test_workers_that_always_die(at_once):
    with pytest.raises(WidemarginError, match=f"worker processes died {MOST_DEATHS} times in a row"):
        ask(Subject.deadly)


def test_what_cannot_be_pickled_is_done_alone(at_once):
    subject = Subject()
    subject.what = (each for each in [1])
    with pytest.warns(UserWarning, match=r"cannot be pickled .*generator.*; take n_jobs=1, or set releases_gil = True"):
        found = flat(ask(Subject.sums, subject))
    assert {each[0] for each in found} == {os.getpid()}


def test_looking_may_end_the_waiting(at_once):
    def slow(subject, w, batch):
        time.sleep(60.0)

    def look():
        raise InterruptedError

    begin = time.perf_counter()
    with pytest.raises(InterruptedError):
        ask(slow, look=look)
    assert time.perf_counter() - begin < 30.0


def test_blocks_within_blocks_share_the_workers():
    with processes(2):
        pool = current()
        with processes(3):
            assert current() is pool
        assert current() is pool
    assert current() is None


PROGRAM = """
import os, sys, time
import numpy as np
from widemargin import _processes
_processes.ALONE = 0.0
class Subject:
    def sleep(self, w, batch):
        os.write(1, f"{os.getpid()}\\n".encode())
        time.sleep(0.05)
with _processes.processes(2):
    while True:
        _processes.current().answers(Subject(), Subject.sleep, np.zeros(1), np.arange(8, dtype=np.int32), lambda: None)
"""

KILLED_EARLY = """
import os, signal
import numpy as np
from widemargin._processes import Pool
pool = Pool(2)
known = pool.know([1.0])
assert pool._folder is None, "nothing is written before workers are needed"
path = pool._written(known)
os.write(1, f"{path.parent}\\n".encode())
pool.start(path)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_file_is_left_behind():
    """Files go even if the first process is killed before a worker has started."""
    found = subprocess.run([sys.executable, "-c", KILLED_EARLY], capture_output=True, check=False, timeout=60)
    folder = Path(found.stdout.decode().strip())
    assert found.returncode == -signal.SIGKILL, found.stderr.decode()
    assert folder.name.startswith("widemargin-")
    deadline = time.monotonic() + 60.0
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not folder.exists()


def test_one_process_looks_between_slow_examples_and_seldom_between_quick_ones():
    looks = []
    slow = lambda subject, w, batch: (time.sleep(0.03 * len(batch)), batch.tolist())[1]  # noqa: E731
    found = alone(slow, None, W, BATCH[:5], lambda: looks.append(1))
    assert flat(found) == [0, 1, 2, 3, 4]
    assert len(looks) == 4
    looks.clear()
    many = np.arange(5000, dtype=np.int32)
    assert (
        flat(alone(lambda subject, w, batch: batch.tolist(), None, W, many, lambda: looks.append(1))) == many.tolist()
    )
    assert len(looks) < 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_behind(number):
    """Workers end with the first process, even if that is killed."""
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seen = set()
    while len(seen) < 3:
        seen.add(int(program.stdout.readline()))
    program.send_signal(number)
    program.wait(timeout=60)
    program.stdout.close()
    deadline = time.monotonic() + 60.0
    while any(Path(f"/proc/{pid}").exists() for pid in seen) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in seen)
