"""Sums over segmentations against all segmentations, one by one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.chains import coarse, fine
from helpers.segmentations import everything, part_scores, score
from widemargin.decoders.semimarkov_sums import new_segment_sums, semimarkov_sums
from widemargin.decoders.viterbi import Segmented
from widemargin.structures.chain import Segments
from widemargin.tasks.segment.costs import segments_of

pytestmark = pytest.mark.interpreted

wide = st.one_of(st.sampled_from([-1e4, -700.0, 0.0, 700.0, 1e4]), st.just(-np.inf))


def sums(parts, spare=0):
    """log Z, the probabilities of segments, and the expected pairs of labels."""
    n, _, n_labels = parts[0].shape
    scratch = new_segment_sums(n + spare, n_labels)
    for table in (*scratch.passes[:4], scratch.room):
        table[...] = np.nan
    segments, pairs = np.full(parts[0].shape, np.nan), np.full(parts[1].shape, np.nan)
    return semimarkov_sums(Segmented(*parts), scratch, segments, pairs), segments, pairs


def brute_force(parts):
    segments, pairs = np.zeros(parts[0].shape), np.zeros(parts[1].shape)
    every = everything(parts)
    totals = np.array([score(each, *parts) for each in every])
    if totals.max() == -np.inf:
        return -np.inf, segments, pairs
    weights = np.exp(totals - totals.max())
    for each, p in zip(every, weights / weights.sum(), strict=True):
        for t, u, y in each:
            segments[t, u - t, y] += p
        for one, other in pairwise(each):
            pairs[0 if len(pairs) == 1 else other[0], one[2], other[2]] += p
    return totals.max() + np.log(weights.sum()), segments, pairs


def check(parts, spare=0):
    found, expected = sums(parts, spare), brute_force(parts)
    assert found[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-11)
    for one, other in zip(found[1:], expected[1:], strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-11)


@given(part_scores(coarse), st.integers(0, 2))
def test_equals_brute_force_with_infinities(parts, spare):
    check(parts, spare)


@given(part_scores(fine))
def test_equals_brute_force_on_any_scores(parts):
    check(parts)


@given(part_scores(wide))
def test_equals_brute_force_where_probabilities_underflow(parts):
    check(parts)


def test_probabilities_are_the_derivatives_of_log_z():
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(7, 3, 4)), rng.normal(size=(1, 4, 4)), rng.normal(size=4), rng.normal(size=4)
    _, segments, pairs = sums(parts)
    first, last = segments[0].sum(axis=0), sum(segments[6 - d, d] for d in range(3))
    cases = [(0, (2, 1, 3), segments), (1, (0, 1, 2), pairs), (2, (3,), first), (3, (0,), last)]
    for part, at, found in cases:
        totals = []
        for change in (-1e-5, 1e-5):
            changed = [each.copy() for each in parts]
            changed[part][at] += change
            totals.append(sums(changed)[0])
        assert (totals[1] - totals[0]) / 2e-5 == pytest.approx(found[at], abs=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_long_sequences(scale):
    """Every token is in one segment, and one more segment begins than there are pairs."""
    rng = np.random.default_rng(0)
    n, longest, n_labels = 60, 5, 3
    parts = scale * rng.normal(size=(n, longest, n_labels)), *(rng.normal(size=s) for s in ((1, 3, 3), 3, 3))
    total, segments, pairs = sums(parts)
    assert np.isfinite(total)
    covered = np.zeros(n)
    for t in range(n):
        for d in range(longest):
            covered[t : t + d + 1] += segments[t, d].sum()
    assert np.allclose(covered, 1.0)
    assert segments.sum() == pytest.approx(pairs.sum() + 1.0)


def test_one_narrow_way_has_all_the_probability():
    """Each step along it is unlikely: the product of both would be too small a number to be exact."""
    segment = np.array([[[0.0, -370.0]], [[0.0, 0.0]]])
    transition, end = np.array([[[0.0, -np.inf], [-np.inf, -370.0]]]), np.array([-np.inf, 0.0])
    total, segments, pairs = sums((segment, transition, np.zeros(2), end))
    assert total == pytest.approx(-740.0, rel=1e-12)
    assert np.allclose(segments[:, 0], [[0.0, 1.0], [0.0, 1.0]])
    assert np.allclose(pairs, [[[0.0, 0.0], [0.0, 1.0]]])


def test_samples_are_as_frequent_as_probable():
    rng, structure, sizes, n = np.random.default_rng(0), Segments(2, 2), np.array([3, 0, 1]), 4000
    shared = rng.normal(size=8)
    shared[1] = -np.inf  # label 1 never follows label 0
    scores = structure.room(sizes)._replace(shared=shared)
    scores.own[:] = rng.normal(size=len(scores.own))
    drawn = structure.sample(scores, n, rng)
    for own, begin, size in ((scores.own[:12].reshape(3, 2, 2), 0, 3), (scores.own[12:].reshape(1, 1, 2), 3, 1)):
        parts = own, shared[:4].reshape(1, 2, 2), shared[4:6], shared[6:]
        found = [segments_of(codes[begin : begin + size]) for codes in drawn]
        every = everything(parts)
        p = np.exp([score(each, *parts) for each in every])
        p /= p.sum()
        share = np.array([found.count(each) for each in every]) / n
        assert share.sum() == 1.0
        assert np.all(np.abs(share - p) <= 4.5 * np.sqrt(p * (1.0 - p) / n))
