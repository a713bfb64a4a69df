"""Extracts: gold, errors, certificates, and programmes that are cut short."""

import numpy as np
import pytest

from helpers import all_blocks, optimum, primal
from helpers.extracts import N_FEATURES, all_sets, random_extract, small_extracts
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.decoders.coverage import Limits, Selection
from widemargin.solvers import SOLVERS
from widemargin.tasks.summarise.examples import ExtractExamples, Gold, gold_extract
from widemargin.testing import check_structure

pytestmark = pytest.mark.interpreted


def test_gold_has_the_greatest_recall_and_no_error():
    examples = small_extracts(3, [4, 5, 3, 2]).examples
    for i, (extract, gold) in enumerate(zip(examples.extracts, examples.gold, strict=True)):
        assert gold.recall == max(extract.recall(chosen) for chosen in all_sets(extract.coverage))
        assert gold.doubt < 1e-9
        for chosen in all_sets(extract.coverage):
            (error,), _ = examples.difference(np.array([i]), [Selection(chosen, 0.0, 0.0)])
            assert error == pytest.approx(1.0 - extract.recall(chosen) / gold.recall)


def test_an_input_that_no_reference_agrees_with_teaches_nothing():
    rng = np.random.default_rng(1)
    extract = random_extract(rng, 3, 4)
    without = extract._replace(sentence_recall=np.zeros(3), concept_recall=np.zeros(4))
    examples = ExtractExamples([extract, without], N_FEATURES)
    assert examples.informative().tolist() == [1.0, 0.0]
    one = np.array([1], dtype=np.int32)
    assert examples.difference(one, examples.decode(rng.normal(size=N_FEATURES), one)).errors.tolist() == [0.0]


@pytest.mark.parametrize("solver", ["auto", "one-slack", "bundle"])
def test_training_reaches_the_optimum(solver):
    small = small_extracts(19, [4, 3, 4, 2])
    problem = Problem(small.examples, C=0.5, loss=SOLVERS[solver].losses[0])
    solution = fit(problem, SOLVERS[solver], stop=Stop(epochs=200, gap=1e-4))
    least, _ = optimum(problem, small)
    assert solution.certified
    assert solution.gap <= 1e-4
    assert least == pytest.approx(solution.primal, rel=2e-4)
    assert solution.dual <= least * (1 + 1e-6)


def cut_short(seed, sizes):
    """Small examples whose programmes end before they begin, unless presolving is enough; gold is as it should be."""
    small = small_extracts(seed, sizes)
    small.examples.limits = Limits(nodes=0)
    return small


def test_bounds_hold_where_programmes_are_cut_short():
    small = cut_short(4, [5, 6, 4, 6])
    check_structure(small.examples, enumerate_outputs=small.outputs, gold=small.gold)
    assert small.examples.cut_short
    whole = small_extracts(4, [5, 6, 4, 6]).examples
    w, everything = np.ones(N_FEATURES), np.arange(4, dtype=np.int32)
    assert small.examples.excess(everything, small.examples.decode(w, everything)).max() > 0.1
    assert whole.excess(everything, whole.decode(w, everything)).max() < 1e-8


def test_a_lie_about_what_was_missed_is_noticed():
    small = cut_short(4, [5, 6, 4, 6])
    small.examples.excess = lambda batch, outputs: np.zeros(len(batch))
    with pytest.raises(AssertionError, match="but there is one that scores"):
        check_structure(small.examples, enumerate_outputs=small.outputs)


@pytest.mark.parametrize("solver", ["auto", "sgd"])
def test_the_certificate_accounts_for_what_was_missed(solver):
    """P is an upper bound on the true one, and the gap a proof: by the dual of a solver, or by that of a pass."""
    small = cut_short(4, [5, 6, 4, 6])
    problem = Problem(small.examples, C=1.0, loss="squared_hinge")
    solution = fit(problem, SOLVERS[solver], stop=Stop(epochs=4, gap=1e-9))
    least, _ = optimum(problem, small)
    true = primal(problem, small, solution.w)
    assert solution.certified
    assert solution.primal >= true * (1 - 1e-9)
    assert solution.dual <= least * (1 + 1e-9)
    assert solution.gap >= 1.0 - least / true - 1e-9
    w, found = np.full(N_FEATURES, 0.3), np.zeros(4)
    assert problem.primal(w, found) > 1.01 * primal(problem, small, w)
    assert problem.bounds(w)[0] == problem.primal(w)
    assert (found >= [max(0.0, np.max(b - a @ w)) - 1e-9 for b, a in all_blocks(problem, small)]).all()


def test_gold_that_may_not_be_the_best_is_accounted_for():
    """Its errors are cut at 0, and by how much is part of what may have been missed."""
    rng = np.random.default_rng(8)
    extract = random_extract(rng, 6, 8)
    best = gold_extract(extract, Limits())
    worse = next(chosen for chosen in all_sets(extract.coverage) if 0 < extract.recall(chosen) < best.recall)
    examples = ExtractExamples([extract], N_FEATURES)
    recall = extract.recall(worse)
    examples.gold = [Gold(worse, recall, best.recall / recall - 1.0)]
    examples.gold_features = extract.features(worse)[None]
    check_structure(
        examples, enumerate_outputs=lambda i: ([Selection(chosen, 0.0, 0.0)] for chosen in all_sets(extract.coverage))
    )
