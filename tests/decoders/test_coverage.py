"""Items within a budget that cover the most: no other items are worth more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.extracts import all_sets, random_coverage
from widemargin.core.sparse import boundaries
from widemargin.decoders.coverage import Coverage, Limits, best_items
from widemargin.errors import DataError

pytestmark = pytest.mark.interpreted


def plain_value(coverage, chosen, item_values, concept_values):
    """The value of a set, concept by concept."""
    total = sum(item_values[i] for i in np.flatnonzero(chosen))
    for c, value in enumerate(concept_values):
        holders = coverage.items[coverage.indptr[c] : coverage.indptr[c + 1]]
        total += value if any(chosen[i] for i in holders) else 0.0
    return total


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6), st.integers(0, 9), st.sampled_from([0, 1, 2]))
def test_no_items_are_worth_more(seed, n_items, n_concepts, kind):
    """Whatever the signs of the values; small whole numbers tie often."""
    rng = np.random.default_rng(seed)
    coverage = random_coverage(rng, n_items, n_concepts)
    draw = [lambda n: rng.normal(size=n), lambda n: rng.integers(-2, 3, n) * 1.0, lambda n: np.abs(rng.normal(size=n))]
    item_values, concept_values = draw[kind](n_items) - 0.3, draw[kind](n_concepts)
    found = best_items(coverage, item_values, concept_values)
    assert coverage.costs[found.chosen].sum() <= coverage.budget
    best = max(plain_value(coverage, chosen, item_values, concept_values) for chosen in all_sets(coverage))
    assert found.value == pytest.approx(plain_value(coverage, found.chosen, item_values, concept_values), abs=1e-12)
    assert found.value == pytest.approx(best, abs=1e-9)
    assert best - 1e-12 <= found.bound <= best + 1e-8


@pytest.mark.parametrize("limits", [Limits(nodes=1), Limits(seconds=1e-9)])
def test_a_bound_holds_although_the_search_was_cut_short(limits):
    rng = np.random.default_rng(5)
    costs = rng.integers(20, 60, 40)
    sets = [np.sort(rng.choice(40, 5, replace=False)) for _ in range(80)]
    coverage = Coverage(boundaries(map(len, sets)), np.concatenate(sets).astype(np.int32), costs, 300)
    values = np.zeros(40), rng.uniform(1.0, 2.0, 80)
    whole, short = best_items(coverage, *values), best_items(coverage, *values, limits)
    assert whole.bound == pytest.approx(whole.value, rel=1e-9)
    assert short.bound >= whole.value > short.value - 1e-9
    assert short.bound > short.value + 0.1
    assert costs[short.chosen].sum() <= 300
    assert short.value > 0.5 * whole.value


def test_values_of_any_size_are_told_apart():
    """HiGHS has absolute tolerances: values are scaled."""
    coverage = Coverage(np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32), np.array([1, 1]), 1)
    for size in (1e-12, 1.0, 1e12):
        found = best_items(coverage, np.zeros(2), size * np.array([1.0, 1.001]))
        assert found.chosen.tolist() == [False, True]
        assert found.bound == pytest.approx(1.001 * size)


def test_values_of_a_damaged_model_are_an_error():
    coverage = Coverage(np.array([0, 1]), np.array([0], dtype=np.int32), np.array([1]), 1)
    for bad in (np.nan, np.inf):
        with pytest.raises(DataError, match="not finite"):
            best_items(coverage, np.array([bad]), np.zeros(1))
    assert best_items(coverage, np.array([1e-310]), np.zeros(1)).chosen.all()
