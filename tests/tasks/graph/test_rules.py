"""Predictions under rules: the best of all labels that obey, and errors that name what is wrong."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from widemargin import Constraints, GraphLabeler, SequenceTagger
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.graph.model import as_examples

RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def graphs_of(n, seed):
    rng = np.random.default_rng(seed)
    y = [rng.choice(["a", "b", "c"], size=4) for _ in range(n)]
    X = [(np.eye(3)[np.searchsorted(["a", "b", "c"], each)] + rng.normal(size=(4, 3)), RING) for each in y]
    return X, y


@cache
def fitted(**given):
    return GraphLabeler(C=0.3, **given).fit(*graphs_of(30, 0))


def weight(labeler, x, labels):
    """The score of labels."""
    model = labeler.model_
    _, compiled = model.compiled([x])
    examples = as_examples(compiled, "auto")
    number = {label: k for k, label in enumerate(model.labels)}
    output = np.array([*(number[label] for label in labels), 0.0])
    return examples.scores(model.weights, np.zeros(1, np.int32), output)[0]


@pytest.mark.parametrize("seed", range(4))
def test_labels_that_obey_are_the_best_that_do(seed):
    labeler, (X, _) = fitted(), graphs_of(6, 10 + seed)
    rules = {
        "at_most": [(1, "a"), (1, [(0, "b"), (1, "b")])],
        "exactly": [(2, "c")],
        "implies": [[(0, "a"), (1, "b"), (2, "b")]],
        "together": [[(1, "c"), (3, "c")]],
    }
    found = labeler.predict(X, Constraints(**{name: [each] * len(X) for name, each in rules.items()}))
    allowed = [
        y
        for y in product("abc", repeat=4)
        if y.count("a") <= 1
        and y[:2] != ("b", "b")
        and y.count("c") == 2
        and (y[0] != "a" or "b" in y[1:3])
        and (y[1] == "c") == (y[3] == "c")
    ]
    assert any(tuple(each) not in allowed for each in labeler.predict(X))
    for x, each in zip(X, found, strict=True):
        assert tuple(each) in allowed
        assert weight(labeler, x, each) == pytest.approx(max(weight(labeler, x, y) for y in allowed))


def test_rules_are_for_one_graph_each_and_none_change_nothing():
    labeler, (X, _) = fitted(), graphs_of(3, 5)
    free = labeler.predict(X)
    found = labeler.predict(X, Constraints(exactly=[None, [(4, "a")], []]))
    assert found[0].tolist() == free[0].tolist()
    assert found[1].tolist() == ["a"] * 4
    assert found[2].tolist() == free[2].tolist()
    assert list(labeler.predict([], Constraints())) == list(labeler.predict([])) == []


def test_a_label_with_several_states_counts_once():
    labeler = fitted(n_states=2)
    found = labeler.predict(
        graphs_of(3, 6)[0], Constraints(exactly=[[(3, "b")]] * 3, implies=[[[(0, "b"), (1, "c")]]] * 3)
    )
    for each in found:
        assert each.tolist().count("b") == 3
        assert each[0] != "b" or each[1] == "c"


def test_parts_of_types_are_named_by_type():
    rng = np.random.default_rng(0)
    X = [
        {
            "nodes": {"line": rng.normal(size=(2, 1)), "word": rng.normal(size=(3, 1))},
            "edges": {("line", "word"): [(0, 0), (1, 2)]},
        }
        for _ in range(10)
    ]
    y = [{"line": ["text", "table"], "word": ["name", "number", "name"]} for _ in X]
    labeler = GraphLabeler().fit(X, y)
    rules = [[[("line", 1, "text"), ("word", 2, "number")]]]
    found = labeler.predict(X[:1], Constraints(together=rules, exactly=[[(2, "text")]]))[0]
    assert found["line"].tolist() == ["text", "text"]
    assert found["word"][2] == "number"
    with pytest.raises(DataError, match=r"names \('word', 0, 'text'\), but nodes of the type 'word' never have it"):
        labeler.predict(X[:1], Constraints(at_most=[[(0, [("word", 0, "text")])]]))
    with pytest.raises(DataError, match="the types of nodes are 'line', 'word'"):
        labeler.predict(X[:1], Constraints(at_most=[[(0, [("page", 0, "text")])]]))
    with pytest.raises(DataError, match=r"names \(0, 'text'\), which is no part \(type, node, label\)"):
        labeler.predict(X[:1], Constraints(at_most=[[(0, [(0, "text")])]]))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"at_most": [[(1, [(4, "a")])], []]}, r"graph 0: at_most names \(4, 'a'\), but the nodes are 0 … 3"),
        ({"implies": [[], [[(0, "a"), (1, "z")]]]}, "a constraint names the label 'z', which the model does not know"),
        ({"exactly": [[(1, "z")], []]}, "a constraint names the label 'z'"),
        ({"exactly": [[(-1, "a")], []]}, "graph 0: exactly wants a whole number that is not negative, not -1"),
        ({"exactly": [["a"], []]}, r"graph 0: exactly wants \(number, parts\) or \(number, label\), not 'a'"),
        ({"together": [[], [[(0, "a")]]]}, "graph 1: together wants several parts"),
        ({"together": [[]]}, "there are 2 graphs, but together is given for 1"),
        (
            {"exactly": [[], [(3, "a"), (3, "b")]]},
            "no labels of graph 1 obey all rules: 'graph 1: exactly 3 of 'b'' contradicts the 1 before it",
        ),
    ],
)
def test_wrong_rules_are_named(rules, message):
    with pytest.raises(DataError, match=message):
        fitted().predict(graphs_of(2, 1)[0], Constraints(**rules))


def test_rules_are_for_graphs_and_other_constraints_are_not():
    with pytest.raises(
        UnsupportedError, match="graphs support only the constraints implies, at_most, exactly and together"
    ):
        fitted().predict(graphs_of(1, 1)[0], Constraints(bio=True))
    tagger = SequenceTagger().fit([["a", "b"]], [["x", "y"]])
    with pytest.raises(UnsupportedError, match="only labels of graphs can obey at_most"):
        tagger.predict([["a"]], Constraints(at_most=[[(1, "x")]]))
