"""Several parts against one: the same optimum, a true certificate, a dual that never falls, parts that are lost."""

import threading
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from helpers import chain, optimum, problem, random_chain
from helpers.parts import own_problem, parted
from widemargin import Callback, Problem, Stop, fit
from widemargin.core.problem import Meter
from widemargin.errors import DataError, ModelFileError, UnsupportedError, WidemarginError
from widemargin.parts import ROUNDS, consensus, part_of, rounds_of
from widemargin.parts.cocoa import Cocoa, best_share
from widemargin.parts.messages import NOTHING, Change, Common, Look, Missing, Order, Pulls, n_bytes
from widemargin.parts.part import blend
from widemargin.parts.team import Journal, LocalCarrier
from widemargin.solvers import SOLVERS

DUAL = ["auto", "dcd", "dcd-light", "cpd", "ocp", "sdm", "n-slack", "bcfw"]
MIXED = ["perceptron", "mira", "pa", "arow", "sgd", "pegasos", "adagrad", "adadelta"]
LENGTHS = [3, 2, 4, 1, 3, 2, 4, 0, 3]  # of the sequences of the problem "chain"
NEITHER = ["one-slack", "interior", "proximal", "bundle", "lbfgs"]


def fitted(whole, solver, n_parts=3, journal=None, carrier=LocalCarrier, **options):
    options.setdefault("stop", Stop(epochs=600, gap=1e-4))
    rounds = options.pop("rounds", None) or rounds_of(solver)
    return fit(parted(whole, solver, n_parts, journal, carrier), rounds, **options)


def held(training):
    """w and D of the α that the parts hold, and the best D at any tα."""
    w, linear, mass = np.zeros(training.n_weights), 0.0, 0.0
    for part in training.team.carrier.parts.values():
        if part.rounds < training.team.rounds:
            part.settle(training.team.last)
        w += part.state.store.combination(len(w)) / part.sigma
        linear += part.state.store.linear_term / part.sigma
        mass += 0.5 * float(part.state.ridge @ part.state.store.sets.mass**2) / part.sigma
    quadratic = mass + 0.5 * w @ w
    t = linear / (2.0 * quadratic) if training.loss == "squared_hinge" else min(1.0, linear / (2.0 * quadratic))
    return w, linear - quadratic, t * linear - t**2 * quadratic


def never_fall(rows):
    """The duals that solvers promise never fall, nor do those that are proven; a proof may be below a promise."""
    for certified in (False, True):
        duals = [row.dual for row in rows if row.certified is certified]
        if not all(after >= before - 1e-9 * abs(before) for before, after in pairwise(duals)):
            return False
    return True


class Rows(Callback):
    def __init__(self):
        self.rows = []

    def on_epoch(self, epoch):
        self.rows.append(epoch)


@pytest.mark.interpreted
def test_every_solver_says_whether_it_can():
    assert sorted([*DUAL, *MIXED, *NEITHER]) == sorted(SOLVERS)
    for name in NEITHER:
        with pytest.raises(UnsupportedError, match="needs all blocks at once"):
            rounds_of(SOLVERS[name])


@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize(
    ("name", "rounds"), [*((name, "consensus") for name in DUAL), ("auto", "cocoa"), ("dcd", "cocoa")]
)
def test_the_optimum_of_one_machine(name, n_parts, rounds):
    solver = SOLVERS[name]
    rounds = rounds_of(solver, rounds=rounds)
    for loss in solver.losses:
        whole, small = problem("chain", loss=loss)
        least, _ = optimum(whole, small)
        gap, watcher = 5e-3 if name == "bcfw" else 1e-4, Rows()
        stop = Stop(epochs=3000, gap=gap)
        solution = fitted(whole, solver, n_parts, stop=stop, callbacks=[watcher], rounds=rounds)
        assert solution.stopped == "gap"
        assert solution.certified
        # The certificate is true: P recomputed on one machine, D below the independent optimum.
        assert solution.primal == pytest.approx(whole.primal(solution.w), rel=1e-9)
        assert solution.dual <= least * (1 + 1e-7)
        assert solution.primal == pytest.approx(least, rel=1.1 * gap)
        assert never_fall(watcher.rows)


@pytest.mark.interpreted
@pytest.mark.parametrize("rounds", [{"caution": 0.1}, {"momentum": 0.0}, {"epochs": 2}])
def test_the_dual_never_falls_even_where_steps_are_too_long(rounds):
    """A σ′ far below what is safe: the best share of each step is taken, and old and new cuts are blended."""
    whole, small = problem("chain")
    least, _ = optimum(whole, small)
    for name in ("dcd", "auto"):
        steps, duals = [], []
        training = parted(whole, SOLVERS[name], 5)
        watcher = Callback()
        watcher.on_epoch = lambda epoch, training=training, duals=duals: duals.append(held(training)[1])
        settle = training.team.settle
        training.team.settle = lambda order, settled, settle=settle, steps=steps: (
            steps.append(settled.step),
            settle(order, settled),
        )
        solver = replace(rounds_of(SOLVERS[name], rounds="cocoa"), **rounds)
        solution = fit(training, solver, stop=Stop(epochs=12, gap=None), callbacks=[watcher], audit=True)
        assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(duals))
        # D and w are those of the α that the parts hold.
        w, _, dual = held(training)
        np.testing.assert_allclose(w, solution.w, atol=1e-9)
        assert training.bounds(solution.w)[1] == pytest.approx(dual, rel=1e-9)
        assert dual * (1 - 1e-9) <= solution.dual <= least * (1 + 1e-7)
        assert rounds != {"caution": 0.1} or min(steps) < 1.0


@pytest.mark.interpreted
@pytest.mark.parametrize("momentum", [0.0, 0.4])
def test_common_weights_follow_the_parts(momentum):
    """Against accelerated ADMM with every u_k and v_k written out, where parts have a say on what they change alone."""
    rng, n_parts, n, sigma = np.random.default_rng(3), 3, 12, 0.2
    common, before = Common(np.zeros(n)), NOTHING
    v, last, z, mean_before = np.zeros((n_parts, n)), np.zeros((n_parts, n)), np.zeros(n), np.zeros(n)
    for _ in range(4):
        step = rng.normal(size=(n_parts, n)) * (rng.random((n_parts, n)) < 0.5)
        step[:, 0], step[:, 1] = 0.0, [1.0, -1.0, 0.0]  # nobody's, and one where all changes cancel
        u = z + sigma * (step - momentum * last)
        v, last = v + step, step
        pulling = step != 0.0
        pulls = np.maximum(pulling.sum(axis=0), 1)
        # Parts without a say stay at z; what is left of their last change counts as the others'.
        mean = z + (u - z).sum(axis=0) / pulls
        ahead = mean + momentum * (mean - mean_before)
        z = (pulls / sigma * ahead + v.sum(axis=0) + momentum * step.sum(axis=0)) / (1.0 + pulls / sigma)
        mean_before = mean
        counted = Pulls(n)
        for each in step:
            counted.add(np.flatnonzero(each).astype(np.int32))
        indices, counts = counted.counts()
        change = Change.of(step.sum(axis=0), indices)
        common.follow(change, counts, before, sigma, momentum)
        before = change
        np.testing.assert_allclose(common.w, v.sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(common.z, z, atol=1e-12)
    assert common.z[0] == 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize(("agreement", "shorter"), [(0.0, 1.0), (1e9, consensus.SHORTER)])
def test_parts_that_disagree_move_less_far(agreement, shorter, monkeypatch):
    monkeypatch.setattr(consensus, "AGREEMENT", agreement)
    whole, _ = problem("chain")
    training, sigmas = parted(whole, SOLVERS["dcd"]), []
    settle = training.team.settle
    training.team.settle = lambda order, settled: (sigmas.append(order.sigma), settle(order, settled))
    fit(training, rounds_of(SOLVERS["dcd"]), stop=Stop(epochs=4, gap=None))
    first = consensus.LENGTH / (whole.C * whole.example_weight.sum()) ** (1 / 3)
    np.testing.assert_allclose(sigmas, first * shorter ** np.arange(4))


@pytest.mark.interpreted
def test_more_parts_than_can_be_counted():
    counted = Pulls(3)
    for _ in range(300):
        counted.add(np.array([1], dtype=np.int32))
    assert [each.tolist() for each in counted.counts()] == [[1], [255]]


@pytest.mark.interpreted
def test_the_best_share_of_a_step():
    for slope, curvature in [(1.0, 0.1), (1.0, 0.6), (1.0, 0.9), (1.0, 5.0), (-1.0, 2.0), (0.0, 0.0)]:
        t = best_share(slope, curvature)
        gains = [share * slope - share**2 * curvature for share in np.linspace(0, 1, 1001)]
        assert 0.0 <= t <= 1.0
        assert t * slope - t**2 * curvature >= 0.5 * max(gains) - 1e-6


@pytest.mark.interpreted
def test_blending_is_a_convex_combination():
    whole, _ = problem("chain")
    solver = SOLVERS["dcd"]
    state, rng = solver.start(whole), np.random.default_rng(0)
    solver.epoch(whole, state, rng)
    before = type(state.store)(whole.n_blocks)
    before.restore(state.store.contents())
    old = before.combination(whole.n_weights), before.linear_term, before.sets.mass.copy()
    for _ in range(3):
        solver.epoch(whole, state, rng)
    new = state.store.combination(whole.n_weights), state.store.linear_term, state.store.sets.mass.copy()
    blend(state.store, before, 0.3)
    found = state.store.combination(whole.n_weights), state.store.linear_term, state.store.sets.mass
    for a, b, c in zip(old, new, found, strict=True):
        np.testing.assert_allclose(c, 0.7 * np.asarray(a) + 0.3 * np.asarray(b), atol=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", MIXED)
def test_mixing(name):
    whole, _ = problem("chain")
    solution = fitted(whole, SOLVERS[name], stop=Stop(epochs=4, gap=None))
    assert solution.w.any()
    assert solution.certified
    assert solution.primal == pytest.approx(whole.primal(solution.w), rel=1e-9)
    assert solution.dual <= solution.primal
    one_shot = fitted(whole, SOLVERS[name], stop=Stop(epochs=1, gap=None), rounds=rounds_of(SOLVERS[name], 4))
    assert one_shot.w.any()


def test_one_part_that_is_mixed_is_the_solver_itself():
    whole, _ = problem("chain")
    rng = np.random.default_rng(3)
    part = part_of(own_problem(whole, 0, 1), SOLVERS["perceptron"], 0)
    report = part.round(Order(float(whole.example_weight.sum()), 2, 0.0, 5))
    state, rng = SOLVERS["perceptron"].start(whole), np.random.default_rng([5, 0])
    for _ in range(2):
        SOLVERS["perceptron"].epoch(whole, state, rng)
    np.testing.assert_array_equal(report.change.to(np.zeros(whole.n_weights)), state.w)
    np.testing.assert_allclose(report.mean.to(np.zeros(whole.n_weights)), state.mean)


class Losing(LocalCarrier):
    """Loses a part now and then."""

    def __init__(self, makers):
        super().__init__(makers)
        self.calls, self.lost, self.every = 0, 0, 5

    def ask(self, calls, watch):
        for k, call in calls.items():
            self.calls += 1
            if self.calls % self.every == 0:
                self.parts.pop(k, None)
                self.lost += 1
            yield from super().ask({k: call}, watch)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["dcd", "auto", "adagrad"])
@pytest.mark.parametrize("kept", ["memory", "rounds", "parts"])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_lost_parts_change_nothing(name, kept, rounds, tmp_path):
    whole, _ = problem("chain")
    folder = None if kept == "memory" else tmp_path
    journal = Journal(folder, shared=kept == "parts", seconds=0.0)
    options = {"stop": Stop(epochs=7, gap=None), "audit": True, "rounds": rounds_of(SOLVERS[name], rounds=rounds)}
    found = fitted(whole, SOLVERS[name], journal=journal, carrier=Losing, **options)
    expected = fitted(whole, SOLVERS[name], **options)
    np.testing.assert_array_equal(found.w, expected.w)
    assert [row.dual for row in found.trace] == [row.dual for row in expected.trace]
    assert [row.primal for row in found.trace] == [row.primal for row in expected.trace]
    if kept == "parts":
        assert len(list(tmp_path.glob("part-*.wm"))) == 9  # three generations of three


class Elsewhere(Losing):
    """Loses parts, and rebuilds them as another kind of processor might: they come to other α."""

    def rebuild(self, pasts, watch):
        def other(past):
            rounds = ((order._replace(seed=order.seed + 1), settled) for order, settled in past.rounds)
            return replace(past, rounds=tuple(rounds))

        yield from super().rebuild({k: other(past) for k, past in pasts.items()}, watch)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["dcd", "auto"])
@pytest.mark.parametrize("kept", ["memory", "parts"])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_parts_that_come_back_different_prove_nothing_false(name, kept, rounds, tmp_path):
    whole, small = problem("chain")
    least, _ = optimum(whole, small)
    journal = Journal(tmp_path, shared=True, seconds=0.0) if kept == "parts" else None
    training = parted(whole, SOLVERS[name], journal=journal, carrier=Elsewhere)
    team, solver, rng = training.team, rounds_of(SOLVERS[name], rounds=rounds), np.random.default_rng(0)
    state, strange = solver.start(training), 0
    for number in range(30):
        if number == 12:
            team.carrier.every = 10**9  # from here on nothing is lost
        lost = team.carrier.lost
        solver.epoch(training, state, rng)
        strange += team.carrier.lost > lost
        # No proof is false, and w is that of the α that the parts hold, however they came by them.
        assert solver.dual(training, state) <= least * (1 + 1e-9)
        w, _, dual = held(training)
        if not team.strangers:  # parts that were lost while they were saved are asked in the next round
            np.testing.assert_allclose(state.w, w, atol=1e-9)
            assert solver.dual(training, state) >= dual - 1e-9
    assert strange > 3
    assert training.primal(solver.weights(state)) == pytest.approx(whole.primal(solver.weights(state)), rel=1e-9)
    assert training.primal(solver.weights(state)) - solver.dual(training, state) < 0.5 * least


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["auto", "adagrad"])
def test_a_part_whose_data_have_changed_is_a_sentence(name, tmp_path):
    """When it is rebuilt, when the run is resumed, and when it was saved by a run on other data."""
    whole, _ = problem("chain")
    other = replace(whole, examples=chain(2, LENGTHS).examples, meter=Meter())
    solver = SOLVERS[name]
    rounds = rounds_of(solver)
    training = parted(whole, solver)
    state, rng = rounds.start(training), np.random.default_rng(0)
    rounds.epoch(training, state, rng)
    training.team.carrier.makers = [lambda k=k: part_of(own_problem(other, k, 3), solver, k) for k in range(3)]
    del training.team.carrier.parts[1]
    with pytest.raises(DataError, match="part 1 of the data is not what it was when this run began"):
        rounds.epoch(training, state, rng)
    options = {"checkpoint": tmp_path / "run.wm", "checkpoint_seconds": 0.0, "stop": Stop(epochs=3, gap=None)}
    for shared in (False, True):
        journal = partial(Journal, tmp_path, shared=shared, seconds=0.0)
        fitted(whole, solver, journal=journal(), **options)
        with pytest.raises(WidemarginError, match=r"not what it was|other data|another run"):
            fitted(other, solver, journal=journal(), resume=True, **options | {"stop": Stop(epochs=5, gap=None)})


@pytest.mark.interpreted
def test_a_new_run_forgets_the_parts_of_an_old_one(tmp_path):
    """Or else a part of the old run would be taken for one of the new run, if that is resumed."""
    whole, _ = problem("chain")
    stop = Stop(epochs=3, gap=None)
    fitted(whole, SOLVERS["dcd"], journal=Journal(tmp_path, shared=True, seconds=0.0), stop=stop)
    assert list(tmp_path.glob("part-*.wm"))
    fitted(whole, SOLVERS["dcd"], journal=Journal(tmp_path, shared=True, seconds=1e9), stop=stop, seed=1)
    assert not list(tmp_path.glob("part-*.wm"))


@pytest.mark.interpreted
@pytest.mark.parametrize("name", [name for name in [*DUAL, *MIXED] if name != "bcfw"])
def test_a_part_with_nothing_to_learn(name):
    """All its examples have the weight 0: the other parts learn as if it were not there."""
    whole, _ = problem("chain")
    whole = replace(whole, sample_weight=np.where(np.arange(len(whole.example_weight)) % 3 == 1, 0.0, 1.0))
    solution = fitted(whole, SOLVERS[name], stop=Stop(epochs=4, gap=None))
    assert solution.certified
    assert solution.primal == pytest.approx(whole.primal(solution.w), rel=1e-9)


@pytest.mark.interpreted
def test_workers_that_always_lose_a_part_are_a_sentence():
    class Hopeless(LocalCarrier):
        def ask(self, calls, watch):
            yield from ((k, Missing()) for k in calls)

    whole, _ = problem("chain")
    with pytest.raises(WidemarginError, match="part 0 was lost"):
        fitted(whole, SOLVERS["dcd"], carrier=Hopeless)


@pytest.mark.interpreted
@pytest.mark.parametrize("seconds", [0.0, 1e9])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_run_resumes_bit_for_bit(seconds, rounds, tmp_path):
    whole, _ = problem("chain")
    rounds = rounds_of(SOLVERS["auto"], rounds=rounds)
    options = {"checkpoint": tmp_path / "run.wm", "checkpoint_seconds": 0.0, "rounds": rounds}
    journal = partial(Journal, tmp_path, shared=True, seconds=seconds)
    fitted(whole, SOLVERS["auto"], journal=journal(), stop=Stop(epochs=3, gap=None), **options)
    stop = Stop(epochs=7, gap=None)
    resumed = fitted(whole, SOLVERS["auto"], journal=journal(), stop=stop, resume=True, **options)
    expected = fitted(whole, SOLVERS["auto"], stop=stop, rounds=rounds)
    np.testing.assert_array_equal(resumed.w, expected.w)
    assert resumed.primal == expected.primal
    with pytest.raises(WidemarginError, match="belongs to another run"):
        fitted(replace(whole, C=9.0, meter=Meter()), SOLVERS["auto"], journal=journal(), resume=True, **options)


@pytest.mark.interpreted
def test_a_damaged_part_is_refused(tmp_path):
    whole, _ = problem("chain")
    journal = Journal(tmp_path, shared=True, seconds=0.0)
    fitted(whole, SOLVERS["dcd"], journal=journal, stop=Stop(epochs=2, gap=None))
    path = sorted(tmp_path.glob("part-0000-*.wm"))[0]
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)
    part = part_of(own_problem(whole, 0, 3), SOLVERS["dcd"], 0)
    with pytest.raises(ModelFileError, match="digest"):
        part.load(str(path))
    with pytest.raises(WidemarginError, match="another part"):
        part.load(str(sorted(tmp_path.glob("part-0001-*.wm"))[0]))


@pytest.mark.interpreted
def test_weights_that_the_parts_do_not_know_are_sent():
    """Bounds are those of the tangents at these weights, or else of the α that the parts hold."""
    whole, _ = problem("chain")
    for name in ("dcd", "perceptron"):
        training = parted(whole, SOLVERS[name])
        solver = rounds_of(SOLVERS[name])
        state = solver.start(training)
        solver.epoch(training, state, np.random.default_rng(0))
        for w in (solver.weights(state), state.w, np.zeros(whole.n_weights), 0.5 * state.w):
            assert training.primal(w) == pytest.approx(whole.primal(w), rel=1e-12)
            primal, bound = whole.bounds(w)
            if name == "dcd":
                bound = solver.dual(training, state)
                assert bound == pytest.approx(held(training)[2], rel=1e-9)
            assert training.bounds(w) == pytest.approx((primal, bound), rel=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["dcd", "perceptron"])
def test_decoders_of_parts_that_return_less_than_gold_prove_nothing(name):
    whole, _ = problem("chain")
    training = parted(whole, SOLVERS[name])
    part = training.team.carrier.parts[1]
    look = part.look
    part.look = lambda at: look(at)._replace(misjudgement="decoding example 0 returned too little")
    solution = fit(training, rounds_of(SOLVERS[name]), stop=Stop(epochs=2, gap=None))
    assert not solution.certified
    assert solution.doubt == "in part 1 of the data, decoding example 0 returned too little"


@pytest.mark.interpreted
def test_only_changes_are_sent():
    whole, _ = problem("chain")
    training = parted(whole, SOLVERS["dcd"])
    team, solver, rng = training.team, rounds_of(SOLVERS["dcd"]), np.random.default_rng(0)
    state = solver.start(training)
    for _ in range(3):
        sent, received, before = team.sent, team.received, state.w.copy()
        told = 0 if team.last is None else 13 * len(team.last.change.indices)
        solver.epoch(training, state, rng)
        assert team.sent - sent == 3 * told
        assert team.received - received <= 3 * 12 * np.count_nonzero(state.w != before) + 12 * 3 * whole.n_weights
        assert team.last.change.indices.dtype == np.int32
        np.testing.assert_array_equal(team.last.change.to(before), state.w)


@pytest.mark.interpreted
def test_interrupted_rounds_leave_the_last_one():
    class Stopping(Callback):
        def __init__(self, event, rounds):
            self.event, self.rounds = event, rounds

        def on_epoch(self, epoch):
            if epoch.epoch == self.rounds:
                self.event.set()

    whole, _ = problem("chain")
    event = threading.Event()
    found = fitted(
        whole, SOLVERS["auto"], callbacks=[Stopping(event, 2)], interrupted=event, stop=Stop(epochs=9, gap=None)
    )
    assert found.stopped == "interrupted"
    expected = fitted(whole, SOLVERS["auto"], stop=Stop(epochs=2, gap=None))
    np.testing.assert_array_equal(found.w, expected.w)


@pytest.mark.interpreted
def test_a_round_asked_for_twice_is_made_once():
    whole, _ = problem("chain")
    part = part_of(own_problem(whole, 0, 2), SOLVERS["auto"], 0)
    order = Order(2.0, 1, 0.0, 7)
    assert part.round(order) is part.round(order)
    change = Change.between(np.zeros(3), np.array([0.0, 2.0, 0.0]))
    assert (change.indices.tolist(), change.values.tolist(), n_bytes(change)) == ([1], [2.0], 12)
    assert part.look(Look(Change(*(each[:0] for each in change)), False)).calls > 0


@pytest.mark.interpreted
def test_solvers_of_parts_need_parts():
    whole = Problem(random_chain(1, [2, 3]).compiled())
    with pytest.raises(UnsupportedError, match="several parts"):
        fit(whole, Cocoa(local="dcd"))
    with pytest.raises(UnsupportedError, match="starts from zero"):
        fitted(whole, SOLVERS["dcd"], 2, w=np.zeros(whole.n_weights))
