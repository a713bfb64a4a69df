"""The optimisation problem that every solver sees: an oracle (`core.oracle`) and a value, P of its slacks.

    hinge            P(w) = ½‖w‖² + C Σ c_i ξ_i(w)
    squared hinge    P(w) = ½‖w‖² + C Σ c_i ξ_i(w)²

with ξ_i(w) the slack of block i under the objective, which the oracle finds, and c_i its weight; ½‖w‖² may be another
penalty r(w) instead (`core.penalty`).

**A bound for any w.** Cuts found at w bound the optimum from below: with α_i = C c_i (hinge) or 2 C c_i ξ_i (squared
hinge) on them and s = Σ αa, A_i = Σ α of block i,

    P* ≥ max_t  t Σ bα − r*(ts) − t² Σ A_i² / (4 C c_i)

(t ≤ 1 and no last term for the hinge); `core.penalty` defines r*, ½‖s‖² for ½‖w‖². Where P is smooth the bound equals P
at the optimum, so solvers without a dual of their own have a certificate, too.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from widemargin._threads import one_blas_thread, run, shares
from widemargin._types import AnyArray, FloatVector, IntVector
from widemargin.core import Loss, Penalty
from widemargin.core import penalty as penalties
from widemargin.core.asking import ask, helpers
from widemargin.core.checks import check_declared, check_offers, checked_weights, choice, number
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import Cuts
from widemargin.core.evidence import Evidence, Ledger, evidence_of, smooth_doubt
from widemargin.core.examples import Examples, OnDisk, Outputs
from widemargin.core.objective import Beyond, Margin, Objective
from widemargin.core.oracle import CutVisit, Meter, Oracle, SummedPass, Visit, Wants, find_misjudgement, summed_pass
from widemargin.core.products import inner
from widemargin.core.sparse import dots
from widemargin.errors import WidemarginError

T = TypeVar("T")

SLIGHT_WEIGHT = 1e-50  # an example with a smaller weight changes nothing, but dividing by it may overflow


class Trainable(Protocol):
    """A function P(w) = r(w) + C L(w) that `fit` can minimise; L is a sum of losses.

    It is a `Problem`, or the sum over parts (`parts.problem`). These know L, and what bounds it from below; all that
    follows from L is here. `slacks` are those that the solver's own oracle calls last saw; `kept_cuts` are the cuts
    that it keeps, or None. `misjudgement` describes an error of the oracle; empty if none was noticed.
    """

    C: float
    loss: Loss
    penalty: Penalty
    l1: float
    objective: Objective
    examples: Any
    example_weight: FloatVector
    meter: Meter
    n_weights: int
    n_blocks: int
    n_counted: int
    convex: bool
    slacks: FloatVector
    kept_cuts: CutStore | None
    misjudgement: str

    @property
    def exact(self) -> bool:
        """Whether the oracle finds the most violated cuts, so that a duality gap is a proof."""

    def forget(self) -> None:
        """Forget all slacks seen so far."""

    def loss_seen(self) -> float | None:
        """L with the slacks that the solver's own oracle calls last saw, or None before any.

        Each slack is that at the weights of its moment; blocks not seen yet are assumed to be like those seen.
        """

    def total_loss(self, w: FloatVector, found: FloatVector | None = None) -> float:
        """L(w), by a full pass of the oracle; it writes the slack of every block to `found`."""

    def tangents(self, w: FloatVector, found: FloatVector | None = None) -> tuple[float, Evidence]:
        """L(w), and the tangents of all losses at `w` as evidence, by a full pass; `found` as in `total_loss`."""

    def least_at_zero(self) -> float | None:
        """A lower bound on P(0), from the cuts that are known; None if there are none."""
        return None

    def regulariser(self, w: FloatVector) -> float:
        """r(w), the penalty."""
        return penalties.value(self.penalty, self.l1, w)

    def primal_estimate(self, w: FloatVector) -> float | None:
        """P at `w` with the slacks last seen; None before any."""
        seen = self.loss_seen()
        return None if seen is None else self.regulariser(w) + self.C * seen

    def primal(self, w: FloatVector, found: FloatVector | None = None) -> float:
        """P(w), by a full pass of the oracle; it writes the slack of every block to `found`."""
        return self.regulariser(w) + self.C * self.total_loss(w, found)

    def bounds(self, w: FloatVector, found: FloatVector | None = None) -> tuple[float, float]:
        """P(w) and a lower bound on the least P, by a full pass of the oracle; `found` as in `primal`."""
        total, evidence = self.tangents(w, found)
        return self.regulariser(w) + self.C * total, self.bound(evidence)

    def bound(self, evidence: Evidence) -> float:
        """The lower bound on the least P that evidence proves."""
        return evidence.bound(self.penalty, self.l1)


@dataclass
class Problem(Oracle, Trainable):
    """Examples, an objective and a trade-off.

    Parameters
    ----------
    examples : the training examples of some structure
    objective : how decoded outputs become cuts
    C : trade-off; multiplies the sum of the slacks
    sample_weight : one non-negative weight per example; None means 1 for all. Weight 0 leaves an example out.
    loss : ``"squared_hinge"`` or ``"hinge"``
    penalty : ``"l2"``, ½‖w‖²; ``"l1"``, ‖w‖₁; ``"elastic-net"``, ½‖w‖² + l1 ‖w‖₁; or ``"none"``
    l1 : the weight of ‖w‖₁ in the elastic net
    n_threads : how many threads decode a batch; results do not depend on it
    cut_memory : how many megabytes the cuts that a dual solver keeps may take
    keep_parts : planes, which are sums of cuts, remember their share of every block, so that they can be rebased

    `n_counted` examples have a positive weight. The cuts of a `convex` problem hold for every w; those of examples that
    are completed on the way (`core.restarts`) do not.
    """

    examples: Examples
    objective: Objective = field(default_factory=Margin)
    C: float = number(0.1, above=0.0)
    sample_weight: FloatVector | None = None
    loss: Loss = choice("squared_hinge", "hinge")
    penalty: Penalty = choice(*penalties.PENALTIES)
    l1: float = number(1.0)
    n_threads: int = 1
    cut_memory: float = number(1024.0, above=0.0)
    keep_parts: bool = False
    meter: Meter = field(default_factory=Meter, repr=False)
    example_weight: FloatVector = field(init=False, repr=False)
    c: FloatVector = field(init=False, repr=False)
    slacks: FloatVector = field(init=False, repr=False)
    kept_cuts: CutStore | None = field(default=None, init=False, repr=False)
    summed: SummedPass | None = field(default=None, init=False, repr=False)
    misjudgement: str = field(default="", init=False, repr=False)
    looks_beyond: bool = field(init=False, repr=False)
    n_weights: int = field(init=False, repr=False)
    n_blocks: int = field(init=False, repr=False)
    n_counted: int = field(init=False, repr=False)
    convex: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_declared(self)
        if self.objective.kind == "smooth" and self.loss != "hinge":
            raise WidemarginError(f"{self.objective} is smooth by itself; its loss is 'hinge', not {self.loss!r}")
        check_offers(self.objective, self.objective.requires, self.examples)
        self.objective.check(self.examples)
        self.looks_beyond = isinstance(self.objective, Beyond)  # checking a protocol takes longer than some oracles
        self.example_weight = checked_weights(self.sample_weight, self.examples.n_examples)
        slight = (self.example_weight > 0) & (self.example_weight <= SLIGHT_WEIGHT)
        if slight.any():
            count = np.count_nonzero(slight)
            warnings.warn(f"{count} examples have weights of at most {SLIGHT_WEIGHT:g} and are ignored", stacklevel=2)
            self.example_weight = np.where(slight, 0.0, self.example_weight)
        self.c = self.example_weight[self.objective.blocks(self.examples)]
        self.n_weights, self.n_blocks = self.examples.n_weights, len(self.c)
        self.n_counted = int(np.count_nonzero(self.example_weight))
        self.convex = bool(getattr(self.examples, "convex", True))
        self.summed = summed_pass(self)
        self.forget()

    def cut_store(self, *, products: bool) -> CutStore:
        """A store for the cuts of all blocks; on disk if the examples are."""
        room = self.examples.pages.room if isinstance(self.examples, OnDisk) else None
        return CutStore(self.n_blocks, self.cut_memory, products=products, room=room)

    def losses(self, blocks: AnyArray, slacks: FloatVector) -> float:
        """Σ c_i ℓ(ξ_i) of blocks with these slacks."""
        slacks = np.maximum(slacks, 0.0)
        return inner(self.c[blocks], slacks if self.loss == "hinge" else slacks**2)

    def slopes(self, blocks: IntVector, slacks: FloatVector) -> FloatVector:
        """C c_i ℓ'(ξ_i) of blocks with these slacks; negative slacks count as 0."""
        c = self.C * self.c[blocks]
        return c * (slacks > 0) if self.loss == "hinge" else 2.0 * c * np.maximum(slacks, 0.0)

    def tangent(self, cuts: Cuts, w: FloatVector) -> FloatVector:
        """The α of each cut for which −Σ αa is a subgradient of the losses C Σ c_i ℓ(ξ_i) at `w`."""
        return self.slopes(cuts.block, cuts.b - dots(cuts.a, w))

    def visits(self, w: FloatVector, wants: Wants = "sum") -> Iterator[Visit]:
        """A full pass at `w`: slacks and cuts, batch by batch, or the sum of all cuts where that is faster."""
        if self.summed is not None and wants != "cuts":
            yield self.summed.visit(self, w, wants)
        else:
            for cuts in self.full_pass(w):
                yield CutVisit(cuts.block, self.slacks_of(cuts, w), cuts, w)

    def total_loss(self, w: FloatVector, found: FloatVector | None = None) -> float:
        """Σ c_i ℓ(ξ_i(w)), by a full pass of the oracle; it writes the slack of every block to `found`."""
        return sum((self._total(visit, found) for visit in self.visits(w, "slacks")), 0.0)

    def risk(
        self, w: FloatVector, each: Callable[[CutVisit, FloatVector], None] | None = None
    ) -> tuple[float, FloatVector]:
        """R(w) = C Σ c_i ℓ(ξ_i(w)) and −∇R(w), by a full pass of the oracle; the slacks there are remembered.

        `each` is called with the cuts of every batch and the slopes α of their blocks.
        """
        total, a = 0.0, np.zeros(self.n_weights)
        for visit in self.visits(w, "sum" if each is None else "cuts"):
            self.slacks[visit.block] = visit.slacks
            alpha = self.slopes(visit.block, visit.slacks)
            total, a = total + self.losses(visit.block, visit.slacks), visit.add_to(alpha, a)
            if each is not None and isinstance(visit, CutVisit):
                each(visit, alpha)
        return self.C * total, a

    def tangents(self, w: FloatVector, found: FloatVector | None = None) -> tuple[float, Evidence]:
        """Σ c_i ℓ(ξ_i(w)), and the tangents of all losses at `w` as evidence, by a full pass of the oracle."""
        if self.objective.kind == "smooth":
            return self._smooth_tangents(w, found)
        total, ledger = 0.0, Ledger(self.n_weights)
        for visit in self.visits(w):
            total += self._total(visit, found)
            alpha = self.slopes(visit.block, visit.slacks)
            if self.loss == "squared_hinge":
                ledger.quadratic += float((alpha**2 / (4.0 * self.C * self.c[visit.block])).sum())
            visit.enter(alpha, ledger)
        return total, ledger.evidence(np.inf if self.loss == "squared_hinge" else 1.0)

    def _smooth_tangents(self, w: FloatVector, found: FloatVector | None) -> tuple[float, Evidence]:
        """`tangents` of smooth objectives, whose cuts are expectations: b is ξ + ⟨w, a⟩ only up to rounding.

        The rounding error depends on the size of the scores. Cuts at w = 0 show that size; in cuts at `w`, features
        that are certain cancel out. Weights with P(w) > P(0) may have scores of any size, so their tangents prove
        nothing.
        """
        total, at_zero, ledger = 0.0, 0.0, Ledger(self.n_weights)
        for visit, before in zip(self.visits(w), self.visits(np.zeros(len(w))), strict=True):
            total, at_zero = total + self._total(visit, found), at_zero + self.losses(before.block, before.slacks)
            alpha = self.C * self.c[visit.block]
            visit.enter(alpha, ledger)
            scores = visit.sizes(alpha, w) + before.sizes(alpha, w)
            ledger.linear -= smooth_doubt(alpha, visit.slacks + before.slacks + scores)
            ledger.reach += float(alpha.sum())  # expectations have rounding errors even if they cancel to 0
        if self.regulariser(w) + self.C * total > self.C * at_zero:
            ledger.linear = 0.0
        return total, ledger.evidence(1.0)

    def _total(self, visit: Visit, found: FloatVector | None) -> float:
        """Σ c_i ℓ of the upper bounds on a visit's slacks, which are written to `found`."""
        if isinstance(visit, CutVisit) and self.exact and not self.misjudgement:
            self.misjudgement = find_misjudgement(self, visit)
        if found is not None:
            found[visit.block] = visit.above
        return self.losses(visit.block, visit.above)

    def evidence(self, store: CutStore) -> Evidence:
        """The evidence in the α of a store with cuts of every block."""
        c = self.C * self.c
        if self.loss == "hinge":
            return evidence_of(store, self.n_weights, c)
        ridge = np.divide(0.5, c, out=np.full(len(c), np.inf), where=c > 0)
        return evidence_of(store, self.n_weights, np.where(c > 0, np.inf, 0.0), ridge)

    def loss_seen(self) -> float | None:
        """Σ c_i ℓ(ξ_i) with the slacks that `cuts` last saw; None before any."""
        seen = np.flatnonzero(~np.isnan(self.slacks) & (self.c > 0))
        if not len(seen):
            return None if self.c.any() else 0.0
        return self.losses(seen, self.slacks[seen]) * float(np.count_nonzero(self.c) / len(seen))

    def least_at_zero(self) -> float | None:
        """A lower bound on P(0), from the cuts that are known; None if there are none."""
        if self.kept_cuts is None:
            return None
        blocks = np.flatnonzero(self.c).astype(np.int32)
        return self.C * self.losses(blocks, self.kept_cuts.slacks(blocks, np.zeros(self.n_weights)))

    def per_example(self, of_blocks: FloatVector) -> FloatVector:
        """The sum of `of_blocks` over the blocks of each example."""
        blocks = self.objective.blocks(self.examples)
        sums: FloatVector = np.zeros(self.examples.n_examples)
        np.add.at(sums, blocks, of_blocks)
        return sums

    def forget(self) -> None:
        """Forget all slacks seen so far."""
        self.slacks, self.misjudgement = np.full(len(self.c), np.nan), ""


def in_shares(examples: Examples, task: Callable[[IntVector], T], n_threads: int = 1) -> list[T]:
    """The results of `task` for batches that together hold all examples, one batch per thread."""
    everything = np.arange(examples.n_examples, dtype=np.int32)
    return run([partial(task, part) for part in shares(everything, examples.work, n_threads)])


def predict(examples: Examples, w: Any, n_threads: int = 1) -> list[Outputs]:
    """The plain argmax outputs of all examples: a list with the outputs of one batch per thread.

    `w` is a weight vector, or anything else that `examples.decode` accepts.
    """
    return ask_all(_decoded, examples, w, n_threads)


def ask_all(question: Callable[[Any, Any, IntVector], T], examples: Any, w: Any, n_threads: int = 1) -> list[T]:
    """The answers of `question(examples, w, part)` for parts that together hold all examples (`core.asking`)."""
    everything = np.arange(examples.n_examples, dtype=np.int32)
    # Where plain Python decodes, products of the user's own may depend on BLAS's threads; worker processes have one.
    with helpers(examples, n_threads), one_blas_thread() if examples.work is None else nullcontext():
        return ask(question, examples, w, everything, n_threads)


def _decoded(examples: Any, w: Any, batch: IntVector) -> Outputs:
    return examples.decode(w, batch)
