"""The k best sequences against all of them, sorted."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import random_chain
from helpers.chains import coarse, decode, fine, part_scores, score, segmented
from widemargin.decoders.semimarkov_searches import semimarkov_kbest

pytestmark = pytest.mark.interpreted


def best(parts, k, spare=0):
    """The sequences found, and their scores."""
    codes, totals = np.full((k + spare, len(parts[0])), -1, dtype=np.int32), np.full(k, np.nan)
    found = semimarkov_kbest(segmented(*parts), k, codes, totals)
    return (codes[:found] >> 1).tolist(), totals[:found].tolist()


def everything(parts):
    """The scores of all sequences that are not forbidden, best first."""
    n, n_labels = parts[0].shape
    scores = (score(labels, *parts) for labels in product(range(n_labels), repeat=n))
    return sorted((each for each in scores if each > -np.inf), reverse=True)


@given(part_scores(coarse), st.integers(1, 9))
def test_equals_enumeration_with_ties_and_infinities(parts, k):
    labels, totals = best(parts, k)
    expected = everything(parts)[:k]
    assert totals == (expected or [-np.inf])
    assert [score(each, *parts) for each in labels] == totals
    assert len({tuple(each) for each in labels}) == len(labels)
    assert labels[0] == decode(*parts)[1]


@given(part_scores(fine), st.integers(1, 9))
def test_equals_enumeration_on_any_scores(parts, k):
    labels, totals = best(parts, k)
    expected = everything(parts)[:k]
    assert totals == pytest.approx(expected or [-np.inf], rel=1e-12, abs=1e-9)
    assert totals == sorted(totals, reverse=True)
    assert len({tuple(each) for each in labels}) == len(labels)
    assert labels[0] == decode(*parts)[1]


@given(part_scores(coarse), st.integers(1, 5), st.integers(1, 4))
def test_fewer_are_the_first_of_more_and_there_may_be_room_for_more(parts, k, more):
    labels, totals = best(parts, k)
    assert (labels, totals) == best(parts, k, spare=2)
    others, _ = best(parts, k + more)
    assert [score(each, *parts) for each in others[: len(labels)]] == totals


def test_all_sequences_there_are():
    parts = [np.random.default_rng(0).normal(size=size) for size in ((3, 2), (1, 2, 2), 2, 2)]
    labels, _ = best(parts, 100)
    assert sorted(map(tuple, labels)) == list(product(range(2), repeat=3))


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("conditional", [0, 2])
def test_the_best_of_chains(conditional, scale):
    """Lengths 0 and 1 have fewer outputs than are asked for; thin weights give the same."""
    model = random_chain(3, [3, 0, 1, 4], conditional=conditional, costs=True, binary=False)
    examples, batch, k = model.compiled(), np.array([3, 1, 0, 2], dtype=np.int32), 5
    w = np.random.default_rng(1).normal(size=examples.n_weights)
    repeated, labels = examples.decode_best(w, batch, k, error_scale=scale)
    assert repeated.tolist() == [3] * 5 + [1] + [0] * 5 + [2] * 3
    thin = examples.decode_best(examples.shape.parts(w).thin(), batch, k, error_scale=scale)
    assert np.array_equal(labels, thin[1])
    found = np.split(labels, np.cumsum([len(model.gold[i]) for i in repeated])[:-1])
    for i in batch:
        values = [
            model.score(w, i, each.tolist()) + scale * model.error(i, each.tolist())
            for each, j in zip(found, repeated, strict=True)
            if i == j
        ]
        expected = sorted((model.score(w, i, y) + scale * model.error(i, y) for y in model.outputs(i)), reverse=True)
        assert values == pytest.approx(expected[:k])
