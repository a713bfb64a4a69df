"""Coreference from training to prediction: estimator, model file, commands, pictures and explanations."""

import json
import re

import numpy as np
import pytest

import widemargin
from helpers.command_line import fail, succeed
from widemargin import CoreferenceResolver
from widemargin.clusterings import by_first
from widemargin.data.samples import small_texts
from widemargin.errors import DataError, ModelFileError, UnsupportedError, WidemarginError
from widemargin.tasks.coreference.files import Entities, entity_scores, read_texts
from widemargin.tasks.coreference.pictures import text_lines, text_page
from widemargin.text.mentions import Mentions

WANTED = [0, 1, 2, 0, 1, 2]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "train.conllu"
    path.write_text(small_texts(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(texts):
    corpus = read_texts(str(texts))
    return corpus.X, corpus.y


def resolver(**parameters):
    return CoreferenceResolver(**{"C": 1.0, "hash_bits": 12, **parameters})


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"decoder": "forest"},
        {"solver": "adagrad", "completion": "online", "max_epochs": 20},
        {"solver": "crf", "max_epochs": 30, "C": 10.0},
        {"objective": "softmax-margin", "solver": "adagrad", "max_epochs": 20, "C": 10.0},
        {"solver": "mira", "completion": "online", "max_epochs": 20},
        {"init": "random", "n_restarts": 2},
    ],
)
def test_training_and_prediction(data, parameters, tmp_path):
    X, y = data
    fitted = resolver(**parameters).fit(X, y, dev=(X, y))
    assert fitted.predict(X) == [WANTED] * len(X)
    assert fitted.score(X, y) == 1.0
    fitted.save(tmp_path / "a.wm")
    again = widemargin.load(tmp_path / "a.wm")
    assert again.predict(X) == fitted.predict(X)
    assert np.array_equal(again.model_.w, fitted.model_.w)
    assert again.get_params() == fitted.get_params()
    proven = "completion" not in parameters and "solver" not in parameters
    assert fitted.solution_.certified == proven


def test_antecedents_and_their_probabilities(data):
    X, y = data
    fitted = resolver(solver="crf", max_epochs=30, C=10.0).fit(X, y)
    found = fitted.predict_antecedents(X)[0]
    assert found == [None, None, None, 0, 1, 2]
    matrix = fitted.antecedent_probabilities(X)[0]
    assert matrix.shape == (6, 6)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    assert not np.triu(matrix, 1).any()
    assert [m if a is None else a for m, a in enumerate(found)] == matrix.argmax(axis=1).tolist()
    margin = resolver().fit(X, y)
    with pytest.raises(UnsupportedError, match="not trained by likelihood"):
        margin.antecedent_probabilities(X)
    with pytest.raises(UnsupportedError, match="links mentions by forests"):
        resolver(decoder="forest").fit(X, y).predict_antecedents(X)


def test_completions_of_ones_own(data):
    X, y = data
    own = [[None, None, None, 0, 1, 2]] * len(X)
    assert resolver(init=own).fit(X, y).predict(X) == [WANTED] * len(X)
    for wrong, message in (
        (own[1:], "6 documents, but 5 lists"),
        ([own[0][1:], *own[1:]], "document 0 has 6 mentions, but 5"),
        ([[None, 0, *own[0][2:]], *own[1:]], "document 0: 0 is no right antecedent of mention 1"),
        ([[*own[0][:-1], None], *own[1:]], "document 0: None is no right antecedent of mention 5"),
        ([[*own[0][:-1], 5], *own[1:]], "document 0: 5 is no right antecedent of mention 5"),
    ):
        with pytest.raises(DataError, match=message):
            resolver(init=wrong).fit(X, y)


def test_weights_are_those_of_documents(data):
    """A document twice is one of weight 2."""
    X, y = data
    once = resolver(tol=1e-8).fit(X, y, sample_weight=[2.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    twice = resolver(tol=1e-8).fit([X[0], *X[:5]], [y[0], *y[:5]])
    np.testing.assert_allclose(once.model_.w, twice.model_.w, atol=1e-4)
    with pytest.raises(DataError, match="sample_weight has the shape"):
        resolver().fit(X, y, sample_weight=[1.0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"decoder": "x"}, "decoder must be 'antecedents' or 'forest', not 'x'"),
        ({"dev_metric": "x"}, "dev_metric must be 'conll', 'muc', .* or 'lea', not 'x'"),
        ({"false_new": -1.0}, "false_new must be a number of at least 0, not -1.0"),
        ({"max_antecedents": 0}, "max_antecedents must be a whole number of at least 1"),
        ({"hash_bits": 40}, "hash_bits must be a whole number from 1 to 29"),
        ({"templates": []}, "there are no templates"),
        ({"templates": "mention:type|colour"}, "not understood at 'colour'"),
    ],
)
def test_parameters_that_make_no_sense(data, parameters, message):
    with pytest.raises(WidemarginError, match=message):
        resolver(**parameters).fit(*data)


def test_data_that_make_no_sense(data):
    X, y = data
    for wrong, message in (
        (None, "y must be a list"),
        (y[1:], "6 documents, but 5 lists of entities"),
        ([y[0][1:], *y[1:]], "document 0 has 6 mentions, but 5 entities"),
        (["123456", *y[1:]], r"y\[0\] must be a list of entities"),
        ([[[]] * 6, *y[1:]], "document 0: entities must have names"),
    ):
        with pytest.raises(DataError, match=message):
            resolver().fit(X, wrong)
    alone = Mentions({"word": ["a"]}, np.zeros(1, dtype=np.int64), [(0, 1)])
    with pytest.raises(DataError, match="no document has two mentions"):
        resolver().fit([alone], [["a"]])
    with pytest.raises(DataError, match="y must be a list"):
        resolver().fit(X, y, dev=(X, None))


def test_mentions_that_are_missed_count_in_the_scores():
    document = Mentions({"word": list("abcd")}, np.zeros(4, dtype=np.int64), [(0, 1), (1, 2), (3, 4)])
    gold = Entities(["x", "x", None], [((2, 3), "x"), ((0, 4), "y")])
    scores = entity_scores([document], [gold], [[0, 0, 1]], True)
    assert scores["muc"].recall == 0.5
    assert scores["b3"].recall == pytest.approx((2 * 2 / 3) / 4)
    assert scores["b3"].precision == pytest.approx(2 / 3)
    without = entity_scores([document], [gold], [[0, 0, 1]], False)
    assert without["b3"].precision == 1.0
    assert without["b3"].recall == scores["b3"].recall


def test_detected_mentions_on_the_command_line(texts, tmp_path):
    model, out = tmp_path / "a.wm", tmp_path / "out.conllu"
    options = ["--quiet", "--C", "1", "--hash-bits", "12", "--mentions", "detected"]
    succeed("train", "coreference", "--train", texts, "--out", model, *options)
    bare = re.sub(r"Entity=\S+", "_", small_texts())
    (tmp_path / "bare.conllu").write_text(bare, encoding="utf-8")
    succeed("predict", model, tmp_path / "bare.conllu", "--out", out)
    assert by_first(read_texts(str(out)).y[0]) == WANTED
    results = json.loads(succeed("evaluate", model, texts, "--json"))
    assert results["conll_f1"] == results["lea_f1"] == results["blanc_f1"] == 1.0
    assert results["by_score"].keys() == {"muc", "b3", "ceaf_m", "ceaf_e", "lea", "blanc", "pair"}


@pytest.fixture(scope="module")
def trained(texts, tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "a.wm"
    succeed("train", "coreference", "--train", texts, "--out", model, "--quiet", "--C", "1", "--hash-bits", "12")
    return model


def test_explanations(trained, texts):
    parts = json.loads(succeed("inspect", trained, "--explain", texts, "--json"))["parts"]
    assert [each["part"] for each in parts][2:] == ["4 She → 1 Ada", "5 him → 2 Carl", "6 the old dog → 3 the dog"]
    assert all(each["margin"] > 0 for each in parts)
    why = json.loads(succeed("inspect", trained, "--explain", texts, "--span", "1:4", "--json"))
    assert why["chosen"]["part"] == "4 She → 1 Ada"
    assert why["difference"] == pytest.approx(sum(each["difference"] for each in why["reasons"]))
    assert why["difference"] == pytest.approx(parts[2]["margin"])
    other = json.loads(succeed("inspect", trained, "--explain", texts, "--span", "4:2", "--json"))
    assert (other["chosen"]["part"], other["other"]["part"]) == ("4 She → 1 Ada", "4 She → 2 Carl")
    assert other["difference"] > 0
    assert "9 are not two mentions" in fail("inspect", trained, "--explain", texts, "--span", "2:9")
    assert "ask for two mentions" in fail("inspect", trained, "--explain", texts, "--token", "1")
    assert "no document 7 in a file of 6" in fail("inspect", trained, "--explain", texts, "--sentence", "7")
    assert "Measures of links" in succeed("inspect", trained)


def test_explanations_of_forests(texts, tmp_path):
    model = tmp_path / "a.wm"
    options = ["--quiet", "--C", "1", "--hash-bits", "12", "--decoder", "forest"]
    succeed("train", "coreference", "--train", texts, "--out", model, *options)
    parts = json.loads(succeed("inspect", model, "--explain", texts, "--json"))["parts"]
    assert {each["part"] for each in parts} == {"4 She → 1 Ada", "5 him → 2 Carl", "6 the old dog → 3 the dog"}
    why = json.loads(succeed("inspect", model, "--explain", texts, "--span", "1:2", "--json"))
    assert why["chosen"]["part"].endswith("apart")


def test_pictures(trained, texts, tmp_path):
    drawn = succeed("predict", trained, texts, "--draw", "-")
    assert "[Ada]1 met [Carl]2 and [the dog]3 .\n[She]1 liked [him]2 and [the old dog]3 .\n" in drawn
    succeed("predict", trained, texts, "--draw", tmp_path / "a.html", "--out", tmp_path / "out.conllu")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.count('title="entity 1"') == 12
    assert "does not end in .html" in fail("predict", trained, texts, "--draw", tmp_path / "a.svg")


def test_pictures_of_crossing_mentions_and_of_markup():
    words = ["<a>", "b", "c", "d", "e"]
    document = Mentions({"word": words}, np.array([0, 0, 0, 0, 1]), [(0, 3), (1, 5), (2, 3), (3, 4)], "x & y")
    assert text_lines([document], [[0, 1, 0, 1]]) == "x & y\n[<a> [b [c]1]…]1 [[d]2]…\n[e]2\n"
    page = text_page([document], [[0, 1, 0, 1]])
    assert page.count("<span") == page.count("</span>") == 6
    assert "&lt;a&gt;" in page
    assert "x &amp; y" in page


def test_colours_of_a_terminal(monkeypatch):
    """A mention inside another has its own colour, and the other's goes on behind it."""
    document = Mentions({"word": ["his", "dog", "he", "it"]}, np.zeros(4, dtype=int), [(0, 2), (0, 1), (2, 3), (3, 4)])
    blue, red, plain = "\x1b[34m", "\x1b[31m", "\x1b[0m"
    wanted = f"{blue}[{red}[his]2{blue} dog]1{plain} {red}[he]2{plain} {blue}[it]1{plain}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert text_lines([document], [[0, 1, 1, 0]]) == wanted
    monkeypatch.setenv("NO_COLOR", "1")
    assert text_lines([document], [[0, 1, 1, 0]]) == "[[his]2 dog]1 [he]2 [it]1\n"


def test_models_that_are_damaged(trained, tmp_path):
    from widemargin.core.model_file import read_model, write_model

    file = read_model(trained)
    for name, value, message in (
        ("decoder", "x", "decoder is 'x'"),
        ("hash_bits", 11, "weights"),
        ("max_antecedents", 0, "max_antecedents is 0"),
        ("templates", ["a:b"], "not understood at 'a:b'"),
        ("singletons", 3, "singletons is 3"),
    ):
        header = {key: each for key, each in file.header.items() if key not in ("format", "version")}
        write_model(tmp_path / "b.wm", {**header, name: value}, dict(file.tensors))
        with pytest.raises(ModelFileError, match=message):
            widemargin.load(tmp_path / "b.wm")
