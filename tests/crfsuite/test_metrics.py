"""The flat metrics against those of sklearn-crfsuite."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from widemargin.crfsuite import metrics, scorers

theirs = pytest.importorskip("sklearn_crfsuite.metrics")
pytestmark = pytest.mark.interpreted


def _random(seed: int) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    lengths = [1, 4, 2, 7, 3]
    return tuple([[str(label) for label in rng.choice(list("ABC"), n)] for n in lengths] for _ in range(2))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("flat_accuracy_score", {}),
        ("flat_precision_score", {"average": "weighted"}),
        ("flat_recall_score", {"average": "macro"}),
        ("flat_f1_score", {"average": "weighted", "labels": ["A", "B"]}),
        ("flat_fbeta_score", {"beta": 2.0, "average": "micro"}),
        ("flat_classification_report", {"labels": ["C", "A"], "digits": 3}),
        ("sequence_accuracy_score", {}),
    ],
)
def test_values_of_the_peer(name, options):
    true, predicted = _random(0)
    predicted[0] = list(true[0])
    assert getattr(metrics, name)(true, predicted, **options) == getattr(theirs, name)(true, predicted, **options)


def test_sequences_of_one_length_are_still_counted_as_sequences():
    assert metrics.sequence_accuracy_score([["A", "B"], ["A", "B"]], [["A", "B"], ["B", "B"]]) == 0.5
    assert metrics.sequence_accuracy_score([], []) == 0


def test_scorers_ask_the_estimator():
    class Constant(BaseEstimator):
        def predict(self, X):
            return [["A"] * len(x) for x in X]

    X, y = [[{}, {}], [{}]], [["A", "B"], ["A"]]
    assert scorers.flat_accuracy(Constant(), X, y) == 2 / 3
    assert scorers.sequence_accuracy(Constant(), X, y) == 1 / 2
