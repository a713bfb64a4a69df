"""Semi-Markov models: segmentation of a sequence into labelled segments (Sarawagi & Cohen 2004).

    ⟨w, φ(x, y)⟩ = first[y_1] + Σ_j segment(t_j, u_j, y_j) + Σ_{j>1} T[y_j-1, y_j] + last[y_p]

over the segments (t_j, u_j, y_j) of y: from token t_j to token u_j, with the label y_j. The structure is
`structures.segments`. The module `scores` defines the score of a segment, `costs` its error, `weights` the layout of
the weights, `spans` how spans are numbered and outputs written: an int32 code per token, twice the label, plus one
where a segment begins.
"""

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.sparse import NO_ROWS, Rows, taken
from widemargin.structures.examples import WithBestK, WithBestWrong, WithSums, WithThrough, WithWorst
from widemargin.structures.segments import Segments
from widemargin.tasks.segment.check import check
from widemargin.tasks.segment.costs import SegmentCosts
from widemargin.tasks.segment.known import Known
from widemargin.tasks.segment.scores import NO_LIMITS, Limits, SegmentFeatures
from widemargin.tasks.segment.spans import span_boundaries
from widemargin.tasks.segment.weights import Segmentation


class SegmentExamples(WithBestK, WithBestWrong, WithWorst, WithThrough, WithSums):
    """Sequences with their gold segments (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    shape : the shape of the model
    indptr : (n + 1,) where each sequence begins among the tokens
    features : the features of each token, a row per token
    segment_features : the features of each candidate span, a row per span; None if the model has none
    gold : the code of each token (`tasks.segment.spans`); None when the sequences are only to be decoded
    precision : (L,) error of a wrong segment, by its label; None for ones
    recall : (L,) error of missing a gold segment, by its label; None for ones
    confusion : (L, L) error of the column's label on a gold segment with the row's; None counts wrong ones
    limits : which segments are possible; None for all that are not too long
    known : what is known of the gold segments, if not all (`tasks.segment.partial`)
    """

    features: SegmentFeatures
    costs: SegmentCosts

    def __init__(
        self,
        shape: Segmentation,
        indptr: LongVector,
        features: Rows,
        segment_features: Rows | None = None,
        gold: IntVector | None = None,
        *,
        precision: FloatVector | None = None,
        recall: FloatVector | None = None,
        confusion: FloatMatrix | None = None,
        limits: Limits | None = None,
        known: Known | None = None,
    ) -> None:
        n_labels = shape.n_labels
        gold = np.empty(0, dtype=np.int32) if gold is None else gold
        penalties = {
            "precision": np.ones(n_labels) if precision is None else precision,
            "recall": np.ones(n_labels) if recall is None else recall,
            "confusion": 1.0 - np.eye(n_labels) if confusion is None else confusion,
        }
        penalties = {name: np.ascontiguousarray(each, dtype=np.float64) for name, each in penalties.items()}
        limits = NO_LIMITS if limits is None else Limits(*map(np.ascontiguousarray, limits))
        rows = SegmentFeatures(shape, indptr, features, segment_features or NO_ROWS, limits)
        check(rows, gold, penalties)
        costs = SegmentCosts(indptr, gold, **penalties, known=known)
        super().__init__(Segments(n_labels, shape.longest), rows, costs, gold)

    @property
    def shape(self) -> Segmentation:
        """Of the weights."""
        return self.features.shape

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the tokens."""
        return self.features.indptr

    @property
    def spans(self) -> LongVector:
        """The number of each token's first candidate span (`tasks.segment.spans`)."""
        return self.features.spans

    def expectation_bytes(self) -> FloatVector:
        """What `expectation` may take: scores and probabilities of all segments, and the entries of ψ."""
        scores = 24.0 * self.sizes * self.shape.longest * self.shape.n_labels
        return BYTES_PER_ENTRY * self.features.count_entries() + scores

    def digests(
        self,
        labels: LongVector | None = None,
        features: LongVector | None = None,
        segment_features: LongVector | None = None,
        max_lengths: LongVector | None = None,
    ) -> list[bytes]:
        """A digest of each example, with other numbers for labels and features (`tasks.warm`).

        Segments longer than `max_lengths`, which are in the order of the other numbers, make no difference.
        """
        own, costs, places = self.features, self.costs.tables, self.indptr
        labels = np.arange(self.shape.n_labels) if labels is None else labels
        old = old_numbers(labels)
        lengths = np.array(self.shape.max_lengths, dtype=np.int32)[old]
        if max_lengths is not None and len(old) == len(max_lengths):
            lengths = np.minimum(lengths, max_lengths)
        penalties = costs.precision[old], self.costs.recall[old], costs.confusion[np.ix_(old, old)]
        parts = [
            (places, 2 * labels[self.gold >> 1] + (self.gold & 1)),
            *parts_of_rows(places, own.rows, features),
        ]
        if self.shape.n_segment_features:
            first = np.repeat(own.spans[:-1], np.diff(own.spans))
            short = np.flatnonzero(np.arange(own.spans[-1]) - first < lengths.max(initial=0))
            spans = span_boundaries(places, int(lengths.max(initial=0)))[places]
            parts += parts_of_rows(spans, taken(own.segment_rows, short), segment_features)
        return digests_of_parts([lengths.astype(np.int64), *penalties, *own.limits, len(parts)], *parts)
