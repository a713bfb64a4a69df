"""Graphs as users give them, and what is said of those that are none."""

import networkx
import numpy as np
import pytest

from widemargin import GraphLabeler
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.graphs import from_networkx, grid, superpixels

pytestmark = pytest.mark.interpreted

NODES, EDGES = np.eye(3), [(0, 1), (1, 2)]
GOOD = (NODES, EDGES)
TYPED = {"nodes": {"a": NODES, "b": np.eye(2)}, "edges": {("a", "b"): [(0, 1)]}}


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (3, r"graph 1 must be \(node features, edges\) or \(node features, edges, edge features\), not 3"),
        ((NODES,), "graph 1 must be"),
        (np.ones((2, 3, 4)), r"not an array of the shape \(2, 3, 4\); widemargin.graphs.grid makes graphs of pictures"),
        ((NODES, [(0, 3)]), "graph 1: edge 0 joins 0 and 3, but the nodes are 0 … 2"),
        ((NODES, [(0, 1), (-1, 2)]), "graph 1: edge 1 joins -1 and 2, but the nodes are 0 … 2"),
        ((NODES, [(0, 1), (2, 2)]), "graph 1: edge 1 joins the node 2 with itself"),
        ((NODES, [0, 1]), "graph 1: edges must be pairs of numbers of nodes"),
        ((NODES, [(0.0, 1.0)]), "graph 1: edges must be pairs of numbers of nodes"),
        ((NODES, EDGES, np.eye(3)), "graph 1: there are 2 edges, but 3 rows of edge features"),
        ((NODES, EDGES, np.eye(2)), "graph 1 has 2 features of edges, where others have 0"),
        ((np.ones((3, 2)), EDGES), "graph 1 has 2 features of nodes, where others have 3"),
        (([["x", 1.0]], []), "graph 1: node features must be a matrix of numbers"),
        ((np.array([[1.0, np.inf, 0.0]]), []), "graph 1: node features: row 0, column 1 is inf"),
        ((NODES, EDGES, np.array([[0.0], [np.nan]])), "graph 1: edge features: row 1, column 0 is nan"),
        ((np.ones(3), EDGES), r"graph 1: node features have the shape \(3,\); a matrix with a row for each is wanted"),
        ((np.empty((0, 3)), []), "graph 1 has no nodes"),
        (networkx.path_graph(3), "graph 1 is a graph of networkx; widemargin.graphs.from_networkx makes X and y"),
        ({"nodes": [1]}, "graph 1 must be {"),
        (
            {**TYPED, "edges": {("a", "c"): [(0, 1)]}},
            r"graph 1: edges join two of the types 'a', 'b', not \('a', 'c'\)",
        ),
        (
            {**TYPED, "edges": {("a", "b"): [(0, 2)]}},
            "graph 1, a → b: edge 0 joins 0 and 2, but the nodes are 0 … 2 and",
        ),
        ({"nodes": {"": NODES}}, "graph 1: a type of nodes has a name, not ''"),
        (([NODES, NODES], [EDGES]), "graph 1: 2 types have 4 lists of edges, .* but there are 1"),
    ],
)
def test_what_is_wrong_with_a_graph(x, message):
    with pytest.raises(DataError, match=message):
        GraphLabeler().fit([GOOD, x], [["a", "b", "a"]] * 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a", "b", "a"]], "X has 2 graphs, but y has 1"),
        ("ab", "y must be a list with the labels of each graph, not 'ab'"),
        ([["a", "b", "a"], ["a"]], "graph 1 has 3 nodes, but 1 labels"),
        ([["a", "b", "a"], "aba"], r"y\[1\] must be a list of labels, not 'aba'"),
        ([["a", "b", "a"], ["a", 1, "b"]], "labels must be all strings or all whole numbers; there are int and str"),
        ([["a", "b", "a"], ["a", 1.5, "b"]], "graph 1, node 1: a label must be a string or a whole number, not 1.5"),
        ([["a", "b", "a"], ["a", set(), "b"]], "graph 1, node 1: no label is allowed"),
        ([["a", "b", "a"], {"c": ["a"]}], "graph 1 has labels of 'c', but no such nodes"),
        ([[None] * 3] * 2, "no node of the type '' has a label|there is no labelled node to learn from"),
    ],
)
def test_what_is_wrong_with_labels(y, message):
    with pytest.raises(DataError, match=message):
        GraphLabeler().fit([GOOD, GOOD], y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": "attractive"}, "pairs must be 'auto', .* or 'potts', not 'attractive'"),
        ({"inference": "best"}, "inference must be 'auto', .* or 'relaxed', not 'best'"),
        ({"n_states": 0}, "n_states must be a whole number .* 2000, not 0"),
        ({"hidden_types": {"t": 0}}, r"hidden_types\['t'\] must be a whole number from 1 to 2000, not 0"),
        ({"hidden_types": {"t": 2}}, "hidden_types names 't'; the types of nodes are ''"),
        ({"symmetric": [0]}, "symmetric holds 0; edges have the columns 0 … -1"),
        ({"class_weight": {"z": 1}}, "class_weight names the class 'z', which the training data do not have"),
        ({"class_weight": "balanced", "objective": "likelihood"}, "class_weight weighs errors"),
    ],
)
def test_what_is_wrong_with_parameters(options, message):
    with pytest.raises(WidemarginError, match=message):
        GraphLabeler(**options).fit([GOOD, GOOD], [["a", "b", "a"]] * 2)


def test_what_a_model_does_not_know():
    labeler = GraphLabeler(max_epochs=1).fit([GOOD, GOOD], [["a", "b", "a"]] * 2)
    for x, message in (
        ((np.eye(2), []), "graph 0 has 2 features of nodes, where others have 3"),
        ((NODES, EDGES, np.eye(2)), "graph 0 has edges with features, unlike others"),
        (TYPED, "graph 0 has nodes of the type 'a'; the model knows ''"),
    ):
        with pytest.raises(DataError, match=message):
            labeler.predict([x])
    alone = GraphLabeler(max_epochs=1).fit([(NODES, [])], [["a", "b", "a"]])
    with pytest.raises(DataError, match="graph 0 has edges, but the training data have none"):
        alone.predict([GOOD])
    with pytest.raises(UnsupportedError, match="gives scores, not probabilities"):
        labeler.predict_proba([GOOD])


def test_labels_in_all_their_forms():
    y = [["a", "b", "a"], ["b", "b", "a"]]
    typed = {"nodes": {"one": NODES}, "edges": {("one", "one"): EDGES}}
    plain = GraphLabeler(max_epochs=3).fit([GOOD, GOOD], y).solution_.w
    pictures = [np.array(each).reshape(3, 1) for each in y]
    for X, labels in (
        ([GOOD, GOOD], np.array(y)),
        ([GOOD, GOOD], pictures),
        ([list(GOOD), (NODES, np.array(EDGES), None)], [tuple(each) for each in y]),
        ([typed, typed], [{"one": each} for each in y]),
        ([([NODES], [EDGES])] * 2, [[each] for each in y]),
        ([([NODES], [EDGES])] * 2, y),
    ):
        assert np.array_equal(GraphLabeler(max_epochs=3).fit(X, labels).solution_.w, plain)
    masked = [np.ma.array([1, 0, 1], mask=[False, True, False]), np.array([0, 0, 1])]
    listed = [[1, None, 1], [0, 0, 1]]
    one, other = (GraphLabeler(max_epochs=3).fit([GOOD, GOOD], each).solution_.w for each in (masked, listed))
    assert np.array_equal(one, other)


# Graphs of pictures and of networkx


@pytest.mark.parametrize("neighbours", [4, 8])
def test_grids(neighbours):
    rng = np.random.default_rng(0)
    picture = rng.normal(size=(3, 4, 2))
    nodes, edges, directions = grid(picture, neighbours)
    assert np.array_equal(nodes, picture.reshape(12, 2))
    found = {tuple(sorted(edge)) for edge in edges.tolist()}
    near = {
        (u, v)
        for u in range(12)
        for v in range(u + 1, 12)
        if (d := (abs(u // 4 - v // 4), abs(u % 4 - v % 4))) in {(0, 1), (1, 0)} or (neighbours == 8 and d == (1, 1))
    }
    assert found == near
    assert len(edges) == len(near)
    steps = {0: (0, 1), 1: (1, 0), 2: (1, 1), 3: (1, -1)}
    for (u, v), direction in zip(edges.tolist(), directions, strict=True):
        assert (v // 4 - u // 4, v % 4 - u % 4) == steps[int(direction.argmax())]
    assert directions.sum() == len(edges)
    assert directions.shape[1] == neighbours // 2


def test_single_rows_and_bad_pictures():
    assert grid(np.zeros((1, 3)), 8).edges.tolist() == [[0, 1], [1, 2]]
    assert grid(np.zeros((1, 1))).edges.shape == (0, 2)
    with pytest.raises(WidemarginError, match="a pixel has 4 or 8 neighbours, not 6"):
        grid(np.zeros((2, 2)), 6)
    with pytest.raises(DataError, match=r"this one has the shape \(3,\)"):
        grid(np.zeros(3))


def test_segments_that_touch():
    segments = np.array([[0, 0, 1], [0, 2, 1], [2, 2, 2]])
    colours = np.arange(9.0).reshape(3, 3)
    nodes, edges, borders = superpixels(segments, colours)
    assert nodes.ravel().tolist() == [4 / 3, 7 / 2, 25 / 4]
    assert edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert (borders * np.sqrt([[2], [3], [2]])).round(9).tolist() == [[1.0, 0.0], [3.0, 2.0], [2.0, 1.0]]
    with pytest.raises(DataError, match="has no segment 1"):
        superpixels([[0, 2]])
    with pytest.raises(DataError, match=r"has the shape \(3, 3\), but the features \(2, 3\)"):
        superpixels(segments, colours[:2])


def test_graphs_of_networkx():
    graph = networkx.Graph()
    graph.add_node("x", size=1.0, colour=[0.1, 0.2], label="a")
    graph.add_node("y", size=2, colour=[0.3, 0.4])
    graph.add_edge("x", "y", weight=0.5)
    X, y = from_networkx([graph], ["size", "colour"], ["weight"], label="label")
    assert X[0][0].tolist() == [[1.0, 0.1, 0.2], [2.0, 0.3, 0.4]]
    assert X[0][1].tolist() == [[0, 1]]
    assert X[0][2].tolist() == [[0.5]]
    assert y == [["a", None]]
    assert len(from_networkx([graph], ["size"])[0]) == 2
    for names, message in (
        (["weight"], "graph 0: node 'x' has no attribute 'weight'"),
        (["label"], "graph 0: node 'x': 'label' is 'a', not a number"),
    ):
        with pytest.raises(DataError, match=message):
            from_networkx([graph], names)
