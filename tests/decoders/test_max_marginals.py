"""Max-marginals against the best of all sequences, one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import random_chain
from helpers.chains import coarse, fine, part_scores, score, segmented
from widemargin.decoders.semimarkov import both_passes, new_passes

pytestmark = pytest.mark.interpreted


def passes(parts, spare=0):
    """The best scores up to each label, its own included, and after it."""
    n, n_labels = parts[0].shape
    tables = new_passes(n + spare, n_labels)
    for table in tables[:4]:
        table[:] = np.nan
    both_passes(segmented(*parts), tables)
    return tables.best[:n], tables.departure[:n]


def enumerated(parts):
    n, n_labels = parts[0].shape
    best = np.full((n, n_labels), -np.inf)
    for labels in product(range(n_labels), repeat=n):
        total = score(labels, *parts)
        for t, label in enumerate(labels):
            best[t, label] = max(best[t, label], total)
    return best


@given(part_scores(coarse), st.integers(0, 2))
def test_equal_enumeration_with_ties_and_infinities(parts, spare):
    assert np.array_equal(np.add(*passes(parts, spare)), enumerated(parts))


@given(part_scores(fine))
def test_equal_enumeration_on_any_scores(parts):
    np.testing.assert_allclose(np.add(*passes(parts)), enumerated(parts), rtol=1e-12, atol=1e-9)


@given(part_scores(coarse))
def test_where_the_emission_at_a_position_counts(parts):
    """Forward includes it, backward does not: the last backward row is `end`, the first forward row begins."""
    forward, backward = passes(parts)
    assert np.array_equal(backward[-1], parts[3])
    assert np.array_equal(forward[0], parts[0][0] + parts[2])


@pytest.mark.parametrize("conditional", [0, 2])
def test_chains(conditional):
    model = random_chain(3, [3, 0, 1, 4], conditional=conditional, binary=False)
    examples, batch = model.compiled(), np.array([3, 1, 0, 2], dtype=np.int32)
    w = np.random.default_rng(1).normal(size=examples.n_weights)
    best = examples.max_marginals(w, batch)
    assert np.array_equal(best, examples.max_marginals(examples.shape.parts(w).thin(), batch))
    rows = iter(best)
    for i in batch:
        scored = [(model.score(w, i, y), y) for y in model.outputs(i)]
        totals = examples.scores(w, np.full(len(scored), i), np.array([y for _, y in scored], np.int32).ravel())
        assert totals == pytest.approx([each for each, _ in scored])
        for t in range(len(model.gold[i])):
            expected = [max(each for each, y in scored if y[t] == label) for label in range(model.n_labels)]
            assert next(rows) == pytest.approx(expected)
