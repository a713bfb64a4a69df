"""Dependency trees as a probability model: the probabilities of arcs, of their labels and of siblings.

    p(y) ∝ exp(⟨w, φ(x, y)⟩ + error_scale · Δ(y))

Labels are summed over first. Given its arc, a label has the probability `share`, and the arc scores the sum of all:

    share(l | h, m) ∝ exp(label(h, m, l) + error_scale · Δ),    score(h, m) = arc(h, m) + log Σ_l exp(…)

Then sums over trees give the probabilities of arcs, by inside–outside or the matrix-tree theorem. A label of an arc has
the probability p(h, m) · share(l | h, m).
"""

from collections.abc import Callable
from math import exp, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.decoders.arborescence import arborescence, new_contraction
from widemargin.decoders.eisner import eisner, new_chart
from widemargin.decoders.eisner_sums import eisner_sums, new_sum_chart
from widemargin.decoders.matrix_tree import matrix_tree, new_elimination
from widemargin.decoders.sibling_sums import sibling_sums
from widemargin.decoders.siblings import sibling_of
from widemargin.tasks.parse.decode import Order
from widemargin.tasks.parse.scores import (
    TreeData,
    arc_scores,
    augment,
    label_row,
    label_slots,
    node_labels,
    sibling_scores,
)


class Parts(NamedTuple):
    """The parts of one sentence of n tokens: (n + 1)² arcs, their labels, and (n + 1)³ siblings, which may be none.

    First scores of arcs and siblings and the shares of labels, then probabilities of arcs and siblings.
    """

    arcs: FloatMatrix
    shares: FloatMatrix
    siblings: FloatMatrix


@kernel
def _to_shares(row: FloatVector) -> float:
    """Turn scores into shares; return log Σ exp of the scores."""
    top = row[0]
    for score in row:
        top = max(top, score)
    total = 0.0
    for label in range(len(row)):
        row[label] = exp(row[label] - top)
    for share in row:
        total += share
    for label in range(len(row)):
        row[label] /= total
    return top + log(total)


@kernel
def part_scores(data: TreeData, w: FloatVector, i: int, scale: float, with_siblings: bool) -> tuple[Parts, float]:
    """The scores of a sentence's parts, with errors counted `scale` times, and that of its gold tree, if it has one."""
    keys, first = data.keys, data.indptr[i]
    n = data.indptr[i + 1] - first
    pairs = n + 1 if with_siblings else 0
    parts = Parts(np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1, data.n_labels)), np.zeros((pairs, pairs, pairs)))
    arc_scores(data, w, i, parts.arcs)
    nodes, slots = np.empty((6 * (n + 1), data.n_labels)), label_slots(keys)
    node_labels(keys, w, data.mask, first, n, nodes)
    gold = 0.0
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h == m:
                continue
            row = parts.shares[h, m]
            label_row(keys, w, data.mask, first, h, m, nodes, slots, row)
            if scale != 0.0:
                augment(data, first, h, m, scale, row)
            if len(data.heads) > 0 and data.heads[first + m - 1] == h:
                gold += parts.arcs[h, m] + row[data.labels[first + m - 1]]
            parts.arcs[h, m] += _to_shares(row)
    if with_siblings:
        sibling_scores(keys, w, data.mask, first, n, parts.siblings)
        if len(data.heads) > 0:
            before = np.empty(n, dtype=np.int32)
            sibling_of(data.heads[first : first + n], before)
            for m in range(1, n + 1):
                gold += parts.siblings[data.heads[first + m - 1], before[m - 1], m]
    return parts, gold


@kernel
def _projective(parts: Parts, single_root: bool) -> tuple[Parts, float]:
    arcs = np.empty(parts.arcs.shape)
    log_z = eisner_sums(parts.arcs, single_root, new_sum_chart(len(arcs) - 1), arcs)
    return Parts(arcs, parts.shares, parts.siblings), log_z


@kernel
def _second_order(parts: Parts, single_root: bool) -> tuple[Parts, float]:
    arcs, pairs = np.empty(parts.arcs.shape), np.empty(parts.siblings.shape)
    log_z = sibling_sums(parts.arcs, parts.siblings, single_root, new_sum_chart(len(arcs) - 1), arcs, pairs)
    return Parts(arcs, parts.shares, pairs), log_z


@kernel
def _non_projective(parts: Parts, single_root: bool) -> tuple[Parts, float]:
    arcs = np.empty(parts.arcs.shape)
    log_z = matrix_tree(parts.arcs, single_root, new_elimination(len(arcs) - 1), arcs)
    return Parts(arcs, parts.shares, parts.siblings), log_z


Summation = Callable[[Parts, bool], tuple[Parts, float]]

SUMMATIONS: dict[tuple[str, Order], Summation] = {
    ("projective", 1): _projective,
    ("projective", 2): _second_order,
    ("nonprojective", 1): _non_projective,
}
"""The kinds of trees by decoder and order; each gives the probabilities of parts, and log Z."""


def best_heads(scores: FloatMatrix, decoder: str, single_root: bool) -> IntVector:
    """The heads of the best tree for these scores of arcs alone."""
    n = len(scores) - 1
    heads: IntVector = np.zeros(n, dtype=np.int32)
    if n and decoder == "projective":
        eisner(np.ascontiguousarray(scores), single_root, heads, new_chart(n))
    elif n:
        arborescence(np.ascontiguousarray(scores), single_root, heads, new_contraction(n))
    return heads
