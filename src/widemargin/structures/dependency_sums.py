"""Sums over dependency trees: log Z and the probabilities of arcs, labels and siblings.

    p(y) ∝ exp(score(y))
    score(h, m) = log Σ_l exp(arcs[h, m, l]),   share(l | h, m) = exp(arcs[h, m, l] − score(h, m))

Labels are summed over first. Sums over trees with these scores give p(h, m): inside–outside, or the matrix-tree theorem
for trees with crossing arcs. A label of an arc has the probability p(h, m) · share(l | h, m). Nothing sums over trees
with scores of grandparents.
"""

from dataclasses import dataclass
from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.eisner_sums import eisner_sums, new_sum_chart
from widemargin.decoders.matrix_tree import matrix_tree, new_elimination
from widemargin.decoders.sibling_sums import sibling_sums
from widemargin.decoders.tree_kbest import GRANDSIBLINGS, NON_PROJECTIVE, SIBLINGS
from widemargin.structures.dependencies import ArcScores, Dependencies, siblings_before, siblings_of
from widemargin.structures.parts import Sums


class ArcCounts(NamedTuple):
    """Coefficients of arcs, (rows,), of their labels, (rows, K), and of siblings, in the places of `ArcScores`."""

    starts: LongVector
    sizes: LongVector
    widths: LongVector
    triples: LongVector
    arcs: FloatVector
    labels: FloatMatrix
    siblings: FloatVector


@kernel
def _to_shares(scores: FloatVector, shares: FloatVector) -> float:
    """Write the share of each label, zeros if all are forbidden; return log Σ exp of their scores."""
    top, total = -inf, 0.0
    for score in scores:
        top = score if score > top else top
    if top == -inf:
        for label in range(len(shares)):
            shares[label] = 0.0
        return -inf
    for label in range(len(shares)):
        shares[label] = exp(scores[label] - top)
    for share in shares:
        total += share
    for label in range(len(shares)):
        shares[label] /= total
    return top + log(total)


@kernel
def _put_siblings(pairs: FloatMatrix, k: int, counts: ArcCounts) -> None:
    width = counts.widths[k]
    for h in range(len(pairs)):
        for s in range(len(pairs)):
            for m in range(len(pairs)):
                counts.siblings[counts.triples[k] + (h * width + s) * width + m] = pairs[h, s, m]


@kernel
def _put_arcs(arcs: FloatMatrix, k: int, counts: ArcCounts) -> None:
    """Put the probabilities of arcs, and multiply the shares of labels by them."""
    for h in range(len(arcs)):
        for m in range(len(arcs)):
            row = counts.starts[k] + h * counts.widths[k] + m
            counts.arcs[row] = arcs[h, m]
            for label in range(counts.labels.shape[1]):
                # Rows that are no arcs hold anything.
                counts.labels[row, label] = arcs[h, m] * counts.labels[row, label] if arcs[h, m] > 0.0 else 0.0


@kernel
def _sums(scores: ArcScores, kind: int, single_root: bool, longest: int, counts: ArcCounts, log_z: FloatVector) -> None:
    chart = new_sum_chart(0 if kind == NON_PROJECTIVE else longest)
    elimination = new_elimination(longest if kind == NON_PROJECTIVE else 0)
    for k in range(len(scores.sizes)):
        size = scores.sizes[k] + 1
        arcs, found = np.empty((size, size)), np.zeros((size, size))
        for h in range(size):
            for m in range(1, size):
                row = scores.starts[k] + h * scores.widths[k] + m
                arcs[h, m] = _to_shares(scores.arcs[row], counts.labels[row]) if h != m else -inf
        log_z[k] = 0.0
        if size > 1 and kind == SIBLINGS:
            pairs = np.empty((size, size, size))
            log_z[k] = sibling_sums(arcs, siblings_of(scores, k), single_root, chart, found, pairs)
            _put_siblings(pairs, k, counts)
        elif size > 1 and kind == NON_PROJECTIVE:
            log_z[k] = matrix_tree(arcs, single_root, elimination, found)
        elif size > 1:
            log_z[k] = eisner_sums(arcs, single_root, chart, found)
        _put_arcs(found, k, counts)


@kernel
def _residual(counts: ArcCounts, n_labels: int, gold: IntVector, before: IntVector) -> None:
    read = 0
    for k in range(len(counts.sizes)):
        size, width = counts.sizes[k] + 1, counts.widths[k]
        for h in range(size):
            for m in range(size):
                row = counts.starts[k] + h * width + m
                counts.arcs[row] = -counts.arcs[row]
                for label in range(n_labels):
                    counts.labels[row, label] = -counts.labels[row, label]
        for at in range(counts.triples[k], counts.triples[k] + width**3 if len(before) > 0 else 0):
            counts.siblings[at] = -counts.siblings[at]
        for m in range(1, size):
            head, label = gold[read + m - 1] // n_labels, gold[read + m - 1] % n_labels
            row = counts.starts[k] + head * width + m
            counts.arcs[row] += 1.0
            counts.labels[row, label] += 1.0
            if len(before) > 0:
                counts.siblings[counts.triples[k] + (head * width + before[read + m - 1]) * width + m] += 1.0
        read += size - 1


@dataclass(frozen=True, slots=True)
class SummedDependencies(Dependencies):
    """Dependency trees that can be summed over: all but those with grandparents."""

    def sums(self, scores: ArcScores, *, over: bool = False) -> Sums:
        """Probabilities of arcs, labels and siblings; `over` writes those of labels over the scores, to save memory."""
        # Rows of padding belong to no sentence.
        room = np.empty if ((scores.sizes + 1) ** 2).sum() == len(scores.arcs) else np.zeros
        labels = scores.arcs if over else room(scores.arcs.shape)
        counts = ArcCounts(
            scores.starts,
            scores.sizes,
            scores.widths,
            scores.triples,
            room(len(scores.arcs)),
            labels,
            np.zeros(len(scores.siblings)),
        )
        log_z = np.empty(len(scores.sizes))
        _sums(scores, self.kind, self.single_root, int(scores.sizes.max(initial=0)), counts, log_z)
        return Sums(log_z, counts)

    def own(self, counts: ArcCounts) -> FloatMatrix:
        """A row for each arc, by head, then by modifier, with its labels."""
        return counts.labels

    def residual(self, counts: ArcCounts, gold: IntVector) -> ArcCounts:
        """Indicators of the gold parts, less the counts."""
        with_siblings = self.kind == SIBLINGS
        before = siblings_before(counts.sizes, self.n_labels, gold) if with_siblings else np.empty(0, dtype=np.int32)
        _residual(counts, self.n_labels, gold, before)
        return counts


def dependencies(n_labels: int, kind: int, single_root: bool) -> Dependencies:
    """Dependency trees of this kind, with sums if there are any."""
    return (Dependencies if kind == GRANDSIBLINGS else SummedDependencies)(n_labels, kind, single_root)
