"""Chains against a plain-Python model that knows neither arrays nor kernels."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import as_dicts, random_chain
from helpers.chains import chains, small, weights
from widemargin.core.sparse import dots
from widemargin.errors import DataError
from widemargin.tasks.tag.features import ChainShape

pytestmark = pytest.mark.interpreted


def split(model, batch, labels):
    """Outputs laid end to end as one list per example of the batch."""
    ends = np.cumsum([len(model.gold[i]) for i in batch])
    assert len(labels) == (ends[-1] if len(ends) else 0)
    return [part.tolist() for part in np.split(labels, ends[:-1])]


@given(chains(), st.data())
def test_decode_equals_brute_force(model, data):
    examples, w = model.compiled(), weights(data, model)
    batch = np.array(data.draw(st.permutations(range(len(model.gold)))), dtype=np.int32)
    for scale in (0.0, 1.0, 0.5, 3.0):
        found = examples.decode(w, batch, error_scale=scale)
        assert np.array_equal(found, examples.decode(examples.shape.parts(w).thin(), batch, error_scale=scale))
        for i, labels in zip(batch, split(model, batch, found), strict=True):
            assert model.score(w, i, labels) + scale * model.error(i, labels) == model.best(w, i, scale)


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_decode_equals_brute_force_on_real_scores(seed, scale):
    binary, conditional = bool(seed % 2), seed // 2 * 2
    model = random_chain(
        seed, [4, 3, 5, 1, 0, 4], n_labels=3, per_position=5, costs=True, conditional=conditional, binary=binary
    )
    examples, batch = model.compiled(), np.array([2, 0, 4, 5, 3, 1], dtype=np.int32)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=examples.n_weights) * (rng.random(examples.n_weights) < 0.4)
    for form in (w, examples.shape.parts(w), examples.shape.parts(w).thin()):
        for i, labels in zip(batch, split(model, batch, examples.decode(form, batch, error_scale=scale)), strict=True):
            assert model.score(w, i, labels) + scale * model.error(i, labels) == pytest.approx(model.best(w, i, scale))


@pytest.mark.parametrize("conditional", [0, 2])
def test_scores_that_are_kept_decode_like_weights(conditional):
    examples = random_chain(0, [4, 3, 0, 5], n_labels=3, per_position=5, conditional=conditional).compiled()
    w = np.random.default_rng(0).normal(size=examples.n_weights)
    batch, some = np.array([3, 0, 2, 1], dtype=np.int32), np.array([1, 3], dtype=np.int32)
    kept = examples.scored(w, batch)
    for scale in (0.0, 2.0):
        found = examples.decode(kept, some, error_scale=scale)
        assert np.array_equal(found, examples.decode(w, some, error_scale=scale))


@given(chains().filter(lambda model: model.binary), st.data())
def test_decode_obeys_infinite_weights(model, data):
    examples, w = model.compiled(), weights(data, model, st.one_of(small, st.just(-np.inf)))
    batch = np.arange(len(model.gold), dtype=np.int32)
    for i, labels in zip(batch, split(model, batch, examples.decode(w, batch, error_scale=1.0)), strict=True):
        assert model.score(w, i, labels) + model.error(i, labels) == model.best(w, i, 1.0)


@given(chains(), st.data())
def test_difference_is_that_of_the_explicit_features(model, data):
    examples, w = model.compiled(), weights(data, model)
    batch = np.array(data.draw(st.permutations(range(len(model.gold)))), dtype=np.int32)
    outputs = [data.draw(st.sampled_from(model.outputs(i))) for i in batch]
    errors, psi = examples.difference(batch, np.array(list(chain.from_iterable(outputs)), dtype=np.int32))
    assert errors.tolist() == [model.error(i, labels) for i, labels in zip(batch, outputs, strict=True)]
    assert as_dicts(psi) == [model.psi(i, labels) for i, labels in zip(batch, outputs, strict=True)]
    assert np.diff(psi.indptr).tolist() == [len(row) for row in as_dicts(psi)], "an index occurs twice"
    gold = [model.score(w, i, model.gold[i]) for i in batch]
    found = [model.score(w, i, labels) for i, labels in zip(batch, outputs, strict=True)]
    assert dots(psi, w).tolist() == [g - f for g, f in zip(gold, found, strict=True)]


@given(chains())
def test_the_parts_of_the_weights_are_where_the_model_reads_them(model):
    shape = ChainShape(model.n_labels, model.n_features, model.n_transition_features)
    w = np.arange(shape.n_weights, dtype=np.float64)
    parts = shape.parts(w)
    assert parts.flat().tolist() == parts.thin().flat().tolist() == w.tolist()
    for part in parts[:3]:
        assert np.shares_memory(part, w) or part.size == 0
    for i, gold in enumerate(model.gold):
        total = sum(
            (parts.begin[label] if t == 0 else parts.transition[gold[t - 1], label])
            + sum(value * parts.emission[f, label] for f, value in model.sequences[i][t])
            + sum(value * parts.conditional[g, gold[t - 1], label] for g, value in conditional if t > 0)
            for t, label in enumerate(gold)
            for conditional in [model.transitions[i][t] if model.transitions else []]
        )
        assert total + (parts.end[gold[-1]] if gold else 0) == model.score(w, i, gold)


@pytest.mark.parametrize("binary", [True, False])
def test_longer_sequences_with_real_weights(binary):
    """Too long to enumerate: no single or double change of labels may improve on the decoded sequence."""
    model = random_chain(0, [12, 30, 1, 7], n_labels=5, n_features=9, per_position=6, conditional=2, binary=binary)
    examples, rng = model.compiled(), np.random.default_rng(1)
    batch = np.arange(4, dtype=np.int32)
    w = rng.normal(size=examples.n_weights)
    for i, labels in zip(batch, split(model, batch, examples.decode(w, batch, error_scale=1.0)), strict=True):
        best = model.score(w, i, labels) + model.error(i, labels)
        for _ in range(100):
            other = list(labels)
            for t in rng.integers(len(labels), size=2):
                other[t] = int(rng.integers(5))
            assert model.score(w, i, other) + model.error(i, other) <= best + 1e-9


def test_without_gold_there_is_still_decoding():
    model = random_chain(3, [3, 0, 2])
    examples = model.compiled()
    bare = type(examples)(examples.shape, examples.indptr, examples.features.rows)
    w, batch = np.random.default_rng(0).normal(size=examples.n_weights), np.arange(3, dtype=np.int32)
    assert np.array_equal(bare.decode(w, batch), examples.decode(w, batch))


def test_too_many_weights_are_refused():
    with pytest.raises(DataError, match="more weights than can be indexed"):
        ChainShape(1000, 3_000_000)
