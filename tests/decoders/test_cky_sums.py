"""Inside–outside against sums over all labelled binary trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.brackets import SIZES, charts, labelled, mark_tree, marked_score, parts_of, score
from widemargin.decoders.cky import TreeParts, new_charts, new_parts, no_marks
from widemargin.decoders.cky_sums import inside_outside

pytestmark = pytest.mark.interpreted

sizes, kinds, seeds = st.sampled_from(SIZES), st.sampled_from(["real", "ties", "forbidden"]), st.integers(0, 2**32 - 1)
scales = st.sampled_from([1.0, 30.0, 2000.0])
"""Scores in the thousands underflow in any table of exponentials, so their sums are taken from logarithms."""


def summed(trees, scores, parts):
    """log Z, and the expected number of every part."""
    top = max(scores)
    expected = TreeParts(*map(np.zeros_like, parts))
    if top == -np.inf:
        return top, expected
    weights = np.exp(np.array(scores) - top)
    for weight, tree in zip(weights / weights.sum(), trees, strict=True):
        for part, *where in parts_of(tree):
            getattr(expected, part)[tuple(where)] += weight
    return top + np.log(weights.sum()), expected


def compare(found, posteriors, total, expected):
    assert found == pytest.approx(total, rel=1e-12, abs=1e-11)
    for posterior, each in zip(posteriors, expected, strict=True):
        np.testing.assert_allclose(posterior, each, rtol=1e-8, atol=1e-11)


@given(sizes, kinds, scales, seeds)
def test_sums_over_all_trees(size, kind, scale, seed):
    parts = TreeParts(*(scale * part for part in charts(np.random.default_rng(seed), *size, kind)))
    before = [part.copy() for part in parts]
    posteriors, trees = new_parts(*size), labelled(*size)
    found = inside_outside(size[0], parts, no_marks(), posteriors, new_charts(*size))
    compare(found, posteriors, *summed(trees, [score(tree, *parts) for tree in trees], parts))
    for part, same in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, same)


@given(sizes, kinds, scales, seeds)
def test_sums_with_marked_productions(size, kind, scale, seed):
    rng = np.random.default_rng(seed)
    parts, trees = TreeParts(*(scale * part for part in charts(rng, *size, kind))), labelled(*size)
    marked, extra = trees[rng.integers(len(trees))], scale * rng.choice([-np.inf, -2.0, -1.0, 0.5, 3.0], size[1])
    marks, posteriors = mark_tree(np.array(marked, dtype=np.int32), extra), new_parts(*size)
    found = inside_outside(size[0], parts, marks, posteriors, new_charts(*size))
    compare(found, posteriors, *summed(trees, [marked_score(tree, parts, marked, extra) for tree in trees], parts))
