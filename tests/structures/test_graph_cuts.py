"""Cuts of graphs with two labels: against all outputs, against elimination, and left alone where they prove nothing."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.structures.flat import Scores
from widemargin.structures.graph import ExactGraphs, Graphs, graphs, shape_of

ONE = np.zeros(1, np.int64)


def scores_of(theta):
    return Scores(ONE, ONE, theta, np.empty(0))


def drawn(rng, n_nodes, density):
    """A shape with two labels, some of its edges twice, and scores of its nodes."""
    pairs = [(u, v) for u in range(n_nodes) for v in range(n_nodes) if u != v and rng.random() < density / 2]
    return shape_of(np.full(n_nodes, 2), pairs), rng.normal(size=2 * n_nodes)


def friendly(rng, shape, swapped):
    """Scores of pairs that want equal labels, or unlike ones where just one end is swapped; some want neither."""
    tables = rng.normal(size=(len(shape.ends), 2, 1)) + rng.normal(size=(len(shape.ends), 1, 2))
    wish = rng.exponential(size=len(shape.ends)) * (rng.random(len(shape.ends)) < 0.8)
    for table, (u, v), strength in zip(tables, shape.ends.tolist(), wish.tolist(), strict=True):
        table[[0, 1], [0, 1] if swapped[u] == swapped[v] else [1, 0]] += strength
    return tables.ravel()


def by_cut(shape, theta):
    """The output and its score; without rounds, block ascent would prove nothing."""
    structure = Graphs([shape], rounds=0)
    output = structure.best(scores_of(theta))
    return output, structure.total(scores_of(theta), output)[0]


@pytest.mark.interpreted
@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_cuts_are_the_best_of_all_labels(seed):
    rng = np.random.default_rng(seed)
    shape, own = drawn(rng, int(rng.integers(1, 8)), rng.choice([0.3, 0.6, 1.0]))
    n = len(shape.widths)
    theta = np.concatenate([own, friendly(rng, shape, rng.integers(2, size=n))]) * rng.choice([0.3, 3.0, 1e6])
    for v in np.flatnonzero(rng.random(n) < 0.2):
        theta[2 * v + rng.integers(2)] = -np.inf
    exact = ExactGraphs([shape])
    best = max(exact.total(scores_of(theta), np.array([*y, 0.0]))[0] for y in product(range(2), repeat=n))
    output, found = by_cut(shape, theta)
    size = 1.0 + np.abs(theta[theta > -np.inf]).sum()
    assert found == pytest.approx(best, abs=1e-12 * size)
    assert found + output[-1] >= best
    assert output[-1] <= 1e-12 * size


@pytest.mark.parametrize("seed", range(20))
def test_wide_cuts_agree_with_elimination(seed):
    rng = np.random.default_rng(seed)
    rows, columns = 9, 40
    number = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    ends = np.concatenate([right, np.stack([number[1:].ravel(), number[:-1].ravel()], axis=1)])
    shape, noise = shape_of(np.full(rows * columns, 2), ends), rng.choice([0.5, 2.0, 10.0])
    theta = np.concatenate(
        [noise * rng.normal(size=2 * rows * columns), friendly(rng, shape, np.zeros(len(number) * columns))]
    )
    if seed % 2:  # whole scores have ties
        theta = np.round(theta)
        pairs = theta[2 * rows * columns :].reshape(-1, 2, 2)
        pairs[:, 0, 0] = np.maximum(pairs[:, 0, 0], pairs[:, 0, 1] + pairs[:, 1, 0] - pairs[:, 1, 1])
    exact = ExactGraphs([shape])
    best = exact.total(scores_of(theta), exact.best(scores_of(theta)))[0]
    output, found = by_cut(shape, theta)
    assert found == pytest.approx(best, rel=1e-12)
    assert best <= found + output[-1] <= best + 1e-12 * np.abs(theta).sum()


@pytest.mark.parametrize("seed", range(20))
def test_contradictions_are_left_to_block_ascent(seed):
    rng = np.random.default_rng(seed)
    shape, own = drawn(rng, 7, 1.0)
    theta = np.concatenate([own, rng.normal(size=4 * len(shape.ends))])
    exact = ExactGraphs([shape])
    best = exact.total(scores_of(theta), exact.best(scores_of(theta)))[0]
    assert by_cut(shape, theta)[0][-1] == np.inf
    with_cuts, without = (Graphs([shape], cuts=cuts).best(scores_of(theta)) for cuts in (True, False))
    assert np.array_equal(with_cuts, without)
    assert exact.total(scores_of(theta), with_cuts)[0] + with_cuts[-1] >= best


@pytest.mark.parametrize(("widths", "pair"), [([2, 3], 0.0), ([2, 2], -np.inf)])
def test_other_labels_and_forbidden_pairs_are_left_to_block_ascent(widths, pair):
    shape = shape_of(widths, [(0, 1)])
    theta = np.zeros(shape.n_own)
    theta[-2] = pair
    assert by_cut(shape, theta)[0][-1] == np.inf
    assert graphs([shape], inference="bounded").best(scores_of(theta))[-1] < 1e-4


def test_structures_say_that_cuts_may_decode():
    ring, wide = [(v, (v + 1) % 4) for v in range(4)], [(u, v) for u in range(30) for v in range(u)]
    shapes = [shape_of(np.full(4, 2), ring), shape_of(np.full(30, 2), wide), shape_of(np.full(30, 3), wide)]
    assert graphs(shapes).about == (
        "2 of 3 shapes of graphs are decoded with bounds, "
        "1 of them (two labels) exactly by a cut if its weights allow it"
    )
    assert graphs(shapes, inference="bounded").about == "3 of 3 shapes of graphs are decoded with bounds"
