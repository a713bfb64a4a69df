"""The public checks pass what is right (elsewhere) and catch what is wrong (here), one defect at a time."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers import STRUCTURES, problem, random_chain
from widemargin.core.examples import Differences
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows, expanded
from widemargin.solvers import DualCoordinateDescent, Perceptron
from widemargin.structures.examples import Scored
from widemargin.tasks.tag.features import ChainExamples
from widemargin.testing import check_solver, check_structure


class Chains(ChainExamples):
    """Sound chains, for defective ones to derive from."""

    def __init__(self):
        sound = random_chain(1, [3, 2, 4, 1, 3]).compiled()
        super().__init__(sound.shape, sound.indptr, sound.features.rows, sound.gold)

    def all(self, i):
        return (np.array(y, dtype=np.int32) for y in np.ndindex(*(3,) * self.lengths[i]))


class NegativeError(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(-errors, psi)


class WrongSign(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(errors, psi._replace(values=-psi.values))


class GoldCounts(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(errors + 1.0, psi)


class ErrorFree(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(0.0 * errors, psi)


class Doubled(Chains):
    def difference(self, batch, outputs):
        errors, (indptr, indices, values) = super().difference(batch, outputs)
        return Differences(errors, psi=Rows(2 * indptr, np.repeat(indices, 2), np.repeat(values, 2)))


class Zeros(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(errors, psi._replace(values=0 * psi.values))


class NotANumber(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(errors, psi._replace(values=psi.values * np.nan))


class StoredWhole(Chains):
    """Sound: ψ is stored with all its zeros, also that of gold."""

    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        whole = expanded(psi, self.n_weights)
        indptr = self.n_weights * np.arange(len(batch) + 1, dtype=np.int64)
        indices = np.tile(np.arange(self.n_weights, dtype=np.int32), len(batch))
        return Differences(errors, Rows(indptr, indices, whole.ravel()))


class OutOfRange(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(errors, psi._replace(indices=psi.indices + np.int32(self.n_weights)))


class WideIndices(Chains):
    def difference(self, batch, outputs):
        errors, psi = super().difference(batch, outputs)
        return Differences(errors, psi._replace(indices=psi.indices.astype(np.int64)))


class NoErrorTerm(Chains):
    def decode(self, w, batch, *, error_scale=0.0):
        return super().decode(w, batch)


class AlwaysErrorTerm(Chains):
    def decode(self, w, batch, *, error_scale=0.0):
        return super().decode(w, batch, error_scale=1.0)


class AlwaysGold(Chains):
    def decode(self, w, batch, *, error_scale=0.0):
        return np.concatenate([self.gold[self.indptr[i] : self.indptr[i + 1]] for i in batch] or [[]])


class Greedy(Chains):
    """Transitions are not looked at."""

    def decode(self, w, batch, *, error_scale=0.0):
        if isinstance(w, Scored):
            shared = w.scores.shared.copy()
            shared[: self.shape.n_labels**2] = 0.0
            w = w._replace(scores=w.scores._replace(shared=shared))
        else:
            w = w.copy()
            self.shape.parts(w).transition[:] = 0.0
        return super().decode(w, batch, error_scale=error_scale)


class FirstOfBatch(Chains):
    """The first of every batch is decoded sloppily, as by scratch space that was not cleared."""

    def decode(self, w, batch, *, error_scale=0.0):
        labels = super().decode(w, batch, error_scale=error_scale)
        labels[:1] = 0
        return labels


class Scribbler(Chains):
    def decode(self, w, batch, *, error_scale=0.0):
        labels = super().decode(w, batch, error_scale=error_scale)
        w += 1.0
        return labels


class Listed(Chains):
    """Chains whose lists of best outputs are spoilt by `change`."""

    def decode_best(self, w, batch, k, *, error_scale=0.0):
        lists = []
        for i in batch:
            one, labels = super().decode_best(w, np.array([i], dtype=np.int32), k + 1, error_scale=error_scale)
            lists.append(self.change(labels.reshape(len(one), -1), k))
        return np.repeat(batch, [len(each) for each in lists]), np.concatenate([each.ravel() for each in lists])


class WrongOrder(Listed):
    def change(self, outputs, k):
        return outputs[:k][::-1]


class BestTwice(Listed):
    def change(self, outputs, k):
        return np.repeat(outputs[:1], k, axis=0)


class SecondBest(Listed):
    def change(self, outputs, k):
        return outputs[1:]


class OneTooMany(Listed):
    def change(self, outputs, k):
        return outputs


class OneShort(Listed):
    def change(self, outputs, k):
        return outputs[: max(1, k - 1)]


class Unlikely(Chains):
    def expectation(self, w, batch, *, error_scale=0.0):
        errors, psi = super().expectation(w, batch, error_scale=error_scale)
        return Differences(errors + 1e-6, psi)


class NoErrorInProbabilities(Chains):
    def expectation(self, w, batch, *, error_scale=0.0):
        return super().expectation(w, batch)


class HalfExpected(Chains):
    def expectation(self, w, batch, *, error_scale=0.0):
        errors, psi = super().expectation(w, batch, error_scale=error_scale)
        return Differences(errors, psi._replace(values=0.5 * psi.values))


class Blended(Chains):
    def expectation(self, w, batch, *, error_scale=0.0):
        errors, psi = super().expectation(w, batch, error_scale=error_scale)
        return Differences(errors + len(batch), psi)


class NoWork(Chains):
    def __init__(self):
        super().__init__()
        self.work = self.work[:-1]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (NegativeError, "must be finite and not negative"),
        (WrongSign, "but there is one that scores"),
        (Doubled, "an index twice"),
        (Zeros, "but there is one that scores"),
        (NotANumber, "has infinities or NaN"),
        (OutOfRange, "indices outside"),
        (WideIndices, "psi.indices of a batch of 5 must be int32"),
        (NoErrorTerm, "error_scale=1.0 found an output"),
        (AlwaysErrorTerm, "error_scale=0.0 found an output"),
        (Greedy, "but there is one that scores"),
        (FirstOfBatch, "changes when the batch is split or reordered"),
        (Scribbler, "changed the weights it was given"),
        (NoWork, "not one number per example"),
        (WrongOrder, "returned outputs in the wrong order"),
        (SecondBest, "is not the best"),
        (OneTooMany, "k=1 and error_scale=0.0 returned 2 outputs"),
        (Blended, r"expectation with error_scale=0\.0 changes when the batch is split"),
    ],
)
def test_broken_structures_are_caught_without_enumeration(broken, message):
    check_structure(Chains())
    with pytest.raises(AssertionError, match=message):
        check_structure(broken())


def test_broken_structures_that_only_enumeration_or_gold_reveals():
    sound = Chains()
    check_structure(sound, enumerate_outputs=sound.all, gold=sound.gold)
    with pytest.raises(AssertionError, match="but there is one that scores"):
        check_structure(AlwaysGold(), enumerate_outputs=sound.all)
    with pytest.raises(AssertionError, match=r"missed a better output, or returned one twice|returned an output twice"):
        check_structure(BestTwice(), enumerate_outputs=sound.all)
    with pytest.raises(AssertionError, match=r"k=3 and error_scale=0.0 returned 2 outputs, not 3"):
        check_structure(OneShort(), enumerate_outputs=sound.all)
    for broken, message in (
        (Unlikely, r"says that −log p\(gold\) is"),
        (NoErrorInProbabilities, r"error_scale=1\.0 says that −log p\(gold\) is"),
        (HalfExpected, "at the weight"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_structure(broken(), enumerate_outputs=sound.all)
    with pytest.raises(AssertionError, match=r"example \d: no enumerated output is gold"):
        check_structure(GoldCounts(), enumerate_outputs=sound.all)
    with pytest.raises(AssertionError, match=r"example 0: the gold output has the error 1\.0, not 0"):
        check_structure(GoldCounts(), gold=sound.gold)
    with pytest.raises(AssertionError, match="example 0: ψ of the gold output is not zero"):
        check_structure(ErrorFree(), gold=(sound.gold + np.int32(1)) % np.int32(3))


def test_zeros_in_psi_are_fine():
    whole = StoredWhole()
    check_structure(whole, enumerate_outputs=whole.all, gold=whole.gold)


def test_an_approximate_decoder_need_not_find_the_maximum():
    greedy = Greedy()
    greedy.exact = False
    check_structure(greedy, enumerate_outputs=greedy.all, gold=greedy.gold)
    check_solver(DualCoordinateDescent(), Problem(greedy), max_epochs=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defective(DualCoordinateDescent):
    """DCD with a defect that the tests choose."""

    defect: str = "none"

    def epoch(self, problem, state, rng):
        if self.defect == "unseeded":
            rng = np.random.default_rng()
        if self.defect == "threads":
            rng = np.random.default_rng(problem.n_threads)
        if self.defect == "frozen":
            problem.cuts(state.w, problem.weighted_examples)
            return
        if self.defect == "torn":
            state.w += 1e-3
        super(Defective, self).epoch(problem, state, rng)
        if self.defect == "torn":
            state.w -= 1e-3
        if self.defect == "drift":
            state.w *= 1.0001
        if self.defect == "nan":
            state.w[0] = np.nan

    def dual(self, problem, state):
        dual = super(Defective, self).dual(problem, state)
        if self.defect == "optimist":
            return dual * 1.05 + 0.1
        if self.defect == "restless":
            return dual - 0.1 * (len(state.store) % 2)
        return dual


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("unseeded", "two runs with the same seed gave different weights"),
        ("threads", "two threads gave other weights than one"),
        ("frozen", "after 60 epochs, above"),
        ("drift", "w differs from Σ αa"),
        ("torn", "w differs from Σ αa"),
        ("nan", "not finite|differs|exceeds|nan"),
        ("optimist", "exceeds primal"),
        ("restless", "the dual fell from"),
    ],
)
def test_broken_solvers_are_caught(defect, message):
    training = [problem(name)[0] for name in ("chain", "strong")]
    check_solver(Defective(batch_size=2), training, max_epochs=60, gap=0.02)
    with pytest.raises(AssertionError, match=message):
        check_solver(Defective(batch_size=2, defect=defect), training, max_epochs=60, gap=0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverging(Perceptron):
    def weights(self, state):
        return super(Diverging, self).weights(state) / np.float64(state.t > 0)


def test_a_solver_without_a_dual_is_checked_too():
    with np.errstate(all="ignore"), pytest.raises(AssertionError, match="weights are not finite"):
        check_solver(Diverging(), problem("chain")[0])


def test_the_problem_that_was_given_is_left_as_it_was():
    training = problem("chain")[0]
    check_solver(DualCoordinateDescent(), training)
    assert training.meter.calls == 0
    assert training.meter.watch is None


@pytest.mark.interpreted  # the defects above are none of kernels
@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_keeps_its_promises(name):
    small = STRUCTURES[name]()
    given = {"enumerate_outputs": small.outputs, "gold": small.gold, "position_errors": small.position_errors}
    check_structure(small.examples, **given, n_draws=6)
