"""Sums over dependency trees: log Z and the probabilities of arcs, labels and siblings.

    p(y) ∝ exp(score(y))
    score(h, m) = log Σ_l exp(arcs[h, m, l]),   share(l | h, m) = exp(arcs[h, m, l] − score(h, m))

Labels are summed over first. Sums over trees with these scores give p(h, m): inside–outside, or the matrix-tree theorem
for trees with crossing arcs. A label of an arc has the probability p(h, m) · share(l | h, m). There are no sums over
trees with scores of grandparents.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector
from widemargin.decoders.eisner_sums import eisner_sums, new_sum_chart
from widemargin.decoders.log_sums import to_shares
from widemargin.decoders.matrix_tree import matrix_tree, new_elimination
from widemargin.decoders.tree_kbest import GRANDSIBLINGS, NON_PROJECTIVE
from widemargin.structures.dependencies import Dependencies, sentence_of
from widemargin.structures.flat import Counts, Scores, leading, longest_of
from widemargin.structures.parts import Sums


@kernel
def _sums(scores: Scores, kind: int, single_root: bool, n_labels: int, counts: Scores, log_z: FloatVector) -> None:
    """Write the probabilities of all parts to `counts`, which may be the scores themselves."""
    longest = longest_of(scores.sizes)
    chart = new_sum_chart(0 if kind == NON_PROJECTIVE else longest)
    elimination = new_elimination(longest if kind == NON_PROJECTIVE else 0)
    for k in range(len(scores.sizes)):
        size, one, shares = (
            scores.sizes[k] + 1,
            sentence_of(scores, k, n_labels, kind),
            (sentence_of(counts, k, n_labels, kind)),
        )
        arcs, found = np.empty((size, size)), np.zeros((size, size))
        for h in range(size):
            for m in range(1, size):
                arcs[h, m] = to_shares(one.arcs[h, m], shares.arcs[h, m]) if h != m else -inf
        log_z[k], pairs = 0.0, np.zeros(one.siblings.shape)
        if size > 1 and kind == NON_PROJECTIVE:
            log_z[k] = matrix_tree(arcs, single_root, elimination, found)
        elif size > 1:
            log_z[k] = eisner_sums(arcs, one.siblings, single_root, chart, found, pairs)
        shares.siblings[:] = pairs
        for h in range(size):
            for m in range(size):
                row = shares.arcs[h, m]
                for label in range(n_labels):  # the places of impossible arcs were never filled in
                    row[label] = found[h, m] * row[label] if found[h, m] > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class SummedDependencies(Dependencies):
    """Dependency trees that can be summed over: all but those with grandparents."""

    def sums(self, scores: Scores, *, over: bool = False) -> Sums:
        """Probabilities of labelled arcs and siblings; `over` writes them over the scores, to save memory."""
        found, log_z = scores if over else self.room(scores.sizes), np.empty(len(scores.sizes))
        _sums(scores, self.kind, self.single_root, self.n_labels, found, log_z)
        return Sums(log_z, Counts(found.starts, found.sizes, found.own, np.empty((len(log_z), 0))))

    def own(self, counts: Counts) -> FloatMatrix:
        """A row for each arc, by head, then by modifier, with its labels."""
        return leading(counts, (counts.sizes + 1) ** 2 * self.n_labels, self.n_labels)


def dependencies(n_labels: int, kind: int, single_root: bool) -> Dependencies:
    """Dependency trees of this kind, with sums unless grandparents are scored."""
    return (Dependencies if kind == GRANDSIBLINGS else SummedDependencies)(n_labels, kind, single_root)
