"""Workers that die, hang, or answer late: nothing is lost, and the result is the same."""

import os
import random
import signal
import threading

import numpy as np
import pytest

from helpers.cluster import SETTINGS, X, Y
from widemargin import Callback, SequenceTagger
from widemargin.dask import carrier, makers, worker
from widemargin.parts.local import LocalCarrier
from widemargin.parts.messages import NOTHING, Look
from widemargin.parts.team import Team
from widemargin.tasks import estimators
from widemargin.tasks.tag.compile import survey_tags
from widemargin.tasks.training import Data

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Dask and Tornado when a worker is gone


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


@pytest.fixture
def team(client, monkeypatch):
    """Three parts on two workers, whose patience is short, and what they should reply."""
    monkeypatch.setattr(carrier, "LEAST_PATIENCE", 0.2)
    monkeypatch.setattr(carrier, "BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(carrier, "TICK", 0.02)
    parameters = SequenceTagger(**SETTINGS)
    pieces = [Data(X[k::3], Y[k::3]) for k in range(3)]
    one, two, three = (survey_tags(parameters, piece) for piece in pieces)
    shared = makers.Shared(estimators()["SequenceTagger"], parameters, one.merged(two).merged(three))
    own = carrier.DaskCarrier(client, "hanging", makers.own_piece, shared, pieces, patience=3.0)
    monkeypatch.setattr(makers, "on_this_worker", lambda parameters: parameters)
    local = Team(LocalCarrier([lambda k=k: makers.own_piece(shared, pieces[k], k) for k in range(3)]))
    found = Team(own)
    for each in (found, local):
        each.start(lambda: None)
    yield found, losses(local)
    own.close()


def losses(team, watch=lambda: None):
    return {k: seen.loss for k, seen in team.ask(Look(NOTHING, tangents=False), watch)}


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
