"""Decoding of many sentences whose part scores lie end to end: one kernel per kind of tree, compiled where it is used.

A sentence may be decoded several times with one arc forbidden, without copying its scores.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.arborescence import arborescence, new_contraction
from widemargin.decoders.eisner import eisner, new_chart
from widemargin.decoders.grandsiblings import grandsiblings, new_grand_chart
from widemargin.decoders.siblings import new_sibling_chart, siblings

NOTHING = -1


class Scores(NamedTuple):
    """Part scores: a sentence of n tokens has (n + 1)² of arcs from `at_arc`, and (n + 1)³ of triples from `at_triple`.

    `labels` are the best labels of the arcs. Triples are pairs of siblings, and chains of `grandparent`, head and
    modifier; `sibling` and `grandparent` are empty where there are no scores of them.
    """

    sizes: LongVector
    at_arc: LongVector
    at_triple: LongVector
    arc: FloatVector
    labels: IntVector
    sibling: FloatVector
    grandparent: FloatVector


class Tasks(NamedTuple):
    """Sentences to decode, by their position in `Scores`, each without the arc from `head` to `modifier`.

    The heads of task k are written from `starts`[k] on. `NOTHING` forbids no arc.
    """

    position: IntVector
    head: IntVector
    modifier: IntVector
    starts: LongVector


@kernel
def arcs_of(scores: Scores, position: int) -> FloatMatrix:
    """The scores of a sentence's arcs."""
    size, at = scores.sizes[position] + 1, scores.at_arc[position]
    return scores.arc[at : at + size * size].reshape(size, size)


@kernel
def labels_of(scores: Scores, position: int) -> IntMatrix:
    """The best labels of a sentence's arcs."""
    size, at = scores.sizes[position] + 1, scores.at_arc[position]
    return scores.labels[at : at + size * size].reshape(size, size)


@kernel
def siblings_of(scores: Scores, position: int) -> FloatMatrix:
    """The scores of a sentence's siblings."""
    return _triples(scores.sibling, scores, position)


@kernel
def grandparents_of(scores: Scores, position: int) -> FloatMatrix:
    """The scores of a sentence's chains: heads × modifiers × grandparents."""
    return _triples(scores.grandparent, scores, position)


@kernel
def _triples(triples: FloatVector, scores: Scores, position: int) -> FloatMatrix:
    size, at = scores.sizes[position] + 1, scores.at_triple[position]
    return triples[at : at + size * size * size].reshape(size, size, size)


@kernel
def _longest(sizes: LongVector) -> int:
    longest = 1
    for size in sizes:
        longest = max(longest, size)
    return longest


@kernel
def _forbid(arcs: FloatMatrix, tasks: Tasks, k: int) -> float:
    """Forbid the arc of a task; return its score for `_allow` to restore."""
    if tasks.head[k] < 0:
        return 0.0
    score = arcs[tasks.head[k], tasks.modifier[k]]
    arcs[tasks.head[k], tasks.modifier[k]] = -np.inf
    return score


@kernel
def _allow(arcs: FloatMatrix, tasks: Tasks, k: int, score: float) -> None:
    if tasks.head[k] >= 0:
        arcs[tasks.head[k], tasks.modifier[k]] = score


@kernel
def _projective(scores: Scores, tasks: Tasks, single_root: bool, heads: IntVector, totals: FloatVector) -> None:
    chart = new_chart(_longest(scores.sizes))
    for k in range(len(tasks.position)):
        totals[k] = 0.0
        if scores.sizes[tasks.position[k]] == 0:
            continue
        arcs = arcs_of(scores, tasks.position[k])
        before = _forbid(arcs, tasks, k)
        totals[k] = eisner(arcs, single_root, heads[tasks.starts[k] : tasks.starts[k + 1]], chart)
        _allow(arcs, tasks, k, before)


@kernel
def _non_projective(scores: Scores, tasks: Tasks, single_root: bool, heads: IntVector, totals: FloatVector) -> None:
    contraction = new_contraction(_longest(scores.sizes))
    for k in range(len(tasks.position)):
        totals[k] = 0.0
        if scores.sizes[tasks.position[k]] == 0:
            continue
        arcs = arcs_of(scores, tasks.position[k])
        before = _forbid(arcs, tasks, k)
        totals[k] = arborescence(arcs, single_root, heads[tasks.starts[k] : tasks.starts[k + 1]], contraction)
        _allow(arcs, tasks, k, before)


@kernel
def _second_order(scores: Scores, tasks: Tasks, single_root: bool, heads: IntVector, totals: FloatVector) -> None:
    chart = new_sibling_chart(_longest(scores.sizes))
    for k in range(len(tasks.position)):
        totals[k] = 0.0
        if scores.sizes[tasks.position[k]] == 0:
            continue
        arcs, pairs = arcs_of(scores, tasks.position[k]), siblings_of(scores, tasks.position[k])
        before = _forbid(arcs, tasks, k)
        totals[k] = siblings(arcs, pairs, single_root, heads[tasks.starts[k] : tasks.starts[k + 1]], chart)
        _allow(arcs, tasks, k, before)


@kernel
def _grandsiblings(scores: Scores, tasks: Tasks, single_root: bool, heads: IntVector, totals: FloatVector) -> None:
    chart = new_grand_chart(_longest(scores.sizes))
    for k in range(len(tasks.position)):
        totals[k] = 0.0
        if scores.sizes[tasks.position[k]] == 0:
            continue
        arcs, position = arcs_of(scores, tasks.position[k]), tasks.position[k]
        pairs, chains = siblings_of(scores, position), grandparents_of(scores, position)
        before = _forbid(arcs, tasks, k)
        found = heads[tasks.starts[k] : tasks.starts[k + 1]]
        totals[k] = grandsiblings(arcs, pairs, chains, single_root, found, chart)
        _allow(arcs, tasks, k, before)


Order = int | str
WITH_GRANDPARENTS = "grandsiblings"

Decoder = Callable[[Scores, Tasks, bool, IntVector, FloatVector], None]

DECODERS: dict[tuple[str, Order], Decoder] = {
    ("projective", 1): _projective,
    ("projective", 2): _second_order,
    ("projective", WITH_GRANDPARENTS): _grandsiblings,
    ("nonprojective", 1): _non_projective,
}
"""The kinds of trees by decoder and order; each writes the heads of the best trees, and their scores."""
