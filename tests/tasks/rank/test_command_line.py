"""Files of documents, and the commands that learn from them and rank them."""

import json
import warnings

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from helpers.command_line import fail, run, succeed
from helpers.files import TASK_FILES
from helpers.rankings import random_queries
from widemargin.errors import DataError
from widemargin.tasks.base import Reading, load_model
from widemargin.tasks.rank.files import RankFiles

SIZES = [5, 4, 6, 3, 5]


def read(path):
    return RankFiles().read(str(path), Reading(), {}, gold=True)


@pytest.fixture
def named(tmp_path):
    """A file with qid:n, as scikit-learn writes it."""
    X, _, grades = random_queries(6, SIZES)
    path = tmp_path / "named.svm"
    dump_svmlight_file(X, grades, str(path), query_id=np.repeat(np.arange(len(SIZES)) + 10, SIZES))
    return path


@pytest.mark.parametrize("beside", ["train.query", "train.svm.query"])
def test_queries_may_stand_in_a_file_of_their_own(named, tmp_path, beside):
    path = tmp_path / "train.svm"
    path.write_text(
        "\n".join(
            " ".join(w for w in line.split() if "qid" not in w)
            for line in named.read_text(encoding="utf-8").splitlines()
        ),
        encoding="utf-8",
    )
    with pytest.raises(DataError, match="does not tell queries apart"):
        read(path)
    (tmp_path / beside).write_text("".join(f"{size}\n" for size in SIZES), encoding="utf-8")
    one, other = read(named), read(path)
    assert one.size == other.size == {"queries": 5, "documents": 23}
    assert one.X.indptr.tolist() == other.X.indptr.tolist() == [0, 5, 9, 15, 18, 23]
    assert one.y.tolist() == other.y.tolist()
    assert one.X.matrix.rows.values.tolist() == other.X.matrix.rows.values.tolist()


@pytest.mark.parametrize(
    ("text", "sizes", "complaint"),
    [
        ("1 qid:1 0:1\n0 0:1\n", None, "line 2: other lines have qid:n, but this one has not"),
        ("1 qid:1 0:1\n0 qid:2 0:1\n0 qid:1 0:1\n", None, "line 3: documents of the query 1 stand further up"),
        ("1 qid:1 0:1\n-1 qid:1 0:1\n", None, "line 2: the grade '-1' is not a whole number"),
        ("1 qid:1 0:1\n1.5 qid:1 0:1\n", None, "line 2: the grade '1.5' is not a whole number"),
        ("1 qid:1 0:1\ngood qid:1 0:1\n", None, "line 2: the grade 'good' is not a whole number"),
        ("1 qid:1 0:1\n qid:1 0:1\n", None, "line 2: one label is wanted, not 0"),
        ("1 0:1\n0 0:1\n", "2\n1\n", "a.query counts 3 documents, but .*a.svm has 2"),
        ("1 0:1\n0 0:1\n", "2\nx\n", "a.query, line 2: 'x' is not the number of documents"),
        ("1 0:1\n0 0:1\n", "0\n2\n", "a.query, line 1: '0' is not the number of documents"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, text, sizes, complaint):
    path = tmp_path / "a.svm"
    path.write_text(text, encoding="utf-8")
    if sizes is not None:
        (tmp_path / "a.query").write_text(sizes, encoding="utf-8")
    with pytest.raises(DataError, match=complaint):
        read(path)


@pytest.mark.parametrize("measure", ["precision", "ndcg", "map", "pairs"])
def test_from_training_to_ranking(named, tmp_path, measure):
    model, options = tmp_path / "m.wm", ["--measure", measure, "--k", "2", "--C", "1", "--quiet"]
    succeed("train", "rank", "--train", named, "--out", model, *options)
    results = json.loads(succeed("evaluate", model, named, "--json"))
    assert {f"{name}@{k}" for name in ("precision", "ndcg") for k in (1, 2, 3, 5, 10)} < set(results)
    assert results["queries"] == 5
    shown = succeed("evaluate", model, named)
    assert "MAP" in shown
    assert "NDCG" in shown
    scores = [float(line) for line in succeed("predict", model, named).splitlines()]
    corpus = load_model(model).read(str(named), Reading(), gold=True)
    assert scores == load_model(model).predict(corpus.X).tolist()
    relabelled = succeed("predict", model, named, "--format", "svmlight").splitlines()
    assert [line.split()[1:] for line in relabelled] == [
        line.split()[1:] for line in named.read_text(encoding="utf-8").splitlines() if line[0] != "#"
    ]
    assert sum(line.startswith("1 ") for line in relabelled) == 2 * len(SIZES)


def test_training_tells_what_it_did(named, tmp_path):
    shown = succeed("train", "rank", "--train", named, "--dev", named, "--out", tmp_path / "m.wm", "--k", "2")
    assert "5 queries, 23 documents" in shown
    assert "dev ndcg@2" in shown
    assert "5 queries, 23 documents" in succeed("inspect", tmp_path / "m.wm")


def test_documents_without_queries_are_scored_unless_features_are_scaled(tmp_path):
    data, bare, model = tmp_path / "a.svm", tmp_path / "b.svm", tmp_path / "m.wm"
    data.write_text(TASK_FILES["rank"]().text, encoding="utf-8")
    bare.write_text(" 0:1 1:2\n 1:1\n", encoding="utf-8")
    succeed("train", "rank", "--train", data, "--out", model, "--quiet", "--k", "2")
    assert len(succeed("predict", model, bare).splitlines()) == 2
    succeed("train", "rank", "--train", data, "--out", model, "--quiet", "--k", "2", "--normalize")
    assert "does not tell queries apart" in fail("predict", model, bare)
    assert "documents to rank are read from svmlight files" in fail("predict", model, bare, "--format", "conll")
    assert "leave out --label" in fail("evaluate", model, data, "--label", "x")


def test_a_ranker_that_has_learnt_nothing_says_so(tmp_path):
    data = tmp_path / "a.svm"
    data.write_text("".join(f"{q % 2} qid:{q} 0:1\n{1 - q % 2} qid:{q} 0:-1\n" for q in range(6)), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run(
            "train",
            "rank",
            "--train",
            data,
            "--out",
            tmp_path / "m.wm",
            "--k",
            "1",
            "--measure",
            "precision",
            "--quiet",
        )
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: training ended at weights of almost zero")
    assert result.stderr.count("\n") == 1
    message = fail("train", "rank", "--train", data, "--out", tmp_path / "m.wm", "--k", "2", "--measure", "precision")
    assert "no query has relevant and other documents to choose 2 from" in message
