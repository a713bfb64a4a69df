"""CKY against all labelled binary trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.bracketed import labelled, shapes
from widemargin.decoders.cky import cell, cky

pytestmark = pytest.mark.interpreted


def score(nodes, span, left, right, left_rule, right_rule):
    """What a tree scores, node by node."""
    total = 0.0
    for r, (i, j, label) in enumerate(nodes):
        total += span[cell(i, j), label]
        if j - i > 1:
            (_, k, p), (_, _, q) = nodes[r + 1], nodes[r + 2 * (nodes[r + 1][1] - i)]
            total += left[cell(i, k), label] + left_rule[p, label] + right[cell(k, j), label] + right_rule[q, label]
    return total


def charts(rng, n, n_labels, kind):
    shape_of = [(n * (n + 1) // 2, n_labels)] * 3 + [(n_labels, n_labels)] * 2
    if kind == "ties":
        return [rng.integers(-1, 2, shape).astype(np.float64) for shape in shape_of]
    drawn = [rng.normal(size=shape) for shape in shape_of]
    if kind == "forbidden":
        for chart in drawn:
            chart[rng.random(chart.shape) < 0.2] = -np.inf
    return drawn


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
