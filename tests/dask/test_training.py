"""A cluster of two processes against one machine: the same objective, any number of workers, what is refused."""

import gc
import os
import pickle
import signal

import numpy as np
import pytest
from distributed import Client, LocalCluster, get_task_stream
from sklearn.base import clone

import widemargin.dask
from helpers.parts import SETTINGS, X, Y
from widemargin import Callback, SequenceTagger
from widemargin.core.problem import Problem
from widemargin.dask import DaskLinearClassifier, DaskSequenceTagger, cluster, train
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.parts.messages import Outcome
from widemargin.tasks import estimators
from widemargin.tasks.tag.estimator import compile_tags, survey_tags
from widemargin.tasks.training import Data

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Dask and Tornado when a cluster is closed


def test_the_objective_of_one_machine(tagger):
    local = SequenceTagger(**SETTINGS).fit(X, Y)
    there = tagger().fit(X, Y, parts=3)
    assert there.solution_.stopped == "gap"
    assert there.solution_.certified
    assert there.trained_.n_parts == 3
    assert there.solution_.dual <= local.solution_.primal
    assert local.solution_.dual <= there.solution_.primal
    # The certificate is true.
    one, two, three = (survey_tags(local, Data(X[k::3], Y[k::3])) for k in range(3))
    compiled = compile_tags(local, Data(X, Y), survey=one.merged(two).merged(three))
    whole = Problem(compiled.examples, C=there.model_.summary["C"])
    assert whole.primal(there.solution_.w) == pytest.approx(there.solution_.primal, rel=1e-9)
    assert there.model_.labels == local.model_.labels
    for certified in (False, True):  # what the parts promise, and what is proven
        duals = [row.dual for row in there.solution_.trace if row.certified is certified]
        assert duals == sorted(duals)
    assert there.trained_.sent > 0 < there.trained_.received
    assert type(there.to_local()) is SequenceTagger


def test_any_number_of_workers_gives_the_same_bits(tagger):
    settings = {"tol": None, "max_epochs": 4}
    expected = tagger(**settings).fit(X, Y, parts=3)
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as single,
    ):
        alone = tagger(**settings)
        alone.client = single
        alone.fit(X, Y, parts=3)
    np.testing.assert_array_equal(alone.solution_.w, expected.solution_.w)
    assert alone.solution_.primal == expected.solution_.primal


def count_extractions():
    """From now on, count how often this process turns tokens into features; 0 so far."""
    from widemargin.text.template_extractor import TemplateExtractor

    if not hasattr(TemplateExtractor, "counted"):
        for name in ("extend", "read"):
            own = getattr(TemplateExtractor, name)

            def counting(self, *given, own=own):
                TemplateExtractor.counted += 1
                return own(self, *given)

            setattr(TemplateExtractor, name, counting)
    TemplateExtractor.counted = 0


def extractions():
    from widemargin.text.template_extractor import TemplateExtractor

    return TemplateExtractor.counted


@pytest.mark.parametrize("name", ["DaskSequenceTagger", "DaskSegmenter"])
def test_each_part_extracts_its_features_once(name, client):
    """Its rows wait for the merged survey on the worker that made them, and nothing is left there in the end."""
    estimator = getattr(widemargin.dask, name)(templates=["word", "suffix2"], tol=None, max_epochs=2)
    estimator.client = client
    client.run(count_extractions)
    estimator.fit(X, Y, parts=4)
    assert sum(client.run(extractions).values()) == 4
    assert not any(client.run(lambda: len(widemargin.dask.worker._DRAFTS)).values())
    again = getattr(widemargin.dask, name)(templates=["word", "suffix2"], tol=None, max_epochs=2)
    again.client = client
    # Without what was drafted, parts read their data once more and come to the same weights, bit for bit.
    client.run(lambda: setattr(widemargin.dask.worker, "_DRAFTS", Forgetful()))
    try:
        again.fit(X, Y, parts=4)
    finally:
        client.run(lambda: setattr(widemargin.dask.worker, "_DRAFTS", {}))
    assert again.solution_.w.tobytes() == estimator.solution_.w.tobytes()
    assert sum(client.run(extractions).values()) == 3 * 4


class Forgetful(dict):
    """A dict that keeps nothing."""

    def __setitem__(self, key, value):
        pass


def test_changes_of_w_are_not_kept(tagger):
    """Dask keeps the last messages about tasks, in the client and in the scheduler, which is in this process here.

    Classes are asked by `type`: to `isinstance`, a weak reference whose object is gone is an error.
    """
    before = sum(issubclass(type(each), Outcome) for each in gc.get_objects())
    tagger(tol=None, max_epochs=8).fit(X, Y, parts=3)
    gc.collect()
    assert sum(issubclass(type(each), Outcome) for each in gc.get_objects()) <= before + 1


def test_a_run_resumes(tagger, tmp_path):
    options = {"parts": 2, "checkpoint": tmp_path / "run", "checkpoint_seconds": 0.0}
    tagger(max_epochs=2, tol=None).fit(X, Y, **options)
    resumed = tagger(max_epochs=4, tol=None).fit(X, Y, resume=True, **options)
    expected = tagger(max_epochs=4, tol=None).fit(X, Y, parts=2)
    np.testing.assert_array_equal(resumed.solution_.w, expected.solution_.w)
    assert len(resumed.solution_.trace) == 4


def test_ctrl_c_keeps_the_model(tagger):
    class Stopping(Callback):
        def on_epoch(self, epoch):
            if epoch.epoch == 2:
                os.kill(os.getpid(), signal.SIGINT)

    found = tagger(tol=None, max_epochs=50).fit(X, Y, parts=2, callbacks=[Stopping()])
    assert found.solution_.stopped == "interrupted"
    expected = tagger(tol=None, max_epochs=2).fit(X, Y, parts=2)
    np.testing.assert_array_equal(found.solution_.w, expected.solution_.w)


def test_primal_solvers_are_mixed(tagger):
    mixed = tagger(solver="perceptron", max_epochs=5, tol=None).fit(X, Y, parts=2)
    assert mixed.score(X, Y) > 0.9


def test_progress_and_tasks_have_names(tagger, client, capsys):
    with get_task_stream(client) as stream:
        tagger(tol=None, max_epochs=2, verbose=True).fit(X, Y, parts=3)
    lines = capsys.readouterr().err.splitlines()
    first, second = (line for line in lines if line.startswith("round"))
    assert first.startswith("round 1/2  objective ")
    assert " kB moved  3 parts on 2 workers  " in second
    assert lines[-1] == "stopped by epochs after 2 rounds"
    keys = {task["key"].rsplit("-", 2)[0] for task in stream.data}
    wanted = {f"{name}-part-{k}" for name in ("compile", "round-1", "round-2", "look-2") for k in range(3)}
    assert wanted <= keys


def test_what_is_refused_before_anything_is_read(tagger):
    nothing = [["unread"]], None
    with pytest.raises(UnsupportedError, match="needs all blocks at once"):
        tagger(solver="lbfgs").fit(*nothing)
    with pytest.raises(UnsupportedError, match=r"warm_start continues from the last weights.*resume=True"):
        tagger(warm_start=True).fit(*nothing)
    with pytest.raises(WidemarginError, match="nothing to resume from"):
        tagger().fit(*nothing, resume=True)
    for name in ("CoreferenceResolver", "MotifFinder"):
        with pytest.raises(UnsupportedError, match=f"take the {name} without Dask"):
            train(None, getattr(widemargin.dask, f"Dask{name}")(), nothing)
    with pytest.raises(WidemarginError, match="no parameters of a task"):
        train(None, object(), nothing)


def test_versions_that_differ_are_a_sentence(tagger, client):
    def change(version):
        cluster.__version__ = version

    one = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
    client.run(change, "0.0.1", workers=[one])
    try:
        with pytest.raises(WidemarginError, match=rf"the worker {one} has widemargin 0\.0\.1, but this process has"):
            tagger().fit(X, Y)
    finally:
        client.run(change, cluster.__version__, workers=[one])


def test_a_cluster_that_is_gone_is_a_sentence(tagger, tmp_path):
    class Closing(Callback):
        def on_epoch(self, epoch):
            cluster.close()

    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    client = Client(cluster, set_as_default=False)
    found = tagger(tol=None)
    found.client = client
    with pytest.raises(WidemarginError, match="the scheduler of the Dask cluster is gone, or the client is closed"):
        found.fit(X, Y, parts=2, callbacks=[Closing()], checkpoint=tmp_path, checkpoint_seconds=0.0)
    client.close()
    with pytest.raises(WidemarginError, match="the scheduler of the Dask cluster is gone, or the client is closed"):
        found.fit(X, Y)


def test_every_estimator_has_a_twin(client):
    for name in estimators():
        twin = getattr(widemargin.dask, f"Dask{name}")
        assert twin.__name__ == f"Dask{name}"
        assert f"Dask{name}" in dir(widemargin.dask)
    with pytest.raises(AttributeError):
        widemargin.dask.DaskNothing  # noqa: B018
    tagger = DaskSequenceTagger(C=0.5)
    tagger.client = client
    assert pickle.loads(pickle.dumps(tagger)).C == 0.5
    assert clone(tagger).client is client
    assert DaskLinearClassifier().client is client  # the one that Dask knows
