"""SequenceTagger as an estimator: what scikit-learn expects of it, and what its users give it."""

import pickle
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from widemargin import Callback, SequenceTagger
from widemargin.data.generators import addresses
from widemargin.errors import DataError, WidemarginError
from widemargin.metrics import accuracy, sequence_scorer, span_scores
from widemargin.objectives import Softmax
from widemargin.solvers import SOLVERS, Perceptron
from widemargin.tasks.parameters import PRESETS
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.text.columns import Column
from widemargin.text.inputs import as_columns

X, Y = addresses(40, seed=1)
X_TEST, Y_TEST = addresses(30, seed=2)
SIMPLE = ("lower", "shape", "suffix2", "shape[-1]", "shape[1]")


def small(**options):
    return SequenceTagger(**{"templates": SIMPLE, "max_epochs": 5, "n_jobs": 1, **options})


@pytest.fixture(scope="module")
def trained():
    return small(max_epochs=10).fit(X, Y)


# What scikit-learn expects


def test_the_constructor_only_takes_notes():
    options = {"C": "not even a number", "solver": 3, "templates": object(), "costs": [], "random_state": "x"}
    estimator = SequenceTagger(**options)
    assert {name: value for name, value in vars(estimator).items() if name in options} == options
    assert set(vars(estimator)) == set(estimator.get_params())


def test_parameters_can_be_set_and_cloned():
    estimator = small(C=0.3)
    assert estimator.set_params(C=0.7, solver="perceptron") is estimator
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert copy.C == 0.7
    with pytest.raises(ValueError, match="Invalid parameter 'D'"):
        estimator.set_params(D=1)


def test_clones_of_fitted_estimators_are_not_fitted(trained):
    copy = clone(trained)
    assert set(vars(copy)) == set(copy.get_params())
    with pytest.raises(NotFittedError):
        copy.predict(X)


@pytest.mark.parametrize("method", ["predict", "score", "save"])
def test_nothing_works_before_fit(method, tmp_path):
    arguments = {"predict": (X,), "score": (X, Y), "save": (tmp_path / "a.model",)}[method]
    with pytest.raises(NotFittedError, match="this SequenceTagger is not fitted yet; call fit first"):
        getattr(SequenceTagger(), method)(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_fitted_or_not_is_known_to_scikit_learn(trained):
    check_is_fitted(trained)
    with pytest.raises(NotFittedError):
        check_is_fitted(small())


def test_estimators_describe_themselves(trained):
    assert repr(SequenceTagger(C=0.5)) == "SequenceTagger(C=0.5)"
    for estimator in (SequenceTagger(), trained):
        assert "SequenceTagger" in estimator._repr_html_()
        assert "text/html" in estimator._repr_mimebundle_()
        tags = get_tags(estimator)
        assert tags.target_tags.required is not None


def test_fit_returns_the_estimator_and_its_attributes(trained):
    estimator = small()
    assert estimator.fit(X, Y) is estimator
    assert trained.classes_.tolist() == sorted({label for y in Y for label in y})
    solution = trained.solution_
    assert len(solution.w) == trained.tagger_.chain.n_weights
    assert solution.w.tolist() == trained.tagger_.weights.flat().tolist()
    assert solution.stopped in ("gap", "epochs")
    assert solution.epoch == len(solution.trace)
    assert solution.certified
    assert 0.0 <= solution.gap < 1.0
    assert solution.primal >= solution.dual
    assert trained.tagger_.summary["solution"] == solution.summary()


def test_the_input_is_left_alone():
    X_copy, Y_copy, costs = [list(x) for x in X], [list(y) for y in Y], {"O": 2.0}
    estimator = small(costs=costs, templates=list(SIMPLE))
    before = dict(estimator.get_params())
    estimator.fit(X_copy, Y_copy).predict(X_copy)
    assert (X_copy, Y_copy, costs) == (X, Y, {"O": 2.0})
    assert estimator.get_params() == before


def test_fitting_again_forgets_the_first_time(trained):
    estimator = small(max_epochs=10).fit([["x"], ["y"]], [[1], [2]])
    estimator.fit(X, Y)
    assert estimator.solution_.w.tolist() == trained.solution_.w.tolist()
    assert estimator.classes_.tolist() == trained.classes_.tolist()


def test_a_failing_fit_leaves_the_model_as_it_was(trained):
    estimator = pickle.loads(pickle.dumps(trained))
    with pytest.raises(DataError):
        estimator.fit(X, Y[1:])
    assert estimator.predict(X_TEST) == trained.predict(X_TEST)


class Stripped(TransformerMixin, BaseEstimator):
    """Leaves the commas out of the tokens."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [[token.strip(",") or "," for token in tokens] for tokens in X]


def test_pipelines():
    pipeline = make_pipeline(Stripped(), small())
    assert pipeline.fit(X, Y).predict(X_TEST) == small().fit(X, Y).predict(Stripped().transform(X_TEST))
    assert pipeline.score(X_TEST, Y_TEST) == span_scores(Y_TEST, pipeline.predict(X_TEST)).micro.f1
    search = GridSearchCV(pipeline, {"sequencetagger__C": [0.01, 0.1]}, cv=2).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("scoring", [None, "f1", "accuracy", "sequence_accuracy"])
def test_grid_search_over_the_trade_off(scoring):
    scorer = scoring and sequence_scorer(scoring)
    search = GridSearchCV(small(max_epochs=2), {"C": [1e-6, 0.1]}, cv=KFold(2), scoring=scorer).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_params_["C"] == [1e-6, 0.1][int(np.argmax(scores))]
    assert len(set(scores)) == 2 or scoring == "sequence_accuracy"
    measure = sequence_scorer(scoring or "f1").measure
    assert search.score(X_TEST, Y_TEST) == measure(Y_TEST, search.predict(X_TEST))


def test_grid_search_over_other_parameters():
    grid = {"solver": ["dcd", "perceptron"], "min_count": [1, 2], "templates": [SIMPLE, "word"]}
    search = GridSearchCV(small(max_epochs=1), grid, cv=2, error_score="raise").fit(X[:10], Y[:10])
    assert len(search.cv_results_["params"]) == 8


@pytest.mark.parametrize("scoring", [None, sequence_scorer("accuracy"), sequence_scorer("f1")])
def test_folds_may_lack_a_label_or_hold_nothing(scoring):
    """A label of one sequence only is unseen in training when that sequence is held out."""
    tokens = [["a", "b"], ["c"], [], ["a", "d"]]
    labels = [["B-x", "I-x"], ["B-rare"], [], ["O", "O"]]
    scores = cross_val_score(small(), tokens, labels, cv=KFold(4), scoring=scoring, error_score="raise")
    assert np.isfinite(scores).all()
    assert scores[1] == 0.0


def test_cross_validation():
    scores = cross_val_score(small(), X, Y, cv=2, scoring=sequence_scorer("f1"))
    assert ((scores > 0.2) & (scores <= 1)).all()


def test_pickled_estimators(trained):
    again = pickle.loads(pickle.dumps(trained))
    assert again.predict(X_TEST) == trained.predict(X_TEST)
    assert again.solution_.summary() == trained.solution_.summary()
    assert pickle.loads(pickle.dumps(small(C=0.9))).C == 0.9


# Learning


@pytest.mark.parametrize("solver", [name for name in SOLVERS if "maximum" in SOLVERS[name].kinds])
def test_every_solver_learns(solver):
    epochs = 40 if solver in ("bundle", "one-slack") else 8  # which make a single plane in each
    estimator = small(solver=solver, penalty=SOLVERS[solver].penalties[0], max_epochs=epochs).fit(X, Y)
    assert accuracy(Y, estimator.predict(X)) > 0.9
    assert accuracy(Y_TEST, estimator.predict(X_TEST)) > 0.5


@pytest.mark.parametrize("solver", ["crf", "softmax-margin", "crf(memory=2)"])
def test_likelihoods_are_learnt_with_a_certificate(solver):
    estimator = small(solver=solver, C=1.0, max_epochs=50, tol=0.01).fit(X, Y)
    assert accuracy(Y, estimator.predict(X)) > 0.9
    assert accuracy(Y_TEST, estimator.predict(X_TEST)) > 0.5
    assert estimator.solution_.stopped == "gap"
    assert estimator.solution_.certified
    assert 0.0 <= estimator.solution_.gap <= 0.01


def test_presets_stand_for_a_solver_and_an_objective():
    def weights(**options):
        return small(max_epochs=2, **options).fit(X, Y).solution_.w

    crf, softmax_margin = weights(solver="crf"), weights(solver="softmax-margin")
    for name, found in (("crf", crf), ("softmax-margin", softmax_margin)):
        assert np.array_equal(found, weights(**PRESETS[name]._asdict()))
        assert not np.array_equal(found, weights(**PRESETS[name]._asdict() | {"C": 0.1}))
        assert np.array_equal(weights(solver=name, C=0.1), weights(**PRESETS[name]._asdict() | {"C": 0.1}))
    assert np.array_equal(weights(solver="crf", objective="softmax-margin"), softmax_margin)
    assert not np.array_equal(crf, softmax_margin)


def test_the_usual_trade_off_depends_on_the_objective():
    for smooth in ({"solver": "crf"}, {"objective": "likelihood"}, {"objective": Softmax(0.5)}):
        parameters = TaggerParameters(**smooth)
        assert parameters.usual_smooth_C == Plan.of(parameters).C
        assert Plan.of(TaggerParameters(**smooth, C=0.3)).C == 0.3
    for other in ({}, {"objective": "slack"}, {"solver": "perceptron"}):
        parameters = TaggerParameters(**other)
        assert parameters.usual_C == Plan.of(parameters).C


def test_the_usual_number_of_epochs_depends_on_the_solver():
    for name, solver in SOLVERS.items():
        parameters = TaggerParameters(solver=name)
        assert Plan.of(parameters).stop.epochs == (solver.usual_epochs or TaggerParameters.usual_epochs)
        assert Plan.of(replace(parameters, max_epochs=7)).stop.epochs == 7
        assert Plan.of(replace(parameters, max_epochs=700)).stop.epochs == 700
    assert small(solver="perceptron", max_epochs=None).fit(X, Y).solution_.epoch == Perceptron.usual_epochs


def test_solver_objects_are_accepted():
    by_object, by_name = small(solver=Perceptron(batch_size=3)).fit(X, Y), small(solver="perceptron").fit(X, Y)
    assert by_object.solution_.oracle_calls == by_name.solution_.oracle_calls
    assert not np.array_equal(by_object.solution_.w, by_name.solution_.w)


@pytest.mark.parametrize("solver", ["sgd?", None, 3, []])
def test_unknown_solvers_are_answered_with_the_known_ones(solver):
    with pytest.raises(WidemarginError, match=f"there is no solver {re.escape(repr(solver))}; there are .*dcd"):
        small(solver=solver).fit(X, Y)


def test_the_score_is_the_share_of_right_labels():
    trained = small(dev_metric="accuracy").fit(X, Y)
    predicted = trained.predict(X_TEST)
    flat = [(g, p) for gold, guess in zip(Y_TEST, predicted, strict=True) for g, p in zip(gold, guess, strict=True)]
    assert trained.score(X_TEST, Y_TEST) == sum(g == p for g, p in flat) / len(flat)
    weights = np.arange(len(X_TEST))
    assert trained.score(X_TEST, Y_TEST, weights) == accuracy(Y_TEST, predicted, weights)
    assert trained.score([], []) == 0.0
    assert trained.score([[]], [[]]) == 0.0


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_number_of_threads_changes_nothing(n_jobs, trained):
    other = small(max_epochs=10, n_jobs=n_jobs).fit(X, Y)
    assert other.solution_.w.tolist() == trained.solution_.w.tolist()
    assert other.predict(X_TEST) == trained.predict(X_TEST)


def test_columns_and_lists_give_the_same_weights(trained):
    columns, labels = as_columns(X), Column.of([label for y in Y for label in y])
    for y in (labels, Y):
        other = small(max_epochs=10).fit(columns, y)
        assert other.solution_.w.tolist() == trained.solution_.w.tolist()
        assert other.score(columns, y) == trained.score(X, Y)
    assert trained.predict(as_columns(X_TEST)) == trained.predict(X_TEST)
    other = small().fit(columns, labels, dev=(columns, labels))
    assert other.solution_.trace[-1].score == pytest.approx(span_scores(Y, other.predict(X)).micro.f1)


def test_the_seed_decides():
    first, same, other = (small(random_state=seed, max_epochs=2).fit(X, Y).solution_ for seed in (1, 1, 2))
    assert first.w.tolist() == same.w.tolist()
    assert first.w.tolist() != other.w.tolist()
    assert small(random_state=None, max_epochs=1).fit(X, Y).solution_.epoch == 1


def test_sequences_of_weight_zero_are_left_out():
    """Sequences of nonsense, weighed 0, change neither the objective nor what is learned."""
    nonsense = [[label[::-1] for label in y] for y in Y]
    weight = [1.0] * len(X) + [0.0] * len(X)
    whole = small(tol=1e-4, max_epochs=60).fit(X, Y).solution_
    both = small(tol=1e-4, max_epochs=60).fit(X + X, Y + nonsense, sample_weight=weight)
    assert both.solution_.primal == pytest.approx(whole.primal, rel=1e-3)
    assert {label for y in both.predict(X_TEST) for label in y} <= {label for y in Y for label in y}


def by_label(model):
    """The weights with labels and features in alphabetical order: training numbers them by frequency."""
    order, names = np.argsort(model.tagger_.labels), np.argsort(model.tagger_.extractor.names())
    parts = model.tagger_.chain.parts(model.solution_.w)
    pairs = parts.transition[order][:, order].ravel()
    return np.concatenate([parts.emission[names][:, order].ravel(), pairs, parts.begin[order], parts.end[order]])


def test_a_weight_of_two_is_the_sequence_twice():
    repeated = small(tol=1e-4, max_epochs=300).fit(X[:10] + X[:3], Y[:10] + Y[:3])
    weighted = small(tol=1e-4, max_epochs=300).fit(X[:10], Y[:10], sample_weight=[2] * 3 + [1] * 7)
    twice, weighed = repeated.solution_, weighted.solution_
    # P(w) is at least ½‖w − w*‖² above its minimum, so that the certificates bound how far the two can be apart.
    apart = sum(np.sqrt(2 * (each.primal - each.dual)) for each in (weighed, twice))
    distance = np.linalg.norm(by_label(weighted) - by_label(repeated))
    assert distance <= apart < 0.1 * np.linalg.norm(twice.w)
    assert weighed.primal == pytest.approx(twice.primal, rel=1e-3)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"sample_weight has the shape \(1,\), but there are 40 examples"),
        (np.ones((40, 1)), r"sample_weight has the shape \(40, 1\)"),
        ([1.0] * 39 + [-1.0], r"sample_weight\[39\] is -1.0"),
        ([np.nan] + [1.0] * 39, r"sample_weight\[0\] is nan"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(DataError, match=message):
        small().fit(X, Y, sample_weight=weight)


AMBIGUOUS = [["x"]] * 10, [["A"]] * 6 + [["B"]] * 4


@pytest.mark.parametrize(
    ("costs", "label"),
    [
        (None, "A"),
        ({"B": 5.0}, "B"),
        ({("B", "A"): 5.0}, "B"),
        ({("A", "B"): 5.0}, "A"),
        ({"A": 0.1}, "B"),
        ({"A": 5.0, "B": 5.0}, "A"),
    ],
)
def test_costly_errors_are_avoided(costs, label):
    """Of a token that is A in 6 of 10 cases, but B is what must not be missed."""
    estimator = SequenceTagger(templates="word", costs=costs, tol=1e-4, max_epochs=100).fit(*AMBIGUOUS)
    assert estimator.predict([["x"]]) == [[label]]


def test_costs_of_labels_that_are_not_there():
    with pytest.raises(DataError, match="costs names the label 'C', which the training data do not have"):
        small(costs={"C": 2.0}).fit(*AMBIGUOUS)


# Development data


def test_the_best_epoch_on_the_development_data_is_kept():
    estimator = small(solver="perceptron", max_epochs=12).fit(X, Y, dev=(X_TEST, Y_TEST))
    solution, scores = estimator.solution_, [row.score for row in estimator.solution_.trace]
    assert len(scores) == 12
    assert solution.epoch == 12 - int(np.argmax(scores[::-1]))
    measured = span_scores(Y_TEST, estimator.predict(X_TEST)).micro.f1
    assert measured == max(scores)


def test_patience_ends_training():
    estimator = small(solver="perceptron", max_epochs=200, patience=2).fit(X, Y, dev=(X_TEST, Y_TEST))
    solution, scores = estimator.solution_, [row.score for row in estimator.solution_.trace]
    assert solution.stopped == "patience"
    assert len(scores) == 1 + int(np.argmax(scores)) + 2
    assert span_scores(Y_TEST, estimator.predict(X_TEST)).micro.f1 == max(scores)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "sequence_accuracy"])
def test_development_metrics(metric):
    estimator = small(dev_metric=metric, max_epochs=2).fit(X, Y, dev=(X_TEST, Y_TEST))
    expected = sequence_scorer(metric).measure(Y_TEST, estimator.predict(X_TEST))
    assert max(row.score for row in estimator.solution_.trace) == expected


@pytest.mark.parametrize("labels", [["N", "V"], [0, 1]])
def test_labels_that_are_no_spans_are_scored_by_accuracy(labels):
    y = [[labels[0], labels[1]]] * 2
    solution = (
        small().fit([["a", "b"]] * 2, y, dev=([["a", "b", "a", "b"]], [[*labels, labels[1], labels[1]]])).solution_
    )
    assert solution.trace[-1].score == 0.75


def test_unknown_metrics():
    with pytest.raises(WidemarginError, match=r"dev_metric must be 'auto', .* or 'sequence_accuracy', not 'bleu'"):
        small(dev_metric="bleu").fit(X, Y, dev=(X, Y))


def test_labels_unseen_in_training_count_as_wrong():
    estimator = small().fit([["a"], ["b"]], [["x"], ["y"]], dev=([["a"], ["b"]], [["x"], ["new"]]))
    assert estimator.solution_.trace[-1].score == 0.5
    assert estimator.score([["a"], ["b"]], [["x"], ["new"]]) == 0.5
    assert estimator.classes_.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("dev", "message"),
    [((X, Y[1:]), "X has 40 sequences, but y has 39"), ((X[:1], [["O"]]), "sequence 0 has")],
)
def test_bad_development_data(dev, message):
    with pytest.raises(DataError, match=message):
        small().fit(X, Y, dev=dev)


def test_empty_development_data_score_zero():
    for dev in (([], []), ([[]], [[]])):
        assert {row.score for row in small(max_epochs=2).fit(X, Y, dev=dev).solution_.trace} == {0.0}


# What users give


def test_empty_sequences():
    estimator = small(max_epochs=100, tol=0.01).fit([[], *X, [], []], [[], *Y, [], []])
    without = small(max_epochs=100, tol=0.01).fit(X, Y)
    # Both are proven to be within 1 % of the same optimum; before that, the order of the examples decides.
    assert estimator.solution_.certified
    assert without.solution_.certified
    assert estimator.solution_.primal == pytest.approx(without.solution_.primal, rel=0.011)
    assert estimator.predict([[], X[0], []])[::2] == [[], []]
    assert estimator.predict([]) == []
    assert estimator.predict([[]]) == [[]]


@pytest.mark.parametrize(("tokens", "labels"), [([], []), ([[], []], [[], []])])
def test_nothing_to_learn_from(tokens, labels):
    with pytest.raises(DataError, match="there is no labelled position to learn from"):
        SequenceTagger().fit(tokens, labels)


@pytest.mark.parametrize(
    ("tokens", "labels", "message"),
    [
        ([["a"], ["b"]], [["x"]], "X has 2 sequences, but y has 1"),
        ([["a"], ["b", "c"]], [["x"], ["x"]], "sequence 1 has 2 positions, but 1 labels"),
        ([["a", "b"]], ["xy"], r"y\[0\] must be a list of labels, not 'xy'"),
        (["ab"], [["x", "y"]], r"X\[0\] must be a sequence of positions, not 'ab'"),
        ([["a"], None], [["x"], ["y"]], r"X\[1\] must be a sequence of positions, not None"),
        ([["a"]], None, "y must be a list of label lists, not None"),
        ("ab", [["x"]], "X must be a list of sequences, not str"),
    ],
)
def test_mismatches_are_located(tokens, labels, message):
    with pytest.raises(DataError, match=message):
        SequenceTagger().fit(tokens, labels)


@pytest.mark.parametrize(("labels", "kind"), [([["x", "y"]], str), ([[3, 1]], int), (np.array([["x", "y"]]), str)])
def test_predictions_are_plain_values_of_the_labels_kind(labels, kind):
    estimator = small().fit([["a", "b"]], labels)
    (predicted,) = estimator.predict([["a", "b"]])
    assert predicted == list(labels[0])
    assert all(type(label) is kind for label in predicted)


def test_tokens_in_arrays():
    lists = small().fit(X, Y)
    arrays = small().fit([np.array(x) for x in X], [np.array(y) for y in Y])
    assert arrays.solution_.w.tolist() == lists.solution_.w.tolist()
    assert arrays.predict([np.array(x) for x in X_TEST]) == lists.predict(X_TEST)
    grid = np.array([["a", "b"], ["b", "a"]])
    assert small().fit(grid, grid).predict(grid) == grid.tolist()


def test_ready_made_features_and_matrices():
    records = [[{"w": word.lower(), "caps": word.isupper()} for word in x] for x in X]
    assert SequenceTagger(C=1.0).fit(records, Y).score(records, Y) > 0.9
    matrices = [np.array([[len(w), w.isdigit(), w.isalpha()] for w in x], dtype=float) for x in X]
    digits = [[int(w.isdigit()) for w in x] for x in X]
    assert SequenceTagger(max_epochs=30, C=1.0).fit(matrices, digits).score(matrices, digits) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C must be a number above 0, not 0.0"),
        ({"C": np.nan}, "C must be a number above 0"),
        ({"max_epochs": -1}, "the stop rule epochs"),
        ({"tol": -0.1}, "the stop rule gap"),
        ({"patience": 0}, "the stop rule patience"),
        ({"n_jobs": 0}, "n_jobs must be a positive number of threads"),
        ({"templates": "word["}, "not understood"),
        ({"templates": "pos lower"}, "no column 'pos'; it has 'word'"),
        ({"templates": "lexicon(towns)"}, "needs a lexicon named 'towns'"),
        ({"hash_bits": 99}, "hash_bits must be a whole number from 1 to 30"),
        ({"min_count": "x"}, "min_count must be a whole number"),
    ],
)
def test_bad_parameters_are_refused_by_fit(options, message):
    with pytest.raises(WidemarginError, match=message):
        small(**options).fit(X[:2], Y[:2])


def test_numbers_may_be_numpys():
    estimator = small(max_epochs=np.int64(2), min_count=np.int64(1), hash_bits=np.int64(8), C=np.float64(0.1))
    assert estimator.fit(X[:5], Y[:5]).solution_.epoch == 2


# What is shown


def test_nothing_is_shown_unless_asked_for(capfd):
    small().fit(X[:5], Y[:5]).predict(X)
    assert capfd.readouterr() == ("", "")


def test_a_line_per_epoch_where_there_is_no_terminal(capfd):
    assert not sys.stderr.isatty()
    trace = small(verbose=True, max_epochs=3, tol=None).fit(X[:5], Y[:5]).solution_.trace
    out, error = capfd.readouterr()
    shown = [line for line in error.splitlines() if not line.startswith("compil")]
    epochs = [f"epoch {row.epoch}/3  {row.figures('  ')}  {row.seconds:.2f} s" for row in trace]
    assert (out, shown) == ("", [*epochs, "stopped by epochs after 3 epochs"])


def test_callbacks_hear_of_training():
    class Heard(Callback):
        def __init__(self):
            self.events = []

        def on_start(self, max_epochs, n_examples):
            self.events.append((max_epochs, n_examples))

        def on_epoch(self, epoch):
            self.events.append(epoch.epoch)

        def on_stop(self, reason):
            self.events.append(reason)

    heard = Heard()
    small(max_epochs=2, tol=None).fit(X, Y, callbacks=[heard])
    assert heard.events == [(2, len(X)), 1, 2, "epochs"]
