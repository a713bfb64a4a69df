"""GraphLabeler as users have it: training, hidden states, probabilities, model files."""

from itertools import product

import numpy as np
import pytest

from widemargin import GraphLabeler, load
from widemargin.errors import UnsupportedError
from widemargin.graphs import grid
from widemargin.structures.graph import ExactGraphs
from widemargin.tasks.base import load_model
from widemargin.tasks.graph.compile import compile_graphs
from widemargin.tasks.training import Data


def trees(n_graphs, seed, n_labels=3):
    """Random trees whose nodes have noisy labels, and agree with their neighbours."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_graphs):
        n = int(rng.integers(3, 9))
        edges = [(int(rng.integers(v)), v) for v in range(1, n)]
        labels = [int(rng.integers(n_labels))]
        for u, _ in edges:
            labels.append(labels[u] if rng.random() < 0.8 else int(rng.integers(n_labels)))
        X.append((np.eye(n_labels)[labels] + rng.normal(size=(n, n_labels)), np.array(edges)))
        y.append(np.array(["x", "y", "z"])[labels])
    return X, y


X, Y = trees(40, 0)
NEW, RIGHT = trees(60, 1)


@pytest.fixture(scope="module")
def labeler():
    return GraphLabeler(C=0.3, tol=0.01).fit(X, Y)


@pytest.mark.interpreted
def test_neighbours_help(labeler):
    assert labeler.solution_.gap <= 0.01
    assert labeler.solution_.certified
    alone = GraphLabeler(C=0.3, tol=0.01).fit([(nodes, []) for nodes, _ in X], Y)
    assert labeler.score(NEW, RIGHT) > alone.score([(nodes, []) for nodes, _ in NEW], RIGHT) + 0.05
    assert labeler.classes_.tolist() == ["x", "y", "z"]


@pytest.mark.interpreted
def test_score_is_the_share_of_right_labels(labeler):
    found = labeler.predict(NEW)
    right = np.concatenate(found) == np.concatenate(RIGHT)
    assert labeler.score(NEW, RIGHT) == pytest.approx(right.mean())
    weight = np.arange(len(NEW)) % 3
    weights = np.repeat(weight, [len(labels) for labels in found])
    assert labeler.score(NEW, RIGHT, sample_weight=weight) == pytest.approx(np.average(right, weights=weights))
    evaluation = labeler.model_.evaluate(NEW, RIGHT)
    assert evaluation.results["accuracy"] == pytest.approx(right.mean())
    cut = np.split(right, np.cumsum([len(labels) for labels in found])[:-1])
    both = [each[u] and each[v] for each, (_, edges) in zip(cut, NEW, strict=True) for u, v in edges]
    assert evaluation.results["edges_right"] == pytest.approx(np.mean(both))


@pytest.mark.parametrize("inference", ["bounded", "exact", "relaxed"])
def test_ways_to_decode_prove_the_same_optimum(inference):
    """Of whole labels; relaxed outputs are more, so that their objective is no smaller."""
    rng = np.random.default_rng(5)
    X = [grid(rng.normal(size=(3, 3, 2)))[:2] for _ in range(6)]
    y = [(nodes[:, 0] + 0.5 * rng.normal(size=9) > 0).astype(int) for nodes, _ in X]
    options = {"C": 0.1, "loss": "hinge", "tol": 1e-3, "max_epochs": 300}
    best = GraphLabeler(**options).fit(X, y)
    found = GraphLabeler(inference=inference, **options).fit(X, y)
    assert found.solution_.primal >= best.solution_.dual * (1 - 1e-6)
    if inference != "relaxed":
        assert found.solution_.dual <= best.solution_.primal * (1 + 1e-6)
        assert found.solution_.gap < 0.05
    assert found.score(X, y) > 0.8


@pytest.mark.parametrize(
    "options", [{}, {"pairs": "potts"}, {"n_states": 2, "max_rounds": 2}, {"inference": "bounded"}]
)
def test_model_files(options, tmp_path):
    labeler = GraphLabeler(max_epochs=3, **options).fit(X, Y)
    labeler.save(tmp_path / "m.wm")
    again = load(tmp_path / "m.wm")
    assert [each.tolist() for each in again.predict(NEW)] == [each.tolist() for each in labeler.predict(NEW)]
    assert again.get_params() == labeler.get_params()
    assert np.array_equal(load_model(tmp_path / "m.wm").w, labeler.model_.w)


def test_checkpoints_paths_and_comparisons(tmp_path):
    whole = GraphLabeler(max_epochs=6, tol=None).fit(X, Y, checkpoint=tmp_path / "c")
    GraphLabeler(max_epochs=3, tol=None).fit(X, Y, checkpoint=tmp_path / "d")
    resumed = GraphLabeler(max_epochs=6, tol=None).fit(X, Y, checkpoint=tmp_path / "d", resume=True)
    assert np.array_equal(resumed.solution_.w, whole.solution_.w)
    path = GraphLabeler(tol=0.05).fit_path(X, Y, [0.01, 0.1], dev=(NEW, RIGHT))
    assert path[0].solution_.primal < path[1].solution_.primal
    compared = GraphLabeler(max_epochs=5).compare(X, Y, ["dcd", "bcfw", "one-slack"])
    assert len(compared.runs) == 3
    warm = GraphLabeler(max_epochs=2, warm_start=True).fit(X, Y)
    before = warm.solution_.primal
    assert warm.fit(X, Y).solution_.primal <= before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing(n_jobs, labeler):
    again = GraphLabeler(C=0.3, tol=0.01, n_jobs=n_jobs).fit(X, Y)
    assert np.array_equal(again.solution_.w, labeler.solution_.w)


# Likelihood and probabilities


@pytest.mark.interpreted
def test_probabilities_by_enumeration():
    labeler = GraphLabeler(objective="likelihood", max_epochs=20).fit(X, Y)
    model, small = labeler.model_, [x for x in NEW if len(x[0]) <= 4][:3]
    found = labeler.predict_proba(small)
    compiled = compile_graphs(labeler, Data(small, [["x", "y", "z", "x"][: len(x[0])] for x in small]))
    assert compiled.labels == ["x", "y", "z"] or sorted(compiled.labels) == ["x", "y", "z"]
    W = model.w[: 4 * 3].reshape(4, 3)
    pairs = model.w[12:]
    columns = {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 1): 3, (1, 2): 4, (2, 2): 5}
    for (nodes, edges), rows in zip(small, found, strict=True):
        total, sums = 0.0, np.zeros((len(nodes), 3))
        for output in product(range(3), repeat=len(nodes)):
            score = sum(np.append(x, 1.0) @ W[:, s] for x, s in zip(nodes, output, strict=True))
            score += sum(pairs[columns[tuple(sorted((output[u], output[v])))]] for u, v in edges)
            total += np.exp(score)
            sums[np.arange(len(nodes)), output] += np.exp(score)
        order = [model.labels.index(label) for label in labeler.classes_]
        assert rows == pytest.approx((sums / total)[:, order])
    likely = labeler.predict_minimum_risk(small)
    assert [each.tolist() for each in likely] == [labeler.classes_[rows.argmax(axis=1)].tolist() for rows in found]
    assert labeler.expected_counts(small) == pytest.approx(np.stack([rows.sum(axis=0) for rows in found]))


def test_probabilities_are_refused_where_they_cannot_be_had():
    rng = np.random.default_rng(0)
    labeler = GraphLabeler(objective="likelihood", max_epochs=2).fit(X, Y)
    wide = grid(rng.normal(size=(30, 30, 3)))[:2]
    with pytest.raises(UnsupportedError, match="some of these graphs have too many loops for that"):
        labeler.predict_proba([wide])
    with pytest.raises(UnsupportedError, match="needs examples that offer Marginals"):
        GraphLabeler(objective="likelihood", inference="bounded").fit(X, Y)


# What is hidden


def test_labels_known_in_part_are_filled_in():
    """With half of the labels gone, the other half and the neighbours are enough to be nearly as good."""
    rng = np.random.default_rng(3)
    partly = [[label if rng.random() < 0.5 else None for label in labels.tolist()] for labels in Y]
    whole = GraphLabeler(C=0.3).fit(X, Y).score(NEW, RIGHT)
    found = GraphLabeler(C=0.3).fit(X, partly)
    assert found.solution_.rounds
    assert found.score(NEW, RIGHT) > whole - 0.08
    sets = [[label if rng.random() < 0.5 else {label, "x"} for label in labels.tolist()] for labels in Y]
    assert GraphLabeler(C=0.3).fit(X, sets).score(NEW, RIGHT) > whole - 0.08


def test_hidden_states_tell_apart_what_labels_do_not():
    """Nodes of a label are at both ends of a line, those of the other between: no single weight per label will do."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(60):
        places = rng.choice([-1.0, 0.0, 1.0], size=6)
        X.append((np.stack([places, np.ones(6)], axis=1) + rng.normal(scale=0.1, size=(6, 2)), [(0, 1), (2, 3)]))
        y.append(["end" if place else "middle" for place in places])
    plain = GraphLabeler(C=1.0).fit(X, y).score(X, y)
    hidden = GraphLabeler(C=1.0, n_states=2, n_restarts=3).fit(X, y)
    assert plain < 0.8
    assert hidden.score(X, y) > 0.99
    assert set(np.concatenate(hidden.predict(X)).tolist()) == {"end", "middle"}


def test_hidden_nodes_carry_what_labelled_ones_have_in_common():
    """Each graph has a mood, which no node shows by itself; a hidden node joins all of them."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for _ in range(80):
        mood = int(rng.integers(2))
        seen = (2 * mood - 1) * 0.6 + rng.normal(size=(7, 1))
        nodes = {"seen": seen, "mood": np.empty((1, 0))}
        X.append({"nodes": nodes, "edges": {("mood", "seen"): [(0, v) for v in range(7)]}})
        y.append({"seen": [["low", "high"][mood]] * 7})
    apart = [{"nodes": {"seen": x["nodes"]["seen"]}} for x in X]
    plain = GraphLabeler(C=1.0).fit(apart[:50], y[:50]).score(apart[50:], y[50:])
    labeler = GraphLabeler(C=1.0, hidden_types={"mood": 2}, n_restarts=3).fit(X[:50], y[:50])
    assert labeler.score(X[50:], y[50:]) > plain + 0.1
    predicted = labeler.predict(X[50:])
    assert {tuple(each["mood"].tolist()) for each in predicted} == {(0,), (1,)}
    assert labeler.model_.evaluate(X[50:], y[50:]).results["accuracy"] == labeler.score(X[50:], y[50:])


def test_equal_shapes_are_kept_once():
    rng = np.random.default_rng(0)
    X = [grid(rng.normal(size=(3, 3, 2))) for _ in range(5)] + [grid(rng.normal(size=(2, 4, 2)))]
    y = [rng.integers(2, size=len(x[0])) for x in X]
    structure = compile_graphs(GraphLabeler(), Data(X, y)).examples.structure
    assert isinstance(structure, ExactGraphs)
    assert len(structure.shapes) == 2


def test_certificates_tell_how_graphs_were_decoded():
    rng = np.random.default_rng(0)
    X = [grid(rng.normal(size=(2, 3, 2)))[:2], *[grid(rng.normal(size=(20, 20, 2)))[:2]] * 2]
    y = [rng.integers(9, size=len(x[0])) for x in X]
    both = GraphLabeler(max_epochs=1).fit(X, y).solution_
    assert both.about == "1 of 2 shapes of graphs are decoded with bounds"
    assert GraphLabeler(max_epochs=1).fit(X[:1], y[:1]).solution_.about is None
