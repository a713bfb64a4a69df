"""Scores of labelled graphs as sums over nodes and edges, whatever the ties, types and hidden states."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from widemargin import GraphLabeler
from widemargin.core.examples import Bounded, Latent, Marginals
from widemargin.structures.graph import gold_outputs
from widemargin.tasks.graph.compile import compile_graphs
from widemargin.tasks.graph.features import tied
from widemargin.tasks.training import Data
from widemargin.testing import check_structure

PLAIN = {
    "any": {},
    "symmetric": {"pairs": "symmetric"},
    "antisymmetric": {"pairs": "antisymmetric"},
    "potts": {"pairs": "potts"},
    "some columns": {"symmetric": [1], "antisymmetric": [0]},
    "no biases": {"fit_intercept": False},
    "bounded": {"inference": "bounded"},
    "costs": {"costs": {"a": 2.0, ("b", "a"): 0.5}, "class_weight": {"c": 3.0}},
    "states": {"n_states": 2, "pairs": "symmetric"},
}


def drawn(rng, n_graphs=4, width=3, n_columns=2):
    X, y = [], []
    for _ in range(n_graphs):
        n = int(rng.integers(1, 5))
        edges = [(u, v) if rng.random() < 0.5 else (v, u) for u in range(n) for v in range(u) if rng.random() < 0.7]
        nodes = rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.7)
        X.append((nodes, edges, rng.normal(size=(len(edges), n_columns))))
        y.append(rng.choice(["a", "b", "c"], size=n).tolist())
    y[0][0], y[-1][0] = "a", "b"
    return X, y


def value(weights, tie, a, b):
    """The weight of the pair (a, b) under a tie; `weights` are symmetric, antisymmetric, … by themselves."""
    return {"any": weights, "symmetric": weights + weights.T, "antisymmetric": weights - weights.T}[tie][a, b]


def compiled(X, y, **options):
    return compile_graphs(GraphLabeler(**options), Data(X, y))


@pytest.mark.interpreted
@pytest.mark.parametrize("options", PLAIN.values(), ids=PLAIN)
def test_the_score_is_a_sum_over_nodes_and_edges(options):
    """Weights are read off by what they score: each unit vector of weights, for every output of a small graph."""
    rng = np.random.default_rng(0)
    X, y = drawn(rng)
    found = compiled(X, y, **options)
    examples, S = found.examples, options.get("n_states", 1)
    states, bias = len(found.labels) * S, options.get("fit_intercept", True)
    w = rng.normal(size=examples.n_weights)
    W = w[: (3 + bias) * states].reshape(-1, states)
    tables, at = [], W.size
    ties = ["any", "symmetric", "antisymmetric", "potts"]
    plain = options.get("pairs", "any")
    of_column = [plain] * (2 + bias)
    for tie in ("symmetric", "antisymmetric"):
        for column in options.get(tie, ()):
            of_column[column] = tie
    table = {}
    for tie in ties:
        columns = [j for j, each in enumerate(of_column) if each == tie]
        numbers, signs = tied(tie, np.arange(states), np.arange(states))
        n = numbers.max(initial=-1) + 1
        for j in columns:
            own = np.append(w[at : at + n], 0.0)
            table[j], at = (signs * own[numbers]).reshape(states, states), at + n
    tables = [table[j] for j in range(2 + bias)]
    assert at == len(w)
    for i, (given, edges, of_given) in enumerate(X):
        nodes, of_edges = (np.column_stack([each, np.ones(len(each))][: 1 + bias]) for each in (given, of_given))
        for output in list(product(range(states), repeat=len(nodes)))[:: max(states ** len(nodes) // 30, 1)]:
            expected = sum(nodes[v] @ W[:, s] for v, s in enumerate(output))
            for (u, v), x in zip(edges, of_edges, strict=True):
                expected += sum(x[j] * tables[j][output[u], output[v]] for j in range(len(x)))
            size = examples.sizes[[i]]
            one = gold_outputs(examples.structure, size, [np.array(output)])
            assert examples.scores(w, np.array([i], np.int32), one)[0] == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 3])
def test_ties_are_what_they_are_called(n):
    rng, numbers = np.random.default_rng(n), np.arange(n)
    for tie, sign in (("symmetric", 1.0), ("antisymmetric", -1.0)):
        columns, signs = tied(tie, numbers, numbers)
        own = np.append(rng.normal(size=columns.max(initial=-1) + 1), 0.0)
        table = (signs * own[columns]).reshape(n, n)
        assert np.array_equal(table, sign * table.T)
        assert len(own) - 1 == n * (n + sign) / 2
    assert tied("potts", np.array([2, 5]), np.array([5, 2, 7]))[0].tolist() == [-1, 0, -1, 0, -1, -1]


@pytest.mark.interpreted
@pytest.mark.parametrize("options", PLAIN.values(), ids=PLAIN)
def test_they_are_examples(options):
    X, y = drawn(np.random.default_rng(1))
    examples = compiled(X, y, **options).examples
    assert isinstance(examples, Bounded)
    assert isinstance(examples, Marginals) == (options.get("inference") != "bounded")
    assert isinstance(examples, Latent) == ("n_states" in options)
    check_structure(examples, n_draws=2)


@pytest.mark.interpreted
def test_costs_are_those_of_labels():
    y = [["a", "b", "c", "b"], ["a", {"b", "c"}, None, "a"]]
    X = [(np.eye(4), []), (np.eye(4), [])]
    options = {"costs": {"a": 2.0, ("b", "a"): 0.5}, "class_weight": {"c": 3.0}, "n_states": 2}
    found = compiled(X, y, **options)
    number, S = {label: k for k, label in enumerate(found.labels)}, 2
    cost = {("a", "b"): 2.0, ("a", "c"): 2.0, ("b", "a"): 0.5, ("b", "c"): 1.0, ("c", "a"): 3.0, ("c", "b"): 3.0}
    rng, examples = np.random.default_rng(2), found.examples
    for _ in range(20):
        output = [rng.choice(["a", "b", "c"], size=4) for _ in X]
        states = [np.array([number[label] * S + rng.integers(S) for label in each]) for each in output]
        outputs = gold_outputs(examples.structure, examples.sizes, states)
        expected = [0.0, 0.0]
        for i, (gold, labels) in enumerate(zip(y, output, strict=True)):
            for right, label in zip(gold, labels, strict=True):
                sets = right if isinstance(right, set) else {right} if right else {label}
                expected[i] += min(cost.get((each, label), 0.0) for each in sets)
        batch = np.arange(2, dtype=np.int32)
        assert examples.costs.errors(batch, outputs) == pytest.approx(expected)
        assert (examples.costs.errors(batch, outputs) <= examples.costs.most() + 1e-12).all()
        room = examples.structure.room(examples.sizes)
        examples.costs.fill(batch, np.array([1.0, 0.5]), room)
        assert examples.structure.total(room, outputs) == pytest.approx(np.array(expected) * [1.0, 0.5])


def test_sparse_features_are_dense_ones():
    X, y = drawn(np.random.default_rng(3), n_graphs=6)
    of_sparse = [(sparse.csr_matrix(a), e, sparse.coo_array(f)) for a, e, f in X]
    one, other = GraphLabeler(max_epochs=3).fit(X, y), GraphLabeler(max_epochs=3).fit(of_sparse, y)
    assert np.array_equal(one.solution_.w, other.solution_.w)
    assert [each.tolist() for each in one.predict(of_sparse)] == [each.tolist() for each in other.predict(X)]


def test_types_of_nodes_are_labels_that_others_may_not_have():
    """Two types in one graph score as the same nodes with features of their own, if all labels are their own."""
    rng = np.random.default_rng(4)
    of_words, of_lines = rng.normal(size=(3, 2)), rng.normal(size=(2, 4))
    between, within = [(0, 0), (1, 0), (2, 1)], [(0, 1)]
    x = {
        "nodes": {"word": of_words, "line": of_lines},
        "edges": {("word", "line"): (between, np.ones((3, 1))), ("line", "line"): within},
    }
    y = {"word": ["a", "b", "a"], "line": ["t", "u"]}
    found = compiled([x] * 2, [y, {"word": ["b", "b", "a"], "line": ["u", "u"]}])
    examples = found.examples
    w = rng.normal(size=examples.n_weights)
    model = found.model(type("S", (), {"w": w})(), {})
    nodes, edges = model.scheme.blocks()
    assert list(nodes) == ["line", "word"]
    W = {kind: w[block.first : block.end].reshape(-1, 2) for kind, block in nodes.items()}
    V = {pair: w[block.first : block.end].reshape(block.features, -1) for (pair, _), block in edges.items()}
    own = {kind: [found.labels[k] for k in model.scheme.labels_of(kind)] for kind in nodes}
    assert sorted(own["word"]) == ["a", "b"]
    best = -np.inf
    for words in product(range(2), repeat=3):
        for lines in product(range(2), repeat=2):
            total = sum(np.append(of_words[v], 1.0) @ W["word"][:, s] for v, s in enumerate(words))
            total += sum(np.append(of_lines[v], 1.0) @ W["line"][:, s] for v, s in enumerate(lines))
            total += sum(V["word", "line"][:, 2 * words[u] + lines[v]].sum() for u, v in between)
            total += sum(V["line", "line"].ravel()[2 * lines[u] + lines[v]] for u, v in within)
            output = gold_outputs(examples.structure, examples.sizes[:1], [np.array([*lines, *words])])
            assert examples.scores(w, np.zeros(1, np.int32), output)[0] == pytest.approx(total)
            if total > best:
                best, right = total, {"word": [own["word"][s] for s in words], "line": [own["line"][s] for s in lines]}
    predicted = model.predict([x])[0]
    assert {kind: labels.tolist() for kind, labels in predicted.items()} == right
