"""The campaigns of mutated inputs and of proofs notice whatever goes wrong, and name it so that it can be run again."""

import importlib
import os
import signal
import time
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random
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
    monkeypatch.setattr(module, "HANGS", 600.0)
    monkeypatch.setattr(module, "TURN", 0.01)
    return module


@pytest.fixture
def until_the_first_failure(worker, monkeypatch):
    """Time is up as soon as something has failed."""
    keep = worker.Campaign.keep

    def last(self, *failure):
        keep(self, *failure)
        monkeypatch.setattr(worker, "monotonic", lambda: inf)

    monkeypatch.setattr(worker.Campaign, "keep", last)


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
    time.sleep(600)


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
@pytest.mark.usefixtures("until_the_first_failure")
def test_other_outcomes_are_kept_and_named(worker, use, cause, capsys, monkeypatch):
    kinds = {"good": Kind(fine), "bad": Kind(use)}
    if use is hang:
        monkeypatch.setattr(worker, "HANGS", 0.5)
        del kinds["good"]  # which may seem to hang on a busy machine
    assert not worker.run(lambda folder: kinds, minutes=60, seed=7, jobs=1, replay=None)
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


@pytest.fixture
def certificates(worker):
    return importlib.import_module("certificates")


PLAIN = {"C": 0.7, "scales": "one", "weights": "uniform", "begin": "cold", "epochs": 2, "gap": None, "scored": False}
PLAIN |= {"parts": 0}
CHANGES = {
    "the bound is false": {"dual": 0.999},
    "P\\(w\\) is wrong": {"primal": 1.001},
    "the gap is false": {"gap": 0.0},
}


@pytest.mark.parametrize("cause", CHANGES)
@pytest.mark.parametrize(
    ("solver", "objective", "loss"), [("dcd", "margin", "squared_hinge"), ("pegasos", "likelihood", "hinge")]
)
def test_certificates_that_claim_too_much_are_found(certificates, solver, objective, loss, cause):
    chosen = {"solver": solver, "objective": objective, "loss": loss, "penalty": "l2"}
    plan = certificates.draw("chain", Random(0)) | PLAIN | chosen
    problem, blocks = certificates.problem_of(plan)
    solution = certificates.train(plan, problem, Path())
    assert solution.certified
    certificates.check(plan, problem, blocks, solution)
    [(field, factor)] = CHANGES[cause].items()
    value = solution.primal if field == "dual" else getattr(solution, field)
    with pytest.raises(certificates.Fault, match=cause):
        certificates.check(plan, problem, blocks, replace(solution, **{field: factor * value}))


def test_a_decoder_that_claims_there_is_nothing_to_learn_is_found(certificates, capsys, monkeypatch):
    class Content(certificates.Labels):
        def decode(self, x, w, y=None, wrong_at=None):
            return super().decode(x, w) if y is None else y

    monkeypatch.setattr(certificates, "STRUCTURES", {"content": lambda seed: certificates.labels(seed, Content)})
    assert not certificates.campaign(1, 3, runs=20)
    shown = capsys.readouterr().out
    assert "margin, hinge, l2: P(w) is wrong" in shown
    assert "runs were certified" in shown
