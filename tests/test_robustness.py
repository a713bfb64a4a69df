"""The campaign of mutated inputs notices whatever goes wrong, and names it so that it can be run again."""

import importlib
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from widemargin.errors import DataError

FOLDER = Path(__file__).parents[1] / "benchmarks" / "robustness"


class Kind(NamedTuple):
    use: object
    seeds: tuple[bytes, ...] = ()
    name: str = "input.txt"

    def content(self, rng):
        return str(rng.randrange(10**9)).encode()


@pytest.fixture
def worker(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module("worker")
    monkeypatch.setattr(module, "HANGS", 0.5)
    monkeypatch.setattr(module, "TURN", 0.01)
    return module


def fine(path, rng):
    if rng.random() < 0.5:
        raise DataError("no good")


def wrong(path, rng):
    {}["a key"]


def untidy(path, rng):
    path.with_name(".widemargin-0.tmp").touch()


def greedy(path, rng):
    bytearray(1 << 40)


def crash(path, rng):
    os.kill(os.getpid(), signal.SIGKILL)


def hang(path, rng):
    time.sleep(60)


@pytest.mark.parametrize(
    ("use", "cause"),
    [
        (wrong, "KeyError: 'a key'"),
        (untidy, ".widemargin-0.tmp was left behind"),
        (greedy, "MemoryError"),
        (crash, "ended the process with -9"),
        (hang, "took more than 0.5 seconds"),
    ],
)
def test_other_outcomes_are_kept_and_named(worker, use, cause, capsys):
    kinds = {"good": Kind(fine), "bad": Kind(use)}
    assert not worker.run(lambda folder: kinds, 1.2 / 60, seed=7, jobs=1, replay=None)
    shown = capsys.readouterr().out
    assert f"FAILED bad: {cause}" in shown
    assert "FAILED good" not in shown
    kept = worker.FAILED / "bad.7.0.txt"
    assert f"seed 7, input 0; replay with --replay {kept}" in shown
    assert kept.read_bytes() == kinds["bad"].content(worker.generator(7, "bad", 0))
    if use is wrong:
        assert not worker.run(lambda folder: kinds, 1, seed=0, jobs=1, replay=kept)
        assert "KeyError" in capsys.readouterr().out


def test_success_and_errors_of_the_library_are_allowed(worker, capsys):
    assert worker.run(lambda folder: {"good": Kind(fine)}, 0.5 / 60, seed=7, jobs=2, replay=None)
    assert " 0 failures" in capsys.readouterr().out
