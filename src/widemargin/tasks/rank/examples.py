"""Queries and their documents; measures that compare pairs of documents: swapped pairs, and average precision.

    s_d = ⟨w, x_d⟩,   ψ = Σ_d r_d x_d

An example is a query; its documents are rows. Outputs of all kinds differ from gold by a residual r_d for each
document. The residuals of a query add up to 0, so a bias, or anything else that all its documents share, would change
nothing.

Swaps have the features

    φ(x, c) = −1/n Σ c_ij (x_i − x_j) over the n pairs with grade_i > grade_j;   c_ij = 1 if the pair is swapped

| measure | Δ(c) | which c |
| --- | --- | --- |
| pairs | Σ c_ij / n | any: the slack is the mean hinge max(0, 1 − (s_i − s_j)) of the pairs (Joachims 2002, 2006) |
| map | 1 − average precision | those of rankings (Yue et al. 2007; their φ is twice this one) |

An output tells for each document in how many swapped pairs it is the better one, and in how many the worse one; φ and Δ
depend on nothing else. Gold swaps nothing. The argmax is in `decoders.swaps`.
"""

from typing import Literal, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import Rows, boundaries, dot, sums
from widemargin.decoders.swaps import average_precision, least_average_precision, swapped_pairs
from widemargin.structures.support import distinct, runs


@kernel
def _scores(features: Rows, indptr: LongVector, batch: IntVector, w: FloatVector, out: FloatVector) -> None:
    write = 0
    for i in batch:
        for d in range(indptr[i], indptr[i + 1]):
            out[write] = dot(features.indices, features.values, features.indptr[d], features.indptr[d + 1], w)
            write += 1


@kernel
def _sums(features: Rows, indptr: LongVector, batch: IntVector, residual: FloatVector, n_weights: int) -> Rows:
    # One number per weight, cleared behind every query: the rows of many documents share most of their features.
    total, touched = np.zeros(n_weights), np.zeros(n_weights, dtype=np.bool_)
    found = np.empty(n_weights, dtype=np.int32)
    ends = np.zeros(len(batch) + 1, dtype=np.int64)
    indices, values = np.empty(1024, dtype=np.int32), np.empty(1024)
    read = write = 0
    for position in range(len(batch)):
        i, n_found = batch[position], 0
        for d in range(indptr[i], indptr[i + 1]):
            r = residual[read]
            read += 1
            if r == 0.0:
                continue
            for k in range(features.indptr[d], features.indptr[d + 1]):
                feature = features.indices[k]
                total[feature] += r * features.values[k]
                if not touched[feature]:
                    touched[feature] = True
                    found[n_found] = feature
                    n_found += 1
        if write + n_found > len(indices):
            more, bigger = np.empty(2 * (write + n_found), dtype=np.int32), np.empty(2 * (write + n_found))
            more[:write], bigger[:write] = indices[:write], values[:write]
            indices, values = more, bigger
        for f in range(n_found):
            feature = found[f]
            if total[feature] != 0.0:
                indices[write], values[write] = feature, total[feature]
                write += 1
            total[feature], touched[feature] = 0.0, False
        ends[position + 1] = write
    return Rows(ends, indices[:write], values[:write])


class QueryExamples:
    """Queries with their documents.

    Parameters
    ----------
    features : the features of all documents, a row each, with values
    n_features : how many weights there are
    indptr : where the documents of each query begin, and where the last one's end
    grades : how relevant each document is, from 0 on; all 0 when scores are all that is wanted
    """

    exact = True

    def __init__(self, features: Rows, n_features: int, indptr: LongVector, grades: IntVector) -> None:
        self.features, self.n_weights, self.indptr, self.grades = features, n_features, indptr, grades
        self.n_examples = len(indptr) - 1
        self.n_documents = np.diff(indptr)
        # Two nanoseconds for each entry of a row, and forty to sort a document.
        self.work = (np.diff(features.indptr[indptr]) * 2 + self.n_documents * 40) / 1000

    def scores(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """The scores of the documents of the batch's queries, one query after the other."""
        out = np.empty(int(self.n_documents[batch].sum()))
        _scores(self.features, self.indptr, batch, w, out)
        return out

    def sums(self, batch: IntVector, residual: FloatVector) -> Rows:
        """Σ_d r_d x_d of each query of the batch; `residual` has a number for each of their documents."""
        return _sums(self.features, self.indptr, batch, residual, self.n_weights)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features."""
        return runs(distinct(self.features, self.indptr, batch), 1, 0)

    def informative(self) -> FloatVector:
        """1 for queries whose outputs differ in error, 0 for those that teach nothing."""
        raise NotImplementedError

    def copied(self) -> Self:
        """A copy that shares all arrays."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other


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

    They are no examples of parts (`structures.parts`): n documents have up to n² pairs, none of which decoding ever
    looks at, and average precision is no sum over pairs, but depends on the whole ranking.

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
