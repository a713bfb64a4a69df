"""Measures that sum over the first k places of a ranking: precision@k and NDCG@k, with the ranking as what is hidden.

    φ(x, h) = Σ_{r ≤ k} D_r x_{h_r},   Δ(y, h) = Σ_{r ≤ k} D_r (G of the best ranking)_r − Σ_{r ≤ k} D_r G_{h_r}

| measure | D_r | G of a document |
| --- | --- | --- |
| precision@k | 1/k | 1 if it is relevant, else 0 |
| NDCG@k | 1 / log₂(r + 1) | (2^grade − 1) / DCG@k of the best ranking |

For precision@k this is §5.3 of Yu & Joachims (2009), with their Δ = min{1, n(y)/k} − 1/k Σ_j [h_j is relevant]. For
NDCG it is the feature map of Le & Smola (2007; DORM in Chakrabarti et al. 2008) whose discounts are those of the
measure: the linear assignment that they solve is then a sort, because Σ_r D_r (s_{h_r} − scale · G_{h_r}) is largest
when its brackets descend with D. Grades say nothing about the order of documents of the same grade, so the gold ranking
is hidden as well, and completed: better grades first, and each grade by score.
"""

from typing import Any, Literal, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import Rows, boundaries, sums
from widemargin.decoders.top import top_k
from widemargin.tasks.rank.examples import QueryExamples

DAMPING = 1.0
"""As a share of the root of the mean squared length of the centred rows."""
MOST_STEPS = 200


@kernel
def _best(
    levels: IntVector, keys: FloatVector, indptr: LongVector, batch: IntVector, out: IntVector, out_ends: LongVector
) -> None:
    """The best documents of each query, as many as there is room for, numbered within the query."""
    begin = 0
    for position in range(len(batch)):
        first, last = indptr[batch[position]], indptr[batch[position] + 1]
        end = begin + last - first
        top_k(levels[first:last], keys[begin:end], out[out_ends[position] : out_ends[position + 1]])
        begin = end


@kernel
def _lower(scales: FloatVector, gains: FloatVector, indptr: LongVector, batch: IntVector, keys: FloatVector) -> None:
    """Subtract the scaled gains of the batch's documents from their keys."""
    place = 0
    for position in range(len(batch)):
        for d in range(indptr[batch[position]], indptr[batch[position] + 1]):
            keys[place] -= scales[position] * gains[d]
            place += 1


@kernel
def _gain_of(chosen: IntVector, gains: FloatVector, discounts: FloatVector) -> float:
    total = 0.0
    for r in range(len(chosen)):
        total += discounts[r] * gains[chosen[r]]
    return total


@kernel
def _gains_of(
    outputs: IntVector,
    out_ends: LongVector,
    gains: FloatVector,
    indptr: LongVector,
    batch: IntVector,
    discounts: FloatVector,
) -> FloatVector:
    """Σ_r D_r G_{h_r} of each output."""
    found = np.empty(len(batch))
    for position in range(len(batch)):
        chosen = outputs[out_ends[position] : out_ends[position + 1]]
        found[position] = _gain_of(chosen, gains[indptr[batch[position]] : indptr[batch[position] + 1]], discounts)
    return found


class PositionExamples(QueryExamples):
    """Queries whose outputs are the first documents of a ranking.

    An output is the numbers of min(k, number of documents) documents, counted within the query, best first.

    They are no examples of parts (`structures.parts`): the parts would be documents at places, with the score D_r s_d,
    and the sort is exact only for scores of this form. Free scores would need an assignment problem.

    Parameters
    ----------
    features, n_features, indptr, grades : see `QueryExamples`
    measure : ``"precision"`` or ``"ndcg"``
    k : how many places count
    relevant_from : the least grade that is relevant, for precision
    gold : the completions of all queries; None before they are completed
    """

    def __init__(
        self,
        features: Rows,
        n_features: int,
        indptr: LongVector,
        grades: IntVector,
        *,
        measure: Literal["precision", "ndcg"] = "precision",
        k: int = 10,
        relevant_from: int = 1,
        gold: IntVector | None = None,
    ) -> None:
        super().__init__(features, n_features, indptr, grades)
        self.gold = gold
        self.n_chosen: LongVector = np.minimum(self.n_documents, k)
        self.gold_ends = boundaries(self.n_chosen)
        places = int(self.n_chosen.max(initial=1))
        if measure == "precision":
            self.levels = (grades >= relevant_from).astype(np.int32)
            self.gains: FloatVector = self.levels.astype(np.float64)
            self.discounts: FloatVector = np.full(places, 1.0 / k)
        else:
            self.levels = grades
            self.gains = np.exp2(grades.astype(np.float64)) - 1.0
            self.discounts = 1.0 / np.log2(np.arange(2.0, places + 2.0))
        self.no_levels: IntVector = np.zeros(len(grades), dtype=np.int32)
        everything = np.arange(self.n_examples, dtype=np.int32)
        self.best = self._gains(everything, self._complete(np.zeros(len(grades)), everything))
        if measure == "ndcg":
            self.gains /= np.repeat(np.where(self.best > 0, self.best, 1.0), self.n_documents)
            self.best = self._gains(everything, self._complete(np.zeros(len(grades)), everything))

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """The best documents by s_d − error_scale · G_d."""
        keys = self.scores(w, batch)
        scales = per_example(error_scale, batch)
        if scales.any():
            _lower(scales, self.gains, self.indptr, batch, keys)
        return self._chosen(self.no_levels, keys, batch)

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of the rankings `outputs` against the completions."""
        assert self.gold is not None, "these examples are not completed"
        ends, out_ends = boundaries(self.n_documents[batch]), boundaries(self.n_chosen[batch])
        first = np.repeat(ends[:-1], self.n_chosen[batch])
        place = np.arange(out_ends[-1]) - np.repeat(out_ends[:-1], self.n_chosen[batch])
        gold = self.gold[np.repeat(self.gold_ends[batch], self.n_chosen[batch]) + place]
        residual = np.zeros(ends[-1])
        residual[first + gold] = self.discounts[place]
        residual[first + outputs] -= self.discounts[place]
        errors = np.maximum(self.best[batch] - self._gains(batch, outputs), 0.0)
        return Differences(errors, self.sums(batch, residual))

    def complete(self, w: FloatVector, batch: IntVector) -> IntVector:
        """The best rankings that agree with the grades: better grades first, each grade by score."""
        return self._complete(self.scores(w, batch), batch)

    def completed(self, completions: IntVector) -> Self:
        """The same queries with these rankings as gold."""
        other = self.copied()
        other.gold = completions
        return other

    def guess(self, rng: np.random.Generator) -> IntVector:
        """Documents of the same grade in random order."""
        return self._complete(rng.random(len(self.grades)), np.arange(self.n_examples, dtype=np.int32))

    def first_completions(self) -> IntVector:
        """By the weights of a regression on gains."""
        w = regression_weights(self.features, self.n_weights, self.indptr, self.gains)
        return self.complete(w, np.arange(self.n_examples, dtype=np.int32))

    def informative(self) -> FloatVector:
        """1 for queries with documents of different gains, unless all of them are chosen and their order is free."""
        different = sums(self.levels != np.repeat(self.levels[self.indptr[:-1]], self.n_documents), self.indptr) > 0
        crowded = (self.n_documents > self.n_chosen) | (len(np.unique(self.discounts)) > 1)
        return (different & crowded).astype(np.float64)

    def _complete(self, scores: FloatVector, batch: IntVector) -> IntVector:
        return self._chosen(self.levels, scores, batch)

    def _chosen(self, levels: IntVector, keys: FloatVector, batch: IntVector) -> IntVector:
        out_ends = boundaries(self.n_chosen[batch])
        out = np.empty(out_ends[-1], dtype=np.int32)
        _best(levels, keys, self.indptr, batch, out, out_ends)
        return out

    def _gains(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        out_ends = boundaries(self.n_chosen[batch])
        return _gains_of(outputs, out_ends, self.gains, self.indptr, batch, self.discounts)


def regression_weights(features: Rows, n_features: int, indptr: LongVector, gains: FloatVector) -> FloatVector:
    """Weights to begin with: a ridge regression on gains, in which each query counts the same.

        min_v Σ_q 1/n_q Σ_d (⟨v, x_d − x̄_q⟩ − (G_d − Ḡ_q))² + damping² ‖v‖²

    Latent rankings need a good beginning: from random ones, training usually ends at w = 0 (Yu & Joachims, §5.3). They
    begin with a classifier for which each document counts as one over the number n_q of its query's documents. This is
    its least-squares form, with the means of each query taken off, because no ranking depends on them. LSMR solves it
    without ever forming products of features, and gives the same result every time.
    """
    from scipy import sparse  # slow to import, and needed once a training
    from scipy.sparse.linalg import LinearOperator, lsmr

    lengths = np.diff(indptr)
    n_documents, roots = len(gains), np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
    X: Any = sparse.csr_array((features.values, features.indices, features.indptr), shape=(n_documents, n_features))
    Xt = X.T.tocsr()

    def centred(values: FloatVector) -> FloatVector:
        flat = values.ravel()
        return flat - np.repeat(sums(flat, indptr) / np.maximum(lengths, 1), lengths)

    def product(v: FloatVector) -> FloatVector:
        return roots * centred(X @ v.ravel())

    def transposed(u: FloatVector) -> FloatVector:
        found: FloatVector = Xt @ centred(roots * u.ravel())
        return found

    operator = LinearOperator((n_documents, n_features), matvec=product, rmatvec=transposed, dtype=np.float64)
    size = float(np.sqrt((roots**2 * sums(features.values**2, features.indptr)).sum() / max(n_features, 1)))
    with one_blas_thread():
        found: FloatVector = lsmr(operator, roots * centred(gains), damp=DAMPING * size, maxiter=MOST_STEPS)[0]
    return found
