"""CKY against all labelled binary trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.bracketed import charts, labelled, score, shapes
from widemargin.decoders.cky import cky

pytestmark = pytest.mark.interpreted


@given(
    st.sampled_from([(1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (3, 3), (4, 2), (5, 1), (6, 1)]),
    st.sampled_from(["real", "ties", "forbidden"]),
    st.integers(0, 2**32 - 1),
)
def test_the_best_of_all_trees(size, kind, seed):
    n, n_labels = size
    parts = charts(np.random.default_rng(seed), n, n_labels, kind)
    best = max(score(tree, *parts) for tree in labelled(n, n_labels))
    nodes = np.empty((2 * n - 1, 3), dtype=np.int32)
    found = cky(n, *(part.copy() for part in parts), nodes)
    assert found == pytest.approx(best)
    assert tuple(map(tuple, nodes[:, :2].tolist())) in shapes(0, n)
    if best > -np.inf:
        assert score(nodes.tolist(), *parts) == pytest.approx(best)
