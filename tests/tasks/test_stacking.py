"""Predictions for examples that a model has not learnt from, for any estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import widemargin
from widemargin import LinearClassifier, SequenceTagger
from widemargin.data.generators import addresses
from widemargin.errors import DataError, WidemarginError

X, Y = addresses(13)
TAGGER = SequenceTagger(templates="lower", max_epochs=3, tol=None)


def outputs(found):
    return [list(each) for each in found]


def test_each_prediction_is_that_of_a_clone_that_has_not_learnt_from_its_block():
    found = widemargin.stacked(TAGGER, X, Y, folds=3)
    assert len(found) == len(X)
    begin = 0
    for size in (5, 4, 4):  # blocks of neighbours
        here = range(begin, begin + size)
        rest = [i for i in range(len(X)) if i not in here]
        alone = clone(TAGGER).fit([X[i] for i in rest], [Y[i] for i in rest])
        assert outputs(found[list(here)]) == outputs(alone.predict([X[i] for i in here]))
        begin += size
    assert not hasattr(TAGGER, "model_")


def test_splitters_of_scikit_learn_and_its_other_options():
    rng = np.random.default_rng(0)
    M, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    classifier = LinearClassifier(objective="likelihood")
    splitter = KFold(4, shuffle=True, random_state=1)
    found = widemargin.stacked(classifier, M, y, folds=splitter, method="predict_proba")
    for rest, here in splitter.split(M):
        assert np.array_equal(found[here], clone(classifier).fit(M[rest], y[rest]).predict_proba(M[here]))
    pairs = list(splitter.split(M))
    assert np.array_equal(widemargin.stacked(classifier, M, y, pairs), widemargin.stacked(classifier, M, y, splitter))


def test_more_folds_than_examples_leave_out_one_at_a_time():
    found = widemargin.stacked(TAGGER, X[:3], Y[:3], folds=50)
    assert outputs(found[:1]) == outputs(clone(TAGGER).fit(X[1:3], Y[1:3]).predict(X[:1]))


def test_what_cannot_be_cut_is_refused():
    for folds in (1, True, 0):
        with pytest.raises(WidemarginError, match="folds must be a whole number of at least 2"):
            widemargin.stacked(TAGGER, X, Y, folds=folds)
    with pytest.raises(DataError, match="two examples or more"):
        widemargin.stacked(TAGGER, X[:1], Y[:1])
