"""The chain decoder against all label sequences, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.chains import coarse, decode, fine, part_scores, score
from widemargin.decoders.viterbi import _keep, extend, extend_within, reach_of

pytestmark = pytest.mark.interpreted


def brute_force(emission, *rest):
    """The best score and, of the sequences that have it, the one with the lowest late labels."""
    n, n_labels = emission.shape
    scored = {labels: score(labels, emission, *rest) for labels in product(range(n_labels), repeat=n)}
    best = max(scored.values())
    return best, list(min((labels for labels in scored if scored[labels] == best), key=lambda labels: labels[::-1]))


@given(part_scores(coarse))
def test_equals_brute_force_with_ties_and_infinities(parts):
    total, labels = decode(*parts)
    best, first = brute_force(*parts)
    assert total == best
    assert score(labels, *parts) == best
    if best > -np.inf:
        assert labels == first


@given(part_scores(fine))
def test_equals_brute_force_on_any_scores(parts):
    total, labels = decode(*parts)
    best, _ = brute_force(*parts)
    assert total == pytest.approx(best, rel=1e-12, abs=1e-9)
    assert score(labels, *parts) == pytest.approx(total, rel=1e-12, abs=1e-9)


@given(part_scores(coarse, st.tuples(st.integers(1, 2), st.integers(10, 13))))
def test_many_labels(parts):
    assert decode(*parts)[0] == brute_force(*parts)[0]


@given(part_scores(coarse), st.integers(1, 4))
def test_scratch_space_may_be_dirty_and_too_long(parts, spare):
    assert decode(*parts, spare) == decode(*parts)


@given(part_scores(coarse))
def test_a_shared_table_is_the_same_as_its_copies(parts):
    emission, transition, begin, end = parts
    copies = np.repeat(transition[:1], len(emission), axis=0)
    assert decode(emission, copies, begin, end) == decode(emission, transition[:1], begin, end)


@pytest.mark.parametrize("seed", range(10))
def test_of_many_equal_sequences_the_one_with_the_lowest_late_labels(seed):
    """Scores of 0 and 1 only, and at first nothing but zeros."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    sizes = ((n, n_labels), (n, n_labels, n_labels), (n_labels,), (n_labels,))
    parts = [rng.integers(0, 2, size).astype(np.float64) * (seed > 0) for size in sizes]
    assert decode(*parts) == brute_force(*parts)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("n_labels", range(1, 10))
def test_every_number_of_labels(n_labels, shared):
    """Four at a time or not; each label leads to the best sequence now and then."""
    rng = np.random.default_rng(n_labels)
    for _ in range(4):
        n = int(rng.integers(2, 4))
        parts = [
            rng.normal(size=size)
            for size in ((n, n_labels), (1 if shared else n, n_labels, n_labels), n_labels, n_labels)
        ]
        total, labels = decode(*parts)
        best, first = brute_force(*parts)
        assert labels == first
        assert total == pytest.approx(best)


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("n_labels", [1, 3, 4, 6])
def test_where_all_is_forbidden_any_sequence_will_do(n, n_labels):
    forbidden = np.full((n, n_labels), -np.inf)
    total, labels = decode(forbidden, np.zeros((1, n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels))
    assert total == -np.inf
    assert all(0 <= label < n_labels for label in labels)


def test_one_narrow_path_is_found():
    """Constraints leave one sequence only, with a low score at that."""
    rng = np.random.default_rng(0)
    n, n_labels = 40, 7
    path = rng.integers(n_labels, size=n)
    transition = np.full((n, n_labels, n_labels), -np.inf)
    transition[np.arange(1, n), path[:-1], path[1:]] = -1000.0
    total, labels = decode(rng.normal(size=(n, n_labels)), transition, np.zeros(n_labels), np.zeros(n_labels))
    assert labels == path.tolist()
    assert -np.inf < total < -1000.0 * (n - 2)


@pytest.mark.parametrize("seed", range(20))
def test_leaving_out_labels_that_cannot_be_predecessors_changes_no_bit(seed):
    """From scores so close that all may be to scores so far apart that one is, with ties and forbidden transitions."""
    rng = np.random.default_rng(seed)
    n_labels = 40
    table = np.round(rng.normal(size=(n_labels, n_labels)), 1)
    table[rng.random(table.shape) < 0.1 * (seed % 2)] = -np.inf
    last = np.round(rng.normal(size=n_labels) * 2.0 ** (seed % 10 - 2), 1)
    reach = reach_of(table[None])
    plain, within = np.empty(n_labels), np.empty(n_labels)
    extend(last, table, plain, n_labels)
    extend_within(last, table, reach, within)
    np.testing.assert_array_equal(within, plain)
    assert seed < 18 or seed % 2 or _keep(last, reach) < n_labels // 2
