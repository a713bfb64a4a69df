"""Queries with their documents as examples, for measures of pairs of documents or of the first k places.

    s_d = ⟨w, x_d⟩,   ψ = Σ_d r_d x_d

An example is a query; its documents are rows. An output differs from gold by a residual r_d for each document. The
residuals of a query add up to 0, so a bias, or any value that all its documents share, would change nothing.

Swaps have the features

    φ(x, c) = −1/n Σ c_ij (x_i − x_j) over the n pairs with grade_i > grade_j;   c_ij = 1 if the pair is swapped

| measure | Δ(c) | which c |
| --- | --- | --- |
| pairs | Σ c_ij / n | any: the slack is the mean hinge max(0, 1 − (s_i − s_j)) of the pairs (Joachims 2002, 2006) |
| map | 1 − average precision | those of rankings (Yue et al. 2007; their φ is twice this one) |

An output counts for each document the swapped pairs in which it is the better one, and those in which it is the worse
one; φ and Δ depend on nothing else. Gold swaps nothing. The argmax is in `decoders.swaps`.

Precision@k and NDCG@k sum over the first k places of a ranking, which is hidden:

    φ(x, h) = Σ_{r ≤ k} D_r x_{h_r},   Δ(y, h) = Σ_{r ≤ k} D_r (G of the best ranking)_r − Σ_{r ≤ k} D_r G_{h_r}

| measure | D_r | G of a document |
| --- | --- | --- |
| precision@k | 1/k | 1 if it is relevant, else 0 |
| NDCG@k | 1 / log₂(r + 1) | (2^grade − 1) / DCG@k of the best ranking |

For precision@k this is §5.3 of Yu & Joachims (2009), with their Δ = min{1, n(y)/k} − 1/k Σ_j [h_j is relevant]. For
NDCG it is the feature map of Le & Smola (2007; DORM in Chakrabarti et al. 2008) whose discounts are those of the
measure: the linear assignment that they solve is then a sort, because Σ_r D_r (s_{h_r} − scale · G_{h_r}) is largest
when its brackets descend with D. Grades do not order documents of the same grade, so the gold ranking is hidden, too;
its completion has better grades first, and each grade by score.
"""

from typing import Literal, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import SHARE, Rows, add_rows, boundaries, dots, sums
from widemargin.decoders.scores import top_k
from widemargin.decoders.swaps import average_precision, least_average_precision, swapped_pairs
from widemargin.structures.classes import Choices
from widemargin.structures.part_rows import PartFeatures


@kernel
def _sums(features: Rows, indptr: LongVector, batch: IntVector, residual: FloatVector, n_weights: int) -> Rows:
    # A dense sum, cleared after every query, instead of merging entries as `structures.part_rows` does: documents share
    # most of their features, so merging takes 1.5 to 2.7 times as long (measured).
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
    n_features : the number of weights
    indptr : where the documents of each query begin, and where those of the last query end
    grades : how relevant each document is, from 0 on; all 0 if only scores are wanted
    """

    exact = True

    def __init__(self, features: Rows, n_features: int, indptr: LongVector, grades: IntVector) -> None:
        self.features, self.n_weights, self.indptr, self.grades = features, n_features, indptr, grades
        self._rows = PartFeatures(Choices(), np.diff(indptr), features, n_features)
        self.n_examples = len(indptr) - 1
        self.n_documents = np.diff(indptr)
        # Two nanoseconds for each entry of a row, and forty to sort a document.
        self.work = (np.diff(features.indptr[indptr]) * 2 + self.n_documents * 40) / 1000

    def scores(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """The scores of the documents of the batch's queries, one query after the other."""
        room = Choices().room(self.n_documents[batch])
        room.own[:] = 0.0
        return self._rows.scores(w, batch, room).own

    def sums(self, batch: IntVector, residual: FloatVector) -> Rows:
        """Σ_d r_d x_d of each query of the batch; `residual` has a number for each of their documents."""
        return _sums(self.features, self.indptr, batch, residual, self.n_weights)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features."""
        return self._rows.support(batch)

    def informative(self) -> FloatVector:
        """1 for queries whose outputs differ in error, 0 for those that teach nothing."""
        raise NotImplementedError


@kernel
def _swaps(
    scores: FloatVector,
    grades: IntVector,
    n_grades: int,
    indptr: LongVector,
    batch: IntVector,
    scales: FloatVector,
    as_ranking: bool,
) -> LongMatrix:
    """The worst swaps of the batch's queries: of pairs, or of rankings by average precision."""
    # Scores and counts hold the documents of the batch, end to end; grades hold those of all queries.
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

    They are not examples of parts (`structures.parts`): n documents have up to n² pairs, which decoding never lists,
    and average precision is not a sum over pairs but depends on the whole ranking.

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
        """The number of swapped pairs of each document; if errors do not count, pairs of equal score are swapped."""
        scores, scales = self.scores(w, batch), per_example(error_scale, batch)
        return _swaps(scores, self.grades, self.n_grades, self.indptr, batch, scales, self.measure == "map")

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


DAMPING = 1.0
"""The damping of `regression_weights`, relative to the size of its matrix."""
MOST_STEPS = 200


@kernel
def _best(
    levels: IntVector,
    keys: FloatVector,
    gains: FloatVector,
    scales: FloatVector,
    indptr: LongVector,
    batch: IntVector,
    out: IntVector,
    out_ends: LongVector,
) -> None:
    """The best documents of each query by level, then by key − scale · gain; the keys are overwritten."""
    # Keys hold the documents of the batch, end to end; levels and gains hold those of all queries.
    begin = 0
    for position in range(len(batch)):
        first, last, scale = indptr[batch[position]], indptr[batch[position] + 1], scales[position]
        end = begin + last - first
        if scale != 0.0:
            for d in range(first, last):
                keys[begin + d - first] -= scale * gains[d]
        top_k(levels[first:last], keys[begin:end], out[out_ends[position] : out_ends[position + 1]])
        begin = end


class PositionExamples(QueryExamples):
    """Queries whose outputs are the first documents of a ranking.

    An output is the numbers of min(k, number of documents) documents, counted within the query, best first.

    They are not examples of parts (`structures.parts`): the parts would be documents at places, with the score D_r s_d,
    and sorting is exact only for scores of this form. Other scores would need an assignment problem.

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
        return self._top(self.no_levels, self.scores(w, batch), batch, error_scale)

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of the rankings `outputs` against the completions."""
        assert self.gold is not None, "these examples are not completed"
        ends = boundaries(self.n_documents[batch])
        place, first = self._places(batch), np.repeat(ends[:-1], self.n_chosen[batch])
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
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, gold=completions)
        return other

    def guess(self, rng: np.random.Generator) -> IntVector:
        """Documents of the same grade in random order."""
        return self._complete(rng.random(len(self.grades)), np.arange(self.n_examples, dtype=np.int32))

    def first_completions(self) -> IntVector:
        """The completions by the weights of a regression on gains."""
        w = regression_weights(self.features, self.n_weights, self.indptr, self.gains)
        return self.complete(w, np.arange(self.n_examples, dtype=np.int32))

    def informative(self) -> FloatVector:
        """1 for queries with documents of different gains, unless all are chosen and their order does not count."""
        different = sums(self.levels != np.repeat(self.levels[self.indptr[:-1]], self.n_documents), self.indptr) > 0
        crowded = (self.n_documents > self.n_chosen) | (len(np.unique(self.discounts)) > 1)
        return (different & crowded).astype(np.float64)

    def _complete(self, scores: FloatVector, batch: IntVector) -> IntVector:
        return self._top(self.levels, scores, batch)

    def _top(self, levels: IntVector, keys: FloatVector, batch: IntVector, error_scale: Scale = 0.0) -> IntVector:
        ends, scales = boundaries(self.n_chosen[batch]), per_example(error_scale, batch)
        out = np.empty(ends[-1], dtype=np.int32)
        _best(levels, keys, self.gains, scales, self.indptr, batch, out, ends)
        return out

    def _gains(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """Σ_r D_r G_{h_r} of each output."""
        queries = np.repeat(np.arange(len(batch)), self.n_chosen[batch])
        values = self.discounts[self._places(batch)] * self.gains[self.indptr[batch][queries] + outputs]
        return np.asarray(np.bincount(queries, values, len(batch)), dtype=np.float64)

    def _places(self, batch: IntVector) -> LongVector:
        """The place of each entry of the outputs in its ranking, from 0 on."""
        ends = boundaries(self.n_chosen[batch])
        return np.arange(ends[-1]) - np.repeat(ends[:-1], self.n_chosen[batch])


def regression_weights(features: Rows, n_features: int, indptr: LongVector, gains: FloatVector) -> FloatVector:
    """Initial weights: a ridge regression on gains, in which each query counts the same.

        min_v Σ_q 1/n_q Σ_d (⟨v, x_d − x̄_q⟩ − (G_d − Ḡ_q))² + damping² ‖v‖²

    Latent rankings need a good start: from random ones, training usually ends at w = 0 (Yu & Joachims, §5.3). They
    start from a classifier in which a document has the weight 1/n_q, where n_q is the number of its query's documents.
    This is its least-squares form, centred within each query because no ranking depends on the means. LSMR solves it
    without forming products of features, and gives the same result every time.
    """
    from scipy.sparse.linalg import LinearOperator, lsmr  # slow to import, and needed once a training

    lengths = np.diff(indptr)
    n_documents, roots = len(gains), np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)

    def centre(values: FloatVector) -> FloatVector:
        flat = values.ravel()
        return flat - np.repeat(sums(flat, indptr) / np.maximum(lengths, 1), lengths)

    def product(v: FloatVector) -> FloatVector:
        return roots * centre(dots(features, v.ravel()))

    def transposed(u: FloatVector) -> FloatVector:
        found: FloatVector = np.zeros(n_features)
        add_rows(centre(roots * u.ravel()), features, found)
        return found

    operator = LinearOperator((n_documents, n_features), matvec=product, rmatvec=transposed, dtype=np.float64)
    size = float(np.sqrt((roots**2 * _squares(features)).sum() / max(n_features, 1)))
    with one_blas_thread():
        found: FloatVector = lsmr(operator, roots * centre(gains), damp=DAMPING * size, maxiter=MOST_STEPS)[0]
    return found


def _squares(rows: Rows) -> FloatVector:
    """‖x‖² of each row; a share at a time, since the rows may be larger than memory."""
    found, step = [np.empty(0)], max(SHARE // 16, 1)
    for first in range(0, len(rows.indptr) - 1, step):
        ends = rows.indptr[first : first + step + 1]
        found.append(sums(rows.values[ends[0] : ends[-1]] ** 2, ends - ends[0]))
    return np.concatenate(found)
