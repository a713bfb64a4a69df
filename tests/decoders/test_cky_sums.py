"""Inside–outside against sums over all labelled binary trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.bracketed import SIZES, charts, labelled, parts_of, score
from widemargin.decoders.charts import TreeParts, new_parts
from widemargin.decoders.cky_sums import inside_outside, new_inside

pytestmark = pytest.mark.interpreted


def summed(n, parts):
    """log Z, and the expected number of every part."""
    trees = labelled(n, parts.span.shape[1])
    scores = np.array([score(tree, *parts) for tree in trees])
    top = scores.max()
    expected = TreeParts(*map(np.zeros_like, parts))
    if top == -np.inf:
        return top, expected
    weights = np.exp(scores - top)
    for weight, tree in zip(weights / weights.sum(), trees, strict=True):
        for part, *where in parts_of(tree):
            getattr(expected, part)[tuple(where)] += weight
    return top + np.log(weights.sum()), expected


def compare(n, parts):
    posteriors = new_parts(n, parts.span.shape[1])
    before = [part.copy() for part in parts]
    found = inside_outside(n, parts, posteriors, new_inside(n, parts.span.shape[1]))
    for part, same in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, same)
    total, expected = summed(n, parts)
    assert found == pytest.approx(total, rel=1e-12, abs=1e-11)
    for posterior, each in zip(posteriors, expected, strict=True):
        np.testing.assert_allclose(posterior, each, rtol=1e-9, atol=1e-12)


@given(
    st.sampled_from(SIZES),
    st.sampled_from(["real", "ties", "forbidden"]),
    st.sampled_from([1.0, 30.0, 2000.0]),
    st.integers(0, 2**32 - 1),
)
def test_sums_over_all_trees(size, kind, scale, seed):
    """Scores in the thousands underflow in any table of exponentials, so their sums are taken from logarithms."""
    compare(size[0], TreeParts(*(scale * part for part in charts(np.random.default_rng(seed), *size, kind))))
