"""Spanning forests: the greatest weight of all, and always the same one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.links import forests, partitions
from widemargin.decoders.kruskal import agglomerate, components, spanning_forest

pytestmark = pytest.mark.interpreted


def plain_kruskal(first, second, scores, order, n):
    """The textbook: sort everything, take what joins two trees."""
    label, flags = list(range(n)), np.zeros(len(first), dtype=np.int8)
    for edge in sorted(order.tolist(), key=lambda edge: (-scores[edge], edge)):
        one, other = label[first[edge]], label[second[edge]]
        if one != other:
            label = [one if each == other else each for each in label]
            flags[edge] = 1
    return flags, label


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 4))
def test_no_forest_weighs_more(seed, n):
    rng = np.random.default_rng(seed)
    ends = np.array([pair for pair in combinations(range(n), 2) if rng.random() < 0.8], dtype=np.int32).reshape(-1, 2)
    first, second = ends[:, 0].copy(), ends[:, 1].copy()
    scores = rng.integers(-3, 4, len(ends)) * 0.5
    chosen = np.zeros(len(ends), dtype=np.int8)
    taken = spanning_forest(first, second, scores, np.flatnonzero(scores > 0), n, chosen)
    assert taken == chosen.sum()
    listed = list(forests(first.tolist(), second.tolist(), n))
    assert any(np.array_equal(chosen, each) for each in listed)
    assert chosen @ scores == max(each @ scores for each in listed)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([1.0, 0.5, 0.05]), st.booleans())
def test_the_forest_is_that_of_the_textbook(seed, n, share, ties):
    """Large enough that edges are parted and thrown out, with many equal scores, in any order of candidates."""
    rng = np.random.default_rng(seed)
    ends = np.array([pair for pair in combinations(range(n), 2) if rng.random() < share], dtype=np.int32).reshape(-1, 2)
    first, second = ends[:, 0].copy(), ends[:, 1].copy()
    scores = rng.integers(-2, 3, len(ends)) * 1.0 if ties else rng.normal(size=len(ends))
    order = rng.permutation(np.flatnonzero(scores > -1))
    expected, label = plain_kruskal(first, second, scores, order, n)
    chosen = np.zeros(len(ends), dtype=np.int8)
    spanning_forest(first, second, scores, order, n, chosen)
    assert chosen.tolist() == expected.tolist()
    numbers: dict[int, int] = {}
    assert components(first, second, chosen, n).tolist() == [numbers.setdefault(each, len(numbers)) for each in label]


def test_scores_of_a_damaged_model_do_no_harm():
    ends = np.array(list(combinations(range(30), 2)), dtype=np.int32)
    for value in (np.nan, np.inf, -np.inf):
        chosen = np.zeros(len(ends), dtype=np.int8)
        scores = np.full(len(ends), value)
        assert spanning_forest(ends[:, 0], ends[:, 1], scores, np.arange(len(ends)), 30, chosen) == 29


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 7))
def test_merging_stops_only_when_no_merge_gains(seed, n):
    rng = np.random.default_rng(seed)
    gains = np.triu(rng.integers(-3, 4, (n, n)) * 1.0, 1)
    gains += gains.T

    def value(clusters):
        same = np.equal.outer(clusters, clusters)
        return float((gains * same).sum() / 2) if n else 0.0

    found = agglomerate(gains.copy())
    assert found.tolist() in list(partitions(n))
    assert value(found) >= 0
    for a, b in combinations(set(found.tolist()), 2):
        assert value(np.where(found == b, a, found)) <= value(found)
