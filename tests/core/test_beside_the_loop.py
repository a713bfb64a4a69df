"""Those who stand beside the loop, each by itself: certifier, keeper, stop rules, clock, and the generator."""

from itertools import islice

import numpy as np
import pytest

from helpers import PROBLEMS, optimum, primal, problem
from widemargin.core.certificate import Certificate, Certifier, Keeper, shorten
from widemargin.core.loop import epochs, open_run
from widemargin.core.oracle import Clock, Meter
from widemargin.core.solution import Epoch
from widemargin.core.stop import Stop
from widemargin.errors import WidemarginError
from widemargin.solvers import SOLVERS

pytestmark = pytest.mark.interpreted


def row(epoch=3, primal=10.0, dual=9.95, gap=0.005, *, certified=True):
    return Epoch(epoch, 1.0, 30, primal, dual, gap, None, certified)


class TestStop:
    def test_before_the_first_epoch_only_none_at_all_stops(self):
        assert Stop(epochs=0).reason(None) == "epochs"
        assert Stop(epochs=1).reason(None) == ""

    def test_a_gap_counts_once_it_is_proven(self):
        assert Stop(gap=0.01).reason(row()) == "gap"
        assert Stop(gap=0.01).reason(row(certified=False)) == ""
        assert Stop(gap=0.01).reason(row(gap=None)) == ""
        assert Stop(gap=0.01).reason(row(certified=False), exact=False) == "gap"

    def test_the_first_rule_that_holds_is_the_reason(self):
        stop = Stop(epochs=3, gap=1e-6, patience=2)
        assert stop.reason(row(), waited=2, own="precision") == "patience"
        assert stop.reason(row(), waited=1, own="precision") == "precision"
        assert stop.reason(row(), waited=1) == "epochs"
        assert stop.reason(row(epoch=2), waited=1) == ""

    def test_a_run_must_be_able_to_end(self):
        with pytest.raises(WidemarginError, match="never end"):
            Stop(epochs=None, gap=0.1).check_that_it_ends(provable=False, has_score=False)
        Stop(epochs=None, gap=None, patience=2).check_that_it_ends(provable=False, has_score=True)

    @pytest.mark.parametrize(("gap", "missed"), [(None, True), (0.2, True), (0.1, False)])
    def test_a_gap_is_missed(self, gap, missed):
        assert Stop(gap=0.1).is_missed_by(gap) is missed
        assert not Stop(gap=None).is_missed_by(gap)


class TestKeeper:
    def test_without_a_score_the_last_weights_are_returned(self):
        keeper, w = Keeper(), np.ones(2)
        assert keeper.look(w, 1, None, has_dual=False) is None
        assert keeper.choice(w, 1) == (w, 1)

    def test_of_equals_the_last_is_kept_and_waiting_counts(self):
        keeper = Keeper(lambda w: min(w[0], 2.0))
        for epoch, value in enumerate([1.0, 2.0, 3.0, 0.0], 1):
            keeper.look(np.array([value]), epoch, None, has_dual=False)
        w, epoch = keeper.choice(np.zeros(1), 4)
        assert (w[0], epoch, keeper.waited) == (3.0, 3, 2)

    def test_early_epochs_of_a_dual_method_are_averaged_and_do_not_try_the_patience(self):
        seen = []
        keeper = Keeper(lambda w: seen.append(float(w[0])) or -len(seen))
        for epoch, (value, gap) in enumerate([(1.0, 0.9), (4.0, 0.5), (7.0, 0.1)], 1):
            keeper.look(np.array([value]), epoch, gap, has_dual=True)
        assert seen == [1.0, (1.0 + 2 * 4.0) / 3, 7.0]  # epoch t counts t times
        assert keeper.waited == 1

    def test_what_is_kept_is_a_copy(self):
        keeper, w = Keeper(lambda w: 1.0), np.ones(1)
        keeper.look(w, 1, None, has_dual=False)
        w[:] = 5.0
        assert keeper.choice(w, 1)[0] == 1.0

    def test_weights_that_are_too_long_are_shortened(self):
        training, small = problem("chain")
        w = 100.0 * np.ones(training.n_weights)
        shorter, value = shorten(training, w, training.primal(w))
        assert value == pytest.approx(primal(training, small, shorter), rel=1e-12)
        assert value <= training.primal(np.zeros(len(w))) * (1 + 1e-8)
        good = optimum(training, small)[1]
        assert np.array_equal(shorten(training, good, training.primal(good))[0], good)


class TestCertifier:
    @pytest.mark.parametrize("name", ["dcd", "perceptron", "one-slack"])
    @pytest.mark.parametrize("where", ["chain", "positions", "weighted"])
    def test_what_it_proves_is_true(self, name, where):
        assert where in PROBLEMS
        training, small = problem(where)
        solver = SOLVERS[name]
        state = solver.start(training)
        certifier = Certifier(training, solver)
        least, _ = optimum(training, small)
        bounds = []
        for _ in islice(epochs(training, solver, state, np.random.default_rng(0)), 4):
            w = solver.weights(state)
            found = certifier.certify(w, state)
            assert found.exact
            assert found.doubt is None
            assert found.primal == pytest.approx(primal(training, small, w), rel=1e-12)
            assert found.dual <= least * (1 + 1e-9)
            bounds.append(found.dual)
            assert certifier.slacks_at(w) is not None
            assert certifier.slacks_at(w + 1.0) is None
        assert bounds == sorted(bounds), "the best bound so far never falls"

    def test_a_misjudgement_proves_nothing(self):
        training, _ = problem("chain")
        solver = SOLVERS["dcd"]
        state = solver.start(training)
        training.misjudgement = "decoding returned too little"
        found = Certifier(training, solver).certify(solver.weights(state), state)
        assert (found.gap, found.doubt) == (None, "decoding returned too little")

    def test_a_bound_that_says_nothing_is_a_doubt(self):
        assert Certificate(1.0, 1e-9, 1 - 1e-9, None, True).or_doubt().gap is None
        assert "next to nothing" in Certificate(1.0, 1e-9, 1 - 1e-9, None, True).or_doubt().doubt
        assert Certificate(1.0, 0.5, 0.5, None, True).or_doubt().gap == 0.5
        assert Certificate(1.0, 0.5, 0.5).at(0.75).gap == pytest.approx(1 / 3)


def test_a_clock_goes_on_from_before_and_pauses(monkeypatch):
    time = [10.0]
    monkeypatch.setattr("widemargin.core.oracle.now", lambda: time[0])
    meter = Meter(calls=7)
    clock = Clock(meter, seconds=5.0, calls=20)
    time[0] += 1.0
    meter.count(3, 0.1)
    assert (clock.seconds, clock.calls) == (6.0, 23)
    with clock.pause():
        time[0] += 100.0
        meter.count(50, 0.1)
    assert (clock.seconds, clock.calls) == (6.0, 23)


def test_epochs_go_on_for_as_long_as_somebody_wants_them():
    training, _ = problem("chain")
    solver, rng = SOLVERS["dcd"], np.random.default_rng(0)
    state = solver.start(training)
    counts = [training.meter.calls for _ in islice(epochs(training, solver, state, rng), 3)]
    assert counts == [training.n_counted * k for k in (1, 2, 3)]


def test_whoever_iterates_may_end_a_run():
    training, _ = problem("chain")
    with open_run(training, SOLVERS["dcd"], stop=Stop(epochs=10, gap=None)) as run:
        run.start()
        for number, state in enumerate(run.epochs(), 1):
            assert state is run.state
            assert len(run.trace) == number - 1, "what the loop makes of an epoch comes after"
            run.reason = "enough" if number == 2 else ""
        solution = run.solution()
    assert (solution.stopped, solution.epoch, len(solution.trace)) == ("enough", 2, 2)
    assert solution.certified
    assert training.meter.watch is None
