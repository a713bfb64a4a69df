"""One part of the blocks, with its cuts and α, in a run of an ordinary dual solver.

With α′ = σ′α and C′ = σ′C, a step of the ordinary solver at v = w + Σ Δα′ a is a step on the part's problem of a round:
A′ / (2C′c) = A / (2Cc), the step of α′ is σ′ times that of α, and so is the cap C′c. So a round is some epochs of the
solver with C′, its store's α scaled by σ′, and ``state.w`` set to the common weights; then Δw_k = (v − w) / σ′. Where
rounds start from z instead of w (`consensus`), replace w by z and σ′ by σ.

With momentum β the round starts from w + βΔ, where Δ = Σ_k Δ_k is the change of w in the last round. Its quadratic term
is ½ σ′‖Δw_k − βΔ_k‖²; so v starts from w + βΔ − σ′βΔ_k instead, and nothing else changes.

D is quadratic along the line from the old α to the new, so the driver may keep the best share t of the step. The part
then blends its old working sets with the new: α ← (1 − t)α_old + tα_new, over the union of their cuts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector, IntVector
from widemargin.core.checkpoint import check_packed, fingerprint, write_packed
from widemargin.core.contents import contents_digest
from widemargin.core.cut_store import CutStore
from widemargin.core.evidence import Evidence
from widemargin.core.header import Place, text
from widemargin.core.loop import epochs
from widemargin.core.model_file import read_model
from widemargin.core.oracle import Clock
from widemargin.core.packing import Arrays, pack, unpack
from widemargin.core.problem import Problem
from widemargin.core.products import inner
from widemargin.core.solver import Solver
from widemargin.core.stored import Stored
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.parts.messages import (
    NOTHING,
    Change,
    Common,
    Held,
    Look,
    Mark,
    Order,
    Outcome,
    Past,
    Report,
    Seen,
    SparseEvidence,
)
from widemargin.solvers.dual import DualState, limits

STRUCTURE = "part"


@dataclass(slots=True)
class Saved:
    """A part as its file holds it, after `rounds` rounds: arrays and JSON with their digest, never a pickle.

    `state` is the solver's, `slacks` are those that the oracle last saw, and α is scaled by σ′ = `sigma`. `z` and `u`
    are empty where rounds start from w itself. In the last round all parts together moved w at the indices `together`
    by `by_together`, this part at `own` by `by_own`. `path` is that of the part's `Mark`.
    """

    state: Any
    slacks: FloatVector
    together: IntVector = field(default_factory=lambda: NOTHING.indices)
    by_together: FloatVector = field(default_factory=lambda: NOTHING.values)
    own: IntVector = field(default_factory=lambda: NOTHING.indices)
    by_own: FloatVector = field(default_factory=lambda: NOTHING.values)
    z: FloatVector = field(default_factory=lambda: NOTHING.values)
    u: FloatVector = field(default_factory=lambda: NOTHING.values)
    rounds: int = 0
    sigma: float = 1.0
    path: str = ""


class Part:
    """The examples of one part and the state of its solver after `rounds` settled rounds, which `mark` identifies.

    Parameters
    ----------
    problem : the part's own examples, or all examples with weight 0 for those of other parts; with the C of the whole
    solver : the solver of the parts
    number : the number of the part, so that parts draw different random numbers
    """

    def __init__(self, problem: Problem, solver: Solver, number: int) -> None:
        self.problem, self.solver, self.number = problem, solver, number
        self.C, self.rounds = problem.C, 0
        # All that a part is made from.
        self.about = {"part": number, **fingerprint(problem, solver), "contents": contents_digest(problem.examples)}
        self.mark = Mark(Mark("").after(self.about))
        self.state: Any = solver.start(problem)
        self._report: Report | None = None

    def round(self, order: Order) -> Report:
        """The report on a round from the common w; the round is made only once."""
        if self._report is None:
            self._report = self._make_round(order)
        return self._report

    def settle(self, settled: Outcome) -> None:
        """Apply the end of the last round."""
        if self._report is not None:
            self.mark = self.mark._replace(path=self._report.path)
        self._report = None
        self.rounds += 1

    def look(self, at: Look) -> Seen:
        """Σ c_i ℓ(ξ_i) near the common weights, with evidence if the look proves."""
        raise NotImplementedError

    def _see(self, find: Callable[[], tuple[float, Evidence | None]]) -> Seen:
        """The loss and evidence that `find` returns, from a full pass with the C of the whole."""
        problem = self.problem
        clock, own = Clock(problem.meter), problem.C
        problem.C, problem.misjudgement = self.C, ""
        try:
            with one_blas_thread():
                loss, evidence = find()
        finally:
            problem.C = own
        sums = None if evidence is None else SparseEvidence.of(evidence)
        return Seen(loss, clock.calls, clock.seconds, problem.misjudgement, sums)

    def save(self, path: str) -> None:
        """Write the state after the last settled round."""
        arrays: Arrays = {}
        content = pack(self._contents(), "part", arrays)
        write_packed(path, {"structure": STRUCTURE, "about": self.about}, content, arrays)

    def load(self, path: str) -> Saved:
        """Read what `save` wrote for the same part of the same run."""
        stored = Stored(Place(f"the part {path}"), *read_model(path))
        if stored.checked({"structure": text()})["structure"] != STRUCTURE:
            raise ModelFileError(f"{path} is not a part of a run")
        check_packed(stored)
        if stored.header["about"] != self.about:
            raise WidemarginError(
                f"the part {path} belongs to another run or to other data, or is another part; start afresh"
            )
        fresh = Saved(self.state, self.problem.slacks)
        saved: Saved = unpack(stored.header["content"], fresh, stored.tensors, stored.place, self.problem)
        self.problem.slacks, self.rounds = saved.slacks, saved.rounds
        self.mark = self.mark._replace(path=saved.path)
        return saved

    def repeat(self, past: Past) -> None:
        """Load the file of the past and repeat its rounds; for a fresh part."""
        if past.path is not None:
            self.load(past.path)
        for order, settled in past.rounds:
            self.round(order)
            self.settle(settled)

    def _run(self, order: Order) -> Clock:
        """Run the epochs of a round; return the clock that has measured them."""
        clock, rng = Clock(self.problem.meter), np.random.default_rng([order.seed, self.number])
        for _ in islice(epochs(self.problem, self.solver, self.state, rng), order.epochs):
            pass
        return clock

    def _make_round(self, order: Order) -> Report:
        raise NotImplementedError

    def _contents(self) -> Saved:
        return Saved(self.state, self.problem.slacks, rounds=self.rounds, path=self.mark.path)


def blend(store: CutStore, before: CutStore, step: float) -> None:
    """Turn the α of `store` into `step` times themselves plus 1 − `step` times those of `before`."""
    store.scale(step)
    slots, cuts = before.everything()
    if len(slots):
        memory, store.memory = store.memory, np.inf  # a cut with α > 0 is a share of w, so none may be turned away
        store.insert(cuts, (1.0 - step) * before.sets.alpha[slots], idle=True, once=True)
        store.memory = memory


class Moved(NamedTuple):
    """The change of w in the last round, of all parts together and of this part."""

    together: Change
    own: Change


class DualPart(Part):
    """A part of a dual solver's run; `solver` is what `Solver.on_a_part` returned."""

    state: DualState

    def __init__(self, problem: Problem, solver: Solver, number: int) -> None:
        super().__init__(problem, solver, number)
        self.sigma = 1.0
        self.common = Common(np.zeros(problem.n_weights))
        self.moved = Moved(NOTHING, NOTHING)
        problem.kept_cuts = solver.kept_cuts(self.state)
        self._momentum = 0.0
        self._before: CutStore | None = None

    def hold(self, order: Order) -> Held:
        """The evidence in α after a round; the round is made only once."""
        path = self.round(order).path
        return Held(SparseEvidence.of(self._evidence()), path)

    def settle(self, settled: Outcome) -> None:
        """Keep a share of the step, and take over the common change of w."""
        if settled.step < 1.0 and self._before is not None:
            self._before.scale(self.sigma / self._scale_before)
            blend(self.state.store, self._before, settled.step)
        before = self.moved.together
        if self._report is not None:
            own = self._report.change
            self.moved = Moved(settled.change, own._replace(values=settled.step * own.values))
        if settled.pulls is None:
            self.common.add(settled.change)
        else:
            self.common.follow(settled.change, settled.pulls, before, self.sigma, self._momentum)
        self._before = None
        super().settle(settled)

    def load(self, path: str) -> Saved:
        """Read what `save` wrote."""
        saved = super().load(path)
        self.sigma = saved.sigma
        self.moved = Moved(Change(saved.together, saved.by_together), Change(saved.own, saved.by_own))
        self.common = Common(self.state.w.copy(), *((saved.z, saved.u) if len(saved.z) else ()))
        self._rescale()
        return saved

    def look(self, at: Look) -> Seen:
        """Make a full pass; a bound comes from the present α, which is scaled with its own C′."""
        evidence = self._evidence() if at.proves else None
        w = at.change.to(self.common.z)
        return self._see(lambda: (self.problem.total_loss(w), evidence))

    def _make_round(self, order: Order) -> Report:
        self._before = None if order.whole else self._copy()
        state, problem, sets = self.state, self.problem, self.state.store.sets
        self._scale(order.sigma)
        self._momentum = order.momentum
        self._place(order.momentum, state.w)
        start, linear, mass = state.w.copy(), state.store.linear_term, sets.mass.copy()
        clock = self._run(order)
        change, sigma, after = Change.between(start, state.w), self.sigma, state.store.linear_term
        change = change._replace(values=change.values / sigma)
        moved, ridge = state.store.sets.mass - mass, state.ridge / sigma
        return Report(
            change,
            linear / sigma,
            after / sigma,
            (0.5 * inner(ridge, mass**2), inner(ridge * mass, moved), 0.5 * inner(ridge, moved**2)),
            problem.loss_seen(),
            clock.calls,
            clock.seconds,
            self.mark.after(change, after, state.store.sets.mass),
        )

    def _contents(self) -> Saved:
        """The part to save; the common w replaces the solver's, which is the result of the last round."""
        w, z, u = self.common.w, self.common.z, self.common.u
        self.state.w[:] = w
        together, own = self.moved
        saved = Saved(self.state, self.problem.slacks, *together, *own, rounds=self.rounds, sigma=self.sigma)
        saved.path = self.mark.path
        if z is not w:
            saved.z, saved.u = z, u
        return saved

    def _evidence(self) -> Evidence:
        """The evidence in the present α; since α and C are σ′ times the true ones, all sums are divided by σ′."""
        found = self.solver.evidence(self.problem, self.state)
        assert found is not None
        linear, quadratic, s, most, off = found
        return Evidence(linear / self.sigma, quadratic / self.sigma, s / self.sigma, most, off / self.sigma)

    def _place(self, momentum: float, v: FloatVector) -> None:
        """Set v to the start of the round: w + βΔ − σ′βΔ_k, or z − σβΔ_k."""
        v[:] = self.common.z
        if momentum > 0.0:
            together, own = self.moved
            if self.common.z is self.common.w:
                v[together.indices] += momentum * together.values
            v[own.indices] -= self.sigma * momentum * own.values

    def _copy(self) -> CutStore:
        """A copy of the working sets, in case the driver keeps only a share of the step."""
        copy = CutStore(self.problem.n_blocks)
        copy.restore(self.state.store.contents())
        self._scale_before = self.sigma
        return copy

    def _scale(self, sigma: float) -> None:
        """Rescale the α in the store from σ′ times the true ones to `sigma` times."""
        if sigma != self.sigma:
            self.state.store.scale(sigma / self.sigma)
            self.sigma = sigma
        self._rescale()

    def _rescale(self) -> None:
        self.problem.C = self.sigma * self.C
        self.state.cap, self.state.ridge = limits(self.problem)
