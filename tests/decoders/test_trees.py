"""The decoders of dependency trees against all trees, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.trees import (
    KINDS,
    arc_scores,
    coarse,
    decode,
    fine,
    is_projective,
    is_tree,
    previous_siblings,
    problems,
    scored,
    sparse,
    trees,
)
from widemargin.decoders.eisner import sibling_of
from widemargin.decoders.tree_kbest import GRANDSIBLINGS, NON_PROJECTIVE, PROJECTIVE, SIBLINGS

pytestmark = pytest.mark.interpreted


def check(kind, heads, single_root):
    """That these are the heads of a tree of this kind."""
    assert is_tree(heads)
    assert kind == NON_PROJECTIVE or is_projective(heads)
    assert not single_root or heads.count(0) == 1


def test_the_numbers_of_trees():
    """Cayley's for all of them, and for projective ones those of ternary trees and of pairs of them."""
    assert [len(trees(n)) for n in range(1, 6)] == [1, 3, 16, 125, 1296]
    assert [len(trees(n, single_root=True)) for n in range(1, 6)] == [1, 2, 9, 64, 625]
    assert [len(trees(n, projective=True)) for n in range(1, 6)] == [1, 3, 12, 55, 273]
    assert [len(trees(n, projective=True, single_root=True)) for n in range(1, 6)] == [1, 2, 7, 30, 143]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_equals_brute_force_with_ties_and_infinities(kind, data):
    problem = data.draw(st.one_of(problems(kind, coarse), problems(kind, sparse)))
    total, heads = decode(*problem, spare=data.draw(st.integers(0, 2)))
    check(kind, heads, problem[2])
    every, scores = scored(*problem)
    assert total == scores.max()
    assert scores[every.tolist().index(heads)] == total


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_equals_brute_force_on_any_scores(kind, data):
    problem = data.draw(problems(kind, fine))
    total, heads = decode(*problem)
    check(kind, heads, problem[2])
    every, scores = scored(*problem)
    assert total == pytest.approx(scores.max(), rel=1e-12, abs=1e-9)
    assert scores[every.tolist().index(heads)] == pytest.approx(total, rel=1e-12, abs=1e-9)


@given(problems(NON_PROJECTIVE, coarse))
def test_projective_trees_are_never_better_and_as_good_if_the_best_is_one(problem):
    _, scores, single_root, *_ = problem
    total, heads = decode(*problem)
    projective, _ = decode(PROJECTIVE, scores, single_root)
    assert projective <= total
    if is_projective(heads):
        assert projective == total


@given(problems(PROJECTIVE, coarse))
def test_siblings_that_score_nothing_change_nothing(problem):
    _, scores, single_root, *_ = problem
    size = len(scores)
    assert decode(SIBLINGS, scores, single_root, np.zeros((size, size, size)))[0] == decode(*problem)[0]


@given(problems(SIBLINGS, coarse))
def test_grandparents_that_score_nothing_change_nothing(problem):
    _, scores, single_root, sibling, _ = problem
    assert decode(GRANDSIBLINGS, scores, single_root, sibling, np.zeros(sibling.shape)) == decode(*problem)


@pytest.mark.parametrize("single_root", [True, False])
def test_long_chains_of_grandparents_are_found(single_root):
    """Chains alone score, those of one tree, which is found; beside them even good arcs count for nothing."""
    rng, n = np.random.default_rng(0), 16
    noise = rng.normal(size=(n + 1, n + 1))
    hidden = decode(PROJECTIVE, rng.normal(size=(n + 1, n + 1)), single_root)[1]
    grand = np.full((n + 1, n + 1, n + 1), -100.0)
    for m, h in enumerate(hidden, 1):
        if h:
            grand[h, m, hidden[h - 1]] = 100.0
        else:
            noise[0, m] = 1000.0
    assert decode(GRANDSIBLINGS, noise, single_root, np.zeros(grand.shape), grand)[1] == hidden


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [True, False])
def test_six_words(kind, single_root):
    """Contractions of contractions, spans within spans."""
    rng = np.random.default_rng(kind)
    for _ in range(10):
        problem = kind, rng.normal(size=(7, 7)), single_root, *rng.normal(size=(2, 7, 7, 7))
        total, heads = decode(*problem)
        every, scores = scored(*problem)
        assert heads == every[scores.argmax()].tolist()
        assert total == pytest.approx(scores.max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_where_all_is_forbidden_there_is_a_tree_nonetheless(kind, single_root, n):
    total, heads = decode(kind, np.full((n + 1, n + 1), -np.inf), single_root, *np.zeros((2, n + 1, n + 1, n + 1)))
    assert total == -np.inf
    check(kind, heads, single_root)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_long_sentences(seed, single_root):
    """A tree of many words, hidden in noise, is found by all if it is projective, and else by one."""
    rng = np.random.default_rng(seed)
    n = 40
    noise, sibling = rng.normal(size=(n + 1, n + 1)), np.zeros((n + 1, n + 1, n + 1))
    projective = decode(PROJECTIVE, noise, single_root)[1]
    assert decode(SIBLINGS, noise, single_root, sibling)[1] == projective
    crossing = decode(NON_PROJECTIVE, noise, single_root)[1]
    assert not is_projective(crossing)
    for hidden in (projective, crossing):
        check(NON_PROJECTIVE, hidden, single_root)
        scores = noise.copy()
        scores[hidden, np.arange(1, n + 1)] += 100.0
        assert decode(NON_PROJECTIVE, scores, single_root)[1] == hidden
        for kind in (PROJECTIVE, SIBLINGS):
            total, heads = decode(kind, scores, single_root, sibling)
            check(kind, heads, single_root)
            assert total == pytest.approx(arc_scores(scores, np.array(heads)))
            assert (heads == hidden) == (hidden is projective)


@pytest.mark.parametrize("single_root", [True, False])
def test_one_narrow_tree_is_found(single_root):
    """Constraints leave one tree only, with a low score at that."""
    n = 30
    hidden = decode(NON_PROJECTIVE, np.random.default_rng(0).normal(size=(n + 1, n + 1)), single_root)[1]
    scores = np.full((n + 1, n + 1), -np.inf)
    scores[hidden, np.arange(1, n + 1)] = -1000.0
    assert decode(NON_PROJECTIVE, scores, single_root) == (-1000.0 * n, hidden)


def test_a_single_root_costs_no_precision():
    """Scores whose differences a large penalty on roots would swallow."""
    scores = np.full((4, 4), 1e-9)
    scores[0, 1:] = [1e9, 1e9 + 1e-6, 1e9]
    scores[2, 3] = 2e-9
    assert decode(NON_PROJECTIVE, scores, True)[1] == [2, 0, 2]


@given(st.integers(1, 5).flatmap(lambda n: st.sampled_from(trees(n).tolist())))
def test_the_sibling_before(heads):
    out = np.full(len(heads), -1, dtype=np.int32)
    sibling_of(np.array(heads, dtype=np.int32), out)
    assert out.tolist() == previous_siblings(heads)
