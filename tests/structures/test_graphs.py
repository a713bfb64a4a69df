"""Graphs of any shape: bounds against all outputs, and against linear programmes where these are too many."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from widemargin.core.examples import Bounded, Marginals
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows
from widemargin.decoders.coverage import Limits
from widemargin.errors import DataError
from widemargin.solvers import named_solver
from widemargin.structures.examples import part_examples
from widemargin.structures.flat import Scores
from widemargin.structures.graph import (
    ExactGraphs,
    GraphCosts,
    GraphLimits,
    Graphs,
    gold_outputs,
    graphs,
    shape_of,
)
from widemargin.structures.graph_programmes import RelaxedGraphs, SolvedGraphs
from widemargin.structures.graph_rules import RuledGraphs, at_most, exactly, implies, together
from widemargin.structures.part_rows import Items, Kinds, TiedRows
from widemargin.testing import check_structure


def bounded_graphs(shapes):
    return graphs(shapes, inference="bounded")


def grid(rows, columns):
    number = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return np.concatenate([right, down])


def drawn(rng, n_nodes, density, widest=3):
    widths = rng.integers(1, widest + 1, size=n_nodes)
    ends = [
        (u, v) if rng.random() < 0.5 else (v, u) for u in range(n_nodes) for v in range(u) if rng.random() < density
    ]
    return shape_of(widths, ends)


def scores_of(theta):
    return Scores(np.zeros(1, np.int64), np.zeros(1, np.int64), theta, np.empty(0))


def total(structure, theta, labels):
    return structure.total(scores_of(theta), np.array([*labels, 0.0]))[0]


@pytest.mark.interpreted
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_bounds_are_never_below_the_best_output(seed):
    rng = np.random.default_rng(seed)
    shape = drawn(rng, int(rng.integers(0, 7)), rng.choice([0.3, 0.6, 1.0]))
    theta = rng.normal(size=shape.n_own) * rng.choice([0.3, 3.0, 1e6])
    if rng.random() < 0.3:
        theta[rng.random(len(theta)) < 0.1] = -np.inf
    bounded, exact = Graphs([shape], choices=int(rng.choice([0, 1, 1 << 14]))), ExactGraphs([shape])
    best = max(total(exact, theta, y) for y in product(*map(range, shape.widths.tolist())))
    if best == -np.inf:
        return
    one = np.zeros(1, np.int64)
    output, sure = bounded.best(scores_of(theta)), exact.best(scores_of(theta))
    found = total(bounded, theta, output[:-1])
    assert found <= best + 1e-9
    assert found + bounded.excess(one, output)[0] >= best
    assert total(exact, theta, sure[:-1]) == pytest.approx(best)
    assert exact.excess(one, sure)[0] == 0.0


def dense(rng):
    """A graph whose messages and cycles leave a gap, and scores of its parts."""
    shape = drawn(rng, 8, 0.9, widest=4)
    theta = rng.normal(size=shape.n_own)
    theta[rng.random(shape.n_own) < rng.choice([0.0, 0.05])] = -np.inf
    return shape, theta


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("choices", [0, 1, 1 << 14])
def test_bounds_hold_however_short_the_search_is(seed, choices):
    rng = np.random.default_rng(seed)
    shape, theta = dense(rng)
    sure = ExactGraphs([shape]).best(scores_of(theta))
    bounded = Graphs([shape], rounds=5, choices=choices)
    best, output = total(bounded, theta, sure[:-1]), bounded.best(scores_of(theta))
    if best == -np.inf:
        return
    found = total(bounded, theta, output[:-1])
    assert found <= best + 1e-9
    assert found + output[-1] >= best
    if choices > 1:  # it holds all choices, so nothing is left open
        assert output[-1] <= 2e-5 * (1.0 + abs(best))


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_bounds_of_grids_are_close_to_linear_programmes(noise):
    from scipy.optimize import linprog
    from scipy.sparse import lil_array

    rng, shape = np.random.default_rng(5), shape_of(np.full(36, 3), grid(6, 6))
    theta = noise * rng.normal(size=shape.n_own)
    sums, right = lil_array((36 + 6 * len(shape.ends), shape.n_own)), np.zeros(36 + 6 * len(shape.ends))
    for v in range(36):
        sums[v, shape.at_node[v] : shape.at_node[v] + 3], right[v] = 1.0, 1.0
    for e, (u, v) in enumerate(shape.ends.tolist()):
        for a in range(3):
            sums[36 + 6 * e + a, shape.at_edge[e] + 3 * a : shape.at_edge[e] + 3 * a + 3] = 1.0
            sums[36 + 6 * e + a, shape.at_node[u] + a] = -1.0
            sums[36 + 6 * e + 3 + a, shape.at_edge[e] + a : shape.at_edge[e] + 9 : 3] = 1.0
            sums[36 + 6 * e + 3 + a, shape.at_node[v] + a] = -1.0
    relaxed = -linprog(-theta, A_eq=sums.tocsr(), b_eq=right, bounds=(0, 1), method="highs").fun
    structure = bounded_graphs([shape])
    output = structure.best(scores_of(theta))
    found = total(structure, theta, output[:-1])
    assert found + output[-1] <= relaxed + 1e-4 * abs(relaxed)  # cycles make bounds tighter than this programme
    assert output[-1] <= 1e-4 * relaxed


@pytest.mark.parametrize("length", [3, 4, 9])
@pytest.mark.parametrize("swapped", [False, True])
def test_contradictions_of_cycles_are_seen(length, swapped):
    """Neighbours want to agree, but for two that do not; a linear programme, and so messages, would agree with all.

    Triples see cycles of three and four nodes, searches those of any length.
    """
    ends = [(v, (v + 1) % length) for v in range(length)]
    shape = shape_of(np.full(length, 2), [(v, u) for u, v in ends] if swapped else ends)
    theta = np.concatenate([np.zeros(2 * length), np.tile(np.eye(2).ravel(), length - 1), 1.0 - np.eye(2).ravel()])
    structure = bounded_graphs([shape])
    output = structure.best(scores_of(theta))
    assert total(structure, theta, output[:-1]) == length - 1
    assert output[-1] == pytest.approx(0.0, abs=1e-4 * length)
    unsearched = Graphs([shape], choices=0).best(scores_of(theta))
    assert (unsearched[-1] > 0.5) == (length > 4)


def test_wide_grids_have_bounds_and_narrow_ones_are_exact():
    wide, narrow = shape_of(np.full(100, 5), grid(10, 10)), shape_of(np.full(30, 3), grid(3, 10))
    assert isinstance(graphs([narrow]), ExactGraphs)
    assert type(graphs([narrow, wide])) is Graphs


def crossed(rng, n_nodes=14):
    """A graph with so many contradictions that bounds alone leave a gap, and scores of its parts."""
    shape = shape_of(np.full(n_nodes, 2), [(u, v) for u in range(n_nodes) for v in range(u) if rng.random() < 0.4])
    return shape, rng.normal(size=shape.n_own)


@pytest.mark.parametrize("seed", range(6))
def test_programmes_close_the_gaps_that_bounds_leave(seed):
    shape, theta = crossed(np.random.default_rng(seed))
    best = total(bounded_graphs([shape]), theta, ExactGraphs([shape]).best(scores_of(theta))[:-1])
    structure = SolvedGraphs([shape])
    structure.rounds, structure.choices = 1, 0
    assert Graphs([shape], rounds=1, choices=0).best(scores_of(theta))[-1] > 0.1
    output = structure.best(scores_of(theta))
    assert total(structure, theta, output[:-1]) == pytest.approx(best, abs=1e-9)
    assert 0.0 <= output[-1] < 1e-4
    structure.limits = Limits(nodes=0)
    output = structure.best(scores_of(theta))
    assert (
        total(structure, theta, output[:-1]) <= best + 1e-9 <= total(structure, theta, output[:-1]) + output[-1] + 2e-9
    )


@pytest.mark.parametrize("seed", range(6))
def test_relaxed_outputs_are_never_worse_than_labels(seed):
    rng = np.random.default_rng(seed)
    shape, theta = crossed(rng, 8)
    exact, structure, one = ExactGraphs([shape]), graphs([shape], inference="relaxed"), np.zeros(1, dtype=np.int64)
    sure, output = exact.best(scores_of(theta)), structure.best(scores_of(theta))
    relaxed, mu = structure.total(scores_of(theta), output)[0], output[:-1]
    assert relaxed + output[-1] >= exact.total(scores_of(theta), sure)[0]
    for v, at in enumerate(shape.at_node.tolist()):
        assert mu[at : at + 2].sum() == pytest.approx(1.0)
        for e in np.flatnonzero((shape.ends == v).any(axis=1)).tolist():
            pairs = mu[shape.at_edge[e] : shape.at_edge[e] + 4].reshape(2, 2)
            assert pairs.sum(axis=1 if shape.ends[e, 0] == v else 0) == pytest.approx(mu[at : at + 2], abs=1e-9)
    whole = structure.outputs_of(one, [sure[:-1].astype(np.int64)])
    assert structure.total(scores_of(theta), whole) == pytest.approx(exact.total(scores_of(theta), sure))


def test_graphs_without_contradictions_have_no_fractions():
    shape, rng = shape_of(np.full(5, 3), [(0, 1), (1, 2), (1, 3), (4, 3)]), np.random.default_rng(0)
    theta, one = rng.normal(size=shape.n_own), np.zeros(1, dtype=np.int64)
    relaxed, exact = graphs([shape], inference="relaxed"), ExactGraphs([shape])
    labels = relaxed.labels(one, relaxed.best(scores_of(theta)))[0]
    assert np.array_equal(labels, exact.labels(one, exact.best(scores_of(theta)))[0])


@pytest.mark.parametrize("seed", range(12))
def test_labels_obey_rules_and_are_the_best_that_do(seed):
    rng = np.random.default_rng(seed)
    shape = shape_of(np.full(6, 3), drawn(rng, 6, 0.5).ends)
    theta, one = rng.normal(size=shape.n_own), np.zeros(1, dtype=np.int64)
    rules = [at_most(1, [(v, 0) for v in range(6)]), exactly(2, [(v, 1) for v in range(6)])]
    rules += [implies((0, 1), (1, 2), (2, 2)), *together((3, 1), (4, 1))]
    structure = RuledGraphs([shape], [rules])
    allowed = [y for y in product(range(3), repeat=6) if sum(a == 0 for a in y) <= 1 and sum(a == 1 for a in y) == 2]
    allowed = [y for y in allowed if (y[0] != 1 or 2 in y[1:3]) and (y[3] == 1) == (y[4] == 1)]
    best = max(total(structure, theta, y) for y in allowed)
    output = structure.best(scores_of(theta))
    assert tuple(output[:-1].astype(int)) in allowed
    assert total(structure, theta, output[:-1]) == pytest.approx(best, abs=1e-9)
    assert best <= total(structure, theta, output[:-1]) + output[-1] <= best + 1e-4
    broken = next(y for y in product(range(3), repeat=6) if y not in allowed)
    with pytest.raises(DataError, match="the labels of example 0 break a rule: "):
        structure.outputs_of(one, [broken])


def test_rules_that_contradict_each_other_are_named():
    shape = shape_of([2, 2], [(0, 1)])
    rules = [exactly(1, [(0, 0)]), at_most(1, [(1, 0)]), exactly(1, [(0, 1)])]
    with pytest.raises(DataError, match="'exactly 1 of node 0 with label 1' contradicts the 2 before it"):
        RuledGraphs([shape], [rules]).best(scores_of(np.zeros(8)))
    with pytest.raises(DataError, match="graph 0: there is no node 2 with label 0, but a rule names it"):
        RuledGraphs([shape], [[at_most(1, [(2, 0)])]])
    with pytest.raises(DataError, match="there are 1 graphs, but rules for 2"):
        RuledGraphs([shape], [[], []])


def examples_of(rng, structure, *, known=1.0):
    """Random features of nodes and edges, and gold labels; edges have as many weights as their table has cells."""
    shapes = structure.shapes
    width = 3
    counts = [len(s.widths) + len(s.ends) for s in shapes]
    n_items = sum(counts)
    kinds = np.concatenate([[0] * len(s.widths) + [1] * len(s.ends) for s in shapes]).astype(np.int64)
    rows = Rows(
        2 * np.arange(n_items + 1), rng.integers(0, 4, size=2 * n_items).astype(np.int32), rng.normal(size=2 * n_items)
    )
    places = np.concatenate([np.concatenate([s.at_node, s.at_edge]) for s in shapes])
    given_items = Items(np.concatenate([[0], np.cumsum(counts)]), kinds, places, rows)
    tied = np.array([0, 1, 2, 1, 3, -1, 2, -1, 0])  # symmetric, and some pairs without a weight
    columns, signs = (
        np.concatenate([np.arange(width), tied]),
        np.concatenate([np.ones(width), [1, 1, 1, 1, 1, 1, -1, 1, 1]]),
    )
    of_kinds = Kinds(np.array([0, 4 * width]), np.array([width, 4]), np.array([0, width, width + 9]), columns, signs)
    sizes = np.arange(len(shapes))
    features = TiedRows(sizes, structure.n_own(sizes), given_items, of_kinds, 4 * width + 16)
    labels = [rng.integers(0, width, size=len(s.widths)) for s in shapes]
    gold = np.concatenate([*labels, []]).astype(np.int32)
    partly = np.where(rng.random(len(gold)) < known, gold, -1).astype(np.int32)
    costs = GraphCosts(structure, sizes, partly, np.ones(len(gold)))
    limits = GraphLimits(structure, sizes, partly, np.ones(len(gold))) if known < 1.0 else None
    return part_examples(structure, features, costs, gold_outputs(structure, sizes, labels), limits)


SHAPES = [
    shape_of(np.full(4, 3), [(0, 1), (1, 2), (2, 3), (3, 0), (2, 0)]),
    shape_of([3], []),
    shape_of([3, 3], [(1, 0)]),
]


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "structure",
    [ExactGraphs(SHAPES), bounded_graphs(SHAPES), SolvedGraphs(SHAPES), RelaxedGraphs(SHAPES)],
    ids=["eliminated", "bounded", "solved", "relaxed"],
)
def test_examples_are_a_structure(structure):
    check_structure(examples_of(np.random.default_rng(0), structure), n_draws=4)


def test_parts_are_summed_as_rows_of_features():
    rng = np.random.default_rng(1)
    structure = ExactGraphs(SHAPES)
    examples = examples_of(rng, structure)
    w, batch = rng.normal(size=examples.n_weights), np.array([2, 0], dtype=np.int32)
    found = examples.expectation(w, batch)
    step = 1e-6 * rng.normal(size=len(w))
    ahead, behind = examples.expectation(w + step, batch).errors, examples.expectation(w - step, batch).errors
    slope = [-row.values @ step[row.indices] for row in rows_of(found.psi)]
    assert (ahead - behind) / 2 == pytest.approx(slope, abs=1e-9)


def rows_of(rows):
    for k in range(len(rows.indptr) - 1):
        at = slice(rows.indptr[k], rows.indptr[k + 1])
        yield Rows(np.array([0]), rows.indices[at], rows.values[at])


@pytest.mark.parametrize(("solver", "loss"), [("auto", "squared_hinge"), ("bcfw", "hinge"), ("one-slack", "hinge")])
def test_bounds_prove_the_optimum_of_exact_decoding(solver, loss):
    rng = np.random.default_rng(2)
    shapes = [shape_of(np.full(6, 3), drawn(rng, 6, 0.8).ends) for _ in range(6)]
    exact = examples_of(np.random.default_rng(3), ExactGraphs(shapes))
    bounded = examples_of(np.random.default_rng(3), bounded_graphs(shapes))
    assert isinstance(bounded, Bounded)
    assert not isinstance(bounded, Marginals)
    sure = fit(Problem(exact, C=0.3, loss=loss), named_solver("auto"), stop=Stop(epochs=400, gap=1e-3))
    found = fit(Problem(bounded, C=0.3, loss=loss), named_solver(solver), stop=Stop(epochs=400, gap=1e-2))
    assert sure.gap <= 1e-3
    assert found.primal >= sure.primal * (1 - 1e-3)
    assert found.primal * (1 - found.gap) <= sure.primal
    assert found.gap < 0.2


@pytest.mark.parametrize(
    ("inference", "words"),
    [
        ("auto", None),
        ("bounded", "2 of 3 shapes of graphs are decoded with bounds"),
        ("relaxed", "of the relaxed problem, whose outputs may have fractions of labels"),
    ],
)
def test_certificates_say_how_graphs_are_decoded(inference, words):
    examples = examples_of(np.random.default_rng(0), graphs(SHAPES, inference=inference))
    solution = fit(Problem(examples, C=1.0), named_solver("auto"), stop=Stop(epochs=50, gap=0.01))
    assert solution.about == words
    assert f"({words})" in str(solution) if words else "(" not in str(solution)
    assert solution.summary().get("about") == words


def test_the_relaxed_problem_lies_above_the_true_one():
    shapes = [shape_of(np.full(6, 3), drawn(np.random.default_rng(2), 6, 0.9).ends) for _ in range(4)]
    found = {}
    for inference in ("auto", "relaxed"):
        examples = examples_of(np.random.default_rng(3), graphs(shapes, inference=inference))
        found[inference] = fit(Problem(examples, C=0.3), named_solver("auto"), stop=Stop(epochs=400, gap=1e-3))
        assert found[inference].gap <= 1e-3
    assert found["relaxed"].primal >= found["auto"].dual


@pytest.mark.interpreted
def test_labels_known_in_part_are_filled_in():
    examples = examples_of(np.random.default_rng(4), ExactGraphs(SHAPES), known=0.5)
    w, batch = np.random.default_rng(5).normal(size=examples.n_weights), np.arange(3, dtype=np.int32)
    completed = examples.complete(w, batch)
    known = examples.limits.gold
    labels = np.concatenate(examples.structure.labels(batch, completed))
    assert np.array_equal(labels[known >= 0], known[known >= 0])


@pytest.mark.parametrize(
    ("widths", "ends", "message"),
    [
        ([2, 2], [(0, 2)], "edge 0 joins 0 and 2, but the nodes are 0 … 1"),
        ([2, 2], [(0, 1), (1, 1)], "edge 1 joins the node 1 with itself"),
    ],
)
def test_edges_must_join_two_nodes(widths, ends, message):
    with pytest.raises(DataError, match=message):
        shape_of(widths, ends)
