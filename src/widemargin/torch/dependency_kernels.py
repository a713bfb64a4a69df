"""Kernels over batches of dependency trees: decoders are given float64 scores, so that they are compiled once.

Arcs are (B, S, S), or (B, S, S, L) with labels, S = T + 1; siblings are (B, S, S, S), or (B, 0, 0, 0) if not scored.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.eisner_sums import eisner_sums, new_sum_chart
from widemargin.decoders.matrix_tree import matrix_tree, new_elimination
from widemargin.decoders.sibling_sums import sibling_sums
from widemargin.decoders.siblings import sibling_of
from widemargin.decoders.tree_kbest import (
    NON_PROJECTIVE,
    SIBLINGS,
    decode_tree,
    new_tree_scratch,
    tree_kbest,
)


@kernel
def first_wrong(trees: IntMatrix, lengths: LongVector, n_labels: int) -> tuple[int, int]:
    """The first word whose head or label cannot be; (−1, −1) if there is none."""
    for b in range(len(trees)):
        for t in range(lengths[b]):
            head, label = trees[b, t, 0], trees[b, t, 1]
            if not (0 <= head <= lengths[b] and head != t + 1 and 0 <= label < n_labels):
                return b, t
    return -1, -1


@kernel
def _square(scores: AnyArray, n: int) -> FloatMatrix:
    """The scores of a sentence of n words."""
    out = np.empty((n + 1, n + 1))
    for h in range(n + 1):
        for m in range(n + 1):
            out[h, m] = scores[h, m]
    return out


@kernel
def _cube(scores: AnyArray, n: int, last: int) -> FloatMatrix:
    """The same for scores of three things; none if there are none."""
    n_heads = min(len(scores), n + 1)
    out = np.empty((n_heads, n_heads, last if n_heads > 0 else 0))
    for h in range(n_heads):
        for s in range(n_heads):
            for m in range(last):
                out[h, s, m] = scores[h, s, m]
    return out


@kernel
def _heads(tree: IntMatrix, n: int) -> IntVector:
    heads = np.empty(n, dtype=np.int32)
    for t in range(n):
        heads[t] = tree[t, 0]
    return heads


@kernel
def decode(
    kind: int,
    arcs: AnyArray,
    siblings: AnyArray,
    single_root: bool,
    lengths: LongVector,
    labels: IntMatrix,
    trees: IntMatrix,
) -> None:
    """Write heads and labels of the best trees; `labels` are the best ones of all arcs."""
    scratch, no_chains = new_tree_scratch(arcs.shape[1], kind), np.empty((0, 0, 0))
    for b in range(len(lengths)):
        n = lengths[b]
        if n > 0:
            heads = np.empty(n, dtype=np.int32)
            pairs = _cube(siblings[b], n, n + 1)
            decode_tree(kind, _square(arcs[b], n), pairs, no_chains, single_root, heads, scratch)
            for t in range(n):
                trees[b, t, 0], trees[b, t, 1] = heads[t], labels[b, heads[t], t + 1]


@kernel
def k_best(
    kind: int,
    arcs: AnyArray,
    siblings: AnyArray,
    single_root: bool,
    lengths: LongVector,
    trees: IntMatrix,
    totals: FloatMatrix,
) -> None:
    """Write the best trees, (B, k, T, 2), and their scores, (B, k)."""
    scratch, n_labels, k = new_tree_scratch(arcs.shape[1], kind), arcs.shape[3], totals.shape[1]
    no_chains = np.empty((0, 0, 0))
    for b in range(len(lengths)):
        n = lengths[b]
        if n == 0:
            totals[b, 0] = 0.0
            continue
        codes, found = np.empty((k, n), dtype=np.int32), np.empty(k)
        labelled, pairs = _cube(arcs[b], n, n_labels), _cube(siblings[b], n, n + 1)
        count = tree_kbest(kind, labelled, pairs, no_chains, single_root, codes, found, scratch)
        for rank in range(count):
            totals[b, rank] = found[rank]
            for t in range(n):
                trees[b, rank, t, 0], trees[b, rank, t, 1] = codes[rank, t] // n_labels, codes[rank, t] % n_labels


@kernel
def totals(arcs: AnyArray, siblings: AnyArray, lengths: LongVector, trees: IntMatrix, out: FloatVector) -> None:
    """Write the score of each tree."""
    with_siblings = siblings.shape[1] > 0
    for b in range(len(lengths)):
        n, total = lengths[b], 0.0
        for t in range(n):
            total += arcs[b, trees[b, t, 0], t + 1, trees[b, t, 1]]
        if with_siblings:
            before = np.empty(n, dtype=np.int32)
            sibling_of(_heads(trees[b], n), before)
            for t in range(n):
                total += siblings[b, trees[b, t, 0], before[t], t + 1]
        out[b] = total


@kernel
def add_counts(arcs: AnyArray, siblings: AnyArray, lengths: LongVector, trees: IntMatrix, weights: FloatVector) -> None:
    """Add the counts of each tree, times its weight."""
    with_siblings = siblings.shape[1] > 0
    for b in range(len(lengths)):
        n = lengths[b]
        before = np.empty(n, dtype=np.int32)
        if with_siblings:
            sibling_of(_heads(trees[b], n), before)
        for t in range(n):
            arcs[b, trees[b, t, 0], t + 1, trees[b, t, 1]] += weights[b]
            if with_siblings:
                siblings[b, trees[b, t, 0], before[t], t + 1] += weights[b]


@kernel
def sums(
    kind: int,
    arcs: AnyArray,
    siblings: AnyArray,
    single_root: bool,
    lengths: LongVector,
    out: FloatVector,
    expected: AnyArray,
    expected_pairs: AnyArray,
) -> None:
    """Write log Z of each sentence, and the probabilities of arcs and of siblings."""
    size = arcs.shape[1]
    chart, elimination = new_sum_chart(size), new_elimination(size)
    for b in range(len(lengths)):
        n = lengths[b]
        out[b] = 0.0
        if n == 0:
            continue
        scores, found = _square(arcs[b], n), np.empty((n + 1, n + 1))
        if kind == SIBLINGS:
            pairs = _cube(siblings[b], n, n + 1)
            found_pairs = np.empty(pairs.shape)
            out[b] = sibling_sums(scores, pairs, single_root, chart, found, found_pairs)
            for h in range(n + 1):
                for s in range(n + 1):
                    for m in range(n + 1):
                        expected_pairs[b, h, s, m] = found_pairs[h, s, m]
        elif kind == NON_PROJECTIVE:
            out[b] = matrix_tree(scores, single_root, elimination, found)
        else:
            out[b] = eisner_sums(scores, single_root, chart, found)
        for h in range(n + 1):
            for m in range(n + 1):
                expected[b, h, m] = found[h, m]
