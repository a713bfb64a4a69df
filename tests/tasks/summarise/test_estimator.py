"""The summariser as users have it: Python, model files, command line, pages, explanations."""

import json

import numpy as np
import pytest
from sklearn.base import clone

import widemargin
from helpers import corpus
from helpers.command_line import fail, succeed
from helpers.files import TASK_FILES
from widemargin import Summariser
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.report.explain import Question
from widemargin.summaries import mean_rouge, words
from widemargin.tasks.base import Reading, load_model
from widemargin.tasks.summarise.files import read_topics

pytestmark = pytest.mark.interpreted


@pytest.fixture(scope="module")
def data():
    lines = [json.loads(line) for line in TASK_FILES["summarise"]().text.splitlines()]
    return [line["documents"] for line in lines], [line["references"] for line in lines]


@pytest.fixture(scope="module")
def fitted(data):
    return Summariser(length=9, tol=0.001).fit(
        *data
    )  # with ten words, one more sentence is exactly as good as the first


def test_summaries_keep_to_the_limit_and_say_what_references_say(data, fitted):
    X, y = data
    summaries = fitted.predict(X)
    assert all(0 < len(words(summary.text)) <= 9 for summary in summaries)
    assert summaries[0].sentences == ["The battery is very long.", "My screen is bright."]
    assert summaries[0].places == [(0, 0), (0, 2)]
    assert fitted.score(X, y) > 0.5
    assert fitted.solution_.certified
    assert fitted.length_ == 9
    assert fitted.predict([]) == []
    assert (
        fitted.predict([[], [[]], ["\n"], ["one two three four five six seven eight nine ten eleven"]])
        == [([], [])] * 4
    )


def test_files_round_trip(data, fitted, tmp_path):
    fitted.save(tmp_path / "a.wm")
    again = widemargin.load(tmp_path / "a.wm")
    assert again.predict(data[0]) == fitted.predict(data[0])
    assert again.get_params() == fitted.get_params()
    assert again.model_.settings == fitted.model_.settings._replace(stop_words=list(again.model_.settings.stop_words))


def test_parameters_matter(data):
    X, y = data
    default = Summariser().fit(X, y)
    lengths = [len(words(text)) for texts in y for text in texts]
    assert default.length_ == round(np.mean(lengths))
    single = Summariser(length=10, order=1, lower=False, stop_words=[]).fit(X, y)
    assert single.model_.settings.order == 1
    assert single.predict(X)
    assert not np.array_equal(single.solution_.w, default.solution_.w)
    split = Summariser(length=5, split_sentences=True).fit(
        [["It rains a lot. Take an umbrella."]], ["Take an umbrella"]
    )
    assert split.predict([["It rains a lot. Take an umbrella."]])[0].sentences == ["Take an umbrella."]
    assert clone(split).split_sentences


def test_a_limit_of_nodes_repeats(data):
    X, y = data
    one, other = (Summariser(length=10, node_limit=1, time_limit=None, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.solution_.w, other.solution_.w)


def test_programmes_that_are_cut_short_are_counted(data, tmp_path):
    """With a time too short for anything, the certificate says how little is known."""
    X, y = data
    hurried = Summariser(length=10, time_limit=1e-9, max_epochs=2).fit(X, y)
    (name, text) = hurried.model_.reporter.remarks()[1]
    assert name == "cut short"
    assert "integer programmes" in text
    assert hurried.solution_.certified
    assert hurried.solution_.gap > 0.5
    hurried.save(tmp_path / "a.wm")
    assert load_model(tmp_path / "a.wm").reporter.remarks() == hurried.model_.reporter.remarks()


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"length": 0}, "length must be a whole number from 1 to"),
        ({"length": 2.5}, "length must be a whole number"),
        ({"order": 11}, "order must be a whole number from 1 to 10, not 11"),
        ({"node_limit": 0}, "node_limit must be a whole number"),
        ({"time_limit": -1}, "time_limit must be a number above 0 or None, not -1"),
        ({"stop_words": "the"}, "stop_words must be a list of texts or None, not 'the'"),
        ({"length": 1}, "no reference has 2 words in a row in common"),
    ],
)
def test_bad_parameters_are_refused(data, parameters, complaint):
    with pytest.raises(WidemarginError, match=complaint):
        Summariser(**parameters).fit(*data)


def test_data_without_anything_to_learn_are_refused():
    with pytest.raises(DataError, match="there is no topic to learn from"):
        Summariser().fit([], [])
    with pytest.raises(DataError, match="no reference has 2 words in a row in common"):
        Summariser().fit([["A b c."]], ["x y z"])


def test_explanations(data, fitted):
    X, _ = data
    listed = fitted.model_.explain([X[0]], Question())["parts"]
    assert {each["part"] for each in listed} == {"The battery is very long.", "My screen is bright."}
    assert all(each["margin"] > 0 for each in listed)
    one = fitted.model_.explain([X[0]], Question(token=3))
    assert one["chosen"]["part"] == "My screen is bright."
    assert one["difference"] == pytest.approx(sum(each["difference"] for each in one["reasons"]))
    with pytest.raises(WidemarginError, match="there is no sentence 99 in a topic of 8"):
        fitted.model_.explain([X[0]], Question(token=99))
    with pytest.raises(WidemarginError, match="sentence 8 cannot be chosen"):
        fitted.model_.explain([X[0]], Question(token=8))
    with pytest.raises(WidemarginError, match="ask for a sentence of the topic by --token N"):
        fitted.model_.explain([X[0]], Question(head=2))


def test_a_model_of_other_features_is_refused(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "a.wm")
    monkeypatch.setattr("widemargin.tasks.summarise.model.NAMES", ("another",))
    with pytest.raises(ModelFileError, match="its features are not those of this version"):
        load_model(tmp_path / "a.wm")


def test_the_command_line(tmp_path, fitted):
    row = TASK_FILES["summarise"]()
    train, model, page = tmp_path / row.name, tmp_path / "a.wm", tmp_path / "page.html"
    train.write_text(row.text.replace("week 0", "week <0> & more"), encoding="utf-8")
    succeed("train", "summarise", "--train", train, "--out", model, "--quiet", "--tol", 0.001, *row.options)
    lines = succeed("predict", model, train).splitlines()
    assert json.loads(lines[0])["references"] == ["The battery is very long.\nMy screen is bright."]
    assert succeed("predict", model, train, "--draw", page) == ""
    assert "<mark>The battery is very long.</mark>" in page.read_text(encoding="utf-8")
    assert "week &lt;0&gt; &amp; more" in page.read_text(encoding="utf-8")
    drawn = succeed("predict", model, train, "--draw", "-").splitlines()
    assert drawn[:4] == [
        "0",
        "> The battery is very long.",
        "  I bought it in week <0> & more.",
        "> My screen is bright.",
    ]
    assert "does not end in .html" in fail("predict", model, train, "--draw", tmp_path / "a.svg")
    assert "sentence: share of stop words" in succeed("inspect", model, "--top", "40")
    assert "The battery is very long." in succeed("inspect", model, "--explain", train)
    assert "there is no topic 9" in fail("inspect", model, "--explain", train, "--sentence", "9")


@pytest.mark.corpus
def test_opinosis():
    """References are far from the sentences, but the learnt summaries beat the first words of each topic."""
    topics = read_topics(str(corpus("opinosis")), Reading(), {"encoding": "cp1252"})
    assert topics.size == {"topics": 51, "documents": 51, "sentences": 7086}
    assert sum(map(len, topics.y)) == 238
    small = [i for i, topic in enumerate(topics.X) if topic.n_sentences < 70]
    X, y = [topics.X[i] for i in small], [topics.y[i] for i in small]
    summariser = Summariser(max_epochs=5, tol=0.05).fit(X, y)
    assert summariser.length_ in range(12, 22)
    first = [" ".join(words("\n".join(topic.documents[0]))[: summariser.length_]) for topic in X]
    assert summariser.score(X, y) > 1.5 * mean_rouge(y, first)["rouge2"].recall > 0.0
