"""The clusterer as users have it: Python, model files, command line, pictures, explanations."""

import json

import numpy as np
import pytest

import widemargin
from helpers.command_line import fail, succeed
from helpers.files import TASK_FILES
from widemargin import Clusterer
from widemargin.clusterings import by_first
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.report.explain import Question
from widemargin.tasks.base import load_model
from widemargin.tasks.cluster.features import Pairs
from widemargin.tasks.cluster.files import read_documents

pytestmark = pytest.mark.interpreted

X = [["anna b", "anna c", "carl d", "carl"], ["eva f", "eva", "gus h"], ["x y", "x z"]]
Y = [["a", "a", "c", "c"], [1, 1, 2], [None, None]]


@pytest.mark.parametrize("decoder", ["forest", "correlation"])
def test_records_are_clustered(decoder, tmp_path):
    clusterer = Clusterer(decoder=decoder, C=10.0).fit(X, Y)
    assert clusterer.predict(X) == [[0, 0, 1, 1], [0, 0, 1], [0, 0]]
    assert clusterer.predict([]) == []
    assert clusterer.predict([[], ["anna b"]]) == [[], [0]]
    assert clusterer.score(X, Y) == 1.0
    solution = clusterer.solution_
    assert solution.certified == (decoder == "forest")
    assert bool(solution.rounds) == (decoder == "forest")
    clusterer.save(tmp_path / "a.wm")
    again = widemargin.load(tmp_path / "a.wm")
    assert again.predict(X) == clusterer.predict(X)
    assert again.get_params()["decoder"] == decoder
    strongest = again.model_.reporter.strongest([], 3)["features"].strongest
    assert strongest["positive"]
    assert all(each["weight"] > 0 for each in strongest["positive"])


def test_rounds_lower_the_objective_and_other_beginnings_work():
    first = Clusterer(C=1.0).fit(X, Y)
    objectives = [each.objective for each in first.solution_.rounds]
    assert objectives == sorted(objectives, reverse=True)
    links = [[(0, 1), (2, 3)], [(1, 0)], [(0, 1)]]
    for init in ("random", links, first):
        assert Clusterer(C=10.0, init=init).fit(X, Y).predict(X) == [[0, 0, 1, 1], [0, 0, 1], [0, 0]]
    assert Clusterer(C=1.0, solver="perceptron", completion="online", max_epochs=5).fit(X, Y).score(X, Y) > 0.8


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([[], []], "3 documents, but 2 lists of links"),
        ([[(0, 2)], [], []], r"document 0: \(0, 2\) is not a given pair of items of one cluster"),
        ([[(0, 1)], [(0, 1)], [(0, 1)]], "document 0: its 1 links do not hold the gold clusters together"),
    ],
)
def test_completions_that_are_none(links, message):
    with pytest.raises(DataError, match=message):
        Clusterer(init=links).fit(X, Y)


def test_links_in_a_circle():
    with pytest.raises(DataError, match="document 0: its links form a circle"):
        Clusterer(init=[[(0, 1), (1, 2), (0, 2)]]).fit([["a", "b", "c"]], [[1, 1, 1]])


def test_given_pairs_and_functions(tmp_path):
    documents = [Pairs([(0, 1), (1, 2)], np.array([[1.0], [-1.0]])), Pairs([(0, 1)], np.array([[2.0]]))]
    clusterer = Clusterer(C=10.0).fit(documents, [[0, 0, 1], [0, 0]])
    assert clusterer.predict(documents) == [[0, 0, 1], [0, 0]]
    assert clusterer.n_unreachable_ == 0
    assert Clusterer().fit(documents, [[0, 1, 0], [0, 0]]).n_unreachable_ == 1
    assert clusterer.predict([Pairs([(0, 1)], np.array([[3.0]]), 3)]) == [[0, 0, 1]]

    def near(a, b):
        return {"apart": abs(a - b)}

    by_function = Clusterer(C=10.0, pair_features=near).fit([[1, 2, 9], [4, 30, 5]], [[0, 0, 1], [0, 1, 0]])
    assert by_function.predict([[100, 7, 8]]) == [[0, 1, 1]]
    by_function.save(tmp_path / "f.wm")
    assert widemargin.load(tmp_path / "f.wm", pair_features=near).predict([[100, 7, 8]]) == [[0, 1, 1]]
    with pytest.raises(WidemarginError, match="name it on loading"):
        widemargin.load(tmp_path / "f.wm").predict([[1, 2]])


def test_pieces_and_weights_of_documents():
    solution = Clusterer(C=1.0).fit(X, Y, sample_weight=[1.0, 0.0, 0.0]).solution_
    other = Clusterer(C=1.0).fit(X, Y).solution_
    assert not np.array_equal(solution.w, other.w)


@pytest.mark.parametrize(
    ("parameters", "x", "y", "message"),
    [
        ({}, [], [], "there is no document"),
        ({}, [["a"]], [[1]], "no document has a pair"),
        ({}, X, Y[:2], "3 documents, but 2 lists of clusters"),
        ({}, X, [[1], [1], [1]], "document 0 has 4 items, but 1 clusters"),
        ({}, X, ["abcd", "abc", "ab"], r"y\[0\] must be a list of clusters"),
        ({}, X, [[[]] * 4, [1, 1, 2], [1, 1]], "names that can be compared"),
        ({}, X, None, "y must be a list"),
        ({}, "abc", Y, "X must be a list of documents, not str"),
        ({}, ["abc"], [[1, 2, 3]], "document 0 must be a list of records, not 'abc'"),
        ({"decoder": "tree"}, X, Y, "decoder must be 'forest' or 'correlation', not 'tree'"),
        ({"dev_metric": "f1"}, X, Y, "dev_metric must be 'b3', 'muc', .* or 'pair', not 'f1'"),
        ({"link_penalty": -1}, X, Y, "link_penalty must be a number of at least 0, not -1"),
    ],
)
def test_bad_input_is_refused(parameters, x, y, message):
    with pytest.raises(WidemarginError, match=message):
        Clusterer(**parameters).fit(x, y)


def test_a_lower_penalty_links_more():
    rng = np.random.default_rng(0)
    documents, y = [], []
    for _ in range(8):
        labels = rng.integers(0, 4, 8)
        i, j = np.triu_indices(8, 1)
        documents.append(Pairs(np.stack([i, j], 1), (labels[i] == labels[j])[:, None] + rng.normal(size=(28, 1))))
        y.append(labels.tolist())
    n_clusters = [
        sum(max(each) + 1 for each in Clusterer(C=0.1, link_penalty=r).fit(documents, y).predict(documents))
        for r in (1.0, 0.01)
    ]
    assert n_clusters[1] < n_clusters[0]


@pytest.fixture
def trained(tmp_path):
    row = TASK_FILES["cluster"]()
    data, model = tmp_path / row.name, tmp_path / "a.wm"
    data.write_text(row.text, encoding="utf-8")
    succeed("train", "cluster", "--train", data, "--out", model, "--quiet", "--C", "10")
    return data, model


def test_scores_of_the_command_line(trained):
    data, model = trained
    results = json.loads(succeed("evaluate", model, data, "--json"))
    assert results["items"] == 36
    assert results["documents"] == 6
    assert results["by_score"].keys() == {"muc", "b3", "ceaf_m", "ceaf_e", "lea", "blanc", "pair"}
    assert results["b3_f1"] == results["by_score"]["b3"]["f1"] == 1.0
    assert results["mitre_loss"] == results["pair_loss"] == 0.0
    assert "MITRE loss" in succeed("evaluate", model, data)


def test_pictures(trained, tmp_path):
    data, model = trained
    drawn = succeed("predict", model, data, "--draw", "-")
    assert "┬─ 1 Anna Berg, 1904" in drawn
    assert "╰─ 5 Berg, Anna, 1904" in drawn
    succeed("predict", model, data, "--draw", tmp_path / "a.svg", "--out", tmp_path / "out.jsonl")
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert picture.count("Anna Berg") == 3


def test_explanations(trained):
    data, model = trained
    parts = json.loads(succeed("inspect", model, "--explain", data, "--json"))["parts"]
    assert len(parts) == 4
    assert all(each["margin"] > 0 and " – " in each["part"] for each in parts)
    why = json.loads(succeed("inspect", model, "--explain", data, "--span", "1:5", "--json"))
    assert why["chosen"]["part"] == "1 Anna Berg, 1904 – 5 Berg, Anna, 1904"
    assert why["difference"] == pytest.approx(sum(each["difference"] for each in why["reasons"]))
    assert "every pair" in {each["template"] for each in why["reasons"]}
    apart = json.loads(succeed("inspect", model, "--explain", data, "--span", "2:1", "--json"))
    assert apart["chosen"] == {"part": "apart", "score": 0}
    assert apart["other"]["score"] < 0
    assert "9 and 7 are not a pair" in fail("inspect", model, "--explain", data, "--span", "7:9").replace(
        "7 and 9", "9 and 7"
    )
    assert "ask for two items" in fail("inspect", model, "--explain", data, "--token", "1")
    assert "no document 7 in a file of 6" in fail("inspect", model, "--explain", data, "--sentence", "7")
    loaded = load_model(model)
    with pytest.raises(WidemarginError, match="0 and 2 are not a pair"):
        loaded.explain(loaded.read(str(data), widemargin.tasks.base.Reading(), gold=False).X[:1], Question(span=(0, 2)))


TEXT = """# newdoc id = {k}
1\tAda\tAda\tPROPN\tNNP\tNumber=Sing\t2\tnsubj\t_\tEntity=({a})
2\tmet\tmeet\tVERB\tVBD\t_\t0\troot\t_\t_
3\tthe\tthe\tDET\tDT\t_\t4\tdet\t_\tEntity=({b}
4\tqueen\tqueen\tNOUN\tNN\tNumber=Sing\t2\tobj\t_\tEntity={b})

1\tAda\tAda\tPROPN\tNNP\tNumber=Sing\t2\tnsubj\t_\tEntity=({a})
2\tsmiled\tsmile\tVERB\tVBD\t_\t0\troot\t_\t_
"""


def test_coreference_from_training_to_pictures(tmp_path):
    data, model, out = tmp_path / "a.conllu", tmp_path / "a.wm", tmp_path / "out.conllu"
    data.write_text("\n".join(TEXT.format(k=k, a=k + 1, b=k + 7) for k in range(3)), encoding="utf-8")
    succeed("train", "cluster", "--train", data, "--out", model, "--quiet", "--C", "10")
    succeed("predict", model, data, "--out", out)
    assert [by_first(each) for each in read_documents(str(out)).y] == [[0, 1, 0]] * 3
    assert "Entity=(1)" in out.read_text(encoding="utf-8")
    succeed("predict", model, data, "--draw", tmp_path / "a.svg", "--out", out)
    picture = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert picture.count(">Ada<") == 6
    assert picture.count("<path") == 6
    assert "the same string without determiner=name/1" in succeed("inspect", model, "--json")


def test_pairs_on_the_command_line(tmp_path):
    data, model, out = tmp_path / "a.svm", tmp_path / "a.wm", tmp_path / "out.svm"
    data.write_text("".join(f"+1 0:1 # {k} 0 1\n-1 1:1 # {k} 1 2\n" for k in range(3)), encoding="utf-8")
    succeed("train", "cluster", "--train", data, "--out", model, "--quiet", "--C", "10")
    new = "".join(f" {k % 2}:1 5:2 # x {k} {k + 1}\n" for k in range(3))
    (tmp_path / "new.svm").write_text(new, encoding="utf-8")
    succeed("predict", model, tmp_path / "new.svm", "--out", out)
    assert [line.split()[0] for line in out.read_text(encoding="utf-8").splitlines()] == ["+1", "-1", "+1"]
    assert "column 0" in succeed("inspect", model)


def test_correlation_of_huge_documents_is_refused():
    clusterer = Clusterer(decoder="correlation", C=1.0).fit([Pairs([(0, 1)], np.ones((1, 1)))], [[0, 0]])
    with pytest.raises(UnsupportedError, match='Use decoder="forest"'):
        clusterer.predict([Pairs([(0, 1)], np.ones((1, 1)), 20000)])
