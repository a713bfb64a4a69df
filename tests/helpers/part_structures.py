"""Every structure of the layer of parts with all outputs of a few small examples, one by one.

A row says which outputs there are and which errors count. Everything else follows from the numbers of parts, so that
one table of tests covers each ability of each structure (`tests/structures`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from helpers.brackets import labelled
from helpers.segmentations import segmentations
from helpers.trees import trees
from widemargin.decoders.cky import cell
from widemargin.decoders.tree_kbest import GRANDSIBLINGS, NON_PROJECTIVE, PROJECTIVE, SIBLINGS
from widemargin.structures.chain import Chain, Segments
from widemargin.structures.classes import Choices, Classes
from widemargin.structures.constituents import Constituents
from widemargin.structures.dependencies import dependencies as of_kind
from widemargin.structures.graph import ExactGraphs, Graphs, shape_of
from widemargin.structures.graph_programmes import SolvedGraphs
from widemargin.structures.graph_rules import RuledGraphs, at_most, implies
from widemargin.structures.label_sets import LabelSets, ListedSets


@dataclass
class Case:
    """A structure, the sizes of its examples, and all outputs of an example of each size.

    `costs(size, gold, rng)` are the costs of the own parts. The error of an output is its costs less those of gold,
    which are 0 for most structures. `at(size, output)` gives for each position of an example the parts of an output
    whose costs are its error there. `same` says whether outputs are equal.
    """

    structure: Any
    sizes: list[int]
    n_shared: int
    every: Callable[[int], list[np.ndarray]]
    costs: Callable[..., np.ndarray]
    at: Callable[..., list[list[int]]] = field(default=lambda size, output: [])
    same: Callable[..., bool] = np.array_equal

    @cached_property
    def outputs(self):
        """All outputs of each example."""
        return [self.every(size) for size in self.sizes]

    @cached_property
    def n_own(self):
        return self.structure.n_own(np.array(self.sizes)).tolist()

    @cached_property
    def numbers(self):
        """The parts of each output of each example, without places that are empty."""
        return [
            [self._numbers(size, output) for output in outputs]
            for size, outputs in zip(self.sizes, self.outputs, strict=True)
        ]

    def _numbers(self, size, output):
        found = self.structure.parts(np.array([size]), output).numbers
        return found[found >= 0]

    def z(self, k):
        """z(y) of every output of example k, a row each."""
        rows = np.zeros((len(self.outputs[k]), self.n_own[k] + self.n_shared))
        for row, numbers in zip(rows, self.numbers[k], strict=True):
            np.add.at(row, numbers, 1.0)
        return rows


def whole_costs(size, gold, rng, n_labels):
    """Whole costs of wrong labels, label by label."""
    costs = rng.integers(0, 3, size=(size, n_labels)).astype(float)
    costs[np.arange(size), gold] = 0.0
    return costs.ravel()


def chain(*, by_position=False):
    L = 3
    return Case(
        Chain(L, by_position=by_position),
        [3, 0, 1, 4],
        2 * L + (0 if by_position else L * L),
        lambda n: [np.array(y, dtype=np.int32) for y in product(range(L), repeat=n)],
        lambda n, gold, rng: np.concatenate([whole_costs(n, gold, rng, L), np.zeros(n * L * L if by_position else 0)]),
        lambda n, y: [[t * L + int(label)] for t, label in enumerate(y)],
    )


def classes():
    L = 4
    return Case(
        Classes(L),
        [1, 1, 1],
        0,
        lambda n: [np.array([label], dtype=np.int32) for label in range(L)],
        lambda n, gold, rng: whole_costs(n, gold, rng, L) * 0.7,
        lambda n, y: [[int(y[0])]],
    )


def segments():
    L, longest = 2, 3

    def numbered(n, y):
        """The number of each segment of an output, by where it begins and how long it is."""
        m, starts = min(longest, n), [*np.flatnonzero(y & 1).tolist(), n]
        return {(t, u - t - 1): (t * m + u - t - 1) * L + int(y[t] >> 1) for t, u in pairwise(starts)}

    def costs(n, gold, rng):
        own = rng.integers(0, 3, size=n * min(longest, n) * L).astype(float)
        own[list(numbered(n, gold).values())] = 0.0
        return own

    def at(n, y):
        found = numbered(n, y)
        return [[found[t, d]] if (t, d) in found else [] for t in range(n) for d in range(min(longest, n - t))]

    def every(n):
        found = segmentations(n, [longest] * L) if n else [()]
        codes = [[2 * label + (t == a) for a, b, label in each for t in range(a, b + 1)] for each in found]
        return [np.array(y, dtype=np.int32) for y in codes]

    return Case(Segments(L, longest), [3, 0, 1, 5], L * L + 2 * L, every, costs, at)


def dependencies(kind, n_labels, *, single_root=False):
    def every(n):
        heads = trees(n, single_root=single_root, projective=kind != NON_PROJECTIVE).tolist() if n else [[]]
        labels = list(product(range(n_labels), repeat=n))
        return [
            np.array([head * n_labels + label for head, label in zip(one, two, strict=True)], dtype=np.int32)
            for one in heads
            for two in labels
        ]

    def costs(n, gold, rng):
        """Wrong heads cost 1, and wrong labels at the right head no more: position by position that is required."""
        own = np.zeros(structure.n_own(np.array([n]))[0])
        arcs = own[: (n + 1) ** 2 * n_labels].reshape(n + 1, n + 1, n_labels)
        arcs[...] = 1.0
        for m, code in enumerate(gold.tolist(), 1):
            arcs[code // n_labels, m] = 0.5
            arcs[code // n_labels, m, code % n_labels] = 0.0
        return own

    def at(n, y):
        return [[(c // n_labels * (n + 1) + m) * n_labels + c % n_labels] for m, c in enumerate(y.tolist(), 1)]

    structure = of_kind(n_labels, kind, single_root)
    return Case(structure, [3, 0, 1, 2], 0, every, costs, at)


def constituents(*, halves):
    L = 2

    def every(n):
        return [np.array(each, dtype=np.int32).reshape(-1, 3) for each in (labelled(n, L) if n else [[]])]

    def costs(n, gold, rng):
        """A cost of each label, for all nodes that gold lacks."""
        of_labels, cells = rng.integers(1, 3, size=L).astype(float), n * (n + 1) // 2
        own = np.zeros(structure.n_own(np.array([n]))[0])
        spans = own[: cells * L].reshape(cells, L)
        spans[...] = of_labels
        for i, j, label in gold.tolist():
            spans[cell(i, j), label] = 0.0
        return own

    def at(n, y):
        """Each word has a node of its own, and each gap between words the node that is split there."""
        found = [[] for _ in range(max(2 * n - 1, 0))]
        for r, (i, j, label) in enumerate(y.tolist()):
            position = 2 * i if j - i == 1 else 2 * int(y[r + 1, 1]) - 1
            found[position] = [cell(i, j) * L + label]
        return found

    structure = Constituents(L, halves=halves)
    return Case(structure, [3, 0, 1, 2], 2 * L * L, every, costs, at)


def label_sets(kind):
    L = 3

    def costs(n, gold, rng):
        """What a wrong label costs: labels of gold cost nothing, and less than nothing once they are there."""
        return rng.integers(1, 3, size=L) * (1.0 - 2.0 * gold[0])

    return Case(
        kind(L),
        [1, 1, 1],
        L * (L - 1) // 2 if kind.pairwise else 0,
        lambda n: [np.array([y], dtype=np.int32) for y in product((0, 1), repeat=L)],
        costs,
        lambda n, y: [[label] if y[0, label] else [] for label in range(L)],
    )


def choices():
    def costs(n, gold, rng):
        own = rng.integers(0, 3, size=n).astype(float)
        own[n - 1 - gold[0]] = 0.0
        return own

    return Case(Choices(), [3, 1, 4], 0, lambda n: [np.array([y], dtype=np.int32) for y in range(n)], costs)


def graphs(make=ExactGraphs, obeys=None):
    """A path, no nodes, a cycle with nodes of other labels and parallel edges, and two nodes without an edge."""
    shapes = [
        shape_of([2, 2, 2], [(0, 1), (2, 1)]),
        shape_of([], []),
        shape_of([2, 3, 2], [(0, 1), (1, 2), (2, 0), (1, 0)]),
        shape_of([1, 3], []),
    ]

    def costs(i, gold, rng):
        shape = shapes[i]
        own = rng.integers(0, 3, size=shape.n_own).astype(float)
        own[shape.widths.sum() :] = 0.0
        own[shape.at_node + gold[:-1].astype(int)] = 0.0
        return own

    return Case(
        make(shapes),
        [0, 1, 2, 3],
        0,
        lambda i: [
            np.array([*y, 0.0]) for y in product(*map(range, shapes[i].widths.tolist())) if obeys is None or obeys(i, y)
        ],
        costs,
        lambda i, y: [[int(first + label)] for first, label in zip(shapes[i].at_node, y[:-1], strict=True)],
        lambda one, other: np.array_equal(one[:-1], other[:-1]),  # the last number is a bound on what was missed
    )


def ruled_graphs():
    """The same, but at most one node of the path has label 1, and a label of the cycle needs another one."""
    rules = [[at_most(1, [(v, 1) for v in range(3)])], [], [implies((0, 1), (1, 2), (2, 0))], []]
    return graphs(lambda shapes: RuledGraphs(shapes, rules), lambda i, y: all(rule.is_met(y) for rule in rules[i]))


CASES = {
    "chain": chain,
    "chain by position": lambda: chain(by_position=True),
    "classes": classes,
    "choices": choices,
    "sets of labels": lambda: label_sets(LabelSets),
    "sets of labels in pairs": lambda: label_sets(ListedSets),
    "segments": segments,
    "projective": lambda: dependencies(PROJECTIVE, 2),
    "projective, single root": lambda: dependencies(PROJECTIVE, 1, single_root=True),
    "non-projective": lambda: dependencies(NON_PROJECTIVE, 2, single_root=True),
    "siblings": lambda: dependencies(SIBLINGS, 2),
    "constituents": lambda: constituents(halves=True),
    "constituents without halves": lambda: constituents(halves=False),
    "graphs": graphs,
    "graphs with bounds": lambda: graphs(Graphs),
    "graphs by programmes": lambda: graphs(SolvedGraphs),
    "graphs with rules": ruled_graphs,
    "grandsiblings": lambda: dependencies(GRANDSIBLINGS, 2, single_root=True),
}
"""Cases by their names."""
