"""The k best trees against all labelled binary trees, sorted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.brackets import SIZES, charts, labelled, mark_tree, marked_score
from widemargin.decoders.cky import TreeParts, best_tree, no_marks
from widemargin.decoders.cky_searches import cky_kbest

pytestmark = pytest.mark.interpreted


@given(
    st.sampled_from(SIZES),
    st.sampled_from(["real", "ties", "forbidden"]),
    st.sampled_from([1, 2, 7, 40]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_the_best_of_all_trees_in_order(size, kind, k, marked, seed):
    n, n_labels = size
    rng = np.random.default_rng(seed)
    parts, every = charts(rng, n, n_labels, kind), labelled(n, n_labels)
    tree = every[rng.integers(len(every))]
    extra = rng.choice([-np.inf, -2.0, -1.0, 0.5, 3.0], n_labels) if marked else np.zeros(n_labels)
    marks = mark_tree(np.array(tree, dtype=np.int32), extra) if marked else no_marks()
    known = {tuple(each): marked_score(each, parts, tree, extra) for each in every}
    wanted = sorted((each for each in known.values() if each > -np.inf), reverse=True)[:k]

    trees, totals = np.empty((k, 2 * n - 1, 3), dtype=np.int32), np.empty(k)
    found = cky_kbest(n, TreeParts(*(part.copy() for part in parts)), marks, trees, totals)
    assert found == max(len(wanted), 1)
    if not wanted:
        assert totals[0] == -np.inf
        return
    np.testing.assert_allclose(totals[:found], wanted, rtol=1e-9, atol=1e-9)
    written = [tuple(map(tuple, each)) for each in trees[:found].tolist()]
    assert len(set(written)) == found
    np.testing.assert_allclose([known[each] for each in written], wanted, rtol=1e-9, atol=1e-9)
    first = np.empty((2 * n - 1, 3), dtype=np.int32)
    best_tree(n, TreeParts(*(part.copy() for part in parts)), marks, first)
    np.testing.assert_array_equal(trees[0], first)
