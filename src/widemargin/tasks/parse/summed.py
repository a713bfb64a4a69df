"""Dependency trees whose probabilities can be summed up: those of first order, and of second order with siblings.

Nothing sums over trees with scores of grandparents, so that objectives which need sums refuse them
(`core.examples.Marginals`).
"""

from functools import cached_property
from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences
from widemargin.tasks.parse.examples import TreeExamples, Trees
from widemargin.tasks.parse.expectation import Expectations
from widemargin.tasks.parse.marginals import SUMMATIONS, Parts, part_scores


class SummedTreeExamples(TreeExamples):
    """Sentences with sums over all of their trees."""

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p of the gold trees and the expected feature differences (`core.examples.Marginals`)."""
        return self._expectations(w, batch, error_scale)

    def probabilities(self, w: FloatVector, i: int) -> Parts:
        """The probabilities of the arcs of one sentence, and of their labels given the arcs."""
        trees = self.trees
        if not self.lengths[i]:
            return Parts(np.zeros((1, 1)), np.zeros((1, 1, trees.n_labels)), np.empty((0, 0, 0)))
        parts, _ = part_scores(self.data, w, i, 0.0, trees.siblings)
        return SUMMATIONS[trees.decoder, trees.order](parts, trees.single_root)[0]

    def expectation_bytes(self) -> FloatVector:
        """What `expectation` may take: sums over all trees, and the entries of ψ."""
        entries = self._expectations.n_entries(np.arange(self.n_examples, dtype=np.int32))
        return BYTES_PER_ENTRY * np.minimum(entries, self.n_weights) + 4.0 * entries + self.sum_bytes()

    def sum_bytes(self) -> FloatVector:
        """What sums over all trees take: the shares of all labels, seven tables of arcs and three of siblings."""
        size = self.lengths + 1.0
        return 8.0 * ((self.trees.n_labels + 7.0) * size**2 + (3.0 * size**3 if self.trees.siblings else 0.0))

    @cached_property
    def _expectations(self) -> Expectations:
        trees, beyond = self.trees, np.zeros(self.n_examples, dtype=np.bool_)
        for holds in self.unreachable().values():
            beyond |= holds
        return Expectations(self.data, trees.decoder, trees.order, trees.single_root, beyond)


def tree_examples(trees: Trees, *parts: Any, **options: Any) -> TreeExamples:
    """Examples of this kind of trees, with sums if there are any; the arguments are those of `TreeExamples`."""
    kind = SummedTreeExamples if (trees.decoder, trees.order) in SUMMATIONS else TreeExamples
    return kind(trees, *parts, **options)
