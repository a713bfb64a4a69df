"""The best tree through every node against all labelled binary trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.brackets import SIZES, charts, labelled, mark_tree, productions, score
from widemargin.decoders.cky import TreeParts, cell, fill, new_charts, no_marks
from widemargin.decoders.cky_searches import outside, tree_through

pytestmark = pytest.mark.interpreted


def splits(nodes):
    """Every node with where it is split, 0 for words."""
    return {(*node, 0) for node in nodes if node[1] - node[0] == 1} | {each[:4] for each in productions(nodes)}


@given(st.sampled_from(SIZES), st.sampled_from(["real", "ties", "forbidden"]), st.integers(0, 2**32 - 1))
def test_the_best_tree_through_every_node(size, kind, seed):
    n, n_labels = size
    rng = np.random.default_rng(seed)
    parts = TreeParts(*charts(rng, n, n_labels, kind))
    filled, outer, every = TreeParts(*(part.copy() for part in parts)), new_charts(*size), labelled(*size)
    fill(n, filled, no_marks())
    outside(n, parts, filled, outer)
    best = {}
    for tree in every:
        for place in splits(tree):
            best[place] = max(score(tree, *parts), best.get(place, -np.inf))
    nodes = np.empty((2 * n - 1, 3), dtype=np.int32)
    for (i, j, label, k), value in best.items():
        found = outer.nodes[cell(i, j), label] + parts.span[cell(i, j), label]
        if k:
            found += filled.left[cell(i, k), label] + filled.right[cell(k, j), label]
        assert found == pytest.approx(value)
        if value > -np.inf:
            tree_through(n, i, j, label, k, parts, filled, outer, no_marks(), nodes)
            tree = list(map(tuple, nodes.tolist()))
            assert (i, j, label, k) in splits(tree)
            assert score(tree, *parts) == pytest.approx(value)


@given(st.sampled_from([size for size in SIZES if size[0] > 1]), st.integers(0, 2**32 - 1))
def test_the_best_tree_through_a_node_but_not_its_production(size, seed):
    n, n_labels = size
    rng = np.random.default_rng(seed)
    parts, every = TreeParts(*charts(rng, n, n_labels, "real")), labelled(*size)
    filled, outer = TreeParts(*(part.copy() for part in parts)), new_charts(*size)
    fill(n, filled, no_marks())
    outside(n, parts, filled, outer)
    marked = every[rng.integers(len(every))]
    marks, nodes = mark_tree(np.array(marked, dtype=np.int32), np.full(n_labels, -np.inf)), np.zeros((2 * n - 1, 3))
    nodes = nodes.astype(np.int32)
    for production in productions(marked):
        i, j, label, k = production[:4]
        others = [tree for tree in every if (i, j, label, k) in splits(tree) and production not in productions(tree)]
        if others:
            tree_through(n, i, j, label, k, parts, filled, outer, marks, nodes)
            tree = list(map(tuple, nodes.tolist()))
            assert (i, j, label, k) in splits(tree)
            assert production not in productions(tree)
            assert score(tree, *parts) == pytest.approx(max(score(other, *parts) for other in others))
