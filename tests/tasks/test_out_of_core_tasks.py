"""Segments, classes, sets of labels and rankings out of core: the weights of training in memory, bit for bit."""

import json
import re
import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from helpers.command_line import fail, run, succeed, written
from widemargin import LinearClassifier, MultilabelClassifier, Ranker, Segmenter
from widemargin.core import mapped
from widemargin.core.model_file import read_model
from widemargin.data.generators import addresses
from widemargin.errors import DataError, UnsupportedError
from widemargin.files import pieces as cutting
from widemargin.tasks import estimators, out_of_core
from widemargin.tasks.classify import out_of_core as classifying
from widemargin.tasks.out_of_core import Stream, compile_stream
from widemargin.tasks.segment import out_of_core as segmenting
from widemargin.tasks.training import Data

FAST: dict[str, Any] = {"tol": None, "max_epochs": 3, "n_jobs": 1}
X, Y = addresses(40, seed=1)
RNG = np.random.default_rng(0)
MATRIX = np.round(RNG.normal(size=(120, 6)))  # with zeros, and many rows that occur twice
MATRIX[100:] = MATRIX[:20]
CLASSES = np.array(["a", "b", "c"])[RNG.integers(0, 3, 120)]
CLASSES[100:115] = CLASSES[:15]
QUERIES = [np.round(RNG.normal(size=(2 + k % 5, 4)), 1) for k in range(40)]
GRADES = [[int(row[0] + RNG.normal() / 4 > 0) + int(row[1] > 1) for row in query] for query in QUERIES]
GRADES[3] = [0] * len(GRADES[3])  # a query that teaches nothing
ROAD = {"templates": "lower", "lexicons": {"road": ["street", "main street"]}}
WORDS = [["spam"] * (k % 2) + ["eggs"] * (k % 3 > 0) for k in range(120)]
NUMBERS = [[k % 2, int(k % 3 > 0)] for k in range(120)]  # indicators, as all of them have two numbers of 0 and 1

CASES: dict[str, tuple[Any, Any, Any]] = {
    "segments": (Segmenter(templates="word suffix2"), X, Y),
    "segments, rare features": (Segmenter(templates="word", min_count=2, segment_min_count=1, max_length=12), X, Y),
    "segments, lexicon": (Segmenter(**ROAD), X, Y),
    "segments, only lexicon": (Segmenter(**ROAD, segment_features=["lexicon", "similarity"], hash_bits=8), X, Y),
    "segments, penalties": (Segmenter(templates="lower", recall={"street": 3.0}, segment_features=[]), X, Y),
    "segments, likelihood": (Segmenter(templates="lower", solver="crf"), X, Y),
    "classes": (LinearClassifier(), MATRIX, CLASSES),
    "classes, sparse": (LinearClassifier(C=3.0), list(sparse.csr_matrix(MATRIX)), CLASSES),
    "classes, binary": (LinearClassifier(), (MATRIX > 0).astype(float), CLASSES == "a"),
    "classes, numbers": (LinearClassifier(costs={(3, 1): 2.0}), MATRIX, np.array([3, 1, 2])[np.arange(120) % 3]),
    "classes, balanced": (LinearClassifier(class_weight="balanced", fit_intercept=False), MATRIX, CLASSES),
    "classes, weighted": (LinearClassifier(class_weight={"a": 0.3}, objective="likelihood"), MATRIX, CLASSES),
    "sets": (MultilabelClassifier(), MATRIX, WORDS),
    "sets, indicators": (MultilabelClassifier(pairwise=False), MATRIX, NUMBERS),
    "sets, numbers": (MultilabelClassifier(costs={7: 2.0}), MATRIX, [[7] * (k % 2) + [1] for k in range(120)]),
    "rankings": (Ranker(), QUERIES, GRADES),
    "rankings, precision": (Ranker(measure="precision", k=2), QUERIES, GRADES),
    "rankings, average precision": (Ranker(measure="map"), QUERIES, GRADES),
    "rankings, pairs": (Ranker(measure="pairs", normalize=True), QUERIES, GRADES),
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pieces of a few examples, shares of a few entries, and a folder for temporary files."""
    monkeypatch.setattr(out_of_core, "POSITIONS", 60)
    monkeypatch.setattr(cutting, "SIZE", 400)
    monkeypatch.setattr(mapped, "SHARE", 512)
    monkeypatch.setattr(classifying, "AT_ONCE", 16)
    monkeypatch.setattr(segmenting, "TOKENS", 50)
    monkeypatch.setattr(out_of_core.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def fitted(name: str, **options: Any) -> tuple[Any, Any, Any]:
    """The estimator of a case, fitted in memory, and its data."""
    estimator, inputs, outputs = CASES[name]
    estimator = clone(estimator).set_params(**FAST, **options)
    given_at_once = sparse.vstack(inputs, format="csr") if hasattr(inputs[0], "tocsr") else inputs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(given_at_once, outputs), inputs, outputs


@pytest.mark.parametrize("name", CASES)
def test_weights_are_those_of_training_in_memory(name: str, small_pieces: Path) -> None:
    estimator, inputs, outputs = fitted(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        streamed = clone(estimator).fit_stream(zip(inputs, outputs, strict=True))
    assert streamed.solution_.w.tobytes() == estimator.solution_.w.tobytes()
    assert streamed.solution_.primal == estimator.solution_.primal
    assert streamed.model_.labels == estimator.model_.labels
    assert streamed.model_.extractor.names() == estimator.model_.extractor.names()
    assert not list(small_pieces.iterdir())


def same_as_fit(estimator: Any, inputs: Any, outputs: Any) -> bool:
    kind = estimators()[type(estimator).__name__]
    whole = kind.compile(estimator, Data(inputs, outputs))
    found = compile_stream(estimator, Data(Stream(zip(inputs, outputs, strict=True)), None))
    assert found.labels == whole.labels
    for each in ("rows", "segment_rows"):
        if hasattr(whole.examples.features, each):
            mine, theirs = (getattr(compiled.examples.features, each) for compiled in (found, whole))
            assert [part.tolist() for part in mine] == [part.tolist() for part in theirs]
    weights = [None if compiled.sample_weight is None else list(compiled.sample_weight) for compiled in (found, whole)]
    assert weights[0] == weights[1]
    return np.array_equal(found.examples.gold, whole.examples.gold)


entries = st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0]), min_size=3, max_size=3)


@given(rows=st.lists(st.tuples(entries, st.sampled_from("xyz")), min_size=2, max_size=30), size=st.integers(1, 40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_examples_are_merged_however_data_are_cut(rows: Any, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of any length, merged: the examples of `fit` in the same order, with the same weights."""
    monkeypatch.setattr(out_of_core, "POSITIONS", size)
    rows += [([0.0, 1.0, 1.0], "x"), ([0.0, 1.0, 1.0], "y")]
    for class_weight in (None, {"x": 0.1}, "balanced"):
        estimator = LinearClassifier(class_weight=class_weight)
        assert same_as_fit(estimator, np.array([row for row, _ in rows]), [label for _, label in rows])


sentence = st.lists(st.tuples(st.sampled_from(["a", "b", "Ab", "1"]), st.sampled_from(["O", "B-x", "I-x", "B-y"])))


@given(sentences=st.lists(sentence, min_size=1, max_size=8).filter(any), size=st.integers(1, 12))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_features_of_spans_are_those_in_memory(sentences: Any, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though which there are, and how long spans may be, is known only in the end."""
    monkeypatch.setattr(out_of_core, "POSITIONS", size)
    monkeypatch.setattr(segmenting, "TOKENS", size)
    monkeypatch.setattr(mapped, "SHARE", 16)
    inputs, labels = ([[pair[k] for pair in each] for each in sentences] for k in (0, 1))
    assert same_as_fit(Segmenter(templates=["word", "suffix1[-1]"], segment_min_count=1 + size % 2), inputs, labels)


# ------------------------------------------------------------------------------------------------ files


def svmlight(matrix: Any, labels: Any, queries: Any = None) -> list[str]:
    """Lines without the zeros of the matrix."""
    lines = []
    for k, row in enumerate(matrix):
        query = "" if queries is None else f"qid:{queries[k]} "
        lines.append(f"{labels[k]} {query}" + " ".join(f"{j}:{value:g}" for j, value in enumerate(row) if value))
    return lines


DOCUMENTS, QIDS = np.concatenate(QUERIES), np.repeat(np.arange(40), [len(query) for query in QUERIES])
LINES = {
    "segments": written("conll", 30, seed=3).splitlines(),
    "classes": svmlight(MATRIX, CLASSES),
    "sets": svmlight(MATRIX, [",".join(each) for each in WORDS]),
    "rankings": svmlight(DOCUMENTS, list(chain.from_iterable(GRADES)), QIDS),
}
COMMANDS = {"segments": "segment", "classes": "classify", "sets": "classify", "rankings": "rank"}
SUFFIXES = {"segments": ".tsv", "classes": ".svm", "sets": ".svm", "rankings": ".svm"}


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", LINES)
def test_the_command_line_trains_the_same_model(name: str, tmp_path: Path, small_pieces: Path) -> None:
    """With development data whose last line has a feature that no training example has."""
    path, more = write(tmp_path / f"train{SUFFIXES[name]}", LINES[name]), []
    if name != "segments":
        more = [f"{LINES[name][-1]} 99:1"]
    dev = write(tmp_path / f"dev{SUFFIXES[name]}", LINES[name] + more)
    options = ["train", COMMANDS[name], "--epochs", "3", "--train", path, "--dev", dev, "--quiet"]
    whole, streamed = tmp_path / "whole.wm", tmp_path / "streamed.wm"
    succeed(*options, "--out", whole)
    for how in (["--out-of-core"], ["--cache", tmp_path / "cache"], ["--cache", tmp_path / "cache"]):
        found = json.loads(succeed(*options, "--out", streamed, *how, "--json"))
        assert found["arrays"]["kept"] is (how[0] == "--cache")
        (mine, tensors), (theirs, others) = read_model(streamed), read_model(whole)
        assert mine["summary"]["data"] == theirs["summary"]["data"]
        assert {key: each.tobytes() for key, each in tensors.items()} == {k: v.tobytes() for k, v in others.items()}
    assert len(list((tmp_path / "cache").iterdir())) == 1
    assert not list(small_pieces.iterdir())
    arguments = [each for each in options if each not in ("--train", path)]
    piped = run(*arguments, *["--multilabel"] * (name == "sets"), "--train", "-", "--out", streamed, "--out-of-core",
                stdin=path.read_bytes())  # fmt: skip
    assert piped.exit_code == 0
    assert read_model(streamed).header["summary"]["data"] == theirs["summary"]["data"]


@pytest.mark.parametrize("name", LINES)
def test_several_files_are_one_corpus(name: str, tmp_path: Path) -> None:
    """Later files may have more columns, and other labels."""
    estimator = clone(CASES[name][0]).set_params(**FAST)
    lines = LINES[name]
    middle = lines.index("") + 1 if name == "segments" else 5
    if name == "rankings":
        middle = int(np.flatnonzero(QIDS == 2)[0])
    write(tmp_path / f"0{SUFFIXES[name]}", [re.sub(" [345]:[^ ]*", "", line) for line in lines[:middle]])
    write(tmp_path / f"1{SUFFIXES[name]}", lines[middle:])
    files = sorted(tmp_path.glob(f"[01]{SUFFIXES[name]}"))
    one = write(
        tmp_path / f"all{SUFFIXES[name]}",
        "\n".join(
            each.read_text(encoding="utf-8").rstrip("\n") + "\n" * (name == "segments") for each in files
        ).splitlines(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = clone(estimator).fit_stream(files), clone(estimator).fit_stream(one)
    assert found.solution_.w.tobytes() == expected.solution_.w.tobytes()
    assert found.model_.about == expected.model_.about


@pytest.mark.parametrize(
    ("name", "line", "complaint"),
    [
        ("segments", "only-one-column", "expected 3 columns"),
        ("classes", "a 1:x", "the value of '1:x' is not a finite number"),
        ("classes", "a,b 1:1", "one label is wanted, not 2"),
        ("sets", "a,a 1:1", "the labels 'a,a' are not distinct"),
        ("rankings", "x qid:900 1:1", "the grade 'x' is not a whole number"),
        ("rankings", "1 qid:0 1:1", "documents of the query 0 stand further up, too"),
        ("rankings", "1 1:1", "other lines have qid:n, but this one has not"),
    ],
)
def test_bad_lines_are_named_and_leave_nothing(
    name: str, line: str, complaint: str, tmp_path: Path, small_pieces: Path
) -> None:
    lines = [*LINES[name], line]
    path = write(tmp_path / f"train{SUFFIXES[name]}", lines)
    for cache in (None, tmp_path / "cache"):
        with pytest.raises(DataError, match=re.escape(f"{path}, line {len(lines)}: {complaint}")):
            clone(CASES[name][0]).fit_stream(path, cache=cache)
    assert not list(small_pieces.iterdir())
    assert not list((tmp_path / "cache").iterdir())
    assert complaint in fail("train", COMMANDS[name], "--train", path, "--out", tmp_path / "a.wm", "--out-of-core")


def test_a_query_is_never_cut_in_two(tmp_path: Path) -> None:
    """Not even one that is longer than a piece."""
    sizes = [200, 1, 300, 2]
    matrix = np.round(RNG.normal(size=(sum(sizes), 4)), 2)
    grades, queries = (matrix[:, 0] > 0.5).astype(int), np.repeat(np.arange(4), sizes)
    path = write(tmp_path / "long.svm", svmlight(matrix, grades, queries))
    ranker = Ranker(measure="pairs", **FAST).fit_stream(path)
    assert ranker.model_.about["queries"] == 4
    assert (
        ranker.solution_.w.tobytes()
        == Ranker(measure="pairs", **FAST).fit(matrix, grades, qid=queries).solution_.w.tobytes()
    )


def test_files_that_cannot_be_cut_say_so(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<dataset>" + "<sequence><a>b</a></sequence>\n" * 100 + "</dataset>", encoding="utf-8")
    with pytest.raises(UnsupportedError, match="xml, which cannot be read in pieces"):
        Segmenter(**FAST).fit_stream(path)
    path = write(tmp_path / "a.svm", svmlight(DOCUMENTS, list(chain.from_iterable(GRADES))))
    write(tmp_path / "a.query", [str(len(query)) for query in QUERIES])
    with pytest.raises(UnsupportedError, match="does not mark queries by qid:n, so it cannot be read in pieces"):
        Ranker(**FAST).fit_stream(path)


@pytest.mark.parametrize(
    ("estimator", "pairs", "complaint"),
    [
        (
            LinearClassifier(),
            [([1.0, 2.0], "a")] * 30 + [([1.0], "b")] * 60,
            "a part of X has 1 columns, but another has 2",
        ),
        (LinearClassifier(), [([1.0], "a")] * 9, "only one class, 'a'"),
        (LinearClassifier(), [([1.0], "a")] * 60 + [([1.0], 1)], "labels must be all strings or all whole numbers"),
        (LinearClassifier(), [], "there is no example to learn from"),
        (LinearClassifier(), [([np.nan], "a"), ([1.0], "b")], "example 0: feature 0 is nan"),
        (MultilabelClassifier(), [([1.0], "ab")], r"y\[0\] must be a list of labels"),
        (MultilabelClassifier(), [([1.0], ["a"]), ([1.0], [1])], "labels must be all strings or all whole numbers"),
        (Ranker(), [], "there are no queries"),
        (Ranker(), [(np.ones((2, 1)), [1, 1])], "no query has documents of different relevance"),
        (Ranker(), [(np.ones((2, 1)), [1, -1])], "the grade of document 1 is -1"),
        (Segmenter(), [(["a", "b"], ["B-x", None])], "known in part only, need all data in memory"),
        (Segmenter(), [(["a"] * 30, ["B-x"] * 30)] * 2 + [(["a"], [(0, 2, "x")])], "from number 2 on: sequence 0"),
        (Segmenter(max_length=1), [(["a", "b"], ["B-x", "I-x"])], "max_length allows segments of 1 tokens"),
        (Segmenter(), [([], [])], "there is no token to learn from"),
    ],
)
def test_bad_data_are_refused(estimator: Any, pairs: Any, complaint: str, small_pieces: Path) -> None:
    with pytest.raises((DataError, UnsupportedError), match=complaint):
        clone(estimator).fit_stream(pairs)
    assert not list(small_pieces.iterdir())


def test_settings_that_arrays_depend_on_have_entries_of_their_own(tmp_path: Path) -> None:
    path, cache = write(tmp_path / "a.svm", LINES["rankings"]), tmp_path / "cache"
    for options in ({}, {"C": 3.0}, {"measure": "pairs"}, {"k": 3}):
        Ranker(**options, **FAST).fit_stream(path, cache=cache)
        assert len(list(cache.iterdir())) == 1
    Ranker(normalize=True, **FAST).fit_stream(path, cache=cache)
    assert len(list(cache.iterdir())) == 2
    path = write(tmp_path / "a.tsv", LINES["segments"])
    segmenter = Segmenter(templates="word", **FAST).fit_stream(path, cache=cache)
    again = Segmenter(templates="word", recall={segmenter.classes_[1]: 2.0}, **FAST).fit_stream(path, cache=cache)
    assert len(list(cache.iterdir())) == 3
    Segmenter(templates="word", segment_min_count=1, **FAST).fit_stream(path, cache=cache)
    assert len(list(cache.iterdir())) == 4
    assert again.solution_.w.tobytes() != segmenter.solution_.w.tobytes()


def test_warnings_of_scales_are_those_of_fit(tmp_path: Path) -> None:
    matrix = MATRIX * np.array([1.0, 1.0, 1e7, 1.0, 1.0, 1.0])
    with pytest.warns(UserWarning, match="column 2 with entries up to") as one:
        LinearClassifier(**FAST).fit(matrix, CLASSES)
    with pytest.warns(UserWarning, match="column 2 with entries up to") as two:
        LinearClassifier(**FAST).fit_stream(zip(matrix, CLASSES, strict=True))
    said = [[str(each.message) for each in found if "scales" in str(each.message)] for found in (one, two)]
    assert said[0] == said[1]


def test_a_run_that_is_saved_and_resumed_is_the_same(tmp_path: Path) -> None:
    estimator, inputs, outputs = fitted("classes")
    for epochs in (1, 3):
        resumed = clone(estimator).set_params(max_epochs=epochs)
        resumed.fit_stream(zip(inputs, outputs, strict=True), checkpoint=tmp_path / "run.wm", resume=True)
    assert resumed.solution_.w.tobytes() == estimator.solution_.w.tobytes()
