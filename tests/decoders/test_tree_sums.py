"""Sums over dependency trees against all trees, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.trees import coarse, fine, previous_siblings, problems, scored, sparse
from widemargin.decoders.arborescence import matrix_tree, new_elimination
from widemargin.decoders.eisner_sums import eisner_sums, new_sum_chart
from widemargin.decoders.tree_kbest import NON_PROJECTIVE, PROJECTIVE, SIBLINGS

pytestmark = pytest.mark.interpreted

KINDS = [PROJECTIVE, NON_PROJECTIVE, SIBLINGS]


wide = st.one_of(st.sampled_from([-1e4, -700.0, 0.0, 700.0, 1e4]), st.just(-np.inf))


def dirty(scratch):
    """The same scratch space, full of what must not be read."""
    for part in scratch:
        if isinstance(part, tuple):
            dirty(part)
        else:
            part[...] = np.nan if part.dtype == np.float64 else -1
    return scratch


def sums(kind, scores, single_root, sibling, spare=0):
    """log Z, the probabilities of arcs, and those of siblings."""
    n = len(scores) - 1
    arcs, pairs = np.full(scores.shape, np.nan), np.full(sibling.shape, np.nan)
    if kind == NON_PROJECTIVE:
        total = matrix_tree(scores, single_root, dirty(new_elimination(n + spare)), arcs)
    else:
        total = eisner_sums(scores, sibling, single_root, dirty(new_sum_chart(n + spare)), arcs, pairs)
    return total, arcs, pairs


def brute_force(kind, scores, single_root, sibling):
    arcs, pairs = np.zeros(scores.shape), np.zeros(sibling.shape)
    every, totals = scored(kind, scores, single_root, sibling)
    if totals.max() == -np.inf:
        return -np.inf, arcs, pairs
    weights = np.exp(totals - totals.max())
    words = np.arange(1, len(scores))
    for heads, p in zip(every, weights / weights.sum(), strict=True):
        arcs[heads, words] += p
        if kind == SIBLINGS:
            pairs[heads, previous_siblings(heads.tolist()), words] += p
    return totals.max() + np.log(weights.sum()), arcs, pairs


def check(problem, spare=0):
    found, expected = sums(*problem[:4], spare), brute_force(*problem[:4])
    assert found[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-11)
    for one, other in zip(found[1:], expected[1:], strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_equals_brute_force_with_infinities(kind, data):
    check(data.draw(st.one_of(problems(kind, coarse), problems(kind, sparse))), data.draw(st.integers(0, 2)))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_equals_brute_force_on_any_scores(kind, data):
    check(data.draw(problems(kind, fine)))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_equals_brute_force_where_probabilities_underflow(kind, data):
    check(data.draw(problems(kind, wide, most=4)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [True, False])
def test_probabilities_are_the_derivatives_of_log_z(kind, single_root):
    rng = np.random.default_rng(kind)
    scores, sibling = rng.normal(scale=2.0, size=(8, 8)), rng.normal(size=(8, 8, 8))
    _, arcs, pairs = sums(kind, scores, single_root, sibling)
    for h, m in [(0, 3), (3, 5), (6, 2), (7, 1)]:
        for table, probability, at in [(scores, arcs[h, m], (h, m)), (sibling, pairs[h, h, m], (h, h, m))]:
            if table is sibling and kind != SIBLINGS:
                continue
            before, totals = table[at], []
            for change in (-1e-5, 1e-5):
                table[at] = before + change
                totals.append(sums(kind, scores, single_root, sibling)[0])
            table[at] = before
            assert (totals[1] - totals[0]) / 2e-5 == pytest.approx(probability, abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_long_sentences(kind, single_root, scale):
    """Every word has one head, and the pairs of siblings agree with the arcs."""
    rng = np.random.default_rng(0)
    n = 25
    scores, sibling = scale * rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1, n + 1, n + 1))
    total, arcs, pairs = sums(kind, scores, single_root, sibling)
    assert np.isfinite(total)
    assert np.allclose(arcs[:, 1:].sum(axis=0), 1.0)
    assert not arcs[:, 0].any()
    assert not arcs.diagonal().any()
    assert arcs.min() >= 0.0
    if single_root:
        assert arcs[0].sum() == pytest.approx(1.0)
    if kind == SIBLINGS:
        assert np.allclose(pairs.sum(axis=1), arcs)


def test_a_cycle_of_sure_arcs_takes_no_precision():
    """Each of two words is sure to be the other's head; the determinant of their Laplacian is lost to rounding."""
    scores = np.array([[0.0, -100.0, -101.0], [0.0, 0.0, 1e3], [0.0, 1e3, 0.0]])
    total, arcs, _ = sums(NON_PROJECTIVE, scores, False, np.empty((0, 0, 0)))
    from_first = 1.0 / (1.0 + np.exp(-1.0))
    assert total == pytest.approx(1e3 - 100.0 - np.log(from_first), rel=1e-14)
    assert np.allclose(arcs, [[0, from_first, 1 - from_first], [0, 0, from_first], [0, 1 - from_first, 0]])


def test_siblings_that_score_nothing_change_nothing():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(9, 9))
    for single_root in (True, False):
        plain = sums(PROJECTIVE, scores, single_root, np.empty((0, 0, 0)))
        both = sums(SIBLINGS, scores, single_root, np.zeros((9, 9, 9)))
        assert both[0] == pytest.approx(plain[0])
        assert np.allclose(both[1], plain[1])
