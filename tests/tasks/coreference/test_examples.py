"""Choices of antecedents: everything equals enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.links import choices, error_of, phi, random_entities, random_links, random_mentions
from widemargin.core.examples import BLOCK, FirstCompletions, Latent, Marginals, count_unreachable
from widemargin.core.sparse import expanded
from widemargin.errors import DataError
from widemargin.structures.forest import ForestExamples
from widemargin.tasks.coreference.examples import AntecedentExamples, ErrorCosts, Links, link_boundaries
from widemargin.testing import check_structure

pytestmark = pytest.mark.interpreted

SIZES = st.lists(st.integers(0, 5), min_size=1, max_size=4)
MOST = st.sampled_from([None, 1, 2])


def one(m):
    return np.array([m], dtype=np.int32)


def weights(seed, examples):
    # Whole numbers, so that scores tie.
    return np.random.default_rng(seed).integers(-2, 3, examples.n_weights) * 0.5


@settings(max_examples=60)
@given(st.integers(0, 10**6), SIZES, MOST, st.sampled_from([0.0, 1.0, 2.5]))
def test_decoding_completing_and_differences_are_those_of_enumeration(seed, sizes, most, scale):
    examples = random_mentions(seed, sizes, most=most)
    assert isinstance(examples, Latent)
    assert isinstance(examples, FirstCompletions)
    w, rng = weights(seed, examples), np.random.default_rng(seed)
    guessed, first = examples.guess(rng), examples.first_completions()
    completed = examples.completed(guessed)
    for m in range(examples.n_examples):
        scores = {int(y[0]): phi(examples.features, m, int(y[0])) @ w for y in choices(examples, m)}
        errors = {back: error_of(examples, m, back) for back in scores}
        (decoded,) = examples.decode(w, one(m), error_scale=scale)
        best = max(scores[back] + scale * errors[back] for back in scores)
        assert scores[decoded] + scale * errors[decoded] == pytest.approx(best)
        right = [back for back in scores if errors[back] == 0.0]
        (found,) = examples.complete(w, one(m))
        assert found in right
        assert scores[found] == pytest.approx(max(scores[back] for back in right))
        assert guessed[m] in right
        assert first[m] == min(right)
        for back in scores:
            differences = completed.difference(one(m), one(back))
            assert differences.errors[0] == errors[back]
            wanted = phi(examples.features, m, guessed[m]) - phi(examples.features, m, back)
            np.testing.assert_allclose(expanded(differences.psi, examples.n_weights)[0], wanted)
            assert len(set(differences.psi.indices)) == len(differences.psi.indices)


@settings(max_examples=40)
@given(st.integers(0, 10**6), SIZES, MOST, st.sampled_from([0.0, 1.0]))
def test_sums_are_those_of_enumeration(seed, sizes, most, scale):
    """With one right antecedent, and over all right ones."""
    examples = random_mentions(seed, sizes, most=most)
    assert isinstance(examples, Marginals)
    w = np.random.default_rng(seed).normal(size=examples.n_weights)
    completed, every = examples.completed(examples.guess(np.random.default_rng(seed))), np.arange(examples.n_examples)
    batch = every.astype(np.int32)
    single = completed.expectation(w, batch, error_scale=scale)
    summed = examples.expectation_over_completions(w, batch, error_scale=scale)
    shares, _ = examples.probabilities(w, batch)
    for m in range(examples.n_examples):
        backs = [int(y[0]) for y in choices(examples, m)]
        X = np.array([phi(examples.features, m, back) for back in backs])
        errors = np.array([error_of(examples, m, back) for back in backs])
        p = np.exp(X @ w + scale * errors)
        plain = np.exp(X @ w)
        chosen = backs.index(completed.gold[m])
        q = np.where(errors == 0.0, plain, 0.0)
        for found, gold in ((single, np.eye(len(backs))[chosen]), (summed, q / q.sum())):
            reached = plain[chosen] if found is single else q.sum()
            assert found.errors[m] == pytest.approx(np.log(p.sum() / reached), abs=1e-12)
            np.testing.assert_allclose(expanded(found.psi, len(w))[m], (gold - p / p.sum()) @ X, atol=1e-12)
        end = int(examples.sizes[: m + 1].sum())
        np.testing.assert_allclose([shares[end - 1 - back] for back in backs], plain / plain.sum())


def test_the_structure_is_sound():
    examples = random_mentions(1, [3, 0, 4], most=2)
    check_structure(examples.completed(examples.guess(np.random.default_rng(1))))
    check_structure(ForestExamples(Links(examples.keys), examples.n_weights, examples.entities))


def test_only_read_weights_matter():
    examples = random_mentions(3, [5, 4], bits=6)
    batch = np.array([2, 7], dtype=np.int32)
    read = np.zeros(examples.n_weights, dtype=bool)
    for begin, end in examples.support(batch):
        assert not read[begin:end].any()
        read[begin:end] = True
    needed = sum(phi(examples.features, int(m), k) for m in batch for k in range(1, int(m) % 5 + 1))
    blocks = (needed > 0).reshape(-1, BLOCK).any(axis=1)
    assert np.array_equal(read, np.repeat(blocks, BLOCK))


@settings(max_examples=30)
@given(st.integers(0, 10**6), SIZES, MOST)
def test_forests_take_the_same_links(seed, sizes, most):
    """The pairs of forests have the features of links, and their documents those of all their mentions."""
    links, entities = random_links(seed, sizes, most=most), random_entities(seed, sizes)
    n = links.keys.mask + 1
    forest = ForestExamples(links, n, entities)
    w = np.random.default_rng(seed).normal(size=n)
    for i, (begin, end) in enumerate(zip(links.layout.pairs[:-1], links.layout.pairs[1:], strict=True)):
        shift = links.layout.items[i]
        rows = [
            phi(links, int(shift + b), int(b - a))
            for a, b in zip(links.layout.first[begin:end], links.layout.second[begin:end], strict=True)
        ]
        scores = links.scores_of_all(w)[begin:end]
        np.testing.assert_allclose(scores, [row @ w for row in rows])
        outputs = np.random.default_rng(seed).integers(0, 2, end - begin).astype(np.int8)
        psi = expanded(forest.difference(one(i), outputs).psi, n)[0]
        gold = forest.gold[begin:end]
        signs = gold.astype(float) - outputs
        np.testing.assert_allclose(psi, signs @ np.reshape(rows, (-1, n)), atol=1e-12)
    with pytest.raises(DataError, match="a table of 16, but there are 4 weights"):
        ForestExamples(links, 4, entities)


def test_choices_become_entities():
    examples = random_mentions(1, [4, 0, 3])
    found = examples.trees(np.array([0, 1, 0, 2, 0, 0, 1], dtype=np.int32))
    assert found.tolist() == [0, 0, 1, 0, 0, 1, 1]


def test_antecedents_that_are_too_far_away_are_reported():
    links = random_links(1, [4], most=1)
    examples = AntecedentExamples(links, np.array([7, 8, 7, 7], dtype=np.int32))
    assert count_unreachable(examples) == {"all antecedents are further away than max_antecedents": 1}
    assert examples.first_completions().tolist() == [0, 0, 0, 1]
    assert count_unreachable(AntecedentExamples(links)) == {}


def test_errors_cost_what_is_asked_for():
    examples = AntecedentExamples(random_links(1, [3]), np.array([0, 1, 0], np.int32), costs=ErrorCosts(0.5, 2.0, 4.0))
    batch = np.array([0, 1, 1, 2, 2, 2], dtype=np.int32)
    outputs = np.array([0, 0, 1, 0, 1, 2], dtype=np.int32)
    assert examples.difference(batch, outputs).errors.tolist() == [0.0, 0.0, 0.5, 2.0, 4.0, 0.0]
    with pytest.raises(DataError, match="errors must cost at least 0, not -1"):
        AntecedentExamples(random_links(1, [3]), costs=ErrorCosts(-1.0))


@pytest.mark.parametrize("most", [10, 10**30])
def test_a_limit_beyond_every_document_is_none(most):
    sizes = np.array([4, 2])
    assert link_boundaries(sizes, most).tolist() == link_boundaries(sizes, None).tolist()
