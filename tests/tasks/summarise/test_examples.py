"""Extracts: gold, errors, certificates, and programmes that are cut short."""

import numpy as np
import pytest

from helpers import optimum
from helpers.extracts import N_FEATURES, all_sets, random_extract, small_extracts
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.decoders.coverage import Found
from widemargin.solvers import SOLVERS
from widemargin.tasks.summarise.examples import ExtractExamples

pytestmark = pytest.mark.interpreted


def test_gold_has_the_greatest_recall_and_no_error():
    examples = small_extracts(3, [4, 5, 3, 2]).examples
    for i, (extract, gold) in enumerate(zip(examples.extracts, examples.gold, strict=True)):
        assert gold.recall == max(extract.recall(chosen) for chosen in all_sets(extract.coverage))
        assert gold.doubt < 1e-9
        for chosen in all_sets(extract.coverage):
            (error,), _ = examples.difference(np.array([i]), [Found(chosen, 0.0, 0.0)])
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
