"""`CRF` against sklearn-crfsuite's, value for value."""

import pickle
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from widemargin.crfsuite import CRF, ItemSequence, Trainer, metrics, scorers
from widemargin.data.generators import addresses

sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")

SETTINGS = [
    {"algorithm": "lbfgs", "c1": 0.1, "c2": 0.1},
    {"algorithm": "lbfgs", "c2": 1.0, "all_possible_states": True, "all_possible_transitions": True},
    {"algorithm": "lbfgs", "c1": 1.0, "c2": 1e-3, "min_freq": 2},
]


def _features(words: list[str], t: int) -> dict:
    word = words[t]
    found = {"bias": 1.0, "lower": word.lower(), "digit": word.isdigit(), "suffix": [word[-2:], word[-1:]]}
    if t:
        found["-1"] = {"lower": words[t - 1].lower()}
    return found


def _data(n: int, seed: int = 0) -> tuple[list, list]:
    X, y = addresses(n, seed=seed)
    return [[_features(words, t) for t in range(len(words))] for words in X], [list(labels) for labels in y]


X, Y = _data(40)
X_NEW, Y_NEW = _data(20, seed=1)


@pytest.fixture(scope="module", params=range(len(SETTINGS)))
def both(request):
    settings = SETTINGS[request.param] | {"delta": 1e-9, "epsilon": 1e-7, "max_iterations": 400}
    return CRF(**settings).fit(X, Y), sklearn_crfsuite.CRF(**settings).fit(X, Y)


def test_parameters_are_those_of_the_peer():
    ours, theirs = (list(signature(each).parameters.items()) for each in (CRF, sklearn_crfsuite.CRF))
    assert [(name, each.default) for name, each in ours] == [(name, each.default) for name, each in theirs]


def test_predictions(both):
    ours, theirs = both
    assert ours.predict(X_NEW).tolist() == theirs.predict(X_NEW).tolist()
    assert ours.predict_single(X_NEW[0]) == theirs.predict_single(X_NEW[0])
    assert ours.score(X_NEW, Y_NEW) == theirs.score(X_NEW, Y_NEW)
    assert ours.predict(X_NEW).dtype == theirs.predict(X_NEW).dtype == object


def test_marginals(both):
    ours, theirs = both
    for mine, peers in zip(ours.predict_marginals(X_NEW), theirs.predict_marginals(X_NEW), strict=True):
        assert [set(each) for each in mine] == [set(each) for each in peers]
        for one, other in zip(mine, peers, strict=True):
            assert [one[label] for label in other] == pytest.approx(list(other.values()), abs=2e-3)


def test_attributes(both):
    ours, theirs = both
    assert sorted(ours.classes_) == sorted(theirs.classes_)
    for name in ("state_features_", "transition_features_"):
        mine, peers = getattr(ours, name), getattr(theirs, name)
        # Weights near zero may be zero for one of the two, and are then not in the file.
        for key in mine.keys() | peers.keys():
            assert mine.get(key, 0.0) == pytest.approx(peers.get(key, 0.0), abs=2e-2)
    assert len(ours.attributes_) == ours.num_attributes_
    assert ours.size_ == Path(ours.modelfile.name).stat().st_size
    assert ours.training_log_.last_iteration["loss"] == pytest.approx(
        theirs.training_log_.last_iteration["loss"], rel=1e-3
    )


def test_the_peer_reads_our_model_and_we_read_its(both, tmp_path):
    for one, other in (both, both[::-1]):
        reader = type(other)(model_filename=one.modelfile.name)
        assert reader.predict(X_NEW).tolist() == one.predict(X_NEW).tolist()
        assert reader.state_features_ == one.state_features_
        assert reader.transition_features_ == one.transition_features_
        assert reader.attributes_ == one.attributes_
        assert (reader.classes_, reader.size_) == (one.classes_, one.size_)


def test_nothing_is_known_before_training():
    crf = CRF()
    for name in ("classes_", "size_", "attributes_", "state_features_", "transition_features_", "tagger_"):
        assert getattr(crf, name) is None
    with pytest.raises(NotFittedError, match="not fitted"):
        crf.predict(X_NEW)


def test_pickling_keeps_the_model(both):
    ours, _ = both
    copy = pickle.loads(pickle.dumps(ours))
    assert copy.modelfile.name != ours.modelfile.name
    assert copy.predict(X_NEW).tolist() == ours.predict(X_NEW).tolist()
    assert copy.get_params() == ours.get_params()


def test_temporary_files_go_with_their_estimator():
    crf = CRF(algorithm="ap", max_iterations=2).fit(X, Y)
    first = Path(crf.modelfile.name)
    crf.fit(X, Y)
    second = Path(crf.modelfile.name)
    assert not first.exists()
    assert second.exists()
    del crf
    assert not second.exists()


def test_a_failed_fit_leaves_the_model_alone():
    crf = CRF(algorithm="ap", max_iterations=2).fit(X, Y)
    before = crf.predict(X_NEW).tolist()
    with pytest.raises(ValueError, match="items and labels differ"):
        crf.fit(X, [labels[:-1] for labels in Y])
    assert crf.predict(X_NEW).tolist() == before
    with pytest.raises(ValueError, match="together"):
        crf.fit(X, Y, X_dev=X_NEW)


def test_holdout_scores_are_those_of_the_predictions(capsys):
    crf = CRF(algorithm="lbfgs", max_iterations=5, verbose=True).fit(X, Y, X_NEW, Y_NEW)
    last = crf.training_log_.last_iteration
    assert last["item_accuracy_float"] == crf.score(X_NEW, Y_NEW)
    assert last["instance_accuracy_float"] == metrics.sequence_accuracy_score(Y_NEW, crf.predict(X_NEW))
    printed = capsys.readouterr().out
    assert printed.count("Iter ") == len(crf.training_log_.iterations)
    assert "Support" in printed


def test_a_trainer_of_ones_own():
    seen = []

    class Counting(Trainer):
        def on_iteration(self, log, info):
            seen.append(info["num"])

    CRF(algorithm="ap", max_iterations=3, trainer_cls=Counting, verbose=True).fit(X, Y)
    assert seen == [1, 2, 3]


def test_model_selection():
    crf = CRF(algorithm="ap", max_iterations=3)
    assert clone(crf).get_params() == crf.get_params()
    assert len(cross_val_score(crf, X, Y, cv=2, scoring=scorers.sequence_accuracy)) == 2
    assert len(cross_val_predict(crf, X, Y, cv=2)) == len(X)
    search = GridSearchCV(crf, {"max_iterations": [1, 4]}, cv=2, scoring=scorers.flat_accuracy).fit(X, Y)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize(
    "form",
    [
        lambda words: [[word.lower(), "bias"] for word in words],
        lambda words: [{"word": word, "bias": 1.0} for word in words],
        lambda words: [{"deep": {"word": word}} for word in words],
        lambda words: ItemSequence([[word] for word in words]),
        lambda words: tuple({word} for word in words),
    ],
)
def test_sequences_of_every_form(form):
    words, y = addresses(12)
    crf = CRF(algorithm="ap", max_iterations=3).fit([form(each) for each in words], [list(each) for each in y])
    tagger = crf.tagger_
    forms = [form(each) for each in [*addresses(5, seed=2)[0], []]]
    assert crf.predict(iter(forms)).tolist() == [tagger.tag(each) for each in forms]
    for each in forms:
        tagger.set(each)
        assert [list(row) for row in tagger.marginals()] == [tagger.labels()] * len(each)
        for t, row in enumerate(tagger.marginals()):
            assert row == {label: tagger.marginal(label, t) for label in tagger.labels()}
