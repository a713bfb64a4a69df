"""What a model has learnt, in Python as on the command line: strongest weights, and weights by name."""

import copy
import json
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.exceptions import NotFittedError

import widemargin
from helpers.models import EXPECTED, FIXTURES, given_for
from widemargin import LinearClassifier, Ranker, Segmenter, SequenceTagger
from widemargin.cli.commands import main
from widemargin.errors import WidemarginError

pytestmark = pytest.mark.interpreted

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
Y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"], ["NOUN", "VERB"]]


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(templates=["lower", "suffix1", "transition:lower"], max_epochs=5).fit(X, Y)


def sides(found):
    """The command line's form of what Python has as pairs."""
    if found.keys() == {"for", "against"}:
        signs = {"positive": found["for"], "negative": found["against"]}
        return {sign: [{"name": name, "weight": weight} for name, weight in each] for sign, each in signs.items()}
    return {label: sides(each) for label, each in found.items()}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_python_and_the_command_line_say_the_same(name):
    path = next(FIXTURES.glob(f"{name}.*"))
    estimator = widemargin.load(path, **given_for(name))
    shown = json.loads(CliRunner().invoke(main, ["inspect", str(path), "--top", "4", "--json"]).output)
    found = estimator.strongest(n=4)
    for part in found:
        assert shown[part] == sides(found[part]), part
    assert repr(found)
    for label in map(str, estimator.model_.labels[-1:]):
        asked = ["inspect", str(path), "--top", "4", "--label", label, "--json"]
        shown = json.loads(CliRunner().invoke(main, asked).output)
        for part, own in estimator.strongest(label, 4).items():
            assert shown[part] in (sides(own), {label: sides(own)})


def test_it_prints_as_a_table(tagger):
    found = tagger.strongest("DET", 2)
    lines = repr(found).splitlines()
    assert lines[0] == "Features for and against DET"
    name, weight = found["features"]["for"][0]
    assert lines[1].split()[:2] == [f"{weight:+.3f}", name]
    assert len(found["features"]["for"]) == 2
    assert type(found["features"]["for"][0]) is tuple
    for same in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (same, repr(same)) == (found, repr(found))
    assert tagger.strongest("DET", np.int64(2)) == found


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"label": "PRON"}, "has no label 'PRON'; it has 'NOUN', 'VERB', 'DET'"),
        ({"n": 0}, "n must be a whole number of at least 1, not 0"),
        ({"n": 1.5}, "not 1.5"),
    ],
)
def test_bad_questions(tagger, asked, message):
    with pytest.raises(WidemarginError, match=message):
        tagger.strongest(**asked)


def test_weights_by_name_are_all_the_weights(tagger):
    weights, names, labels = tagger.model_.weights, tagger.get_feature_names_out().tolist(), tagger.model_.labels
    chain = tagger.model_.chain.parts(tagger.model_.w)
    dense = {(names[f], labels[j]): chain.emission[f, j] for f, j in zip(*np.nonzero(chain.emission), strict=True)}
    assert tagger.state_features_ == dense
    assert names[: len(chain.emission)] == [*dict.fromkeys(name for name, _ in dense)]
    assert len(names) == len(chain.emission) + len(chain.conditional)
    table = np.array([[tagger.transition_features_.get((a, b), 0.0) for b in labels] for a in labels])
    assert np.array_equal(table, weights.transition)


def test_weights_of_a_segmenter_by_name():
    segmenter = Segmenter(templates=["lower"], segment_features=["lower"], max_epochs=5)
    segmenter.fit([["in", "Rome", "now"]] * 2, [[(1, 2, "city")]] * 2)
    found = segmenter.state_features_
    shape, model = segmenter.model_.shape, segmenter.model_
    parts = shape.parts(model.w)
    assert len(found) == np.count_nonzero(parts.roles) + np.count_nonzero(parts.segment)
    strongest = segmenter.strongest("city", 3)
    assert all(found[name, "city"] == weight for name, weight in strongest["features"]["for"])
    assert all(found[name, "city"] == weight for name, weight in strongest["segment_features"]["for"])
    assert ("lower=rome (first token)", "city") in found


def test_names_of_columns():
    values, classes = [[0.0, 1.0], [2.0, 0.0], [0.5, 1.0], [2.0, 0.5]], ["cat", "dog", "cat", "dog"]
    classifier = LinearClassifier(max_epochs=3).fit(values, classes)
    assert classifier.get_feature_names_out().tolist() == ["column 0", "column 1"]
    assert classifier.strongest("cat", 1)["features"]["for"][0][0] == "column 1"
    ranker = Ranker(max_epochs=3).fit(values, [0, 1, 0, 1], group=[2, 2])
    assert ranker.get_feature_names_out().tolist() == ["column 0", "column 1"]


def test_nothing_is_known_before_fit():
    for ask in ("strongest", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(SequenceTagger(), ask)()
    for attribute in ("state_features_", "transition_features_"):
        assert not hasattr(SequenceTagger(), attribute)
