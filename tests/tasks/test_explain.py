"""Explanations of labels and classes: the votes add up to the difference of the scores, and the command shows them."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import fail, succeed
from widemargin import LinearClassifier, SequenceTagger
from widemargin.data.generators import addresses
from widemargin.report.explain import Question
from widemargin.text.inputs import as_columns

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"
X, Y = addresses(60)


@pytest.fixture(scope="module", params=[{}, {"hash_bits": 9}, {"templates": "word shape transition:lower[-1]"}])
def tagger(request):
    options = {"templates": "word lower[-1..1] shape suffix2", "max_epochs": 6} | request.param
    return SequenceTagger(**options).fit(X, Y).model_


def test_votes_for_labels_add_up_to_the_scores_of_sequences(tagger):
    for tokens in addresses(8, seed=3)[0]:
        sequence = as_columns([tokens])
        examples, only = tagger.examples(sequence), np.array([0], dtype=np.int32)
        codes = tagger.predict_codes(sequence)
        (margins,) = tagger.margins(sequence)
        parts = tagger.explain(sequence, Question())["parts"]
        assert [each["margin"] for each in parts] == pytest.approx(margins.of_labels().tolist())
        for t in (0, len(tokens) // 2, len(tokens) - 1):
            label = next(each for each in tagger.code_names if each != tagger.code_names[codes[t]])
            found = tagger.explain(sequence, Question(token=t + 1, label=label))
            changed = codes.copy()
            changed[t] = tagger.code_names.index(label)
            one, other = (examples.scores(tagger.weights, only, each)[0] for each in (codes, changed))
            assert found["difference"] == pytest.approx(one - other, abs=1e-9)
            assert sum(each["difference"] for each in found["reasons"]) == pytest.approx(one - other, abs=1e-9)


def test_votes_for_classes_add_up_to_their_scores():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 4))
    model = LinearClassifier().fit(rows, np.array(["a", "b", "c"])[np.argmax(rows[:, :3], axis=1)]).model_
    for row in rows[:5]:
        (scores,), (best,) = model.scores([row]), model.predict([row])
        (part,) = model.explain([row], Question())["parts"]
        assert (part["part"], part["margin"]) == (best, pytest.approx(np.sort(scores)[-1] - np.sort(scores)[-2]))
        for label in set("abc") - {best}:
            found = model.explain([row], Question(label=label))
            assert found["difference"] == pytest.approx(max(scores) - scores["abc".index(label)])


def test_the_command_explains_labels(tmp_path):
    file = tmp_path / "new.tsv"
    file.write_text("I\nsaw\nRome\n\nRome\nfell\n", encoding="utf-8")
    model = FIXTURES / "tag.wm"
    found = json.loads(succeed("inspect", model, "--explain", file, "--json"))
    assert (found["words"], [each["part"] for each in found["parts"]][2]) == (["I", "saw", "Rome"], "3 Rome: B-city")
    shown = succeed("inspect", model, "--explain", file, "--sentence", "2", "--token", "1", "--label", "O")
    assert "1 Rome: B-city" in shown
    assert "word" in shown
    for options, complaint in (
        (["--sentence", "3"], "there is no sequence 3"),
        (["--token", "4"], "there is no token 4"),
        (["--token", "3", "--label", "B-city"], "name another label"),
        (["--token", "3", "--label", "B-town"], "the model has no label 'B-town'"),
        (["--label", "O"], "give a --token"),
        (["--span", "1:2"], "ask for a --token"),
    ):
        assert complaint in fail("inspect", model, "--explain", file, *options)
    assert "it cannot explain them" in fail("inspect", FIXTURES / "segment.wm", "--explain", file)


def test_the_command_explains_classes(tmp_path):
    file = tmp_path / "new.svm"
    file.write_text("cat 1:1\ndog 0:2\n", encoding="utf-8")
    model = FIXTURES / "classes.wm"
    assert (
        json.loads(succeed("inspect", model, "--explain", file, "--sentence", "2", "--json"))["parts"][0]["part"]
        == "dog"
    )
    assert "column 0" in succeed("inspect", model, "--explain", file, "--sentence", "2", "--label", "cat")
    assert "compare it with one of 'cat', 'cow'" in fail(
        "inspect", model, "--explain", file, "--sentence", "2", "--label", "dog"
    )
    assert "there is no example 3" in fail("inspect", model, "--explain", file, "--sentence", "3")
