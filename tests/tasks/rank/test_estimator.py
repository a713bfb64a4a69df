"""The ranker: what it learns, the forms of its data, its scores against scikit-learn's, and its errors."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.model_selection import cross_val_score

import widemargin
from helpers.rankings import random_queries
from widemargin import Ranker
from widemargin.core.sparse import boundaries, compressed, expanded
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.rank.features import normalise
from widemargin.tasks.rank.files import Rankings

pytestmark = pytest.mark.interpreted

SIZES = [6, 4, 8, 5, 7, 6, 3, 9]
MEASURES = ["precision", "ndcg", "map", "pairs"]


@pytest.fixture(scope="module")
def queries():
    """Features, grades that a direction tells without any doubt, and sizes."""
    X, _, _ = random_queries(1, SIZES)
    hidden = X @ np.array([1.0, -2.0, 0.5, 0.0])
    return X, np.digitize(hidden, [0.0, 1.5]), SIZES


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_learns_a_direction(queries, measure, tmp_path):
    X, y, group = queries
    ranker = Ranker(measure=measure, k=3, C=100.0).fit(X, y, group=group)
    results = ranker.evaluate(X, y, group=group)
    name = {"precision": "precision@3", "map": "map"}.get(measure, "ndcg@3")
    assert next(iter(results)) == name
    assert ranker.score(X, y, group=group) == results[name]
    best = Rankings(y.astype(float), y, boundaries(group)).results([3])[name]
    assert results[name] == pytest.approx(best)
    assert ranker.predict(X) == pytest.approx(X @ ranker.coef_)
    ranker.save(tmp_path / "a.wm")
    again = widemargin.load(tmp_path / "a.wm")
    assert again.predict(X).tolist() == ranker.predict(X).tolist()
    assert again.get_params() == ranker.get_params()
    assert np.array_equal(again.coef_, ranker.coef_)
    assert bool(again.solution_.rounds) == (measure in ("precision", "ndcg"))


def test_forms_of_data_are_the_same(queries):
    X, y, group = queries
    ends = boundaries(group)
    qid = np.repeat(np.arange(len(group))[::-1], group)
    ranker = Ranker(measure="ndcg", k=2)
    expected = clone(ranker).fit(X, y, group=group)
    listed = [X[a:b] for a, b in pairwise(ends)], [y[a:b] for a, b in pairwise(ends)]
    others = [
        clone(ranker).fit(X, y, qid=qid),
        clone(ranker).fit(csr_array(X), y.tolist(), group=group),
        clone(ranker).fit(*listed),
    ]
    for other in others:
        assert np.array_equal(other.coef_, expected.coef_)
    scores = expected.predict(X)
    assert np.concatenate(expected.predict(listed[0])).tolist() == scores.tolist()
    assert expected.predict(X, group=group).tolist() == scores.tolist()
    for order, (a, b) in zip(expected.rank(X, group=group), pairwise(ends), strict=True):
        assert scores[a:b][order].tolist() == sorted(scores[a:b].tolist(), reverse=True)
    assert expected.score(*listed) == expected.score(X, y, qid=qid)


def test_cross_validation_splits_lists_of_queries(queries):
    X, y, group = queries
    parts = np.cumsum(group)[:-1]
    scores = cross_val_score(Ranker(measure="pairs", C=10.0), np.split(X, parts), np.split(y, parts), cv=2)
    assert scores.shape == (2,)
    assert (scores > 0.7).all()


def test_development_data_choose(queries):
    X, y, group = queries
    ranker = Ranker(measure="pairs", k=2, solver="dcd").fit(X, y, group=group, dev=(X, y, group))
    assert ranker.model_.summary["metric"] == "ndcg@2"
    best = max(epoch.score for epoch in ranker.solution_.trace)
    assert ranker.score(X, y, group=group) == pytest.approx(best)
    path = Ranker(measure="map").fit_path(X, y, [0.1, 1.0], group=group)
    assert [each.C for each in path] == [0.1, 1.0]


def test_weights_of_queries_count_like_repetitions(queries):
    X, y, group = queries
    n = sum(group[:3])
    twice = Ranker(measure="pairs", tol=1e-6).fit(
        np.concatenate([X, X[:n]]), np.concatenate([y, y[:n]]), group=[*group, *group[:3]]
    )
    weighted = Ranker(measure="pairs", tol=1e-6).fit(X, y, sample_weight=[2, 2, 2, 1, 1, 1, 1, 1], group=group)
    assert weighted.coef_ == pytest.approx(twice.coef_, abs=1e-2)


def test_features_scaled_within_queries_rank_like_ranges_from_0_to_1():
    X, ends, grades = random_queries(7, SIZES)
    X[:, 1] += 5.0
    X[: SIZES[0], 2] = 3.0
    ranges = X.copy()
    for a, b in pairwise(ends):
        low, high = X[a:b].min(axis=0), X[a:b].max(axis=0)
        ranges[a:b] = (X[a:b] - low) / np.where(high > low, high - low, 1.0)
    found = expanded(normalise(compressed(X), 4, ends), 4)
    for a, b in pairwise(ends):
        assert found[a:b] - found[a] == pytest.approx(ranges[a:b] - ranges[a], abs=1e-12)
    one = Ranker(measure="pairs", tol=1e-8, normalize=True).fit(X, grades, group=SIZES)
    other = Ranker(measure="pairs", tol=1e-8).fit(ranges, grades, group=SIZES)
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-3)
    assert [o.tolist() for o in one.rank(X, group=SIZES)] == [o.tolist() for o in other.rank(ranges, group=SIZES)]
    with pytest.raises(DataError, match="say which documents belong to the same query"):
        one.predict(X)


def test_users_may_begin_with_rankings_and_models(queries):
    X, y, group = queries
    first = Ranker(measure="pairs", C=10.0).fit(X, y, group=group)
    ends = boundaries(group)
    rankings = [np.lexsort((-first.predict(X[a:b]), -y[a:b])) for a, b in pairwise(ends)]
    by_rankings = Ranker(measure="ndcg", k=3, init=rankings).fit(X, y, group=group)
    by_model = Ranker(measure="ndcg", k=3, init=first).fit(X, y, group=group)
    assert np.array_equal(by_rankings.coef_, by_model.coef_)
    for wrong, complaint in (
        (rankings[1:], "init has 7 rankings"),
        ([np.argsort(y[a:b], kind="stable") for a, b in pairwise(ends)], "has a document before a more relevant one"),
        ([[0, 0, 0]] * len(group), "must hold 3 different numbers"),
    ):
        with pytest.raises(DataError, match=complaint):
            Ranker(measure="ndcg", k=3, init=wrong).fit(X, y, group=group)


def test_other_ways_of_learning(queries):
    X, y, group = queries
    usual = Ranker(k=3, C=10.0, loss="hinge").fit(X, y, group=group)
    restarted = Ranker(k=3, C=10.0, loss="hinge", init="random", n_restarts=3).fit(X, y, group=group)
    assert len(restarted.solution_.restarts) == 3
    assert restarted.solution_.primal == min(restarted.solution_.restarts)
    assert restarted.solution_.primal <= 1.1 * usual.solution_.primal
    online = Ranker(k=3, solver="perceptron", completion="online", max_epochs=5).fit(X, y, group=group)
    assert online.score(X, y, group=group) > 0.9
    with pytest.raises(UnsupportedError, match="ErrorCounts"):
        Ranker(objective="slack").fit(X, y, group=group)


def test_a_ranker_that_has_learnt_nothing_says_so():
    X = np.tile([[1.0], [-1.0]], (6, 1))
    y = np.array([1, 0, 0, 1] * 3)  # each direction is right as often as wrong
    with pytest.warns(UserWarning, match="ended at weights of almost zero"):
        Ranker(measure="precision", k=1, C=0.01).fit(X, y, group=[2] * 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ranker(measure="precision", k=1, C=0.01).fit(X, np.array([1, 0] * 6), group=[2] * 6)


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    scores, grades, ends = rng.normal(size=60), rng.integers(0, 4, 60).astype(np.int32), boundaries([10, 20, 30])
    rankings = Rankings(scores, grades, ends, relevant_from=2)
    for i, (a, b) in enumerate(pairwise(ends)):
        for k in (1, 3, 10):
            # scikit-learn's gain is the grade itself, so it is given the gains.
            assert rankings.ndcg(k)[i] == pytest.approx(ndcg_score([2.0 ** grades[a:b] - 1], [scores[a:b]], k=k))
        assert rankings.ndcg()[i] == pytest.approx(ndcg_score([2.0 ** grades[a:b] - 1], [scores[a:b]]))
        assert rankings.average_precision()[i] == pytest.approx(average_precision_score(grades[a:b] >= 2, scores[a:b]))


def test_scores_by_hand():
    """Queries without relevant documents are left out; among equals the first comes first."""
    scores = np.array([3.0, 2.0, 1.0, 0.0, 1.0, 1.0, 5.0, 1.0])
    grades, ends = np.array([0, 2, 0, 1, 0, 0, 0, 1], dtype=np.int32), boundaries([4, 2, 2])
    rankings = Rankings(scores, grades, ends)
    assert rankings.precision(2) == pytest.approx([0.5, np.nan, 0.5], nan_ok=True)
    assert rankings.average_precision() == pytest.approx([(1 / 2 + 2 / 4) / 2, np.nan, 1 / 2], nan_ok=True)
    assert rankings.reciprocal_rank() == pytest.approx([0.5, np.nan, 0.5], nan_ok=True)
    dcg, best = 3 / np.log2(3) + 1 / np.log2(5), 3 + 1 / np.log2(3)
    assert rankings.ndcg(10) == pytest.approx([dcg / best, np.nan, 1 / np.log2(3)], nan_ok=True)
    assert rankings.results([2])["precision@2"] == pytest.approx(0.5)
    tied = Rankings(np.zeros(2), np.array([0, 1], dtype=np.int32), boundaries([2]))
    assert tied.reciprocal_rank().tolist() == [0.5]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "say which documents belong to the same query"),
        ({"group": [3, 2], "qid": [1, 1, 1, 2, 2]}, "but not both"),
        ({"group": [3, 3]}, "group counts 6 documents, but there are 5"),
        ({"group": [5, 0]}, "query 1 has 0 documents"),
        ({"group": [2.5, 2.5]}, "must hold the number of documents of each query"),
        ({"qid": [1, 2, 1, 1, 1]}, "documents of the query 1 are not together"),
        ({"qid": [1, 2]}, "but there are 5 documents"),
    ],
)
def test_queries_that_make_no_sense(given, complaint):
    X, y = np.eye(5), [0, 1, 0, 1, 0]
    with pytest.raises(DataError, match=complaint):
        Ranker().fit(X, y, **given)


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        ([0, 1, -1, 0, 0], "the grade of document 2 is -1"),
        ([0, 1, 0.5, 0, 0], "the grade of document 2 is 0.5"),
        ([0, 31, 0, 0, 0], "from 0 to 30"),
        ([0, 1], "but there are 5 documents"),
        (["a"] * 5, "y must hold a grade for each document"),
        ([1, 1, 1, 1, 1], "no query has relevant and other documents to choose 10 from"),
        ([[0, 1, 0, 1], [0]], "query 0 has 3 documents, but 4 grades"),
    ],
)
def test_grades_that_make_no_sense(y, complaint):
    with pytest.raises(DataError, match=complaint):
        Ranker(measure="precision").fit(np.eye(5), y, group=[3, 2])


@pytest.mark.parametrize("given", [{"k": 0}, {"k": 1.5}, {"relevant_from": 0}, {"measure": "mrr"}])
def test_parameters_that_make_no_sense(given):
    with pytest.raises(WidemarginError, match=f"{next(iter(given))} must be"):
        Ranker(**given).fit(np.eye(2), [0, 1], group=[2])


def test_lists_that_make_no_sense():
    with pytest.raises(DataError, match=r"matrices \[2, 3\] wide"):
        Ranker().fit([np.eye(2), np.eye(3)], [[0, 1], [0, 1, 1]])
    with pytest.raises(DataError, match="query 1 has no documents"):
        Ranker().fit([np.eye(2), np.empty((0, 2))], [[0, 1], []])
    with pytest.raises(DataError, match="there are no queries"):
        Ranker().fit([], [])
