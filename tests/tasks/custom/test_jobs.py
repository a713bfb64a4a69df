"""A plain structure with several jobs: the same bits, in processes or threads."""

import os
import signal
import threading
import time
from typing import ClassVar

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from tests.helpers.custom import Parts, Sign, parts
from tests.tasks.custom.test_estimator import X_TEST, Y_TEST, Multiclass, X, Y

from widemargin import StructuredPredictor, _processes
from widemargin.core.stop import Callback


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Workers answer everything, instead of what is left when they have started."""
    monkeypatch.setattr(_processes, "WORTH", 1e-9)
    monkeypatch.setattr(_processes.Pool, "_worth", lambda pool, known, n: n > 1)


class Threaded(Multiclass):
    releases_gil = True
    seen: ClassVar[set] = set()

    def decode(self, x, w, y=None):
        self.seen.add(threading.current_thread())
        return super().decode(x, w, y)


@pytest.fixture(scope="module", params=[2, 4])
def pool(request):
    """Workers for several fits, since starting them takes seconds."""
    with _processes.processes(request.param):
        yield


@pytest.fixture(scope="module")
def two():
    """Two workers."""
    with _processes.processes(2):
        yield


def predictor(structure=None, **options):
    return StructuredPredictor(structure or Multiclass(), **{"max_epochs": 4, "tol": None, "n_jobs": 1, **options})


def bits(predictor):
    return predictor.solution_.w.tobytes(), [row._replace(seconds=0.0) for row in predictor.solution_.trace]


@pytest.mark.parametrize("structure", [Multiclass, Threaded])
@pytest.mark.parametrize(
    "options", [{}, {"solver": "bcfw"}, {"solver": "one-slack", "objective": "approximate-slack"}], ids=str
)
def test_any_number_of_jobs_gives_the_same_bits(structure, options, pool):
    alone = predictor(structure(), **options).fit(X, Y, dev=(X_TEST, Y_TEST))
    together = predictor(structure(), n_jobs=4, **options).fit(X, Y, dev=(X_TEST, Y_TEST))
    assert bits(together) == bits(alone)
    assert together.predict(X_TEST) == alone.predict(X_TEST)
    assert together.score(X_TEST, Y_TEST) == alone.score(X_TEST, Y_TEST)
    one, four = (each.evaluate(X_TEST, Y_TEST, n_threads=n) for n, each in ((1, alone.model_), (4, together.model_)))
    assert one.results == four.results


def test_decoders_that_release_the_interpreter_run_in_threads():
    Threaded.seen.clear()
    predictor(Threaded(), n_jobs=2).fit(X, Y)
    assert len(Threaded.seen) > 1


def test_latent_structures(two):
    examples = parts(n=20)
    X, y = examples.X, examples.golds
    alone, together = (StructuredPredictor(Parts(), max_rounds=3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert together.solution_.w.tobytes() == alone.solution_.w.tobytes()
    assert together.predict_latent(X) == alone.predict_latent(X)


def test_comparison_path_and_cross_validation(two):
    one, other = (predictor(n_jobs=n, max_epochs=3) for n in (1, 2))
    found = [each.compare(X, Y, ["dcd", "bundle"]).table() for each in (one, other)]
    assert [row["gap"] for row in found[0]] == [row["gap"] for row in found[1]]
    paths = [[each.solution_.w.tobytes() for each in every.fit_path(X, Y, C=[0.1, 1.0])] for every in (one, other)]
    assert paths[0] == paths[1]
    assert cross_val_score(one, X, Y, cv=2).tolist() == cross_val_score(other, X, Y, cv=2).tolist()


def test_a_run_is_resumed_with_other_jobs(tmp_path, two):
    whole = predictor(max_epochs=4).fit(X, Y)
    predictor(max_epochs=2, n_jobs=2).fit(X, Y, checkpoint=tmp_path / "run")
    resumed = predictor(max_epochs=4, n_jobs=3).fit(X, Y, checkpoint=tmp_path / "run", resume=True)
    assert bits(resumed)[0] == bits(whole)[0]


def test_the_decoders_own_errors_come_through(two):
    class Failing(Multiclass):
        def decode(self, x, w, y=None):
            if x is X[40] or np.array_equal(x, X[40]):
                raise ZeroDivisionError("of the user's own")
            return super().decode(x, w, y)

    for n_jobs in (1, 2):
        with pytest.raises(ZeroDivisionError, match="of the user's own"):
            predictor(Failing(), n_jobs=n_jobs).fit(X, Y)


def test_a_structure_that_cannot_be_sent(two):
    structure = Sign()
    structure.lines = (line for line in [])
    with pytest.warns(UserWarning, match=r"one process decodes, since .* pickled .*generator.*; take n_jobs=1"):
        assert StructuredPredictor(structure, n_jobs=2).fit([1.0, -1.0], [1, -1]).predict([2.0]) == [1]
    assert StructuredPredictor(structure, n_jobs=1).fit([1.0, -1.0], [1, -1]).predict([2.0]) == [1]


@pytest.mark.parametrize(("n_jobs", "threads"), [(1, False), (2, True)])
def test_ctrl_c_is_answered_within_a_full_pass(n_jobs, threads):
    class Slow(Multiclass):
        releases_gil = threads
        seen = 0

        def decode(self, x, w, y=None):
            Slow.seen += 1
            if Slow.seen == len(X) + 5:  # early in the second pass
                os.kill(os.getpid(), signal.SIGINT)
            if Slow.seen > len(X):
                time.sleep(0.03)
            return super().decode(x, w, y)

    found = predictor(Slow(), n_jobs=n_jobs, solver="bundle").fit(X, Y)
    assert found.solution_.stopped == "interrupted"
    assert Slow.seen < len(X) + 12 < 2 * len(X)


def test_ctrl_c_keeps_the_model(two):
    class Slow(Multiclass):
        def decode(self, x, w, y=None):
            time.sleep(0.01)
            return super().decode(x, w, y)

    class Interrupt(Callback):
        def on_epoch(self, epoch):
            if epoch.epoch == 1:
                os.kill(os.getpid(), signal.SIGINT)

    found = predictor(Slow(), n_jobs=2).fit(X, Y, callbacks=[Interrupt()])
    assert found.solution_.stopped == "interrupted"
    assert np.any(found.solution_.w)
    assert len(found.predict(X)) == len(X), "workers do not answer any more"
