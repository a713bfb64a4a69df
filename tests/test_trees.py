"""The decoders of dependency trees against all trees, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trees import arc_scores, is_projective, is_tree, trees
from widemargin.decoders.tree import NON_PROJECTIVE, PROJECTIVE, decode_tree, new_tree_scratch

pytestmark = pytest.mark.interpreted

coarse = st.sampled_from([0.0, 0.0, 1.0, 1.0, -1.0, 2.0, -2.0, -np.inf])
fine = st.one_of(st.floats(-100, 100, allow_subnormal=False), st.just(-np.inf))
sparse = st.sampled_from([-np.inf, -np.inf, -np.inf, 0.0, 1.0])
NO_SIBLINGS = np.empty((0, 0, 0))

both_kinds = pytest.mark.parametrize("kind", [PROJECTIVE, NON_PROJECTIVE])
roots = pytest.mark.parametrize("single_root", [True, False])


@st.composite
def part_scores(draw, score, most=5):
    """Scores of arcs; what is never to be looked at is not a number."""
    n = draw(st.integers(1, most))
    scores = draw(arrays(np.float64, (n + 1, n + 1), elements=score, fill=st.nothing()))
    scores[:, 0] = np.nan
    np.fill_diagonal(scores, np.nan)
    return scores


def decode(kind, scores, single_root, sibling=NO_SIBLINGS, spare=0):
    n = len(scores) - 1
    heads = np.full(n, -1, dtype=np.int32)
    total = decode_tree(kind, scores, sibling, single_root, heads, new_tree_scratch(n + spare))
    return total, heads.tolist()


def check(kind, heads, single_root):
    """That these are the heads of a tree of this kind."""
    assert is_tree(heads)
    assert kind == NON_PROJECTIVE or is_projective(heads)
    assert not single_root or heads.count(0) == 1


def brute_force(kind, scores, single_root):
    return arc_scores(scores, trees(len(scores) - 1, single_root=single_root, projective=kind != NON_PROJECTIVE)).max()


def test_the_numbers_of_trees():
    """Cayley's for all of them; for projective ones n + 1 nodes and the root at one end."""
    assert [len(trees(n)) for n in range(1, 6)] == [1, 3, 16, 125, 1296]
    assert [len(trees(n, single_root=True)) for n in range(1, 6)] == [1, 2, 9, 64, 625]
    assert [len(trees(n, projective=True)) for n in range(1, 6)] == [1, 3, 12, 55, 273]
    assert [len(trees(n, projective=True, single_root=True)) for n in range(1, 6)] == [1, 2, 7, 30, 143]


@both_kinds
@roots
@pytest.mark.parametrize("score", [coarse, sparse], ids=["coarse", "sparse"])
@given(data=st.data())
def test_equals_brute_force_with_ties_and_infinities(kind, single_root, score, data):
    scores = data.draw(part_scores(score))
    total, heads = decode(kind, scores, single_root)
    check(kind, heads, single_root)
    assert total == brute_force(kind, scores, single_root) == arc_scores(scores, np.array(heads))


@both_kinds
@roots
@given(scores=part_scores(fine))
def test_equals_brute_force_on_any_scores(kind, single_root, scores):
    total, heads = decode(kind, scores, single_root)
    check(kind, heads, single_root)
    best = brute_force(kind, scores, single_root)
    assert total == pytest.approx(best, rel=1e-12, abs=1e-9)
    assert arc_scores(scores, np.array(heads)) == pytest.approx(best, rel=1e-12, abs=1e-9)
