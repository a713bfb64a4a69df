"""Latent variables: (5) never rises, rebased cuts are valid, resumed runs are equal, nothing hidden is `fit`."""

import signal
from dataclasses import replace

import numpy as np
import pytest

from helpers import SOLVERS, problem, taken_by
from helpers.custom import WIDTH, Parts, objective, parts, slacks
from widemargin.core import restarts
from widemargin.core.latent import fit_latent
from widemargin.core.loop import Callback, Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.restarts import CompletedOnTheWay, fit_best, fit_completing
from widemargin.core.rounds import Rounds, begin, complete, shifts
from widemargin.core.sparse import dots
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.objectives import ApproximateSlack
from widemargin.solvers import AdaGrad, Auto, Bundle, DualCoordinateDescent, OneSlack, Perceptron

DUAL = ["auto", "dcd", "dcd-light", "cpd", "ocp", "sdm", "n-slack", "one-slack", "interior", "bcfw", "bundle"]
PROVING = [name for name in DUAL if name != "bcfw"]
EXACT = Stop(epochs=200, gap=1e-6)


def latent_problem(solver=None, seed=0, **changes):
    return Problem(parts(seed), C=1.0, **(taken_by(solver) if solver else {}) | changes)


def values(solution):
    return [row.objective for row in solution.rounds]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", DUAL)
def test_the_objective_is_that_of_enumeration_and_never_rises(name, seed):
    solver = SOLVERS[name]
    training = latent_problem(solver, seed)
    solution = fit_latent(training, solver, stop=Stop(epochs=100, gap=1e-3), seed=seed, init="random")
    assert solution.primal == pytest.approx(objective(training, solution.w), rel=1e-9)
    falls = -np.diff(values(solution))
    assert np.all(falls >= -1e-9 * solution.primal)
    assert solution.rounds[-1].changed == 0 or solution.stopped == "round_tol"
    assert "a local optimum" in str(solution)


@pytest.mark.parametrize("name", PROVING)
def test_all_solvers_find_the_same_local_optimum(name):
    solver = SOLVERS[name]
    loss = {"loss": "hinge"}
    start = np.random.default_rng(5).normal(size=WIDTH + 1)
    if "hinge" not in solver.losses:
        loss = {}
    exactly = Rounds(loose=False, tol=0.0)
    wanted = fit_latent(latent_problem(**loss), Auto(), stop=EXACT, rounds=exactly, init=start)
    found = fit_latent(latent_problem(**loss), solver, stop=EXACT, rounds=exactly, init=start)
    assert found.certified
    assert found.stopped == "stable"
    np.testing.assert_allclose(found.primal, wanted.primal, rtol=1e-4)


class Costly(Parts):
    """Errors of 2, so that it matters whether a cut moves by φ or by its error times φ."""

    def error(self, y, y_hat, h_hat):
        return 2.0 * (y != y_hat)


@pytest.mark.parametrize("kind", ["margin", "slack"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "solver", [Auto(), DualCoordinateDescent(), OneSlack(), OneSlack(share=1e-9), Bundle()], ids=repr
)
def test_rebased_cuts_are_valid_and_add_up(solver, loss, kind):
    if loss not in solver.losses:
        pytest.skip("not a pair")
    extra = {"objective": ApproximateSlack()} if kind == "slack" else {}
    training = Problem(parts(structure=Costly()), C=1.0, loss=loss, keep_parts=True, **extra)
    latent, rng = training.examples, np.random.default_rng(3)
    before = latent.guess(rng)
    first = fit(replace(training, examples=latent.completed(before)), solver, stop=Stop(epochs=4, gap=None))
    after = complete(latent, first.w)
    assert before != after
    shift = shifts(latent.completed(after), before)
    carried = first.cuts.rebase(shift, times_error=training.objective.times_error)
    new = replace(training, examples=latent.completed(after))
    state = solver.start(new, cuts=carried)
    assert np.allclose(state.store.combination(new.n_weights), solver.weights(state)) or isinstance(solver, Bundle)
    slots, cuts = carried.store.everything() if hasattr(carried, "store") else carried.everything()
    assert len(slots)
    for w in rng.normal(size=(20, new.n_weights)):
        found = np.zeros(new.n_blocks)
        new.primal(w, found)
        bounds = cuts.b - dots(cuts.a, w)
        if hasattr(carried, "store"):
            risk = new.C * new.losses(np.arange(new.n_blocks), found)
            assert np.all(bounds <= risk + 1e-9)
        else:
            assert np.all(bounds <= slacks(new, w)[cuts.block] + 1e-9)


@pytest.mark.parametrize("name", ["chain", "classes"])
def test_without_anything_hidden_it_is_fit(name):
    class Known:
        def __init__(self, examples, gold):
            self.examples, self.gold = examples, gold

        def __getattr__(self, name):
            return getattr(self.examples, name)

        def complete(self, w, batch):
            return np.concatenate([self.gold(i) for i in batch.tolist()])

        def completed(self, completions):
            return self.examples

        def guess(self, rng):
            return self.complete(None, np.arange(self.examples.n_examples))

    training, small = problem(name)
    starts = np.concatenate([[0], np.cumsum([len(next(iter(small.outputs(i)))) for i in range(training.n_blocks)])])
    known = Known(small.examples, lambda i: small.gold[starts[i] : starts[i + 1]])
    rounds, stop = Rounds(loose=False), Stop(epochs=50, gap=1e-3)
    plain = fit(training, Auto(), stop=stop)
    latent = fit_latent(replace(training, examples=known), Auto(), stop=stop, rounds=rounds)
    assert latent.stopped == "stable"
    assert len(latent.rounds) == 1
    assert latent.primal == pytest.approx(plain.primal, rel=1e-3)
    assert latent.gap <= 1e-3


class PressCtrlC(Callback):
    """Presses Ctrl-C in the middle of an epoch of the run."""

    def __init__(self, epoch):
        self.epoch, self.done = epoch, 0

    def on_epoch(self, epoch):
        self.done = epoch.epoch

    def on_batch(self, visited):
        if self.done == self.epoch:
            self.epoch = -1
            signal.raise_signal(signal.SIGINT)


def assert_same(one, other):
    assert np.array_equal(one.w, other.w)
    assert [row._replace(seconds=0) for row in one.trace] == [row._replace(seconds=0) for row in other.trace]
    assert [row._replace(seconds=0) for row in one.rounds] == [row._replace(seconds=0) for row in other.rounds]
    assert (one.primal, one.gap, one.stopped) == (other.primal, other.gap, other.stopped)


@pytest.mark.parametrize("self_paced", [None, "slack"])
@pytest.mark.parametrize("name", ["auto", "dcd", "bundle", "one-slack", "adagrad"])
def test_a_resumed_run_is_the_same_bit_for_bit(name, self_paced, tmp_path):
    solver, path = SOLVERS[name], tmp_path / "run"
    options = {"stop": Stop(epochs=6, gap=1e-4), "rounds": Rounds(self_paced=self_paced, most=6), "init": "random"}
    whole = fit_latent(latent_problem(solver), solver, **options)
    assert len(whole.rounds) > 1
    for epoch in range(1, len(whole.trace), 3):
        path.unlink(missing_ok=True)
        press = [PressCtrlC(epoch)]
        short = fit_latent(
            latent_problem(solver), solver, callbacks=press, checkpoint=path, checkpoint_seconds=0, **options
        )
        assert short.stopped == "interrupted"
        assert np.isfinite(short.w).all()
        assert_same(fit_latent(latent_problem(solver), solver, checkpoint=path, resume=True, seed=99, **options), whole)


def test_weights_that_stay_keep_their_score():
    """The last round may bring nothing: its weights, and their score, are those from before."""
    solution = fit_latent(latent_problem(), Auto(), stop=EXACT, score=lambda w: 0.5, init="random")
    assert [row.score for row in solution.rounds] == [0.5] * len(solution.rounds)
    assert solution.epoch == len(solution.trace)
    assert "a local optimum" in str(solution)


def test_a_completion_that_is_not_the_best_is_an_error():
    class Careless(Parts):
        def complete(self, x, y, w):
            return min(self.pairs(y), key=lambda p: self.score(x, w, p))[1]

    training = Problem(parts(structure=Careless()), C=1.0)
    with pytest.raises(WidemarginError, match=r"the completion of example .* is not the best"):
        fit_latent(training, Auto(), stop=EXACT, init="random", rounds=Rounds(most=5))


@pytest.mark.parametrize("solver", [Perceptron(), AdaGrad(), SOLVERS["mira"], SOLVERS["sgd"]], ids=repr)
def test_completing_on_the_way(solver):
    training = latent_problem(solver)
    solution = fit_completing(training, solver, stop=Stop(epochs=30, gap=None), init="random")
    assert solution.primal == pytest.approx(objective(training, solution.w))
    assert (solution.certified, solution.gap) == (False, None)
    if isinstance(solver, Perceptron):
        return  # it minimises something else, and twelve examples are too few for its average
    assert solution.primal < objective(training, np.zeros(training.n_weights))
    zero_one = [training.examples.latent.decode(x, solution.w)[0] for x in training.examples.X]
    assert np.mean(np.array(zero_one) == training.examples.golds) >= 0.75


def test_the_cuts_on_the_way_are_differences_from_the_best_completion():
    latent = parts()
    way = CompletedOnTheWay(latent, latent.guess(np.random.default_rng(0)))
    batch, w = np.arange(latent.n_examples, dtype=np.int32), np.random.default_rng(1).normal(size=latent.n_weights)
    outputs = way.decode(w, batch, error_scale=1.0)
    direct = latent.completed(complete(latent, w)).difference(batch, outputs[0])
    through = way.difference(batch, outputs)
    assert np.array_equal(direct.errors, through.errors)
    for each in np.random.default_rng(2).normal(size=(5, latent.n_weights)):
        assert np.allclose(dots(direct.psi, each), dots(through.psi, each))


def test_dual_solvers_cannot_complete_on_the_way():
    with pytest.raises(UnsupportedError, match="needs rounds"):
        fit_completing(latent_problem(), Auto())


@pytest.fixture(params=[False, True])
def on_threads(request, monkeypatch):
    """Runs one after the other, as small ones are, and at the same time."""
    monkeypatch.setattr(restarts, "_is_worth_threads", lambda problem: request.param)


@pytest.mark.usefixtures("on_threads")
@pytest.mark.parametrize("completion", ["cccp", "online"])
def test_restarts_keep_the_best_whatever_the_threads(completion):
    solver = Auto() if completion == "cccp" else AdaGrad()
    options = {"n_restarts": 5, "stop": Stop(epochs=20, gap=1e-3), "init": "random", "completion": completion}
    one = fit_best(latent_problem(solver), solver, **options)
    two = fit_best(latent_problem(solver, n_threads=3), solver, **options)
    assert len(one.restarts) == 5
    assert len(set(one.restarts)) > 1
    assert one.primal == min(one.restarts)
    assert np.array_equal(one.w, two.w)
    assert one.restarts == two.restarts
    alone = fit_best(latent_problem(solver), solver, **options | {"n_restarts": 1})
    assert alone.primal == one.restarts[0]


def test_every_restart_and_round_is_told_of():
    class Diary(Callback):
        def on_run(self, name):
            heard.append(name)

        def on_start(self, max_epochs, n_examples):
            heard.append("start")

        def on_round(self, number, most):
            heard.append(f"round {number}/{most}")

        def on_epoch(self, epoch):
            heard.append(epoch.epoch)

        def on_stop(self, reason):
            heard.append(reason)

    heard = []
    options = {"stop": Stop(epochs=1), "rounds": Rounds(most=2, loose=False), "init": "random"}
    fit_best(latent_problem(), Auto(), n_restarts=2, callbacks=[Diary()], **options)
    run = ["start", "round 1/2", 1, "round 2/2", 2, "rounds"]
    assert heard == ["restart 1/2", *run, "restart 2/2", *run]


def test_self_paced_rounds_end_with_everyone():
    solution = fit_latent(latent_problem(), Auto(), stop=EXACT, rounds=Rounds(self_paced="slack"), init="random")
    counts = [row.examples for row in solution.rounds]
    assert counts[0] == counts[-1] == 12
    assert counts[1] == 6
    assert solution.primal == pytest.approx(objective(latent_problem(), solution.w))


def test_uncertainty_must_be_offered():
    with pytest.raises(UnsupportedError, match="Uncertain"):
        fit_latent(latent_problem(), Auto(), rounds=Rounds(self_paced="uncertainty"))


def test_beginnings():
    latent, rng = parts(), np.random.default_rng(0)
    w = rng.normal(size=latent.n_weights)
    assert begin(latent, w, rng) == complete(latent, w)
    mine = latent.guess(np.random.default_rng(9))
    assert begin(latent, mine, rng) == mine
    assert begin(latent, "random", np.random.default_rng(9)) == mine
    with pytest.raises(WidemarginError, match="'rule' or at 'random'"):
        begin(latent, "somehow", rng)


def test_a_development_score_chooses_the_round():
    scores = iter([0.5, 0.9, 0.2, 0.1, 0.1, 0.1])
    seen = []

    def score(w):
        seen.append(w.copy())
        return next(scores)

    solution = fit_latent(
        latent_problem(), Auto(), stop=Stop(epochs=50, gap=1e-4, patience=2), score=score, init="random"
    )
    assert len(solution.rounds) >= 2
    assert np.array_equal(solution.w, seen[1])


@pytest.mark.parametrize("wrong", [{"most": 0}, {"tol": -1}, {"self_paced": "never"}])
def test_rounds_refuse_what_makes_no_sense(wrong):
    with pytest.raises(WidemarginError):
        Rounds(**wrong)
