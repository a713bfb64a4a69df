"""Inputs run in worker processes, which may crash, hang or run out of memory; the parent sees to it and goes on.

A kind of input, the seed and a number name an input for ever. So a worker need not send its inputs anywhere: the
parent looks at which one it was busy with, and makes it again.
"""

import multiprocessing
import os
import resource
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from math import inf
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from time import monotonic, process_time
from typing import Any

import click

from widemargin.errors import WidemarginError

BUSY, HANGS = 10.0, 100.0  # seconds of the processor, and of the clock: a machine may be busy with other things
MEMORY = 2 << 30  # bytes that an input may ask for, beyond what the process has before
TURN = 0.1  # seconds that a kind of input is at work before the next has its turn
SAME = 3  # how many inputs to keep that fail alike
FAILED = Path("bench/robustness")

FORK = multiprocessing.get_context("fork")

Kinds = Mapping[str, Any]


def generator(seed: int, kind: str, number: int) -> Random:
    """The generator of one input."""
    return Random(f"{seed}.{kind}.{number}")


def run(
    make: Callable[[Path], Kinds], minutes: float, seed: int, *, jobs: int, replay: Path | None, runs: int | None = None
) -> bool:
    """Whether all inputs of some minutes had an allowed outcome; with `runs` it ends after so many inputs."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="robustness-") as temporary:
        folder = Path(temporary)
        kinds = make(_made(folder / "models"))
        if replay is not None:
            return _replayed(kinds, replay, _made(folder / "replay"))
        for name, kind in kinds.items():
            # Every kernel is compiled or loaded before workers are forked, and every whole file is taken.
            for content in kind.seeds:
                for number in range(kind.tries):
                    complaint = attempt(kind, content, Random(number), _made(folder / "whole"))
                    assert complaint is None, f"{name}: {complaint}"
        campaign = Campaign(kinds, seed, [Worker(kinds, seed, k, jobs, _made(folder / f"{k}")) for k in range(jobs)])
        return campaign.run(60 * minutes, inf if runs is None else runs)


def attempt(kind: Any, content: bytes, rng: Random, folder: Path) -> str | None:
    """What is wrong with the outcome of an input, or None."""
    path = folder / kind.name
    path.write_bytes(content)
    complaint = None
    try:
        kind.use(path, rng)
    except (WidemarginError, click.ClickException):
        pass
    except Exception:
        complaint = traceback.format_exc()
    for each in folder.iterdir():
        if each.name.endswith(".tmp"):
            complaint = f"{complaint or ''}\n{each.name} was left behind"
        each.unlink()
    return complaint


class Worker:
    """A process that runs every `step`-th input of every kind, and is started again wherever it ends.

    All kinds get the same time, so that those that are fast to read get more inputs.
    """

    def __init__(self, kinds: Kinds, seed: int, first: int, step: int, folder: Path) -> None:
        self.kinds, self.seed, self.first, self.step, self.folder = kinds, seed, first, step, folder
        # The kind that it is busy with, since when by the clock and by the processor, and how far it has got with all.
        # Shared memory outlives a crash.
        self.busy = FORK.RawArray("d", 3)
        self.counts, self.seconds = FORK.RawArray("q", len(kinds)), FORK.RawArray("d", len(kinds))
        self.process: BaseProcess | None = None
        self.start(0)

    def number(self, kind: int) -> int:
        """The number of the input of this kind that is next, or at work."""
        return self.first + self.step * self.counts[kind]

    def start(self, kind: int) -> None:
        """Start a process with this kind."""
        self.busy[:] = [kind, monotonic(), 0.0]
        self.results, theirs = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=self._work, args=(kind, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def _work(self, kind: int, results: Connection) -> None:
        limit = _memory() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(self.folder)
        names = list(self.kinds)
        while True:
            end = monotonic() + TURN
            while (begin := monotonic()) < end:
                number, each = self.number(kind), self.kinds[names[kind]]
                self.busy[:] = [kind, begin, process_time()]
                rng = generator(self.seed, names[kind], number)
                complaint = attempt(each, each.content(rng), rng, self.folder)
                self.counts[kind] += 1
                self.seconds[kind] += monotonic() - begin
                if complaint is not None:
                    results.send((names[kind], number, complaint))
            kind = (kind + 1) % len(names)

    def news(self) -> list[tuple[str, int, str]]:
        """The failures since the last call; a process that has ended or hangs is replaced."""
        assert self.process is not None
        found = []
        try:
            while self.results.poll():
                found.append(self.results.recv())
        except EOFError:
            pass
        kind = int(self.busy[0])
        alive = self.process.is_alive()
        hangs = HANGS if monotonic() - self.busy[1] > HANGS else 0.0
        if alive and not hangs and _processor(self.process.pid) - self.busy[2] > BUSY:
            hangs = BUSY
        if hangs or not alive:
            self.stop()
            why = f"took more than {hangs:g} seconds" if hangs else f"ended the process with {self.process.exitcode}"
            found.append((list(self.kinds)[kind], self.number(kind), why))
            self.counts[kind] += 1
            for each in self.folder.iterdir():
                each.unlink()
            self.start(kind)
        return found

    def stop(self) -> None:
        """End the process."""
        assert self.process is not None
        self.process.kill()
        self.process.join()


class Campaign:
    """Workers for some time: their counts, and the inputs that failed."""

    def __init__(self, kinds: Kinds, seed: int, workers: list[Worker]) -> None:
        self.kinds, self.seed, self.workers = kinds, seed, workers
        self.failures: Counter[str] = Counter()

    def run(self, seconds: float, runs: float = inf) -> bool:
        """Run until time is up, or `runs` inputs are; print progress, and in the end the counts of every kind."""
        begin = shown = monotonic()
        try:
            while monotonic() - begin < seconds and self.n_inputs < runs:
                self.workers[0].results.poll(0.2)
                for worker in self.workers:
                    for failure in worker.news():
                        self.keep(*failure)
                if monotonic() - shown > 10:
                    shown = monotonic()
                    self.report(shown - begin)
        finally:
            for worker in self.workers:
                worker.stop()
        self.report(monotonic() - begin, end="\n")
        for k, name in enumerate(self.kinds):
            n, spent = (sum(part[k] for part in each) for each in (self._all("counts"), self._all("seconds")))
            print(f"  {name:30} {n:>9,} inputs {1000 * spent / max(n, 1):7.1f} ms each")
        for what, n in self.failures.most_common():
            print(f"  {n} × {what}")
        return not self.failures

    def _all(self, name: str) -> list[Any]:
        return [getattr(worker, name) for worker in self.workers]

    @property
    def n_inputs(self) -> int:
        """The number of inputs so far."""
        return sum(sum(worker.counts) for worker in self.workers)

    def report(self, seconds: float, end: str | None = None) -> None:
        """Print a line of progress, over the last one on a terminal."""
        n = self.n_inputs
        line = f"{seconds:5.0f} s  {n:>10,} inputs  {n / seconds:6.0f} a second  {self.failures.total()} failures"
        print(line, end=end or ("\r" if sys.stdout.isatty() else "\n"), flush=True)

    def keep(self, kind: str, number: int, complaint: str) -> None:
        """Save an input that failed, unless enough failed alike."""
        what = f"{kind}: {_cause(complaint)}"
        self.failures[what] += 1
        if self.failures[what] <= SAME:
            rng, each = generator(self.seed, kind, number), self.kinds[kind]
            path = _made(FAILED) / f"{kind}.{self.seed}.{number}{Path(each.name).suffix}"
            path.write_bytes(each.content(rng))
            print(f"FAILED {what}\n       seed {self.seed}, input {number}; replay with --replay {path}", flush=True)


def _replayed(kinds: Kinds, path: Path, folder: Path) -> bool:
    """Run a saved input in this process, as it was run; changed by hand, it still makes the same choices."""
    kind, rest = next((name, path.name.removeprefix(f"{name}.")) for name in kinds if path.name.startswith(f"{name}."))
    seed, number = map(int, rest.split(".")[:2])
    rng = generator(seed, kind, number)
    kinds[kind].content(rng)
    complaint = attempt(kinds[kind], path.read_bytes(), rng, folder)
    print(complaint or "an allowed outcome")
    return complaint is None


def _cause(complaint: str) -> str:
    """The last line of a traceback, and the last place in the library that it names."""
    lines = complaint.strip().splitlines()
    places = [line.strip() for line in lines if "widemargin/" in line and line.strip().startswith("File")]
    place = places[-1].rpartition("widemargin/")[2].replace('"', "") if places else ""
    last = lines[-1][:150].encode("utf-8", "backslashreplace").decode("utf-8")
    return last + (f" ({place})" if place else "")


def _processor(pid: int | None) -> float:
    """The seconds of the processor that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory() -> int:
    """The bytes of address space that the process has now."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
