"""A cluster of two processes against one machine: the same objective, any number of workers, workers that die."""

import os
import pickle
import random
import signal
import threading
from functools import reduce

import dask.bag
import numpy as np
import pytest
from distributed import Client, LocalCluster

import widemargin.dask
from widemargin import Callback, LinearClassifier, SequenceTagger, load
from widemargin.core.problem import Problem
from widemargin.dask import DaskDependencyParser, DaskLinearClassifier, DaskSequenceTagger, Files, worker
from widemargin.data.generators import addresses
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks import estimators
from widemargin.tasks.base import Reading
from widemargin.tasks.tag.compile import compile_tags, survey_tags
from widemargin.tasks.training import Data

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Dask and Tornado when a cluster is closed

X, Y = addresses(60, seed=3)
SETTINGS = {"templates": ["word", "lower[-1]", "suffix2"], "n_jobs": 1, "tol": 0.01, "max_epochs": 60}


@pytest.fixture(scope="session")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def tagger(client, **settings):
    found = DaskSequenceTagger(**{**SETTINGS, **settings})
    found.client = client
    return found


def cut(n_parts):
    return [Data(X[k::n_parts], Y[k::n_parts]) for k in range(n_parts)]


def surveyed(parameters, pieces):
    return reduce(lambda one, two: one.merged(two), [survey_tags(parameters, piece) for piece in pieces])


class Killer(Callback):
    """Kills a worker while a round is under way."""

    def __init__(self, client, rounds, seed=0):
        self.client, self.rounds, self.rng, self.killed = client, set(rounds), random.Random(seed), 0

    def on_epoch(self, epoch):
        if epoch.epoch in self.rounds:
            pids = sorted(self.client.run(os.getpid).values())
            victim = self.rng.choice(pids)
            self.killed += 1
            threading.Timer(self.rng.random() * 0.05, os.kill, (victim, signal.SIGKILL)).start()


def test_the_objective_of_one_machine(client):
    local = SequenceTagger(**SETTINGS).fit(X, Y)
    there = tagger(client).fit(X, Y, parts=3)
    assert there.solution_.stopped == "gap"
    assert there.solution_.certified
    assert there.trained_.n_parts == 3
    assert there.solution_.dual <= local.solution_.primal
    assert local.solution_.dual <= there.solution_.primal
    # The certificate is true.
    compiled = compile_tags(local, Data(X, Y), survey=surveyed(local, cut(3)))
    whole = Problem(compiled.examples, C=there.model_.summary["C"])
    assert whole.primal(there.solution_.w) == pytest.approx(there.solution_.primal, rel=1e-9)
    assert there.model_.labels == local.model_.labels
    duals = [row.dual for row in there.solution_.trace]
    assert duals == sorted(duals)
    assert there.trained_.sent > 0 < there.trained_.received
    assert there.predict(X) == there.to_local().predict(X)
    assert type(there.to_local()) is SequenceTagger
    assert there.score(X, Y) > 0.95


def test_any_number_of_workers_and_deaths_give_the_same_bits(client, tmp_path):
    """Three parts on two workers, on one, and with workers that are killed, with and without a shared folder."""
    settings = {"tol": None, "max_epochs": 6}
    expected = tagger(client, **settings).fit(X, Y, parts=3)
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as single,
    ):
        alone = tagger(single, **settings).fit(X, Y, parts=3)
    np.testing.assert_array_equal(alone.solution_.w, expected.solution_.w)
    for options in ({"checkpoint": tmp_path, "checkpoint_seconds": 0.0}, {}):
        killer = Killer(client, [2])
        found = tagger(client, **settings).fit(X, Y, parts=3, callbacks=[killer], **options)
        assert killer.killed == 1
        assert found.trained_.rebuilt > 0
        np.testing.assert_array_equal(found.solution_.w, expected.solution_.w)
        assert found.solution_.primal == expected.solution_.primal
        client.wait_for_workers(2)


def test_a_run_resumes(client, tmp_path):
    settings = {"tol": None}
    options = {"parts": 2, "checkpoint": tmp_path / "run", "checkpoint_seconds": 0.0}
    tagger(client, max_epochs=2, **settings).fit(X, Y, **options)
    resumed = tagger(client, max_epochs=4, **settings).fit(X, Y, resume=True, **options)
    expected = tagger(client, max_epochs=4, **settings).fit(X, Y, parts=2)
    np.testing.assert_array_equal(resumed.solution_.w, expected.solution_.w)
    assert len(resumed.solution_.trace) == 4


def test_files_bags_and_lists_are_the_same_data(client, tmp_path):
    settings, pairs = {"tol": None, "max_epochs": 3}, list[tuple[list[str], list[str]]]()
    for k, piece in enumerate(cut(3)):
        pairs += zip(piece.X, piece.y, strict=True)
        lines = [
            "".join(f"{word}\t{label}\n" for word, label in zip(words, labels, strict=True))
            for words, labels in zip(piece.X, piece.y, strict=True)
        ]
        (tmp_path / f"part{k}.tsv").write_text("\n".join(lines))
    expected = tagger(client, **settings).fit(X, Y, parts=3)
    from_files = tagger(client, **settings).fit(Files(str(tmp_path / "*.tsv"), Reading(format="conll")))
    bag = dask.bag.from_sequence(pairs, npartitions=3)
    from_bag = tagger(client, **settings).fit(bag)
    np.testing.assert_array_equal(from_files.solution_.w, expected.solution_.w)
    np.testing.assert_array_equal(from_bag.solution_.w, expected.solution_.w)
    outputs = from_bag.predict(dask.bag.from_sequence(X, npartitions=2)).compute()
    assert outputs == expected.to_local().predict(X)
    with pytest.raises(DataError, match="no file is named like"):
        tagger(client).fit(Files(str(tmp_path / "*.none")))


def test_other_tasks_and_solvers(client, tmp_path):
    sentences = [["dogs", "bark"], ["big", "dogs", "sleep"], ["cats", "sleep"], ["small", "cats", "run"]]
    trees = [
        [(2, "nsubj"), (0, "root")],
        [(2, "amod"), (3, "nsubj"), (0, "root")],
        [(2, "nsubj"), (0, "root")],
        [(2, "amod"), (3, "nsubj"), (0, "root")],
    ]
    parser = DaskDependencyParser(hash_bits=12, max_epochs=40)
    parser.client = client
    parser.fit(sentences, trees, parts=2)
    assert parser.solution_.certified
    assert parser.predict([["small", "dogs", "bark"]])[0][0].head == 2
    parser.save(tmp_path / "parser.wm")
    assert load(tmp_path / "parser.wm").predict(sentences) == parser.to_local().predict(sentences)
    with pytest.raises(UnsupportedError, match="trains taggers on all data"):
        parser.fit([[{"word": word, "upos": "X"} for word in words] for words in sentences], trees, parts=2)
    rng = np.random.default_rng(0)
    matrix, classes = rng.normal(size=(40, 3)), np.arange(40) % 2
    matrix[:, 0] += 4 * classes
    classifier = DaskLinearClassifier(max_epochs=300)  # compiled by the driver
    classifier.client = client
    classifier.fit(matrix, classes, parts=2)
    local = LinearClassifier().fit(matrix, classes)
    assert classifier.solution_.primal == pytest.approx(local.solution_.primal, rel=0.03)
    mixed = tagger(client, solver="perceptron", max_epochs=5, tol=None).fit(X, Y, parts=2)
    assert mixed.score(X, Y) > 0.9
    with pytest.raises(UnsupportedError, match="needs all blocks at once"):
        tagger(client, solver="lbfgs").fit(X, Y)
    with pytest.raises(UnsupportedError, match="latent variables"):
        tagger(client).fit(X, [[None, *labels[1:]] for labels in Y])


def test_versions_that_differ_are_a_sentence(client):
    def change(version):
        worker.__version__ = version

    one = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    client.run(change, "0.0.1", workers=[one])
    try:
        with pytest.raises(WidemarginError, match=r"the worker .* has widemargin 0\.0\.1, but this process has"):
            tagger(client).fit(X, Y)
    finally:
        client.run(change, worker.__version__, workers=[one])


def test_ctrl_c_keeps_the_model(client):
    class Stopping(Callback):
        def on_epoch(self, epoch):
            if epoch.epoch == 2:
                os.kill(os.getpid(), signal.SIGINT)

    found = tagger(client, tol=None, max_epochs=50).fit(X, Y, parts=2, callbacks=[Stopping()])
    assert found.solution_.stopped == "interrupted"
    expected = tagger(client, tol=None, max_epochs=2).fit(X, Y, parts=2)
    np.testing.assert_array_equal(found.solution_.w, expected.solution_.w)


def test_every_estimator_has_a_twin():
    for name in estimators():
        twin = getattr(widemargin.dask, f"Dask{name}")
        assert twin.__name__ == f"Dask{name}"
        assert f"Dask{name}" in dir(widemargin.dask)
    with pytest.raises(AttributeError):
        widemargin.dask.DaskNothing  # noqa: B018
    assert pickle.loads(pickle.dumps(DaskSequenceTagger(C=0.5))).C == 0.5


@pytest.mark.interpreted
@pytest.mark.parametrize("settings", [{}, {"min_count": 2}, {"hash_bits": 10}, {"templates": ["word", "suffix2"]}])
def test_surveys_of_parts_compile_as_one(settings):
    """The examples of parts, one after the other, are those of one machine, but for the order of features."""
    parameters = SequenceTagger(**{**SETTINGS, **settings})
    pieces = cut(4)
    survey = surveyed(parameters, pieces)
    whole = compile_tags(parameters, Data(X, Y))
    assert survey.by_frequency == whole.labels
    parts = [compile_tags(parameters, piece, survey=survey) for piece in pieces]
    for part in parts:
        assert part.examples.n_weights == whole.examples.n_weights
    assert sorted(name for part in parts for name in named(part)) == sorted(named(whole))
    assert sum(part.examples.n_examples for part in parts) == whole.examples.n_examples


def named(compiled):
    """The names of the features of all positions."""
    extractor = compiled.model.args[1]
    names = extractor.names()
    return [names[number] for number in compiled.examples.data.features.indices.tolist()]
