"""The training loop: stop rules, callbacks, Ctrl-C, development score, certificate, threads."""

import json
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter
from typing import ClassVar

import numpy as np
import pytest
from numba.core import event as numba_event

from helpers import PROBLEMS, optimum, primal, problem, random_chain
from widemargin import _jit
from widemargin._jit import is_compiling
from widemargin.core import interrupt
from widemargin.core.loop import Callback, Stop, fit
from widemargin.core.problem import Meter, Problem
from widemargin.core.solution import Solution
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.objectives import Margin, Slack
from widemargin.solvers import SOLVERS, DualCoordinateDescent, Perceptron

pytestmark = pytest.mark.interpreted

DCD, LIGHT, PERCEPTRON = DualCoordinateDescent(), DualCoordinateDescent(sweeps=0), Perceptron()


class Diary(Callback):
    """Writes down what it hears."""

    def __init__(self):
        self.lines, self.rows = [], []

    def on_start(self, max_epochs, n_examples):
        self.lines.append(("start", max_epochs, n_examples))

    def on_batch(self, visited):
        self.lines.append(("batch", visited))

    def on_epoch(self, epoch):
        self.lines.append(("epoch", epoch.epoch))
        self.rows.append(epoch)

    def on_stop(self, reason):
        self.lines.append(("stop", reason))


class PressCtrlC(Callback):
    """Presses Ctrl-C at the n-th event of a kind."""

    def __init__(self, event, n):
        self.event, self.left = event, n

    def press(self, event):
        self.left -= event == self.event
        if event == self.event and self.left == 0:
            signal.raise_signal(signal.SIGINT)

    def on_batch(self, visited):
        self.press("batch")

    def on_epoch(self, epoch):
        self.press("epoch")


def larger(**options):
    return Problem(random_chain(7, [4, 3, 5, 2, 6] * 8, n_labels=4, n_features=12).compiled(), **options)


@pytest.mark.parametrize("solver", [DCD, PERCEPTRON])
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_stops_after_the_last_epoch(solver, epochs):
    training, _ = problem("chain")
    solution = fit(training, solver, stop=Stop(epochs=epochs, gap=None))
    assert solution.stopped == "epochs"
    assert solution.epoch == len(solution.trace) == epochs
    assert [row.epoch for row in solution.trace] == list(range(1, epochs + 1))
    assert epochs or not solution.w.any()
    assert solution.primal == training.primal(solution.w)


@pytest.mark.parametrize("gap", [0.1, 1e-2, 1e-4])
def test_stops_at_the_gap_and_no_later(gap):
    solution = fit(problem("chain")[0], DCD, stop=Stop(epochs=None, gap=gap))
    assert solution.stopped == "gap"
    assert solution.certified
    assert solution.gap <= gap
    assert solution.trace[-1].certified
    assert not any(row.certified and row.gap <= gap for row in solution.trace[:-1])


@pytest.mark.parametrize("seconds", [1000.0, 2000.0])
def test_stops_in_time(seconds, monkeypatch):
    """The clock moves by a second for every oracle call, also for the forty of the closing certificate."""
    cuts, clock = Margin.cuts, [0.0]

    def slow(self, examples, w, batch):
        clock[0] += len(batch)
        return cuts(self, examples, w, batch)

    monkeypatch.setattr(Margin, "cuts", slow)
    monkeypatch.setattr("widemargin.core.oracle.now", lambda: clock[0])
    monkeypatch.setattr("widemargin.core.oracle.perf_counter", lambda: clock[0])
    solution = fit(larger(), LIGHT, stop=Stop(epochs=None, gap=None, seconds=seconds))
    assert solution.stopped == "seconds"
    assert abs(clock[0] - seconds) <= 2.0  # batches have one or two examples here
    assert solution.certified


def test_seconds_spent_on_compiling_do_not_count(monkeypatch):
    class Compiling(Callback):
        """The clock moves by days for every batch, all of it spent on compiling."""

        def on_batch(self, visited):
            spent[0] += 1e6

    spent = [0.0]
    monkeypatch.setattr(_jit, "perf_counter", lambda: perf_counter() + spent[0])
    monkeypatch.setattr(_jit, "seconds_compiling", lambda: spent[0])
    solution = fit(problem("chain")[0], DCD, stop=Stop(epochs=2, gap=None, seconds=1e5), callbacks=[Compiling()])
    assert solution.stopped == "epochs"
    assert solution.seconds < 1e5 < spent[0]


def test_training_is_logged_for_those_who_listen(caplog):
    with caplog.at_level("INFO", logger="widemargin"):
        solution = fit(problem("chain")[0], DCD, stop=Stop(epochs=3, gap=None))
    start, *epochs, end = caplog.messages
    assert start.startswith("training on ")
    assert epochs == [f"epoch {row.epoch}: {row.figures()}, {row.seconds:.3f} s" for row in solution.trace]
    assert end == str(solution)
    caplog.clear()
    fit(problem("chain")[0], DCD, stop=Stop(epochs=1, gap=None))
    assert caplog.messages == []


def test_time_that_is_up_at_once_gives_untrained_weights():
    solution = fit(problem("chain")[0], DCD, stop=Stop(seconds=0))
    assert solution.stopped == "seconds"
    assert not solution.w.any()
    assert solution.primal is not None


def scripted(scores):
    """A development score that follows a script and remembers the weights it was shown."""
    shown = []

    def score(w):
        shown.append(w.copy())
        return scores[len(shown) - 1]

    return score, shown


@pytest.mark.parametrize("solver", [DCD, PERCEPTRON])
def test_patience_and_the_weights_of_the_best_epoch(solver):
    """Of equal scores the last is kept, but only a better one renews the patience."""
    training, _ = problem("chain", C=0.02)
    score, shown = scripted([0.1, 0.5, 0.3, 0.5, 0.4, 0.9])
    solution = fit(training, solver, stop=Stop(epochs=None, gap=None, patience=3), score=score)
    assert solution.stopped == "patience"
    assert solution.epoch == 4
    assert [row.score for row in solution.trace] == [0.1, 0.5, 0.3, 0.5, 0.4]
    assert np.array_equal(solution.w, shown[3])
    assert not np.array_equal(shown[3], shown[4])
    assert solution.primal == training.primal(shown[3])


def weights_by_epoch(training, solver, n):
    return [fit(training, solver, stop=Stop(epochs=t, gap=None)).w for t in range(1, n + 1)]


def test_early_weights_of_a_dual_solver_are_averaged():
    training, _ = problem("chain", C=0.2)
    score, shown = scripted([0.1] * 12)
    solution = fit(training, LIGHT, stop=Stop(epochs=12, gap=None), score=score)
    early = [row.gap > 0.2 for row in solution.trace]
    assert any(early[1:])
    assert not all(early)
    each = weights_by_epoch(training, LIGHT, 12)
    for t in range(1, 13):
        if early[t - 1]:
            mean = np.average(each[:t], axis=0, weights=range(1, t + 1))
            assert np.allclose(shown[t - 1], mean, rtol=1e-12, atol=1e-15)
        else:
            assert np.array_equal(shown[t - 1], each[t - 1])


@pytest.mark.parametrize("best", [2, 3])
def test_the_best_epoch_may_be_early(best):
    """The certificate is then that of the average, even after the last epoch."""
    training, _ = problem("chain", C=2.0)
    score, shown = scripted([0.9 if epoch == best else 0.1 for epoch in (1, 2, 3)])
    solution = fit(training, LIGHT, stop=Stop(epochs=3, gap=None), score=score)
    assert all(row.gap > 0.2 for row in solution.trace)
    assert solution.epoch == best
    assert np.array_equal(solution.w, shown[best - 1])
    assert not np.array_equal(solution.w, weights_by_epoch(training, LIGHT, best)[-1])
    assert solution.certified
    assert solution.primal == training.primal(solution.w)
    assert solution.dual <= solution.primal


def test_early_epochs_do_not_try_the_patience():
    training, _ = problem("chain", C=0.2)
    solution = fit(
        training, LIGHT, stop=Stop(epochs=100, gap=None, patience=2), score=scripted(np.linspace(1, 0, 100))[0]
    )
    assert solution.stopped == "patience"
    assert solution.epoch == 1
    assert [row.gap > 0.2 for row in solution.trace[-3:]] == [True, False, False]


@pytest.mark.parametrize("audit", [False, True])
def test_weights_without_a_dual_are_never_averaged(audit):
    training, _ = problem("chain", C=2.0)
    score, shown = scripted([0.1] * 3)
    fit(training, PERCEPTRON, stop=Stop(epochs=3, gap=None), score=score, audit=audit)
    assert all(map(np.array_equal, shown, weights_by_epoch(training, PERCEPTRON, 3)))


def test_a_score_that_is_no_number_is_never_the_best():
    nan = float("nan")
    score, shown = scripted([nan, 0.5, nan])
    solution = fit(problem("chain")[0], PERCEPTRON, stop=Stop(epochs=3), score=score)
    assert np.array_equal(solution.w, shown[1])


def test_the_best_epoch_may_be_the_last():
    score, shown = scripted([0.1, 0.2, 0.3])
    solution = fit(problem("chain")[0], PERCEPTRON, stop=Stop(epochs=3), score=score)
    assert (solution.stopped, solution.epoch) == ("epochs", 3)
    assert np.array_equal(solution.w, shown[2])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"epochs": None, "gap": None}, "without any stop rule training would never end"),
        ({"epochs": -1}, "the stop rule epochs must be a whole number of at least 0, not -1"),
        ({"seconds": float("nan")}, "the stop rule seconds must be a number"),
        ({"seconds": 10**400}, "the stop rule seconds must be a number"),
        ({"epochs": "3"}, "the stop rule epochs must be a whole number of at least 0, not '3'"),
        ({"gap": -1e-3}, "the stop rule gap must be a number of at least 0"),
        ({"patience": 0}, "the stop rule patience must be a whole number of at least 1, not 0"),
    ],
)
def test_senseless_stop_rules(rules, message):
    with pytest.raises(WidemarginError, match=message):
        Stop(**rules)


@pytest.mark.parametrize(
    ("solver", "rules"),
    [(PERCEPTRON, {"gap": 0.1}), (DCD, {"gap": None, "patience": 2}), (PERCEPTRON, {"patience": 2})],
)
def test_rules_that_can_never_hold_are_no_rules(solver, rules):
    """A gap needs a dual, and patience a development score."""
    with pytest.raises(WidemarginError, match="never end"):
        fit(problem("chain")[0], solver, stop=Stop(epochs=None, **rules))


def test_callbacks_hear_everything_in_order():
    diary, second = Diary(), Diary()
    fit(problem("chain")[0], Perceptron(batch_size=4), stop=Stop(epochs=2), callbacks=[diary, second])
    batches = [("batch", 0), ("batch", 4), ("batch", 8)]
    head = [("start", 2, 9), *batches, ("epoch", 1), *batches, ("epoch", 2)]
    assert diary.lines[: len(head)] == head
    assert diary.lines[-1] == ("stop", "epochs")
    assert diary.lines == second.lines
    assert {name for name, *_ in diary.lines[len(head) : -1]} <= {"batch"}, "only the closing pass is left"


def test_the_trace_is_what_callbacks_heard():
    diary = Diary()
    solution = fit(problem("chain")[0], DCD, callbacks=[diary])
    assert tuple(diary.rows) == solution.trace


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_trace_is_sane(name):
    training, small = problem(name)
    solution = fit(training, DCD, stop=Stop(epochs=300, gap=1e-4))
    least, _ = optimum(training, small)
    seconds, calls, duals = (
        [getattr(row, key) for row in solution.trace] for key in ("seconds", "oracle_calls", "dual")
    )
    assert seconds == sorted(seconds)
    assert solution.seconds >= seconds[-1] > 0
    visits = np.diff([0, *calls])
    assert all(visits % len(training.weighted_examples) == 0)
    assert all(1 <= visit / len(training.weighted_examples) <= 2 for visit in visits), "an epoch, and its proof at most"
    assert duals == sorted(duals)
    assert duals[-1] <= least * (1 + 1e-9)
    for row in solution.trace:
        assert row.gap == pytest.approx(max(0.0, (row.primal - row.dual) / row.primal))
        assert row.score is None
    assert solution.oracle_calls == calls[-1]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("epochs", [1, 3])
def test_the_certificate_is_that_of_enumeration(name, epochs):
    training, small = problem(name)
    solution = fit(training, LIGHT, stop=Stop(epochs=epochs, gap=None))
    assert solution.certified
    assert solution.primal == pytest.approx(primal(training, small, solution.w), rel=1e-12)
    assert solution.gap == pytest.approx((solution.primal - solution.dual) / solution.primal, abs=1e-12)
    least, _ = optimum(training, small)
    assert solution.dual <= least * (1 + 1e-9)
    assert solution.primal >= least * (1 - 1e-9)


def test_nothing_is_proven_by_an_approximate_decoder():
    training, _ = problem("chain")
    training.examples.exact = False
    solution = fit(training, DCD, stop=Stop(epochs=30, gap=0.1))
    assert solution.stopped == "gap"
    assert solution.gap <= 0.1
    assert not solution.certified
    assert not any(row.certified for row in solution.trace)
    assert "perhaps" in str(solution)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("event", ["batch", "epoch"])
def test_ctrl_c_returns_what_there_is(event, n):
    diary = Diary()
    solver = replace(LIGHT, batch_size=2)
    solution = fit(
        problem("chain")[0], solver, stop=Stop(epochs=None, gap=1e-12), callbacks=[PressCtrlC(event, n), diary]
    )
    assert solution.stopped == "interrupted"
    assert np.all(np.isfinite(solution.w))
    assert diary.lines[-1] == ("stop", "interrupted")
    assert [row.epoch for row in solution.trace] == list(range(1, len(solution.trace) + 1))
    assert not solution.certified
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_returns_the_best_epoch_so_far():
    score, shown = scripted([0.1, 0.5, 0.3, 0.2])
    solution = fit(
        problem("chain", C=2.0)[0],
        replace(LIGHT, batch_size=2),
        stop=Stop(epochs=None, gap=None, patience=10),
        score=score,
        callbacks=[PressCtrlC("epoch", 3)],
    )
    assert (solution.stopped, solution.epoch) == ("interrupted", 2)
    assert np.array_equal(solution.w, shown[1])


def test_ctrl_c_in_the_last_batch_before_a_proof():
    """The epoch ends regularly, its gap seems small enough, and the pass that would prove it is not begun."""
    score, shown = scripted([0.1] * 9)
    training, solver = problem("chain")[0], replace(LIGHT, batch_size=100)
    solution = fit(training, solver, stop=Stop(gap=1.0), score=score, callbacks=[PressCtrlC("batch", 1)])
    assert solution.stopped == "interrupted"
    assert not solution.certified
    assert np.array_equal(solution.w, shown[0])
    assert [row.score for row in solution.trace] == [0.1]
    assert solution.epoch == 1


def test_ctrl_c_during_the_closing_proof(monkeypatch):
    monkeypatch.setattr("widemargin.core.oracle.PASS_BATCH", 2)
    chain = problem("chain")[0]
    ask, asked = Margin.cuts, []

    def interrupted_in_the_proof(self, examples, w, batch):
        asked.append(len(batch))
        if len(asked) == 3:  # the epoch is one batch; the proof has begun
            signal.raise_signal(signal.SIGINT)
        return ask(self, examples, w, batch)

    monkeypatch.setattr(Margin, "cuts", interrupted_in_the_proof)
    solution = fit(chain, replace(LIGHT, batch_size=100), stop=Stop(epochs=1, gap=None))
    assert asked[1:] == [2, 2]
    assert solution.stopped == "interrupted"
    assert not solution.certified


@pytest.mark.parametrize("warm", [False, True])
def test_ctrl_c_before_anything_is_learnt_is_raised(warm):
    """In the first epoch, or in the oracle pass that a dual solver makes at the weights to start from."""
    training, _ = problem("chain")
    ask, asked = Margin.cuts, []

    class Press(Callback):
        def on_start(self, max_epochs, n_examples):
            signal.raise_signal(signal.SIGINT)

    def press(self, examples, w, batch):
        asked.append(len(batch))
        signal.raise_signal(signal.SIGINT)
        return ask(self, examples, w, batch)

    with pytest.MonkeyPatch.context() as patch:
        if warm:
            patch.setattr("widemargin.core.oracle.PASS_BATCH", 2)
            patch.setattr(Margin, "cuts", press)
        with pytest.raises(KeyboardInterrupt):
            fit(training, LIGHT, callbacks=[] if warm else [Press()], w=np.ones(training.n_weights) if warm else None)
    assert len(asked) == warm
    assert training.meter.watch is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Compiling(Callback):
    """A kernel is compiled for the n-th batch, and somebody presses Ctrl-C meanwhile, or just before."""

    def __init__(self, n, *, before=False):
        self.left, self.before = n, before

    def on_batch(self, visited):
        self.left -= 1
        if self.left == 0:
            if self.before:
                signal.raise_signal(signal.SIGINT)
            with numba_event.trigger_event("numba:compile", data={}):
                if not self.before:
                    signal.raise_signal(signal.SIGINT)
                self.left = -1


@pytest.mark.parametrize("before", [False, True])
def test_ctrl_c_while_compiling_is_raised_at_once_until_something_is_learnt(before):
    solver = replace(LIGHT, batch_size=2)
    press = Compiling(1, before=before)
    with pytest.raises(KeyboardInterrupt):
        fit(problem("chain")[0], solver, callbacks=[press])
    assert press.left == 0
    assert not is_compiling()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    press = Compiling(2, before=before)
    assert fit(problem("chain")[0], solver, callbacks=[press]).stopped == "interrupted"
    assert press.left == -1


def test_ctrl_c_in_a_callback_of_the_compiler_is_not_lost():
    """An error raised there would be printed and forgotten, so the next kernel raises it."""

    def _raw_object_cache_notify():
        signal.raise_signal(signal.SIGINT)

    class Press(Callback):
        def on_batch(self, visited):
            with numba_event.trigger_event("numba:compile", data={}):
                _raw_object_cache_notify()
            done.append("first kernel")
            with numba_event.trigger_event("numba:compile", data={}):
                done.append("second kernel")

    done = []
    with pytest.raises(KeyboardInterrupt):
        fit(problem("chain")[0], LIGHT, callbacks=[Press()])
    assert done == ["first kernel"]


def test_a_program_may_answer_signals_itself(monkeypatch):
    monkeypatch.setattr(interrupt, "_taken_over", None)
    stop = interrupt.take_over()
    assert interrupt.take_over() is stop

    class Program(Callback):
        def on_epoch(self, epoch):
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            stop.set()

    training, _ = problem("chain")
    assert fit(training, LIGHT, stop=Stop(gap=None), callbacks=[Program()]).stopped == "interrupted"
    with pytest.raises(KeyboardInterrupt):  # it goes on holding for later runs
        fit(training, LIGHT)


def test_a_second_ctrl_c_is_not_held_back():
    class Impatient(Callback):
        def on_batch(self, visited):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(problem("chain")[0], LIGHT, callbacks=[Impatient()])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_foreign_handler_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        solution = fit(problem("chain")[0], LIGHT, stop=Stop(epochs=2, gap=None), callbacks=[PressCtrlC("batch", 1)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    assert solution.stopped == "epochs"


def test_an_error_leaves_the_problem_and_the_handler_in_order():
    class Faulty(Callback):
        def on_epoch(self, epoch):
            raise ZeroDivisionError

    training, _ = problem("chain")
    with pytest.raises(ZeroDivisionError):
        fit(training, LIGHT, callbacks=[Faulty()])
    assert training.meter.watch is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_unsupported_loss_is_refused_before_the_run():
    training, diary = problem("chain", loss="hinge")[0], Diary()
    with pytest.raises(UnsupportedError, match="DualCoordinateDescent minimises squared_hinge, not hinge"):
        fit(training, DCD, callbacks=[diary])
    assert diary.lines == []
    assert training.meter.calls == 0


def test_a_missing_capability_is_refused_before_the_run():
    class Marginals:
        pass

    class Demanding(Perceptron):
        requires: ClassVar = (Marginals,)

    training, _ = problem("chain")
    with pytest.raises(UnsupportedError, match="Demanding needs examples that offer Marginals; ChainExamples does not"):
        fit(training, Demanding())
    assert training.meter.calls == 0


def test_start_weights():
    training, _ = problem("chain")
    w = np.random.default_rng(0).normal(size=training.n_weights)
    before = w.copy()
    assert np.array_equal(fit(training, PERCEPTRON, stop=Stop(epochs=0), w=w).w, before)
    fit(training, PERCEPTRON, stop=Stop(epochs=2), w=w)
    assert np.array_equal(w, before)


def test_a_dual_solver_goes_on_from_cuts_exactly_and_from_weights_nearly():
    training, _ = problem("chain")
    whole = fit(training, DCD, stop=Stop(epochs=1000, gap=1e-9))
    again = fit(training, DCD, stop=Stop(epochs=0), cuts=whole.cuts)
    assert again.dual == pytest.approx(whole.dual, rel=1e-9)
    assert np.allclose(again.w, whole.w, rtol=0, atol=1e-6)
    nearly, cold = (fit(training, DCD, stop=Stop(epochs=0), w=w) for w in (whole.w, None))
    assert cold.dual == 0.0 < nearly.dual <= whole.primal
    nearly, cold = (fit(training, DCD, stop=Stop(epochs=1), w=w) for w in (whole.w, None))
    assert cold.dual < nearly.dual <= whole.primal
    scaled, _ = problem("chain", C=5.0 * training.C)
    warm = fit(scaled, DCD, stop=Stop(epochs=0), cuts=whole.cuts)
    assert whole.dual < warm.dual <= fit(scaled, DCD).primal
    with pytest.raises(WidemarginError, match="are of 9 blocks, but there are 7 now"):
        fit(problem("chain, real-valued")[0], DCD, cuts=whole.cuts)


@pytest.mark.parametrize("name", ["dcd", "auto", "one-slack", "bundle"])
def test_cuts_know_which_problem_they_are_of(name):
    solver, model = SOLVERS[name], random_chain(3, [2, 3, 1, 4, 3, 2], costs=True)

    def training(changes=(), **options):
        examples = replace(model, **dict(changes)).compiled()
        return Problem(examples, **{"C": 0.5, "loss": "squared_hinge"} | options)

    first = fit(training(), solver, stop=Stop(epochs=3, gap=None))
    for cuts in (first.cuts, pickle.loads(pickle.dumps(first.cuts))):
        assert fit(training(C=1.0), solver, stop=Stop(epochs=2), cuts=cuts).certified
        gold = [[(label + 1) % model.n_labels for label in labels] for labels in model.gold]
        for others in ({"gold": gold}, {"costs": (2.0 * np.array(model.costs)).tolist()}):
            with pytest.raises(WidemarginError, match="are of other examples: features, gold outputs or costs"):
                fit(training(others), solver, cuts=cuts)
        for options, what in (
            ({"sample_weight": np.arange(1.0, 7.0)}, "digest of the sample weights"),
            ({"objective": Slack()}, "objective"),
        ):
            with pytest.raises(WidemarginError, match=f"are of another problem: its {what} is"):
                fit(training(**options), solver, cuts=cuts)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("name", ["chain", "strong", "weighted", "weak", "custom, matching"])
def test_any_weights_have_a_certificate(name, loss, penalty):
    training, small = problem(name, loss=loss, penalty=penalty)
    least, best = optimum(training, small)
    rng = np.random.default_rng(0)
    for w in (np.zeros(training.n_weights), rng.normal(size=training.n_weights), best):
        above, below = training.bounds(w)
        assert above == pytest.approx(primal(training, small, w))
        assert below <= least * (1 + 1e-7) <= above * (1 + 2e-7)
        assert below > 0 or loss == "hinge" or not np.array_equal(w, best)


def test_an_audit_makes_every_row_exact_and_counts_for_nothing():
    training, _ = problem("chain")
    plain = fit(training, DCD, stop=Stop(epochs=4, gap=None))
    audited = fit(training, DCD, stop=Stop(epochs=4, gap=None), audit=True)
    assert np.array_equal(plain.w, audited.w)
    assert all(row.certified for row in audited.trace)
    assert [row.oracle_calls for row in audited.trace] == [row.oracle_calls for row in plain.trace]
    perceptron = fit(training, PERCEPTRON, stop=Stop(epochs=4, gap=None), audit=True)
    assert all(row.certified and 0 < row.dual <= row.primal for row in perceptron.trace)


@pytest.mark.parametrize("seed", [0, 1, None])
def test_seeds(seed):
    def weights(seed):
        return fit(problem("chain")[0], PERCEPTRON, stop=Stop(epochs=2), seed=seed).w

    if seed is not None:
        assert np.array_equal(weights(seed), weights(seed))
        assert np.array_equal(weights(seed), weights(np.random.default_rng(seed)))
    assert not np.array_equal(weights(seed), weights(2))


@pytest.mark.parametrize("solver", [DCD, LIGHT, PERCEPTRON])
def test_weights_do_not_depend_on_threads(solver):
    solutions = [fit(larger(n_threads=n), solver, stop=Stop(epochs=5, gap=None)) for n in (1, 2, 3)]
    for other in solutions[1:]:
        assert np.array_equal(solutions[0].w, other.w)
        assert [row._replace(seconds=0) for row in other.trace] == [
            row._replace(seconds=0) for row in solutions[0].trace
        ]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_two_fits_at_once(n_threads):
    """Each from a Python thread of its own, where no signal handler can be set, and on shared examples."""
    training = larger(n_threads=n_threads)

    def train(seed):
        own = replace(training, meter=Meter())
        return fit(own, DCD, stop=Stop(epochs=4, gap=None), seed=seed).w

    expected = [train(seed) for seed in range(4)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(train, range(4)))
    assert all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))


def test_no_examples_and_no_weights():
    empty = Problem(random_chain(0, []).compiled())
    ignored, _ = problem("chain", sample_weight=np.zeros(9))
    for training in (empty, ignored):
        for solver in (DCD, PERCEPTRON):
            solution = fit(training, solver, stop=Stop(epochs=2 if solver is PERCEPTRON else None))
            assert solution.stopped == ("epochs" if solver is PERCEPTRON else "gap")
            assert not solution.w.any()
            assert solution.oracle_calls == 0


def test_a_solution_survives_json():
    solution = fit(problem("chain")[0], DCD)
    summary = json.loads(json.dumps(solution.summary()))
    assert "w" not in summary
    assert Solution.from_summary(solution.w.copy(), summary) == solution
    assert Solution.from_summary(solution.w + 1.0, summary) != solution
    assert Solution.from_summary(solution.w, summary | {"epoch": 0}) != solution
