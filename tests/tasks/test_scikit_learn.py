"""What scikit-learn expects of estimators: its own checks where they apply, and the same rules where they do not.

Its checks make matrices of random numbers, and so apply only to estimators of matrices. This file lists all exceptions.
"""

import copy
import inspect
import json
import math
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_no_attributes_set_in_init, estimator_checks_generator

import widemargin
from helpers import Sign
from helpers.models import replaced
from widemargin.core.model_file import ENTRY, read_model
from widemargin.errors import WidemarginError
from widemargin.tasks import estimators
from widemargin.tasks.parameters import Parameters
from widemargin.text.mentions import Mentions

CHECKED = {
    "LinearClassifier": {},
    "MultilabelClassifier": {"solver": "bundle", "tol": 1e-9, "max_epochs": 1000},
}
"""The estimators that scikit-learn's checks apply to, with their parameters: close enough to the optimum to compare."""

NOT_A_MATRIX = {
    "SequenceTagger": "X is a list of sequences of tokens, records or matrix rows, y a list of label lists",
    "Segmenter": "X is a list of sequences of tokens, y a list of spans for each",
    "DependencyParser": "X is a list of sentences, y a list of arcs for each",
    "ConstituencyParser": "X is a list of tagged sentences, y a list of trees",
    "Ranker": "X is a matrix, but the rows belong to queries: fit also needs `group` or `qid`",
    "Clusterer": "X is a list of sets of items, y a partition of each",
    "CoreferenceResolver": "X is a list of texts with mentions, y the entities of each",
    "MotifFinder": "X is a list of strings",
    "GraphLabeler": "X is a list of graphs, y the labels of the nodes of each",
    "Summariser": "X is a list of topics, y a list of summaries for each",
    "StructuredPredictor": "X and y are whatever the structure says",
}
"""The estimators that they do not apply to, and why."""

SETS_WANTED = "gives one column of classes that are not 0 and 1, where sets of labels are wanted"
EXCEPTIONS = {
    "MultilabelClassifier": dict.fromkeys(
        [
            "check_classifier_data_not_an_array",
            "check_classifiers_classes",
            "check_classifiers_one_label_sample_weights",
            "check_classifiers_train",
            "check_estimators_dtypes",
            "check_fit2d_1feature",
            "check_sample_weights_not_an_array",
            "check_sample_weights_not_overwritten",
            "check_sample_weights_pandas_series",
            "check_sample_weights_shape",
        ],
        SETS_WANTED,
    )
}
"""The checks that fail although they apply, and why."""


def test_every_estimator_is_listed_once():
    assert sorted([*CHECKED, *NOT_A_MATRIX]) == sorted(estimators())
    assert EXCEPTIONS.keys() <= CHECKED.keys()


def checks():
    """scikit-learn's checks of each estimator. It warns of those that follow its protocol without its base class."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimator .* does not inherit from")
        for name, options in CHECKED.items():
            estimator, failing = getattr(widemargin, name)(**options), EXCEPTIONS.get(name)
            yield from estimator_checks_generator(estimator, expected_failed_checks=failing, mark="xfail")


def name_of(each):
    """The name of a check, which may have options, or of the class of an estimator."""
    return getattr(getattr(each, "func", each), "__name__", type(each).__name__)


@pytest.mark.parametrize(("estimator", "check"), list(checks()), ids=name_of)
def test_estimators_of_matrices_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# The others, by the same rules, each on data of its own kind


class Case(NamedTuple):
    """An estimator with data that it takes, and what `fit` needs besides."""

    estimator: Any
    X: Any
    y: Any
    more: Mapping[str, Any] = MappingProxyType({})


class NamedSign(Sign):
    """A structure that shows the same wherever it is in memory."""

    def __repr__(self):
        return "NamedSign()"


def text(words, spans):
    return Mentions({"word": words.split()}, np.zeros(len(words.split()), dtype=int), spans)


FEW = {"max_epochs": 2, "n_jobs": 1}
TOKENS = [["in", "New", "York"], ["from", "Rome"], ["now"]]
TAGGED = [(["dogs", "bark"], ["N", "V"]), (["big", "dogs", "sleep"], ["A", "N", "V"])]
TREES = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (A big) (N dogs)) (VP (V sleep)))"]
READS = ["ATTTGACGTCATA", "CCTGACGTCAGGT", "ATTTGAAATCATA", "CCTCAGGTGAGGT"]
CASES = {
    "SequenceTagger": lambda make: Case(
        make(templates="lower", **FEW), TOKENS, [["O", "B-city", "I-city"], ["O", "B-city"], ["O"]]
    ),
    "Segmenter": lambda make: Case(make(templates="lower", **FEW), TOKENS, [[(1, 3, "city")], [(1, 2, "city")], []]),
    "DependencyParser": lambda make: Case(
        make(hash_bits=10, **FEW), TOKENS[1:], [[(2, "case"), (0, "root")], [(0, "root")]]
    ),
    "ConstituencyParser": lambda make: Case(make(hash_bits=10, **FEW), TAGGED, TREES),
    "Ranker": lambda make: Case(
        make(measure="pairs", **FEW), np.eye(5)[:, :2], np.array([1, 0, 0, 1, 0]), {"group": [3, 2]}
    ),
    "Clusterer": lambda make: Case(make(**FEW), [["J. Smith", "Smith, John", "A. Wu"]], [["smith", "smith", "wu"]]),
    "CoreferenceResolver": lambda make: Case(
        make(hash_bits=10, **FEW), [text("Ada met Carl . She", [(0, 1), (2, 3), (4, 5)])], [["a", "c", "a"]]
    ),
    "MotifFinder": lambda make: Case(make(length=4, order=0, max_rounds=2, **FEW), READS, [1, 1, 0, 0]),
    "GraphLabeler": lambda make: Case(
        make(**FEW), [(np.eye(3), [(0, 1), (1, 2)]), (np.eye(3)[:2], [(0, 1)])], [["a", "b", "a"], ["a", "b"]]
    ),
    "Summariser": lambda make: Case(
        make(length=5, **FEW), [[["The hotel is old.", "The staff is kind."]]], [["The staff is kind, very kind."]]
    ),
    "StructuredPredictor": lambda make: Case(make(NamedSign(), **FEW), [2.0, -1.0], [1, -1]),
}

MATRICES = {
    "LinearClassifier": lambda make: Case(make(**FEW), np.eye(4), np.array([0, 1, 0, 1])),
    "MultilabelClassifier": lambda make: Case(make(**FEW), np.eye(4), [["a"], ["b"], ["a", "b"], ["a"]]),
}


@pytest.fixture(scope="module", params=NOT_A_MATRIX)
def case(request):
    return CASES[request.param](getattr(widemargin, request.param))


@pytest.fixture(scope="module")
def fitted(case):
    return copy.deepcopy(case.estimator).fit(case.X, case.y, **case.more)


def same(one, other):
    return repr(one) == repr(other)


def test_the_constructor_only_takes_notes(case):
    if type(case.estimator).__name__ != "StructuredPredictor":  # which cannot be made without a structure
        check_no_attributes_set_in_init(type(case.estimator).__name__, type(case.estimator)())
    assert set(vars(case.estimator)) == set(case.estimator.get_params())
    assert repr(clone(case.estimator)) == repr(case.estimator)


def test_before_fit(case):
    fresh = clone(case.estimator)
    for ask in (lambda: fresh.predict(case.X), lambda: fresh.save("nowhere.wm"), fresh.strongest):
        with pytest.raises(NotFittedError):
            ask()
    assert not [name for name in ("solution_", "n_iter_", "classes_", "model_") if hasattr(fresh, name)]
    assert not fresh.__sklearn_is_fitted__()


def test_fit_changes_neither_data_nor_parameters(case):
    estimator = clone(case.estimator)
    before, X, y = estimator.get_params(), copy.deepcopy(case.X), copy.deepcopy(case.y)
    assert estimator.fit(X, y, **case.more) is estimator
    assert same(estimator.get_params(), before)
    assert same(y, case.y)
    if not hasattr(case.X[0], "columns"):
        assert same(X, case.X)
    assert estimator.n_iter_ == len(estimator.solution_.trace) > 0


def test_fit_is_idempotent_and_forgets(case, fitted):
    again = clone(case.estimator).fit(case.X, case.y, **case.more).fit(case.X, case.y, **case.more)
    assert np.array_equal(again.solution_.w, fitted.solution_.w)
    assert same(again.predict(case.X), fitted.predict(case.X))


def test_pickles_and_notebooks(case, fitted):
    if type(fitted).__name__ != "StructuredPredictor":  # a class of this file cannot be imported by its name
        again = pickle.loads(pickle.dumps(fitted))
        assert same(again.predict(case.X), fitted.predict(case.X))
    assert str(fitted.solution_).split(":")[0] in fitted._repr_html_()


def test_order_and_subsets_of_new_data_do_not_matter(case, fitted):
    if isinstance(case.X, np.ndarray):
        whole = fitted.predict(case.X)
        np.testing.assert_allclose(fitted.predict(case.X[::-1]), whole[::-1])
        return
    whole = list(fitted.predict(case.X))
    assert same([next(iter(fitted.predict([x]))) for x in case.X], whole)
    assert same(list(fitted.predict(case.X[::-1])), whole[::-1])


def test_tags(case):
    tags = get_tags(case.estimator)
    assert tags.target_tags.required
    assert not tags.input_tags.two_d_array


def test_metadata_are_routed_and_copied(case):
    estimator = clone(case.estimator)
    known = [name for name in inspect.signature(estimator.fit).parameters if name not in "Xy"]
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        estimator.set_fit_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        assert estimator.get_metadata_routing().fit.requests == dict.fromkeys(known)
        assert estimator.set_fit_request(sample_weight=True, dev="given") is estimator
        with pytest.raises(TypeError, match="not nonsense"):
            estimator.set_fit_request(nonsense=True)
        for each in (estimator, clone(estimator), copy.deepcopy(estimator)):
            requests = each.get_metadata_routing()
            assert requests.fit.requests == {**dict.fromkeys(known), "sample_weight": True, "dev": "given"}
    assert hasattr(estimator, "set_predict_request") == (len(inspect.signature(estimator.predict).parameters) > 1)
    assert "set_fit_request" in dir(estimator)


def test_weights_reach_fit_by_routing():
    case = CASES["SequenceTagger"](widemargin.SequenceTagger)
    with sklearn.config_context(enable_metadata_routing=True):
        tagger = case.estimator.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(tagger, {"C": [0.1]}, cv=2).fit(case.X * 2, case.y * 2, sample_weight=np.arange(6.0))
        weighted = clone(tagger).set_params(C=0.1).fit(case.X * 2, case.y * 2, sample_weight=np.arange(6.0))
    assert np.array_equal(search.best_estimator_.solution_.w, weighted.solution_.w)


FIRST_ANSWERS = """
import pickle, sys
from pathlib import Path
import widemargin
from helpers import Sign

for path in map(Path, sys.argv[1:]):
    given = {"structure": Sign()} if path.stem == "StructuredPredictor" else {}
    widemargin.load(path, **given).predict(pickle.loads(path.with_suffix(".inputs").read_bytes()))
    slow = {"sklearn", "matplotlib", "pandas", "scipy.stats"} & set(sys.modules)
    assert not slow, (path.stem, slow)
"""


def test_loading_and_predicting_import_nothing_slow(tmp_path):
    for name, made in {**CASES, **MATRICES}.items():
        estimator, X, y, more = made(getattr(widemargin, name))
        estimator.fit(X, y, **more).save(tmp_path / f"{name}.wm")
        (tmp_path / f"{name}.inputs").write_bytes(pickle.dumps(X))
    folders = [str(Path(__file__).parents[1]), str(Path(widemargin.__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    subprocess.run([sys.executable, "-c", FIRST_ANSWERS, *tmp_path.glob("*.wm")], env=environment, check=True)


ODD = [None, True, -1, 10**30, 10**400, 0.5, math.nan, "x", "\ud800", ["a"]]
LENGTHY = {"n_restarts", "max_epochs", "max_rounds", "hash_bits"}  # more of them only takes longer
SHARED = {each.name for each in fields(Parameters)}


@pytest.mark.parametrize("name", [*NOT_A_MATRIX, *CHECKED])
def test_parameters_of_damaged_models_are_refused_before_a_run_or_taken(name, tmp_path):
    case = {**CASES, **MATRICES}[name](getattr(widemargin, name))
    case.estimator.fit(case.X, case.y, **case.more).save(tmp_path / "whole.wm")
    (header, tensors), given = read_model(tmp_path / "whole.wm"), {}
    if name == "StructuredPredictor":
        given["structure"] = NamedSign()
    load = partial(widemargin.load, tmp_path / "damaged.wm", **given)
    left_out = LENGTHY if name == "StructuredPredictor" else LENGTHY | SHARED  # which need be tried once
    for parameter in sorted(header["summary"]["parameters"].keys() - left_out):
        for value in ODD:
            damaged = replaced(header, ("summary", "parameters", parameter), value)
            save_file(tensors, tmp_path / "damaged.wm", {ENTRY: json.dumps(damaged)})
            with suppress(WidemarginError):
                load().fit(case.X, case.y, **case.more)
                if hasattr(load(), "partial_fit"):
                    load().partial_fit(case.X, case.y)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"objective": True}, "objective must be a text, an object of the type Objective or None, not True"),
        ({"random_state": 0.5}, "random_state must be a whole number of at least 0 or None, not 0.5"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
        ({"templates": [1]}, r"templates must be a text, a list of texts or None, not \[1\]"),
        ({"warm_start": "no"}, "warm_start must be True or False, not 'no'"),
        ({"cut_memory": 10**400}, "cut_memory must be a number, not 1000"),
    ],
)
def test_parameters_of_other_types_are_named(wrong, sentence):
    case = CASES["SequenceTagger"](widemargin.SequenceTagger)
    with pytest.raises(WidemarginError, match=sentence):
        case.estimator.set_params(**wrong).fit(case.X, case.y)
