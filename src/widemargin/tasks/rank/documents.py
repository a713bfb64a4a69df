"""Queries and their documents, as far as all measures share them: scores, and weighted sums of documents.

    s_d = ⟨w, x_d⟩,   ψ = Σ_d r_d x_d

An example is a query; its documents are rows. Outputs of all kinds differ from gold by a residual r_d for each
document. The residuals of a query add up to 0, so a bias, or anything else that all its documents share, would change
nothing.
"""

from typing import Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Rows, dot
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
