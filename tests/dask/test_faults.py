"""Workers that die, hang, or answer late: nothing is lost, and the result is the same."""

import os
import random
import signal
import threading

import numpy as np
import psutil
import pytest

from helpers.parts import SETTINGS, X, Y
from widemargin import Callback, SequenceTagger
from widemargin.dask import carrier, cluster, worker
from widemargin.parts.messages import NOTHING, Look
from widemargin.parts.team import LocalCarrier, Team
from widemargin.tasks import estimators
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag.estimator import survey_tags
from widemargin.tasks.training import Data

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # those of Dask and Tornado when a worker is gone
]


class Killer(Callback):
    """Kills a worker while a round is under way."""

    def __init__(self, client, seed):
        self.client, self.rng, self.killed = client, random.Random(seed), 0
        self.round = self.rng.randint(1, 4)

    def on_epoch(self, epoch):
        if epoch.epoch == self.round:
            victim = self.rng.choice(sorted(self.client.run(os.getpid).values()))
            self.killed += 1
            threading.Timer(self.rng.random() * 0.1, os.kill, (victim, signal.SIGKILL)).start()


def test_ten_runs_with_workers_that_are_killed(mortal, tagger, tmp_path):
    """At random moments, with and without a folder that parts save themselves to."""
    settings, rebuilt = {"tol": None, "max_epochs": 6}, 0
    expected = tagger(**settings).fit(X, Y, parts=3)
    for seed in range(10):
        killer = Killer(mortal, seed)
        there = tagger(**settings)
        there.client = mortal
        saved = {"checkpoint": tmp_path / str(seed), "checkpoint_seconds": 0.0} if seed % 2 else {}
        found = there.fit(X, Y, parts=3, callbacks=[killer], **saved)
        assert killer.killed == 1
        rebuilt += found.trained_.rebuilt
        np.testing.assert_array_equal(found.solution_.w, expected.solution_.w)
        assert found.solution_.primal == expected.solution_.primal
    assert rebuilt >= 5  # the moment may be one when no part is at work


class Frozen:
    """Stops a worker, which stays connected but does nothing, and is not waited for."""

    def __init__(self, client):
        self.client = client
        self.process = psutil.Process(max(client.run(os.getpid).values()))
        self.late = threading.Timer(120.0, self.thaw)  # so that a test that waits for it fails instead of hanging

    def freeze(self):
        self.late.start()
        self.process.suspend()

    def is_frozen(self):
        return self.process.status() == psutil.STATUS_STOPPED

    def thaw(self):
        self.late.cancel()
        self.process.resume()


@pytest.fixture
def frozen(mortal, monkeypatch):
    monkeypatch.setattr(cluster, "SILENCE", 2.0)
    found = Frozen(mortal)
    yield found
    found.thaw()


class During(Callback):
    """Does something after a round, or before all."""

    def __init__(self, number, what):
        self.number, self.what = number, what

    def on_start(self, max_epochs, n_examples):
        if not self.number:
            self.what()

    def on_epoch(self, epoch):
        if epoch.epoch == self.number:
            self.what()


def test_a_worker_that_is_frozen_is_not_waited_for(frozen, mortal, tagger):
    """Neither in rounds, nor in surveys, predictions and whatever else all workers are asked for."""
    settings = {"tol": None, "max_epochs": 4}
    expected = tagger(**settings).fit(X, Y, parts=3)
    there = tagger(**settings)
    there.client = mortal
    there.fit(X, Y, parts=3, callbacks=[During(2, frozen.freeze)])
    np.testing.assert_array_equal(there.solution_.w, expected.solution_.w)
    assert there.trained_.rebuilt > 0
    there.fit(X, Y, parts=3)  # frozen from the beginning
    np.testing.assert_array_equal(there.solution_.w, expected.solution_.w)
    assert there.predict(X) == expected.predict(X)
    assert frozen.is_frozen()


def test_a_worker_that_freezes_while_data_are_surveyed(frozen, mortal):
    def survey(number):
        return number, os.getpid()

    frozen.freeze()
    numbers = range(12)
    found = cluster.results(
        mortal, lambda workers: [mortal.submit(survey, k, workers=workers, pure=False) for k in numbers]
    )
    assert [number for number, _ in found] == list(numbers)
    assert frozen.process.pid not in {pid for _, pid in found}
    assert frozen.is_frozen()


def test_the_time_limit_holds_although_a_worker_is_frozen(frozen, mortal, tagger):
    there = tagger(tol=None, max_epochs=10**6, max_seconds=3.0)
    there.client = mortal
    there.fit(X, Y, parts=3, callbacks=[During(0, frozen.freeze)])
    assert there.solution_.stopped == "seconds"
    assert frozen.is_frozen()


def test_ctrl_c_is_heard_although_a_worker_is_frozen(frozen, mortal, tagger, monkeypatch):
    monkeypatch.setattr(cluster, "SILENCE", 1e9)  # nobody finds out that it is

    def freeze():
        frozen.freeze()
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()

    there = tagger(tol=None, max_epochs=10**6)
    there.client = mortal
    there.fit(X, Y, parts=3, callbacks=[During(2, freeze)])
    assert there.solution_.stopped == "interrupted"
    assert frozen.is_frozen()


@pytest.fixture
def team(client, monkeypatch):
    """Three parts on two workers, whose patience is short, and what they should reply."""
    monkeypatch.setattr(carrier, "LEAST_PATIENCE", 0.2)
    monkeypatch.setattr(carrier, "BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(carrier, "TICK", 0.02)
    parameters = SequenceTagger(**SETTINGS)
    pieces = [Data(X[k::3], Y[k::3]) for k in range(3)]
    one, two, three = (survey_tags(parameters, piece) for piece in pieces)
    shared = worker.Shared(estimators()["SequenceTagger"], parameters, one.merged(two).merged(three))
    own = carrier.DaskCarrier(client, "hanging", worker.own_piece, shared, pieces, patience=3.0)
    monkeypatch.setattr(worker, "plan_on_this_worker", Plan.of)
    local = Team(LocalCarrier([lambda k=k: worker.own_piece(shared, pieces[k], k) for k in range(3)]))
    found = Team(own)
    for each in (found, local):
        each.start(lambda: None)
    yield found, losses(local)
    own.close()


def losses(team, watch=lambda: None):
    return {k: seen.loss for k, seen in team.ask(Look(NOTHING, proves=False), watch)}


def hanging(client):
    def held(run, wanted):
        lock = worker._host(run, 1).lock
        return lock.acquire(blocking=False) if wanted else lock.release()

    return held


def test_a_part_that_hangs_is_made_elsewhere(client, team):
    found, expected = team
    held, where = hanging(client), found.carrier._where[1]
    assert losses(found) == expected
    client.run(held, "hanging", True, workers=[where])
    try:
        assert losses(found) == expected
        assert found.rebuilt > 0
        assert found.carrier._where[1] != where
        assert losses(found) == expected  # and stays there
        assert found.carrier._where[1] != where
    finally:
        client.run(held, "hanging", False, workers=[where])


def test_a_part_that_answers_after_all_stays_where_it_is(client, team):
    """Both places of the part hang, and the first is the first to go on."""
    found, expected = team
    held, where = hanging(client), found.carrier._where[1]
    (other,) = {*found.carrier._where.values()} - {where}
    assert losses(found) == expected
    waiting = {where, other}
    client.run(held, "hanging", True, workers=list(waiting))

    def watch():
        if found.carrier._name == carrier.REBUILD and where in waiting:
            waiting.remove(where)
            client.run(held, "hanging", False, workers=[where])

    try:
        assert losses(found, watch) == expected
        assert waiting == {other}
        assert found.carrier._where[1] == where
    finally:
        client.run(held, "hanging", False, workers=list(waiting))
