"""svmlight files, and the commands that learn from them and label them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, make_classification

from widemargin.cli.commands import main
from widemargin.errors import DataError
from widemargin.files.raw import RawText
from widemargin.files.svmlight import parse

SETS = "sweet 1:1\nsalty 2:1\nsweet,salty 1:1 2:1\n 3:1\n" * 10


def dense(matrix):
    """The matrix as an array."""
    rows = csr_array(
        (matrix.rows.values, matrix.rows.indices, matrix.rows.indptr), shape=(len(matrix.rows.indptr) - 1, matrix.width)
    )
    return rows.toarray()


def widemargin(*arguments, fails=False):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert (result.exit_code != 0) == fails, result.output
    return result.stderr if fails else result.stdout


@pytest.fixture
def classes(tmp_path):
    X, y = make_classification(60, 6, n_informative=4, n_classes=3, random_state=0)
    path = tmp_path / "train.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path, X, y


@pytest.fixture
def sets(tmp_path):
    path = tmp_path / "sets.svm"
    path.write_text(SETS, encoding="utf-8")
    return path


def test_files_are_read_as_scikit_learn_reads_them(classes):
    path = classes[0]
    data = parse(RawText.load(path))
    theirs, labels = load_svmlight_file(str(path), zero_based=True)
    assert np.array_equal(dense(data.matrix(data.width)), theirs.toarray())
    assert np.array_equal([float(label) for label in data.classes()], labels)


def test_labels_queries_and_comments():
    data = parse(RawText.of("# head\nspam 3:1 qid:7 1:0.5 # note\n\na,b 0:2\n 5:1\n5:1\n"))
    assert data.labels == [["spam"], ["a", "b"], [], []]
    assert data.queries.tolist() == [7, -1, -1, -1]
    assert data.rows.indices.tolist() == [3, 1, 0, 5, 5]
    assert data.lines.tolist() == [1, 3, 4, 5]
    assert dense(data.matrix(2)).tolist() == [[0.0, 0.5], [2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert data.relabel(["x", "y", "z", "u,v"]) == "# head\nx 3:1 qid:7 1:0.5 # note\n\ny 0:2\nz 5:1\nu,v 5:1\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a 1:1\nb 2", "line 2: '2' is not of the form index:value"),
        ("a x:1", "line 1: the index 'x' is not a whole number"),
        ("a -1:1", "the index '-1' is not a whole number"),
        ("a 99999999999:1", "the index '99999999999' is not"),
        ("a 1:nan", "the value of '1:nan' is not a finite number"),
        ("a 1:one", "the value of '1:one' is not"),
        ("a,,b 1:1", "labels 'a,,b' are not distinct words"),
        ("a,a 1:1", "labels 'a,a' are not distinct words"),
        ("a qid:x 1:1", "qid 'x' is not a whole number"),
        ("# nothing\n", "has no examples"),
    ],
)
def test_bad_files_are_refused_by_line_and_value(text, complaint):
    with pytest.raises(DataError, match=complaint):
        parse(RawText.of(text))


def test_one_label_where_one_is_wanted():
    with pytest.raises(DataError, match="line 2: one label is wanted, not 2"):
        parse(RawText.of("a 1:1\nb,c 1:1")).classes()


def test_a_classifier_from_train_to_inspect(classes, tmp_path):
    path, _, y = classes
    model = tmp_path / "model.wm"
    results = json.loads(widemargin("train", "classify", "--train", path, "--dev", path, "--out", model, "--json"))
    assert results["examples"] == 60
    assert results["labels"] == 3
    assert results["dev"]["metric"] == "accuracy"
    evaluated = json.loads(widemargin("evaluate", model, path, "--json"))
    assert evaluated["accuracy"] == pytest.approx(results["dev"]["score"])
    assert widemargin("evaluate", model, path, "--quiet") == f"{evaluated['accuracy']:.6f}\n"
    assert "By label" in widemargin("evaluate", model, path)
    predicted = widemargin("predict", model, path).split()
    assert np.mean(np.array(predicted, dtype=float) == y) == evaluated["accuracy"]
    widemargin("predict", model, path, "--format", "svmlight", "--out", tmp_path / "new.svm")
    assert parse(RawText.load(tmp_path / "new.svm")).classes() == predicted
    assert "column 1" in widemargin("inspect", model)
    assert set(json.loads(widemargin("inspect", model, "--label", "1", "--json"))["features"]) == {"1"}


def test_sets_of_labels_from_train_to_inspect(sets, tmp_path):
    model = tmp_path / "model.wm"
    printed = widemargin("train", "classify", "--train", sets, "--dev", sets, "--out", model, "--C", "1,10")
    assert "dev f1" in printed
    assert "40 examples" in printed
    assert widemargin("predict", model, sets).split("\n")[:4] == ["sweet", "salty", "salty,sweet", ""]
    evaluated = json.loads(widemargin("evaluate", model, sets, "--json"))
    assert evaluated["f1"] == evaluated["accuracy"] == 1.0
    assert "F1" in widemargin("evaluate", model, sets)
    inspected = widemargin("inspect", model)
    assert "Pairs of labels" in inspected or "salty and sweet" not in inspected
    assert "examples, an svmlight file" in inspected


def test_unknown_features_are_ignored_and_unknown_labels_counted_as_wrong(sets, tmp_path):
    model, other = tmp_path / "model.wm", tmp_path / "other.svm"
    widemargin("train", "classify", "--train", sets, "--out", model, "--no-pairwise", "--no-intercept", "--quiet")
    other.write_text("bitter 1:1 900:1\n", encoding="utf-8")
    assert widemargin("predict", model, other) == "sweet\n"
    assert json.loads(widemargin("evaluate", model, other, "--json"))["f1"] == 0.0


def test_what_cannot_be_done_is_said_in_one_sentence(classes, sets, tmp_path):
    path, model = classes[0], tmp_path / "model.wm"
    assert "read by this command" in widemargin("train", "classify", "--train", path, "--out", path, fails=True)
    assert "several values" in widemargin(
        "train", "classify", "--train", path, "--out", model, "--C", "1,2", fails=True
    )
    widemargin("train", "classify", "--train", path, "--out", model, "--quiet")
    assert "svmlight files, not conll" in widemargin("predict", model, path, "--format", "conll", fails=True)
    assert "one label is wanted" in widemargin("evaluate", model, sets, fails=True)
