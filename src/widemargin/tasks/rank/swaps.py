"""Measures that compare pairs of documents: swapped pairs (the Ranking SVM), and average precision.

    φ(x, c) = −1/n Σ c_ij (x_i − x_j) over the n pairs with grade_i > grade_j;   c_ij = 1 if the pair is swapped

| measure | Δ(c) | which c |
| --- | --- | --- |
| pairs | Σ c_ij / n | any: the slack is the mean hinge max(0, 1 − (s_i − s_j)) of the pairs (Joachims 2002, 2006) |
| map | 1 − average precision | those of rankings (Yue et al. 2007; their φ is twice this one) |

An output tells for each document in how many swapped pairs it is the better one, and in how many the worse one; φ and Δ
depend on nothing else. Gold swaps nothing. The argmax is in `decoders.swaps`.
"""

from typing import Literal

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import Rows, boundaries, sums
from widemargin.decoders.swaps import average_precision, least_average_precision, swapped_pairs
from widemargin.tasks.rank.documents import QueryExamples


@kernel
def _swapped(
    scores: FloatVector,
    grades: IntVector,
    n_grades: int,
    indptr: LongVector,
    batch: IntVector,
    scales: FloatVector,
    as_ranking: bool,
) -> LongMatrix:
    """The worst swaps of the batch's queries: of pairs, or of rankings by average precision."""
    counts = np.zeros((len(scores), 2), dtype=np.int64)
    begin = 0
    for position in range(len(batch)):
        of_query = grades[indptr[batch[position]] : indptr[batch[position] + 1]]
        end = begin + len(of_query)
        if as_ranking:
            least_average_precision(scores[begin:end], of_query, scales[position], counts[begin:end])
        else:
            swapped_pairs(scores[begin:end], of_query, n_grades, scales[position], counts[begin:end])
        begin = end
    return counts


@kernel
def _average_precisions(counts: LongMatrix, grades: IntVector, indptr: LongVector, batch: IntVector) -> FloatVector:
    found = np.empty(len(batch))
    begin = 0
    for position in range(len(batch)):
        relevant = grades[indptr[batch[position]] : indptr[batch[position] + 1]] > 0
        found[position] = average_precision(counts[begin : begin + len(relevant), 0][relevant])
        begin += len(relevant)
    return found


class SwapExamples(QueryExamples):
    """Queries whose outputs are the pairs of documents that a ranking swaps.

    Parameters
    ----------
    features, n_features, indptr, grades : see `QueryExamples`
    measure : ``"pairs"`` or ``"map"``
    relevant_from : the least grade that is relevant, for average precision
    """

    def __init__(
        self,
        features: Rows,
        n_features: int,
        indptr: LongVector,
        grades: IntVector,
        *,
        measure: Literal["pairs", "map"] = "pairs",
        relevant_from: int = 1,
    ) -> None:
        if measure == "map":
            grades = (grades >= relevant_from).astype(np.int32)
        super().__init__(features, n_features, indptr, grades)
        self.measure, self.n_grades = measure, int(grades.max(initial=0)) + 1
        equal = sum(_choose_two(sums(grades == grade, indptr)) for grade in range(self.n_grades))
        self.n_pairs: FloatVector = _choose_two(self.n_documents.astype(np.float64)) - equal

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> LongMatrix:
        """How many pairs of each document are swapped; pairs with equal scores are, if errors do not count."""
        scores, scales = self.scores(w, batch), per_example(error_scale, batch)
        return _swapped(scores, self.grades, self.n_grades, self.indptr, batch, scales, self.measure == "map")

    def difference(self, batch: IntVector, outputs: LongMatrix) -> Differences:
        """Errors and feature differences of the swaps `outputs`."""
        n_pairs = np.maximum(self.n_pairs[batch], 1.0)
        if self.measure == "map":
            found = _average_precisions(outputs, self.grades, self.indptr, batch)
            errors = np.where(self.n_pairs[batch] > 0, np.maximum(1.0 - found, 0.0), 0.0)
        else:
            errors = sums(outputs[:, 0], boundaries(self.n_documents[batch])) / n_pairs
        residual = (outputs[:, 0] - outputs[:, 1]) / np.repeat(n_pairs, self.n_documents[batch])
        return Differences(errors, self.sums(batch, residual))

    def informative(self) -> FloatVector:
        """1 for queries that have pairs."""
        return (self.n_pairs > 0).astype(np.float64)


def _choose_two(n: FloatVector) -> FloatVector:
    return n * (n - 1.0) / 2.0
