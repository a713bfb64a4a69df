"""The gradient of a likelihood of chains: expected differences summed over all sequences, with no row for any of them.

    residual[t, l] = c_i ([gold_t = l] − p(y_t = l)) of the positions t of sequence i
    Σ_i c_i (φ(x_i, gold) − E[φ(x_i, y)]) has  Σ_t x_tf residual[t, l]  at the weight W[f, l]

First every sequence writes its residuals to rows of its own. Then each feature sums the rows of its positions, for
which the features are transposed once. No two threads ever add to the same number, and every sum has a fixed order.
"""

from collections.abc import Sequence

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.core.sparse import NO_ROWS, transposed
from widemargin.structures.feature_sums import sum_by_row
from widemargin.tasks.tag.marginals import new_scratch, residuals
from widemargin.tasks.tag.scores import ChainData
from widemargin.tasks.tag.weights import Chain, ChainWeights


@kernel
def _visit(
    data: ChainData,
    weights: ChainWeights,
    batch: IntVector,
    c: FloatVector,
    error_scale: float,
    out: FloatMatrix,
    shared: FloatVector,
) -> FloatVector:
    """Write the residuals of a batch to its positions, and sum those of transitions, begin and end in `shared`."""
    n_labels = len(weights.begin)
    n_pairs = n_labels * n_labels
    scratch = new_scratch(data, weights, batch)
    losses = np.zeros(len(batch))
    pairs = scratch.pairs[0].reshape(n_pairs)
    for k in range(len(shared)):
        shared[k] = 0.0
    for position in range(len(batch)):
        first, last = data.indptr[batch[position]], data.indptr[batch[position] + 1]
        if first == last:
            continue
        own = out[first:last]
        losses[position] = residuals(data, weights, batch[position], error_scale, scratch, own)
        for t in range(len(own)):
            for label in range(n_labels):
                own[t, label] *= c[position]
        for k in range(n_pairs):
            shared[k] += c[position] * pairs[k]
        for label in range(n_labels):
            shared[n_pairs + label] += own[0, label]
            shared[n_pairs + n_labels + label] += own[last - first - 1, label]
    return losses


class ChainTotals:
    """The sums over all sequences of these batches (`core.examples.Totals`); without features on transitions."""

    def __init__(self, chain: Chain, data: ChainData, batches: Sequence[IntVector], error_scale: float) -> None:
        self.chain, self.data, self.batches, self.error_scale = chain, data, batches, error_scale
        self.residuals = np.zeros((int(data.indptr[-1]), chain.n_labels))
        self.shared = np.zeros((len(batches), chain.n_labels * (chain.n_labels + 2)))
        self.positions = NO_ROWS  # of each feature, once they are asked for

    def visit(self, w: FloatVector, number: int, c: FloatVector) -> FloatVector:
        """−log p(gold) of a batch."""
        weights, batch = self.chain.parts(w), self.batches[number]
        return _visit(self.data, weights, batch, c, self.error_scale, self.residuals, self.shared[number])

    def total(self, n_threads: int) -> FloatVector:
        """The weighted sum of the expected differences of all batches."""
        if self.positions is NO_ROWS:
            self.positions = transposed(self.data.features, self.chain.n_features)
        total = np.empty(self.chain.n_weights)
        sum_by_row(self.positions, self.residuals, self.chain.parts(total).emission, n_threads)
        self.shared.sum(axis=0, out=total[self.chain.n_features * self.chain.n_labels :])
        return total
