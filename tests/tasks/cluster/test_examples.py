"""Clusters as forests and by correlation: everything equals enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.links import forests, partitions, random_documents
from widemargin.core.examples import FirstCompletions, Latent, count_unreachable
from widemargin.core.sparse import Rows
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.forest import CorrelationExamples, Documents, ForestExamples
from widemargin.testing import check_structure

pytestmark = pytest.mark.interpreted

SIZES = st.lists(st.integers(0, 4), min_size=1, max_size=4)
SHARES = st.sampled_from([1.0, 0.7, 0.3])


def dense(documents, n_features):
    matrix = np.zeros((len(documents.first), n_features))
    for row in range(len(matrix)):
        for k in range(documents.features.indptr[row], documents.features.indptr[row + 1]):
            matrix[row, documents.features.indices[k]] += documents.features.values[k]
    return matrix


def edges(documents, i):
    begin, end = documents.pairs[i : i + 2]
    return documents.first[begin:end].tolist(), documents.second[begin:end].tolist()


def forests_of(documents, i):
    return list(forests(*edges(documents, i), int(np.diff(documents.items)[i])))


def inside(documents, clusters, i):
    begin = documents.items[i]
    return np.array(
        [clusters[begin + a] == clusters[begin + b] for a, b in zip(*edges(documents, i), strict=True)], bool
    )


@settings(max_examples=60)
@given(st.integers(0, 10**6), SIZES, SHARES, st.sampled_from([1.0, 0.01, 0.5]), st.sampled_from([0.0, 1.0, 2.5]))
def test_decoding_completing_and_differences_are_those_of_enumeration(seed, sizes, share, penalty, scale):
    documents, clusters = random_documents(seed, sizes, given=share)
    examples, X = ForestExamples(documents, 5, clusters, penalty=penalty), dense(documents, 5)
    rng = np.random.default_rng(seed)
    w = rng.integers(-2, 3, 5) * 0.5
    assert isinstance(examples, Latent)
    assert isinstance(examples, FirstCompletions)
    completions = examples.guess(rng)
    completed = examples.completed(completions)
    for i in range(len(sizes)):
        one = np.array([i], dtype=np.int32)
        begin, end = documents.pairs[i : i + 2]
        x, right = X[begin:end], inside(documents, clusters, i)
        listed = forests_of(documents, i)
        most = max(int(flags[right].sum()) for flags in listed)

        def error(flags, right=right, most=most):
            return most - flags[right].sum() + penalty * flags[~right].sum()

        def value(flags, x=x):
            return flags @ x @ w

        decoded = examples.decode(w, one, error_scale=scale)
        best = max(value(flags) + scale * error(flags) for flags in listed)
        assert value(decoded) + scale * error(decoded) == pytest.approx(best)
        complete = [flags for flags in listed if error(flags) == 0.0]
        found = examples.complete(w, one)
        assert any(np.array_equal(found, each) for each in complete)
        assert value(found) == pytest.approx(max(map(value, complete)))
        assert any(np.array_equal(completions[begin:end], each) for each in complete)
        assert min(map(error, listed)) == 0.0
        for flags in (decoded, found, completions[begin:end]):
            errors, psi = completed.difference(one, flags)
            assert errors[0] == pytest.approx(error(flags), abs=1e-12)
            row = np.zeros(5)
            np.add.at(row, psi.indices, psi.values)
            assert len(set(psi.indices.tolist())) == len(psi.indices)
            assert row == pytest.approx((completions[begin:end] - flags) @ x)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_forests_are_a_sound_structure(binary, share):
    documents, clusters = random_documents(3, [4, 3, 0, 1, 4, 2], given=share, binary=binary)
    examples = ForestExamples(documents, 5, clusters, penalty=0.5)
    check_structure(examples, enumerate_outputs=lambda i: forests_of(documents, i), gold=examples.gold)


def test_correlation_is_a_sound_structure_that_proves_nothing():
    documents, clusters = random_documents(4, [4, 3, 0, 1, 4, 2], given=0.8)
    examples = CorrelationExamples(documents, 5, clusters, penalty=0.5)
    assert not examples.exact
    assert not isinstance(examples, Latent)
    check_structure(
        examples,
        enumerate_outputs=lambda i: (
            np.array(each, dtype=np.int32) for each in partitions(np.diff(documents.items)[i])
        ),
        gold=clusters,
    )


@settings(max_examples=40)
@given(st.integers(0, 10**6), SIZES, SHARES, st.sampled_from([1.0, 0.1]))
def test_differences_of_correlation_are_those_of_enumeration(seed, sizes, share, penalty):
    documents, clusters = random_documents(seed, sizes, given=share)
    examples, X = CorrelationExamples(documents, 5, clusters, penalty=penalty), dense(documents, 5)
    rng = np.random.default_rng(seed)
    for i, n in enumerate(sizes):
        begin, end = documents.pairs[i : i + 2]
        right, listed = inside(documents, clusters, i), list(partitions(n))
        output = listed[rng.integers(len(listed))]
        joined = np.array([output[a] == output[b] for a, b in zip(*edges(documents, i), strict=True)], bool)
        wrong = (right & ~joined).sum() + penalty * (joined & ~right).sum()
        errors, psi = examples.difference(np.array([i], dtype=np.int32), np.array(output, dtype=np.int32))
        assert errors[0] == pytest.approx(100 * wrong / max(1, end - begin))
        row = np.zeros(5)
        np.add.at(row, psi.indices, psi.values)
        assert row == pytest.approx((right * 1.0 - joined) @ X[begin:end])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.0, 1.0]))
def test_greedy_merging_is_never_worse_than_leaving_all_apart_nor_improved_by_one_merge(seed, n, scale):
    documents, clusters = random_documents(seed, [n])
    examples, X = CorrelationExamples(documents, 5, clusters), dense(documents, 5)
    w, one = np.random.default_rng(seed).normal(size=5), np.zeros(1, dtype=np.int32)
    first, second = edges(documents, 0)
    right = inside(documents, clusters, 0)
    weights = X @ w + scale * np.where(right, -1.0, 1.0) * 100 / len(first)

    def value(output):
        return sum(s for s, a, b in zip(weights, first, second, strict=True) if output[a] == output[b])

    found = examples.decode(w, one, error_scale=scale).tolist()
    assert value(found) >= -1e-9
    for a in set(found):
        for b in set(found) - {a}:
            merged = [a if each == b else each for each in found]
            assert value(merged) <= value(found) + 1e-9
    if n <= 3:
        # With three items, greedy merging can only fail by merging the best pair when all three together are better
        # than any two, in which case the second merge gains as well; so it is exact.
        assert value(found) == pytest.approx(max(map(value, partitions(n))))


def test_first_completions_are_chains():
    documents, _ = random_documents(0, [6, 3])
    clusters = np.array([0, 1, 0, 0, 1, 2, 0, 0, 0], dtype=np.int32)
    examples = ForestExamples(documents, 5, clusters)
    links = [
        [(a, b) for a, b, flag in zip(*edges(documents, i), flags, strict=True) if flag]
        for i, flags in enumerate(np.split(examples.first_completions(), documents.pairs[1:-1]))
    ]
    assert links == [[(0, 2), (1, 4), (2, 3)], [(0, 1), (1, 2)]]
    assert examples.trees(examples.first_completions()).tolist() == [
        *[0, 1, 0, 0, 1, 2],
        *[0, 0, 0],
    ]


def test_clusters_that_the_pairs_do_not_hold_together_are_counted():
    features = Rows(np.array([0, 1, 1]), np.zeros(1, dtype=np.int32), np.ones(1))
    documents = Documents(
        np.array([0, 3, 5]), np.array([0, 2, 2]), np.array([0, 0], np.int32), np.array([1, 2], np.int32), features
    )
    whole = ForestExamples(documents, 1, np.array([0, 0, 0, 0, 1], dtype=np.int32))
    assert count_unreachable(whole) == {}
    broken = ForestExamples(documents, 1, np.array([0, 1, 1, 0, 0], dtype=np.int32))
    assert sum(count_unreachable(broken).values()) == 2
    batch = np.arange(2, dtype=np.int32)
    assert broken.difference(batch, broken.first_completions()).errors.tolist() == [0.0, 0.0]


def test_guesses_differ_and_are_all_complete():
    documents, _ = random_documents(1, [6])
    examples = ForestExamples(documents, 5, np.zeros(6, dtype=np.int32))
    rng = np.random.default_rng(0)
    drawn = {examples.guess(rng).tobytes() for _ in range(20)}
    assert len(drawn) > 10
    assert {np.frombuffer(each, np.int8).sum() for each in drawn} == {5}


def test_bad_documents_are_refused():
    documents, clusters = random_documents(1, [3])
    for wrong in (
        {"first": documents.second, "second": documents.first},
        {"second": documents.second + np.int32(1)},
        {"items": np.array([0, 2])},
        {"pairs": np.array([0, 2])},
    ):
        with pytest.raises(DataError):
            ForestExamples(documents._replace(**wrong), 5, None)
    with pytest.raises(DataError, match="outside 0 … 0"):
        ForestExamples(documents, 1, clusters)
    with pytest.raises(DataError, match="3 items, but 2 clusters"):
        ForestExamples(documents, 5, clusters[:2])
    empty = Documents(
        np.array([0, 20000]),
        np.zeros(2, np.int64),
        clusters[:0],
        clusters[:0],
        Rows(np.zeros(1, np.int64), clusters[:0], np.empty(0)),
    )
    with pytest.raises(UnsupportedError, match="document 1 would need"):
        CorrelationExamples(empty, 5)
