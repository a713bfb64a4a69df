"""Sums over label sequences against all label sequences, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.chains import coarse, fine, part_scores, score, segmented
from widemargin.decoders.semimarkov_sums import new_segment_sums, semimarkov_sums
from widemargin.structures.chain_sums import chain_sums
from widemargin.structures.flat import Scores

pytestmark = pytest.mark.interpreted

wide = st.one_of(st.sampled_from([-2000.0, -700.0, 0.0, 700.0, 2000.0]), st.just(-np.inf))


def sums(emission, transition, begin, end, spare=0):
    """log Z, the posteriors of labels and those of pairs."""
    n, n_labels = emission.shape
    scratch = new_segment_sums(n + spare, n_labels)
    for table in (*scratch.passes[:4], scratch.room):
        table[:] = np.nan
    labels, pairs = np.full((n, 1, n_labels), np.nan), np.full(transition.shape, np.nan)
    before = emission.copy()
    total = semimarkov_sums(segmented(emission, transition, begin, end), scratch, labels, pairs)
    assert np.array_equal(emission, before)
    return total, labels[:, 0], pairs


def brute_force(emission, transition, *ends):
    n, n_labels = emission.shape
    sequences = list(product(range(n_labels), repeat=n))
    scores = np.array([score(y, emission, transition, *ends) for y in sequences])
    labels, pairs = np.zeros((n, n_labels)), np.zeros(transition.shape)
    if scores.max() == -np.inf:
        return -np.inf, labels, pairs
    weights = np.exp(scores - scores.max())
    for y, p in zip(sequences, weights / weights.sum(), strict=True):
        for t in range(n):
            labels[t, y[t]] += p
            if t > 0:
                pairs[0 if len(transition) == 1 else t, y[t - 1], y[t]] += p
    return scores.max() + np.log(weights.sum()), labels, pairs


def batch_sums(emission, transition, begin, end):
    """The same as `structures.chain_sums` has them, for the second of two sequences with padding between them."""
    n, L = emission.shape
    shared = len(transition) == 1
    tables = transition[:0] if shared else transition
    first = np.concatenate([emission[:1].ravel(), tables[:1].ravel()])
    own = np.concatenate([first, np.full(3, np.nan), emission.ravel(), tables.ravel()])
    ends = (transition.ravel(), begin, end) if shared else (begin, end)
    starts = np.array([0, len(first) + 3])
    log_z, counts = chain_sums(Scores(starts, np.array([1, n]), own, np.concatenate(ends)), L)
    labels, pairs = np.split(counts.own[starts[1] :], [n * L])
    return log_z[1], labels.reshape(n, L), (counts.shared[1, : L * L] if shared else pairs).reshape(transition.shape)


def check(parts):
    expected = brute_force(*parts)
    for found in (sums(*parts), batch_sums(*parts)):
        for one, other in zip(found, expected, strict=True):
            assert np.allclose(one, other, rtol=1e-11, atol=1e-11)


@given(part_scores(coarse))
def test_equals_brute_force_with_ties_and_infinities(parts):
    check(parts)


@given(part_scores(fine))
def test_equals_brute_force_on_any_scores(parts):
    check(parts)


@given(part_scores(wide, st.tuples(st.integers(1, 4), st.integers(1, 3))))
def test_equals_brute_force_where_probabilities_underflow(parts):
    check(parts)


@given(part_scores(coarse, st.tuples(st.integers(1, 2), st.integers(10, 13))))
def test_many_labels(parts):
    check(parts)


@given(part_scores(coarse), st.integers(1, 4))
def test_scratch_space_may_be_dirty_and_too_long(parts, spare):
    for one, other in zip(sums(*parts), sums(*parts, spare), strict=True):
        assert np.array_equal(one, other)


@given(part_scores(fine))
def test_a_shared_table_is_the_same_as_its_copies(parts):
    emission, transition, begin, end = parts
    copies = np.repeat(transition[:1], len(emission), axis=0)
    total, labels, pairs = sums(emission, copies, begin, end)
    total_shared, labels_shared, pairs_shared = sums(emission, transition[:1], begin, end)
    assert total == pytest.approx(total_shared, rel=1e-12)
    assert np.allclose(labels, labels_shared, rtol=0, atol=1e-12)
    assert np.allclose(pairs.sum(axis=0), pairs_shared[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("forbidden", [0.0, 0.5])
def test_posteriors_of_long_sequences_are_distributions_that_agree(forbidden):
    """Far beyond what could be multiplied without scaling; constraints leave some sequences."""
    rng = np.random.default_rng(0)
    n, n_labels = 500, 5
    transition = np.where(rng.random((n, n_labels, n_labels)) < forbidden, -np.inf, rng.normal(size=(n, 5, 5)))
    transition[:, 0, 0] = -3.0
    emission = rng.normal(scale=20.0, size=(n, n_labels))
    total, labels, pairs = sums(emission, transition, rng.normal(size=5), rng.normal(size=5))
    assert np.isfinite(total)
    assert np.allclose(labels.sum(axis=1), 1.0)
    assert np.allclose(pairs[1:].sum(axis=1), labels[1:])
    assert np.allclose(pairs[1:].sum(axis=2), labels[:-1])
    assert not pairs[0].any()


def test_one_narrow_path_has_all_the_probability():
    """Each step along it is so unlikely that products of probabilities would be zero."""
    rng = np.random.default_rng(0)
    n, n_labels = 40, 7
    path = rng.integers(n_labels, size=n)
    emission = rng.normal(size=(n, n_labels))
    emission[np.arange(n), path] = -1000.0
    transition = np.full((n, n_labels, n_labels), -np.inf)
    transition[np.arange(1, n), path[:-1], path[1:]] = -1.0
    total, labels, _ = sums(emission, transition, np.zeros(n_labels), np.zeros(n_labels))
    assert total == pytest.approx(-1000.0 * n - (n - 1))
    assert np.array_equal(labels, np.eye(n_labels)[path])
