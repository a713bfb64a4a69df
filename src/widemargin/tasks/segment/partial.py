"""Segmentations whose gold labels are known in part: what is unknown is latent (Yu & Joachims 2009).

Of each token a set of codes is given, one of which is right. A segmentation fits if all its codes are in these sets.
The error does not depend on how gold is completed: with the penalties of `tasks.segment.costs`,

    L(t, u, y) = 0                         where a segmentation that fits may have the segment (t, u, y)
               = M[y', y]                  where (t, u, y') is certain
               = p[y] + Σ r over t … u     otherwise

r is due at the first known token of what is certainly a segment, for the label that costs least. If all is known, this
is the usual error. The best completion is decoded like any output, with an error of −∞ for segments that do not fit.
"""

from typing import Any

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, IntVector, LongVector
from widemargin.core.sparse import Rows, sums
from widemargin.errors import DataError
from widemargin.structures.examples import Partial
from widemargin.tasks.partial import association
from widemargin.tasks.segment.costs import SegmentCosts
from widemargin.tasks.segment.examples import SegmentExamples
from widemargin.tasks.segment.known import Known
from widemargin.tasks.segment.weights import INSIDE, ROLES, Segmentation


class PartialSegmentExamples(Partial, SegmentExamples):
    """Sequences with sets of codes for their tokens (`core.examples.Latent`).

    Parameters
    ----------
    shape, indptr, features, segment_features : as for `SegmentExamples`
    allowed : (n, 2L) the codes that each token may have
    given : whether anything is known of each token
    penalties : `precision`, `recall` and `confusion` of `SegmentExamples`
    """

    def __init__(
        self,
        shape: Segmentation,
        indptr: LongVector,
        features: Rows,
        segment_features: Rows | None,
        allowed: BoolMatrix,
        given: BoolVector,
        **penalties: Any,
    ) -> None:
        if allowed.shape != (len(given), 2 * shape.n_labels) or len(given) != indptr[-1]:
            raise DataError(f"allowed must have {2 * shape.n_labels} codes for each of the {indptr[-1]} tokens")
        # No token goes on with the segment of another sequence.
        allowed = allowed.copy()
        allowed[indptr[:-1][np.diff(indptr) > 0], 0::2] = False
        self.known, self._penalties = Known.of(indptr, allowed, given), penalties
        super().__init__(shape, indptr, features, segment_features, known=self.known, **penalties)
        nothing = self.known._replace(given=np.zeros_like(given), lengths=np.zeros_like(self.known.lengths))
        free, n_labels = np.zeros(shape.n_labels), shape.n_labels
        self.limits = SegmentCosts(
            indptr, self.gold, np.full(n_labels, -np.inf), free, np.zeros((n_labels, n_labels)), nothing
        )
        self.gold = self.complete(np.zeros(self.n_weights), self._everything)
        for t in np.flatnonzero(~allowed[np.arange(len(given)), self.gold])[:1]:
            i = int(np.searchsorted(indptr, t, side="right")) - 1
            raise DataError(f"no segmentation of sequence {i} complies with its labels and the lengths of segments")

    @property
    def _everything(self) -> IntVector:
        return np.arange(self.n_examples, dtype=np.int32)

    @property
    def informative(self) -> BoolVector:
        """Whether anything is known of each sequence."""
        return sums(self.known.given, self.indptr) > 0

    @property
    def _labels(self) -> BoolMatrix:
        """The labels that the segment of each token may have."""
        labels: BoolMatrix = self.known.allowed[:, 0::2] | self.known.allowed[:, 1::2]
        return labels

    @property
    def n_unknown(self) -> int:
        """The number of tokens that may be in segments of several labels."""
        return int(np.count_nonzero(self._labels.sum(axis=1) > 1))

    def completed(self, completions: IntVector) -> SegmentExamples:
        """The same sequences with these gold codes; errors are counted by what is known, as before."""
        known, own = self.known, self.features
        if len(completions) != len(known.given) or not np.all(known.allowed[np.arange(len(completions)), completions]):
            raise DataError("completions must have one of its codes for every token")
        given = (self.shape, self.indptr, own.rows, own.segment_rows, completions)
        return SegmentExamples(*given, known=known, **self._penalties)

    def guess(self, rng: np.random.Generator) -> IntVector:
        """The best segmentations that fit, by weights drawn at random."""
        return self.complete(rng.normal(size=self.n_weights), self._everything)

    def first_completions(self) -> IntVector:
        """The best segmentations that fit, by how often features and labels of tokens go together."""
        allowed, truth = np.unique(self._labels, axis=0, return_inverse=True)
        w = np.zeros(self.n_weights)
        parts = self.shape.parts(w)
        roles = parts.roles.reshape(-1, ROLES, self.shape.n_labels)
        roles[:, INSIDE] = association(
            self.features.rows, self.shape.n_features, truth.ravel().astype(np.int32), allowed
        )
        parts.length[:] = -1.0  # rather one long segment than several short ones
        return self.complete(w, self._everything)
