"""Expectations over dependency trees where `check_structure` does not look: gold that no decoder returns, memory."""

from itertools import product

import numpy as np
import pytest

from helpers import as_dicts
from helpers.trees import trees
from widemargin.core.problem import Problem
from widemargin.errors import UnsupportedError
from widemargin.objectives import Softmax
from widemargin.tasks.parse.examples import SummedTreeExamples, Trees
from widemargin.tasks.parse.features import ArcExtractor
from widemargin.text.columns import Column, Columns

pytestmark = pytest.mark.interpreted

ONE = np.zeros(1, dtype=np.int32)


def sentence(n, heads, *, labels=2, order=1, hash_bits=8, between=True, **options):
    """One sentence of n tokens, with gold heads."""
    columns = Columns({"word": Column(np.arange(n, dtype=np.int32), list(map(str, range(n))))}, np.array([0, n]))
    extractor = ArcExtractor(
        arc=["head:word|modifier:word", *(["modifier:word|between:word"] if between else [])],
        label=["modifier:word|direction", "head:word|modifier:word"],
        sibling=["sibling:word|modifier:word"] if order == 2 else (),
        hash_bits=hash_bits,
    )
    kind = Trees(labels, hash_bits, order=order, **options)
    gold = np.array(heads, dtype=np.int32), (np.arange(n) % labels).astype(np.int32)
    return SummedTreeExamples(kind, columns.indptr, extractor.keys(columns), *gold)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("heads", [[3, 4, 0, 3], [0, 0, 2, 1]], ids=["crossing arcs", "two roots"])
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_gold_that_cannot_be_returned_is_one_output_more(heads, order, scale):
    examples = sentence(4, heads, order=order, single_root=True)
    assert any(holds[0] for holds in examples.unreachable().values())
    every = trees(4, single_root=True, projective=True)
    codes = np.array([2 * each + y for each in every for y in product(range(2), repeat=4)], dtype=np.int32)
    errors, psi = examples.difference(np.zeros(len(codes), dtype=np.int32), codes.ravel())
    rows = np.zeros((len(codes) + 1, examples.n_weights))  # the last one is that of gold
    for k, row in enumerate(as_dicts(psi)):
        rows[k, list(row)] = list(row.values())
    rng = np.random.default_rng(0)
    for size in (0.0, 0.3, 2.0, 30.0):
        w = size * rng.normal(size=examples.n_weights)
        scores = scale * np.append(errors, 0.0) - rows @ w
        weights = np.exp(scores - scores.max())
        found, expected = examples.expectation(w, ONE, error_scale=scale), weights @ rows / weights.sum()
        dense = np.zeros(examples.n_weights)
        dense[found.psi.indices] = found.psi.values
        assert found.errors[0] == pytest.approx(scores.max() + np.log(weights.sum()), abs=1e-9)
        assert np.allclose(dense, expected, atol=1e-9)


def test_scratch_space_is_left_clean():
    """The second answer is the first one, bit for bit, whatever was asked in between."""
    examples = sentence(4, [2, 0, 2, 3])
    other = np.random.default_rng(1).normal(size=examples.n_weights)
    w = np.random.default_rng(0).normal(size=examples.n_weights)
    first = examples.expectation(w, ONE)
    examples.expectation(other, ONE)
    again = examples.expectation(w, ONE)
    assert first.errors == again.errors
    assert all(np.array_equal(one, two) for one, two in zip(first.psi, again.psi, strict=True))


def test_sure_arcs_leave_out_what_is_negligible():
    examples = sentence(4, [2, 0, 2, 3])
    best = examples.decode(np.zeros(examples.n_weights), ONE, error_scale=-1.0)
    _, psi = examples.difference(ONE, best)
    assert not len(psi.indices), "the best tree is gold"
    w = np.zeros(examples.n_weights)
    gold = examples.expectation(w, ONE).psi
    w[gold.indices] += 200.0 * gold.values
    errors, psi = examples.expectation(w, ONE)
    assert errors[0] < 1e-9
    assert np.abs(psi.values).sum() < 1e-6
    assert len(psi.indices) < len(gold.indices)


def test_sentences_that_would_need_too_much_memory_are_refused():
    examples = sentence(700, np.arange(700), labels=300, hash_bits=20, between=False)
    with pytest.raises(UnsupportedError, match=r"example 1 would need .* GB for sums over all outputs"):
        Problem(examples, Softmax(0.0), loss="hinge")
