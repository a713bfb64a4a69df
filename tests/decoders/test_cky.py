"""CKY against all labelled binary trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.brackets import SIZES, charts, labelled, mark_tree, marked_score, score, shapes
from widemargin.decoders.cky import TreeParts, best_tree, cell, fill, no_marks

pytestmark = pytest.mark.interpreted

kinds = st.sampled_from(["real", "ties", "forbidden"])
seeds = st.integers(0, 2**32 - 1)


@given(st.sampled_from(SIZES), kinds, seeds)
def test_the_best_of_all_trees(size, kind, seed):
    n, n_labels = size
    parts = charts(np.random.default_rng(seed), n, n_labels, kind)
    best = max(score(tree, *parts) for tree in labelled(n, n_labels))
    nodes = np.empty((2 * n - 1, 3), dtype=np.int32)
    found = best_tree(n, TreeParts(*(part.copy() for part in parts)), no_marks(), nodes)
    assert found == pytest.approx(best)
    assert tuple(map(tuple, nodes[:, :2].tolist())) in shapes(0, n)
    if best > -np.inf:
        assert score(nodes.tolist(), *parts) == pytest.approx(best)


@given(st.sampled_from(SIZES), kinds, seeds)
def test_marked_productions_score_extra(size, kind, seed):
    """A wrong production may cost more than a right one: `extra` is of either sign, and may forbid."""
    n, n_labels = size
    rng = np.random.default_rng(seed)
    parts, trees = charts(rng, n, n_labels, kind), labelled(n, n_labels)
    marked = trees[rng.integers(len(trees))]
    extra = rng.choice([-np.inf, -2.0, -1.0, 0.5, 3.0], n_labels)
    best = max(marked_score(tree, parts, marked, extra) for tree in trees)
    nodes = np.empty((2 * n - 1, 3), dtype=np.int32)
    marks = mark_tree(np.array(marked, dtype=np.int32), extra)
    found = best_tree(n, TreeParts(*(part.copy() for part in parts)), marks, nodes)
    assert found == pytest.approx(best)
    if best > -np.inf:
        assert marked_score(nodes.tolist(), parts, marked, extra) == pytest.approx(best)


@given(st.integers(1, 5), st.integers(1, 9), kinds, st.sampled_from([0.1, 1.0, 30.0]), seeds)
def test_children_that_are_left_out_are_never_best(n, n_labels, kind, spread, seed):
    """The charts are those of the recursion without bounds, bit by bit, whether rules or spans matter more."""
    parts = charts(np.random.default_rng(seed), n, n_labels, kind)
    parts[0] *= spread
    filled = TreeParts(*(part.copy() for part in parts))
    fill(n, filled, no_marks())
    span, left, right, left_rule, right_rule = parts
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            at = cell(i, j)
            if j - i > 1:
                span[at] += np.max([left[cell(i, k)] + right[cell(k, j)] for k in range(i + 1, j)], axis=0)
            if i > 0:
                right[at] += (span[at][:, None] + right_rule).max(axis=0)
            if j < n:
                left[at] += (span[at][:, None] + left_rule).max(axis=0)
    for one, other in zip(filled, parts, strict=True):
        assert np.array_equal(one, other)
