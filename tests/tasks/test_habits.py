"""The habits of scikit-learn that lists of sequences need care for: scores, scorers, folds, what notebooks show."""

import locale
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from widemargin import ConstituencyParser, DependencyParser, LinearClassifier, Segmenter, SequenceTagger, load, scorers
from widemargin.data.generators import addresses
from widemargin.errors import DataError, WidemarginError
from widemargin.metrics import accuracy, sequence_accuracy, sequence_scorer, span_scores
from widemargin.text.spans import spans

pytestmark = pytest.mark.interpreted

X, Y = addresses(12, seed=1)
SPANS = [spans(labels) for labels in Y]
NUMBERS = [[int(token.isdigit()) for token in tokens] for tokens in X]
QUICK = {"templates": "lower shape", "max_epochs": 2}
METRICS = {
    "f1": lambda gold, predicted: span_scores(gold, predicted).micro.f1,
    "accuracy": accuracy,
    "sequence_accuracy": sequence_accuracy,
}


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(**QUICK).fit(X[:6], Y[:6])


@pytest.mark.parametrize("metric", [None, *METRICS])
@pytest.mark.parametrize("kind", [SequenceTagger, Segmenter])
def test_the_score_is_what_dev_metric_names(kind, metric):
    chosen = {} if metric is None else {"dev_metric": metric}
    estimator = kind(**QUICK, **chosen).fit(X[:6], Y[:6])
    predicted = estimator.predict_spans(X[6:])
    predicted = [[span[:3] for span in each] for each in predicted]
    gold, found = Y[6:], estimator.model_.gold_and_predicted(X[6:], Y[6:])[1]
    assert [spans(labels) for labels in found] == predicted
    assert estimator.score(X[6:], gold) == METRICS[metric or "f1"](gold, found)


def test_labels_that_mark_no_spans_are_scored_by_accuracy():
    estimator = SequenceTagger(**QUICK).fit(X[:6], NUMBERS[:6])
    assert estimator.score(X[6:], NUMBERS[6:]) == accuracy(NUMBERS[6:], estimator.predict(X[6:]))


@pytest.mark.parametrize("metric", METRICS)
def test_a_weight_of_two_is_the_sequence_twice(tagger, metric):
    weight = np.arange(6) % 3
    repeated = np.repeat(np.arange(6, 12), weight)
    again = clone(tagger).set_params(dev_metric=metric).fit(X[:6], Y[:6])
    assert again.score(X[6:], Y[6:], sample_weight=weight) == pytest.approx(
        again.score([X[i] for i in repeated], [Y[i] for i in repeated])
    )
    with pytest.raises(DataError, match="there are 6 sequences, but 3 weights"):
        again.score(X[6:], Y[6:], sample_weight=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("metric", METRICS)
def test_weights_and_unknown_labels(metric):
    gold = [["B-a", None, "I-a"], [None, None], ["O", {"B-a", "B-b"}]]
    predicted = [["B-a", "O", "O"], ["O", "O"], ["B-a", "B-b"]]
    measure, weight = sequence_scorer(metric).measure, [2, 3, 1]
    repeated = [i for i, n in enumerate(weight) for _ in range(n)]
    assert measure(gold, predicted, weight) == pytest.approx(
        measure([gold[i] for i in repeated], [predicted[i] for i in repeated])
    )
    assert measure(gold, predicted, [1, 1, 1]) == pytest.approx(measure(gold, predicted))


def test_trees_are_scored_by_their_dev_metric():
    words = [["dogs", "bark"], ["big", "dogs", "sleep"]]
    arcs = [[(2, "nsubj"), (0, "root")], [(2, "amod"), (3, "nsubj"), (0, "root")]]
    wrong = [[(2, "obj"), (0, "root")], arcs[1]]
    parser = DependencyParser(hash_bits=12, max_epochs=5).fit(words, arcs)
    assert parser.score(words, wrong) == pytest.approx(4 / 5)
    assert scorers.las(parser, words, wrong) == parser.score(words, wrong)
    assert parser.set_params(dev_metric="uas").score(words, wrong) == 1.0 == scorers.uas(parser, words, wrong)
    assert scorers.exact_trees(parser, words, wrong) == 0.5
    tagged = [(["dogs", "bark"], ["N", "V"])]
    trees = ["(S (NP (N dogs)) (VP (V bark)))"]
    bracketer = ConstituencyParser(hash_bits=12, max_epochs=5, tags="given").fit(tagged, trees)
    other = ["(S (NP (N dogs)) (XP (V bark)))"]
    assert 0.0 < bracketer.score(tagged, other) == scorers.bracket_f1(bracketer, tagged, other) < 1.0
    assert bracketer.set_params(dev_metric="exact").score(tagged, other) == 0.0
    with pytest.raises(WidemarginError, match="a DependencyParser has no score 'bleu'; it has uas, las"):
        scorers.scorer("bleu")(parser, words, arcs)


@pytest.mark.parametrize(
    ("scorer", "metric"),
    [(scorers.span_f1, "f1"), (scorers.token_accuracy, "accuracy"), (scorers.sequence_accuracy, "sequence_accuracy")],
)
def test_scorers_of_labels(tagger, scorer, metric):
    expected = METRICS[metric](Y[6:], tagger.predict(X[6:]))
    assert scorer(tagger, X[6:], Y[6:]) == expected
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    if metric != "sequence_accuracy":
        assert scorers.scorer(metric)(tagger, X[6:], Y[6:]) == expected
    segmenter = Segmenter(**QUICK).fit(X[:6], SPANS[:6])
    assert scorer(segmenter, X[6:], SPANS[6:]) == scorer(segmenter, X[6:], Y[6:])
    piped = make_pipeline(FunctionTransformer(), clone(tagger)).fit(X[:6], Y[:6])
    assert scorer(piped, X[6:], Y[6:]) == expected


# Folds


@pytest.mark.parametrize(("kind", "y"), [(SequenceTagger, Y), (Segmenter, Y), (Segmenter, SPANS)])
def test_outputs_of_all_folds(kind, y):
    found = cross_val_predict(kind(**QUICK), X, y, cv=2)
    assert found.shape == (12,)
    for train, test in KFold(2).split(X):
        fold = kind(**QUICK).fit([X[i] for i in train], [y[i] for i in train])
        assert found[test].tolist() == fold.predict([X[i] for i in test])


def test_outputs_of_the_same_length_are_not_taken_for_a_matrix():
    same, labels = [["a", "b"]] * 6, [["A", "B"]] * 6
    found = cross_val_predict(SequenceTagger(templates="word", max_epochs=2), same, labels, cv=3)
    assert found.tolist() == labels
    assert found.shape == (6,)


def test_trees_of_all_folds():
    words = [["dogs", "bark"], ["big", "dogs", "sleep"], ["dogs", "sleep"]]
    arcs = [[(2, "nsubj"), (0, "root")], [(2, "amod"), (3, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]]
    found = cross_val_predict(DependencyParser(hash_bits=10, max_epochs=2), words, arcs, cv=3)
    assert [len(each) for each in found] == [2, 3, 2]


def test_predictions_stay_lists(tagger):
    predicted = tagger.predict(X[:2])
    assert isinstance(predicted, list)
    assert repr(predicted) == repr(list(predicted))
    assert np.asarray(predicted).shape == (2,)
    assert np.asarray(predicted, dtype=object)[1] == predicted[1]
    assert LinearClassifier(max_epochs=2).fit([[0.0], [1.0]], [0, 1]).predict([[1.0]]).dtype == np.int64


def test_scores_of_folds_and_searches():
    scoring = {"f1": scorers.span_f1, "accuracy": scorers.token_accuracy}
    found = cross_validate(SequenceTagger(**QUICK), X, Y, cv=2, scoring=scoring)
    assert found["test_f1"].tolist() == cross_val_score(SequenceTagger(**QUICK), X, Y, cv=2).tolist()
    assert (found["test_accuracy"] >= found["test_f1"]).all()
    grid = {"templates": ["bias", "lower shape"]}
    search = GridSearchCV(SequenceTagger(**QUICK), grid, cv=2, scoring=scorers.span_f1).fit(X, Y)
    assert search.best_params_ == {"templates": "lower shape"}
    assert search.best_score_ == found["test_f1"].mean()
    assert search.predict(X[:2]) == search.best_estimator_.predict(X[:2])
    assert search.score(X, Y) == search.best_estimator_.score(X, Y)


# What is shown


@pytest.mark.skipif(
    "utf" not in locale.getpreferredencoding(False).lower(),
    reason="scikit-learn reads its own style sheet in the encoding of the locale",
)
def test_notebooks_show_the_certificate(tagger, tmp_path):
    for html in (tagger._repr_html_(), tagger._repr_mimebundle_()["text/html"]):
        assert "SequenceTagger" in html
        assert str(tagger.solution_) in html
        assert "proven to be within" in html
    assert "certificate" not in SequenceTagger()._repr_html_()
    tagger.save(tmp_path / "model.wm")
    assert str(tagger.solution_) in load(tmp_path / "model.wm")._repr_html_()
    assert "SequenceTagger" in make_pipeline(tagger)._repr_html_()


def test_the_number_of_epochs(tagger, tmp_path):
    assert tagger.n_iter_ == len(tagger.solution_.trace) > 0
    tagger.save(tmp_path / "model.wm")
    assert load(tmp_path / "model.wm").n_iter_ == tagger.n_iter_
    assert not hasattr(SequenceTagger(), "n_iter_")
