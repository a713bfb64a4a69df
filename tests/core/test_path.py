"""The regularisation path, and training piece by piece."""

import signal

import numpy as np
import pytest

import widemargin
from helpers import SOLVERS, optimum, problem, random_chain, taken_by
from widemargin.core.loop import Callback, Stop, fit, fit_path
from widemargin.core.online import learn
from widemargin.core.problem import Problem
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.solvers import MIRA, DualCoordinateDescent, Perceptron

DCD = DualCoordinateDescent()
EXACT = Stop(epochs=5000, gap=1e-6)


@pytest.mark.parametrize("name", ["chain", "chain, real-valued", "weighted", "custom, matching"])
def test_a_path_reaches_the_optima_of_cold_starts_with_fewer_oracle_calls(name):
    C = [0.3, 0.1, 0.2, 0.05, 0.15]
    path = fit_path(problem(name)[0], DCD, C=C, stop=EXACT)
    cold = [fit(problem(name, C=each)[0], DCD, stop=EXACT) for each in C]
    for each, one, other in zip(C, path, cold, strict=True):
        least, _ = optimum(*problem(name, C=each))
        assert one.stopped == "gap"
        assert one.certified
        assert one.gap <= 1e-6
        assert one.primal == pytest.approx(least, rel=2e-6)
        assert other.primal == pytest.approx(least, rel=2e-6)
    assert sum(one.oracle_calls for one in path) < sum(one.oracle_calls for one in cold)


def test_every_point_has_a_name():
    class Names(Callback):
        def on_run(self, name):
            names.append(name)

    names = []
    fit_path(problem("chain")[0], DCD, C=[0.4, 0.1], stop=Stop(epochs=1), callbacks=[Names()])
    assert names == ["C 0.1", "C 0.4"]


def test_the_path_is_in_the_given_order_and_keeps_the_last_cuts():
    training, _ = problem("chain")
    up, down = (fit_path(training, DCD, C=C, stop=Stop(epochs=4)) for C in ([0.1, 0.2, 0.4], [0.4, 0.2, 0.1]))
    for one, other in zip(up, down[::-1], strict=True):
        assert np.array_equal(one.w, other.w)
    assert [each.cuts is not None for each in up] == [False, False, True]
    assert training.C == 0.5
    assert widemargin.fit_path is fit_path


@pytest.mark.parametrize("solver", [name for name, each in SOLVERS.items() if "maximum" in each.kinds])
def test_every_solver_follows_a_path(solver):
    solver = SOLVERS[solver]
    training, _ = problem("chain", **taken_by(solver))
    first, second = fit_path(training, solver, C=[0.1, 0.2], stop=Stop(epochs=2, gap=None), seed=1)
    options = {"stop": Stop(epochs=2, gap=None), "seed": 1}
    before = fit(problem("chain", **taken_by(solver), C=0.1)[0], solver, **options)
    assert np.array_equal(first.w, before.w)
    warm = {"w": before.w} if before.cuts is None else {"cuts": before.cuts}
    after = fit(problem("chain", **taken_by(solver), C=0.2)[0], solver, **options, **warm)
    assert np.array_equal(second.w, after.w)


def test_ctrl_c_ends_the_path():
    class Press(Callback):
        runs = 0

        def on_start(self, max_epochs, n_examples):
            self.runs += 1

        def on_epoch(self, epoch):
            if self.runs == 2 and epoch.epoch == 1:
                signal.raise_signal(signal.SIGINT)

    path = fit_path(problem("chain")[0], DCD, C=[0.3, 0.1, 0.2], stop=Stop(epochs=3, gap=None), callbacks=[Press()])
    assert [each.stopped for each in path] == ["epochs", "interrupted"]


def test_ctrl_c_before_a_point_has_learnt_anything_keeps_those_before(monkeypatch):
    solutions = iter([fit(problem("chain")[0], DCD, stop=Stop(epochs=1)), KeyboardInterrupt])

    def scripted(*arguments, **options):
        found = next(solutions)
        if found is KeyboardInterrupt:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr("widemargin.core.loop.fit", scripted)
    assert len(fit_path(problem("chain")[0], DCD, C=[0.1, 0.2, 0.3])) == 1
    solutions = iter([KeyboardInterrupt])
    with pytest.raises(KeyboardInterrupt):
        fit_path(problem("chain")[0], DCD, C=[0.1, 0.2])


def test_paths_that_cannot_be():
    training, _ = problem("chain")
    with pytest.raises(WidemarginError, match="at least one C"):
        fit_path(training, DCD, C=[])
    with pytest.raises(WidemarginError, match=r"C must be a number above 0, not -1\.0"):
        fit_path(training, DCD, C=[1.0, -1.0])
    with pytest.raises(WidemarginError, match="one C at a time"):
        fit_path(training, DCD, C=[1.0], checkpoint="run")
    assert training.meter.calls == 0


@pytest.mark.parametrize("solver", [Perceptron(batch_size=2), MIRA(), MIRA(k=3)])
def test_epochs_piece_by_piece_are_those_of_one_run(solver):
    """The same data again and again: the weights of `fit`, bit for bit."""
    training, _ = problem("chain")
    online, rng, trace = None, np.random.default_rng(4), ()
    for epochs in (1, 2, 3):
        found, online = learn(training, solver, rng if online is None else online.generator, online, trace=trace)
        expected, trace = fit(training, solver, stop=Stop(epochs=epochs, gap=None), seed=4), found.trace
        assert np.array_equal(found.w, expected.w)
        assert (len(found.trace), found.epoch, found.certified) == (epochs, epochs, False)
    assert found.oracle_calls == 3 * training.n_blocks


def test_pieces_may_be_of_any_size_but_not_of_other_weights():
    online, rng = None, np.random.default_rng(0)
    for lengths in ([3, 2], [4], [], [1, 1, 5]):
        found, online = learn(Problem(random_chain(1, lengths).compiled()), Perceptron(), rng, online)
        assert np.all(np.isfinite(found.w))
    with pytest.raises(WidemarginError, match="the pieces before had other weights"):
        learn(Problem(random_chain(1, [2], n_features=7).compiled()), Perceptron(), rng, online)
    with pytest.raises(UnsupportedError, match=r"DualCoordinateDescent needs all data at once; .* perceptron, mira"):
        learn(Problem(random_chain(1, [2]).compiled()), DCD, rng)
