"""Files of graphs, how good labels in them are, and pictures."""

import json

import numpy as np
import pytest

from helpers.command_line import fail, succeed
from widemargin import GraphLabeler, load
from widemargin.errors import DataError
from widemargin.tasks.base import Reading
from widemargin.tasks.graph.files import read_graphs
from widemargin.tasks.graph.pictures import colours_of

pytestmark = pytest.mark.interpreted


def graph(**members):
    return {"nodes": [[1.0, 0.0], [0.0, 1.0]], "edges": [[0, 1]], "labels": ["a", "b"], **members}


def write(path, *objects):
    path.write_text("".join(json.dumps(each) + "\n" for each in objects), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    data, path = write(folder / "train.jsonl", *[graph()] * 6), folder / "m.wm"
    succeed("train", "graph", "--train", data, "--out", path, "--C", "10", "--quiet")
    return path


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"nodes": None}, 'the object has no "nodes"'),
        ({"nodes": 3}, '"nodes" is 3 where a list is wanted'),
        ({"nodes": []}, "has no nodes"),
        ({"nodes": [[1.0, 2.0], [1.0]]}, '"nodes": row 1 has 1 numbers, but row 0 has 2'),
        ({"nodes": [[1.0, "x"], [1.0, 2.0]]}, r'"nodes": row 0 is \[1.0, "x"\], not a list of numbers'),
        ({"nodes": [[10**400, 1.0], [1.0, 2.0]]}, "node features must be a matrix of numbers"),
        ({"nodes": [[1.0], [1.0]]}, "nodes have 1 features, where others have 2"),
        ({"edges": [[0, 2]]}, "edge 0 joins 0 and 2, but the nodes are 0 … 1"),
        ({"edges": {"0": 1}}, r'"edges" is \{"0": 1\} where a list is wanted'),
        ({"edge_features": [[1.0]]}, "edges have 1 features, where others have 0"),
        ({"edge_features": [[1.0], [1.0]]}, "there are 1 edges, but 2 rows of edge features"),
        ({"labels": ["a"]}, "has 2 nodes, but 1 labels"),
        ({"labels": ["a", 1.5]}, "a label must be a string or a whole number, not 1.5"),
        ({"labels": "ab"}, '"labels" is "ab" where a list is wanted'),
        ({"labels": None}, 'the object has no "labels"'),
    ],
)
def test_errors_name_file_line_and_value(members, message, model, tmp_path):
    bad = write(tmp_path / "bad.jsonl", graph(), graph(**members))
    with pytest.raises(DataError, match=rf"bad.jsonl, line 2.*{message}"):
        read_graphs(bad, Reading(), {}, gold=True)
    assert "line 2" in fail("evaluate", model, bad)


def test_other_formats_are_refused(tmp_path, model):
    (tmp_path / "a.jsonl").write_text("\n", encoding="utf-8")
    assert "has no graphs" in fail("evaluate", model, tmp_path / "a.jsonl")
    data = write(tmp_path / "b.jsonl", graph())
    assert "graphs are read from jsonl files, not conll" in fail("evaluate", model, data, "--format", "conll")


def test_predictions_replace_labels_and_nothing_else(model, tmp_path):
    line = '{"id": 1e0,  "nodes": [[1, 0], [0, 1]], "edges": [], "labels": [null, "_"], "more": "ü"}\n'
    (tmp_path / "in.jsonl").write_text(line, encoding="utf-8")
    found = succeed("predict", model, tmp_path / "in.jsonl")
    assert found == line.replace('[null, "_"]', '["a", "b"]')
    assert json.loads(succeed("evaluate", model, tmp_path / "in.jsonl", "--json"))["accuracy"] == 0.0


def test_scores_by_hand(tmp_path):
    gold = write(tmp_path / "gold.jsonl", graph(labels=["a", ["a", "b"]]), graph(labels=["b", None]), graph())
    found = write(
        tmp_path / "found.jsonl", graph(labels=["a", "b"]), graph(labels=["a", "a"]), graph(labels=["a", "a"])
    )
    results = json.loads(succeed("score", gold, found, "--json"))
    assert results["task"] == "graph"
    assert results["accuracy"] == 3 / 5
    assert results["edges_right"] == 1 / 2  # one of three has an end whose label is unknown
    assert results["by_label"]["a"] == {"precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3), "support": 2}


def test_types_of_nodes_in_files(tmp_path):
    typed = {
        "nodes": {"word": [[1.0], [0.0]], "line": [[0.5]]},
        "edges": [{"from": "word", "to": "line", "ends": [[0, 0], [1, 0]], "features": [[1.0], [2.0]]}],
        "labels": {"word": ["a", "b"], "line": ["t"]},
    }
    other = {
        **typed,
        "labels": {"word": ["a", "a"], "line": ["u"]},
        "nodes": {"word": [[1.0], [1.0]], "line": [[-1.0]]},
    }
    data, model = write(tmp_path / "t.jsonl", typed, other), tmp_path / "m.wm"
    succeed("train", "graph", "--train", data, "--out", model, "--C", "100", "--quiet")
    assert json.loads(succeed("evaluate", model, data, "--json"))["accuracy"] == 1.0
    assert json.loads(succeed("predict", model, data).splitlines()[1])["labels"] == other["labels"]
    assert succeed("predict", model, data, "--draw", "-").splitlines()[1:4] == ["    0 t", "    1 a", "    2 b"]
    shown = json.loads(succeed("inspect", model, "--json"))
    assert {"nodes of line", "nodes of word", "edges word – line, any"} <= shown.keys()
    for members, message in (
        ({"edges": [{"from": "word"}]}, 'is not {"from": type, "to": type'),
        ({"edges": typed["edges"] * 2}, "edges from word to line are given twice"),
        ({"edges": [{"from": "word", "to": "page", "ends": []}]}, "edges join two of the types"),
    ):
        assert message in fail("evaluate", model, write(tmp_path / "bad.jsonl", {**typed, **members}))


def test_pictures_mark_errors(model, tmp_path):
    rng = np.random.default_rng(0)
    pixels = {"nodes": np.eye(2)[rng.integers(2, size=6)].tolist(), "edges": [], "shape": [2, 3], "id": "p<1>"}
    right = [["a", "b"][int(row[1])] for row in pixels["nodes"]]
    wrong = [right[0], *("ab"[label == "a"] for label in right[1:3]), *right[3:]]
    data = write(
        tmp_path / "g.jsonl", {**pixels, "labels": wrong}, graph(positions=[[0, 0], [9, 9]], labels=["b", "b"])
    )
    drawn = succeed("predict", model, data, "--draw", "-").splitlines()
    assert [line.count("✗") for line in drawn] == [0, 2, 0, 0, 0, 1, 0]
    succeed("predict", model, data, "--draw", tmp_path / "g.svg", "--out", tmp_path / "out.jsonl")
    svg = (tmp_path / "g.svg").read_text(encoding="utf-8")
    assert svg.count("<circle") == 2
    assert svg.count('stroke-width="3"') == 1
    assert "p&lt;1&gt;: 2 wrong" in svg
    assert svg.count('width="16" height="16"') == 6
    plain = write(tmp_path / "plain.jsonl", {key: value for key, value in graph().items() if key != "labels"})
    assert "wrong" not in succeed("predict", model, plain, "--draw", "-")


def test_every_label_has_a_colour_of_its_own():
    for n in (2, 10, 11, 30):
        found = colours_of([str(k) for k in range(n)])
        assert len(set(found.values())) == len(found) == n


def test_inspecting_names_pairs(model):
    shown = json.loads(succeed("inspect", model, "--json"))
    assert {each["name"] for sign in shown["edges, symmetric"].values() for each in sign} <= {
        "bias: a – a",
        "bias: a – b",
        "bias: b – b",
    }
    assert shown["size"]["features"] == 2
    assert "graphs" in succeed("inspect", model)
    labeler = load(model)
    assert isinstance(labeler, GraphLabeler)
    assert labeler.strongest("a", 1)["nodes"]["for"][0][0] == "column 0"
