"""The k best labelled trees against all of them, sorted."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.trees import KINDS, coarse, decode, fine, problems, scored, sparse
from widemargin.decoders.tree_kbest import new_tree_scratch, tree_kbest

pytestmark = pytest.mark.interpreted


@st.composite
def labelled_problems(draw, kind, score):
    """As `problems`, with labels."""
    _, scores, single_root, sibling, grand = draw(problems(kind, score, most=3))
    n_labels = draw(st.integers(1, 3))
    labelled = draw(arrays(np.float64, (*scores.shape, n_labels), elements=score, fill=st.nothing()))
    labelled[np.isnan(scores)] = np.nan
    return kind, labelled, single_root, sibling, grand


def kbest(kind, labelled, single_root, sibling, grand, k):
    """The trees found, as codes, and their scores."""
    n = len(labelled) - 1
    codes, totals = np.full((k, n), -1, dtype=np.int32), np.full(k, np.nan)
    found = tree_kbest(kind, labelled, sibling, grand, single_root, codes, totals, new_tree_scratch(n, kind))
    return [tuple(row) for row in codes[:found].tolist()], totals[:found].tolist()


def everything(kind, labelled, single_root, sibling, grand):
    """The scores of all labelled trees by their codes."""
    n, n_labels = len(labelled) - 1, labelled.shape[2]
    table = {}
    for labels in product(range(n_labels), repeat=n):
        scores = np.stack([np.zeros(n + 1), *(labelled[:, m, labels[m - 1]] for m in range(1, n + 1))], axis=1)
        every, totals = scored(kind, scores, single_root, sibling, grand)
        codes = every * n_labels + np.array(labels)
        table |= dict(zip(map(tuple, codes.tolist()), totals.tolist(), strict=True))
    return table


def possible(table):
    return sorted((score for score in table.values() if score > -np.inf), reverse=True)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), k=st.integers(1, 9))
def test_equals_enumeration_with_ties_and_infinities(kind, data, k):
    problem = data.draw(st.one_of(labelled_problems(kind, coarse), labelled_problems(kind, sparse)))
    codes, totals = kbest(*problem, k)
    table = everything(*problem)
    assert totals == (possible(table)[:k] or [-np.inf])
    assert [table[each] for each in codes] == totals
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), k=st.integers(1, 9))
def test_equals_enumeration_on_any_scores(kind, data, k):
    problem = data.draw(labelled_problems(kind, fine))
    codes, totals = kbest(*problem, k)
    table = everything(*problem)
    assert totals == pytest.approx(possible(table)[:k] or [-np.inf], rel=1e-12, abs=1e-9)
    assert [table[each] for each in codes] == pytest.approx(totals, rel=1e-12, abs=1e-9)
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("single_root", [True, False])
def test_all_trees_there_are(kind, single_root):
    """More are asked for than there are: each comes once, and the first is what the decoder finds."""
    rng = np.random.default_rng(kind)
    problem = kind, rng.normal(size=(4, 4, 2)), single_root, *rng.normal(size=(2, 4, 4, 4))
    codes, totals = kbest(*problem, 200)
    table = everything(*problem)
    assert sorted(codes) == sorted(table)
    assert totals == pytest.approx(sorted(table.values(), reverse=True))
    total, heads = decode(kind, problem[1].max(axis=2), single_root, *problem[3:])
    assert [code // 2 for code in codes[0]] == heads
    assert totals[0] == total


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_are_the_first_of_more(kind):
    rng = np.random.default_rng(kind)
    n = 12
    problem = kind, rng.normal(size=(n + 1, n + 1, 4)), True, *rng.normal(size=(2, n + 1, n + 1, n + 1))
    codes, totals = kbest(*problem, 12)
    assert kbest(*problem, 5) == (codes[:5], totals[:5])
