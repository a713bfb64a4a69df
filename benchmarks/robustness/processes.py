"""Kills training at random moments, and fills its disk: nothing may be lost, and resumed runs must equal whole ones.

    python benchmarks/robustness/processes.py [--kills 200 | --minutes 10] [--seed 1]

| kind | what is done | what must hold |
| --- | --- | --- |
| SIGKILL, SIGINT, SIGTERM | `train --checkpoint` is ended, several times in a row, and then resumed | at any time a whole model, old or new, loads; no traceback and no temporary file, except after SIGKILL; the last model equals that of an uninterrupted run bit for bit |
| full disk | files may grow to a random size only | one sentence, and the old model whole |
| empty cache | two processes compile into it at once | both succeed, with equal models |

Tasks and solvers come from the library's registries; pairs that do not fit are left out. Checkpoints are written after
every epoch instead of every 30 seconds, so that there is always one being written. Moments are drawn from the seed, but
what a process is doing at that moment is up to the machine.
"""  # noqa: E501

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from helpers.files import TASK_FILES
from widemargin.core.model_file import read_model
from widemargin.errors import WidemarginError
from widemargin.solvers import SOLVERS
from widemargin.tasks.base import load_model
from widemargin.tasks.parameters import PRESETS

PROGRAM = """
from widemargin.cli import main
from widemargin.cli.signals import SIGNALS
SIGNALS.listen()  # before the slow import of the next line
from widemargin.core.loop import fit
fit.__kwdefaults__["checkpoint_seconds"] = 0.0
main()
"""
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
KILLS_IN_A_ROW, KILLS_PER_JOB, FULL_DISKS_PER_JOB = 3, 12, 2
EPOCHS = "40"
OUT, CHECKPOINT = "model.wm", "run.ckpt"
TIMEOUT = 600.0


class Ended(NamedTuple):
    """How a process has ended."""

    code: int
    message: str
    seconds: float


class Job(NamedTuple):
    """A task, a solver, and whether development data choose the best epoch."""

    task: str
    solver: str
    dev: bool

    def arguments(self, folder: Path, epochs: str) -> list[str]:
        """The command line; models and checkpoints go into the folder in which it runs."""
        row = TASK_FILES[self.task]()
        data = folder / f"{self.task}-{row.name}"
        if not data.exists():
            data.write_text(row.text, encoding="utf-8")
        dev = ["--dev", str(data)] if self.dev else []
        solver = ["--solver", self.solver, "--epochs", epochs, "--tol", "0", *row.options]
        return ["train", self.task, "--train", str(data), *dev, *solver, "--out", OUT, "--quiet"]


def start(here: Path, arguments: list[str], limit: int | None = None, **more: str) -> "subprocess.Popen[str]":
    """Start a command line in the folder `here`, whose files cannot grow beyond `limit` bytes."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs this in the background may have it ignored
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=here,
        env={**os.environ, **more},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=prepare,  # noqa: PLW1509 — there are no threads
    )


def end(process: "subprocess.Popen[str]", begin: float) -> Ended:
    _, message = process.communicate(timeout=TIMEOUT)
    return Ended(process.returncode, message, time.monotonic() - begin)


def run(here: Path, arguments: list[str], **more: Any) -> Ended:
    begin = time.monotonic()
    return end(start(here, arguments, **more), begin)


def wait_until_listening(process: "subprocess.Popen[str]") -> None:
    """Wait for the program's first lines; before them, signals are Python's own affair."""
    caught = 1 << (signal.SIGTERM - 1)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        if int(status.partition("SigCgt:")[2].split()[0], 16) & caught:
            return
        time.sleep(0.002)


def content(path: Path) -> tuple[dict[str, bytes], str]:
    """What must be equal in two models: the weights and all that training tells, except seconds."""
    header, tensors = read_model(path)
    solution = header["summary"]["solution"]
    rows = {name: [{**row, "seconds": 0} for row in solution[name]] for name in ("trace", "rounds") if name in solution}
    course = json.dumps({**solution, "seconds": 0, **rows}, sort_keys=True)
    return {name: tensor.tobytes() for name, tensor in tensors.items()}, course


class Campaign:
    """Counts what has been done and what has been found out, until the time is over or enough has been killed."""

    def __init__(self, folder: Path, seed: int, minutes: float, kills: float) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.end, self.kills = time.monotonic() + 60.0 * minutes, kills
        self.done: Counter[str] = Counter()
        self.faults: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether the time is over, or enough has been killed."""
        killed = sum(self.done[each.name] for each in SIGNALS)
        return time.monotonic() >= self.end or killed >= self.kills

    def run(self) -> bool:
        """True if there is no fault."""
        self.one_empty_cache()
        while not self.is_over:
            job = Job(
                self.random.choice(list(TASK_FILES)),
                self.random.choice([*SOLVERS, *PRESETS]),
                self.random.random() < 0.5,
            )
            self.one_job(job)
        print(f"{self.summary()}; {len(self.faults)} faults", flush=True)
        return not self.faults

    def summary(self) -> str:
        """The counts so far."""
        return ", ".join(f"{name} {count}" for name, count in sorted(self.done.items()))

    def fault(self, what: str, about: object) -> None:
        """Note something that must not be."""
        self.faults.append(what)
        print(f"FAULT: {what}: {about}", flush=True)

    def one_job(self, job: Job) -> None:
        """Train to the end and not at all, then kill and resume in between."""
        whole, old, here = (self.folder / name for name in ("whole", "old", "here"))
        for each in (whole, old):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        short = run(old, job.arguments(self.folder, "1"))
        if short.code == 2:  # the solver does not fit the task
            return
        run(whole, job.arguments(self.folder, EPOCHS))  # compiles what the first has not
        reference = run(whole, [*job.arguments(self.folder, EPOCHS), "--checkpoint", CHECKPOINT])
        if short.code or reference.code:
            self.fault("an undisturbed run failed", (job, short, reference))
            return
        arguments = [*job.arguments(self.folder, EPOCHS), "--checkpoint", CHECKPOINT, "--resume"]

        def afresh() -> None:
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            shutil.copy(old / OUT, here / OUT)

        killed = 0
        while killed < KILLS_PER_JOB and not self.is_over:
            afresh()
            for _ in range(self.random.randint(1, KILLS_IN_A_ROW)):
                killed += 1
                self.one_kill(job, here, arguments, reference.seconds)
            last = run(here, arguments)
            if last.code or content(here / OUT) != content(whole / OUT):
                self.fault("a resumed run is not the uninterrupted one", (job, last))
            else:
                self.done["resumed and equal"] += 1
        largest = max(path.stat().st_size for path in whole.iterdir())
        for _ in range(FULL_DISKS_PER_JOB):
            if not self.is_over:
                afresh()
                self.one_full_disk(job, here, arguments, self.random.randrange(largest))
        print(f"{job.task} {job.solver}: {self.summary()}", flush=True)

    def one_kill(self, job: Job, here: Path, arguments: list[str], seconds: float) -> None:
        """Run, send a signal at a random moment of a run that takes so many seconds, and look at what is left."""
        kind, moment = self.random.choice(SIGNALS), self.random.uniform(0.0, 1.1 * seconds)
        before = (here / OUT).read_bytes()
        process = start(here, arguments)
        wait_until_listening(process)
        begin = time.monotonic()
        while time.monotonic() - begin < moment and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(kind)
        ended = end(process, begin)
        self.done[kind.name] += 1
        about = (job, kind.name, round(moment, 3), ended)
        # 130: the model so far has been saved; 128 + n: there was none yet.
        expected = {0: "finished before", -signal.SIGKILL: "killed", 130: "ended", 128 + kind: "ended"}
        if ended.code not in expected:
            self.fault("an unexpected exit code", about)
        if "Traceback" in ended.message or "Exception" in ended.message:
            self.fault("a traceback", about)
        if "no file has been changed" in ended.message:
            self.done["stopped with nothing to keep"] += 1
            if (here / OUT).read_bytes() != before:
                self.fault("the old model has changed", about)
        elif ended.code in (130, 143):
            self.done["stopped and saved"] += 1
        self.check_folder(here, about, swept=ended.code >= 0)

    def one_full_disk(self, job: Job, here: Path, arguments: list[str], limit: int) -> None:
        """Run until a file exceeds the limit."""
        before = (here / OUT).read_bytes()
        ended = run(here, arguments, limit=limit)
        self.done["full disk"] += 1
        about = (job, limit, ended)
        if ended.code == 0:
            self.fault("a full disk went unnoticed", about)
        if ended.code != 2 or not ended.message.startswith("error: ") or ended.message.count("\n") != 1:
            self.fault("a full disk is not answered by one sentence", about)
        if (here / OUT).read_bytes() != before:
            self.fault("the old model has changed", about)
        self.check_folder(here, about, swept=True)

    def check_folder(self, here: Path, about: object, *, swept: bool) -> None:
        """A whole model is there, and no temporary file unless the process could not remove it."""
        try:
            load_model(here / OUT)
        except WidemarginError as error:
            self.fault("the model does not load", (about, error))
        left = list(here.glob(".widemargin-*"))
        if left and swept:
            self.fault("temporary files are left", (about, left))
        for each in left:
            each.unlink()

    def one_empty_cache(self) -> None:
        """Two processes compile the same kernels at once."""
        job = Job("classify", "dcd", False)
        caches = {"NUMBA_CACHE_DIR": str(self.folder / "cache")}
        places = [self.folder / "first", self.folder / "second"]
        for each in places:
            each.mkdir()
        begin = time.monotonic()
        both = [start(each, job.arguments(self.folder, EPOCHS), **caches) for each in places]
        ended = [end(process, begin) for process in both]
        self.done["empty cache"] += 1
        if any(each.code or each.message for each in ended):
            self.fault("two processes on one empty cache", ended)
        elif content(places[0] / OUT) != content(places[1] / OUT):
            self.fault("two processes on one empty cache learnt different models", ended)


def campaign(minutes: float, seed: int, kills: float = inf) -> bool:
    """Go on for some minutes, or until there have been enough kills; True if no fault was found."""
    with tempfile.TemporaryDirectory() as folder:
        return Campaign(Path(folder), seed, minutes, kills).run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=float, default=inf, help="end after so many signals")
    parser.add_argument("--minutes", type=float, default=inf, help="end after so many minutes")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.kills == given.minutes == inf:
        given.kills = 200
    return 0 if campaign(given.minutes, given.seed, given.kills) else 1


if __name__ == "__main__":
    sys.exit(main())
