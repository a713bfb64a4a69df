"""Semi-Markov models: segmentation of a sequence into labelled segments (Sarawagi & Cohen 2004).

    ⟨w, φ(x, y)⟩ = first[y_1] + Σ_j segment(t_j, u_j, y_j) + Σ_{j>1} T[y_j-1, y_j] + last[y_p]

over the segments (t_j, u_j, y_j) of y: from token t_j to token u_j, with the label y_j. The module `scores` defines the
score and the error of a segment, `weights` the layout of the weights, `spans` how spans are numbered and outputs
written: an int32 code per token, twice the label, plus one where a segment begins.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences, Scale, at_positions, per_example, whole_costs
from widemargin.core.sparse import NO_ROWS, Rows, boundaries, sums, taken
from widemargin.decoders.semimarkov import semimarkov
from widemargin.structures.support import distinct, runs
from widemargin.tasks.segment.check import check, gold_lengths
from widemargin.tasks.segment.difference import Layout, difference
from widemargin.tasks.segment.known import NO_REACH, Known
from widemargin.tasks.segment.marginals import expectation, probabilities
from widemargin.tasks.segment.positions import violators
from widemargin.tasks.segment.scores import NO_LIMITS, Limits, SegmentData, new_scores, part_scores
from widemargin.tasks.segment.search import best_segmentations, scores, span_marginals, worst_segmentations
from widemargin.tasks.segment.spans import span_boundaries
from widemargin.tasks.segment.weights import ROLES, Segmentation, SegmentWeights


@kernel
def decode_batch(
    data: SegmentData,
    weights: SegmentWeights,
    batch: IntVector,
    starts: LongVector,
    scales: FloatVector,
    codes: IntVector,
) -> None:
    """Write the codes of the best segmentations of the batch, errors counted `scales` times."""
    tokens, segment = new_scores(data, weights, batch)
    arrival, best = np.empty((len(tokens), len(weights.begin))), np.empty((len(tokens), len(weights.begin)))
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], scales[position], tokens, segment)
        if n > 0:
            out = codes[starts[position] : starts[position + 1]]
            semimarkov(segment[:n], weights.transition, weights.begin, weights.end, arrival, best, out)


class SegmentExamples:
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

    exact = True

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
        recall = np.ones(n_labels) if recall is None else np.ascontiguousarray(recall, dtype=np.float64)
        self.shape, self.known = shape, known
        lengths = gold_lengths(indptr, gold) if known is None else known.lengths
        self.data = SegmentData(
            indptr,
            span_boundaries(indptr, shape.longest),
            features,
            segment_features or NO_ROWS,
            gold,
            lengths,
            np.array(shape.max_lengths, dtype=np.int32),
            np.ones(n_labels) if precision is None else np.ascontiguousarray(precision, dtype=np.float64),
            recall,
            1.0 - np.eye(n_labels) if confusion is None else np.ascontiguousarray(confusion, dtype=np.float64),
            np.zeros(len(lengths)),
            NO_REACH if known is None else known.reach,
            NO_LIMITS.breaks if known is None else known.begins,
            NO_LIMITS if limits is None else Limits(*map(np.ascontiguousarray, limits)),
        )
        check(shape, self.data)
        self.data = self.data._replace(missed=self._missed(recall, gold, lengths))
        self.n_examples = len(indptr) - 1
        self.n_weights = shape.n_weights
        self.lengths = np.diff(indptr)
        self.work = self._work()

    def _work(self) -> FloatVector:
        # As for chains, and 8 nanoseconds for each label of a span, measured with errors.
        n_labels, data = self.shape.n_labels, self.data
        tokens, spans = self.lengths, self.n_positions
        of_tokens, of_spans = (
            np.diff(rows.indptr[at]) if len(rows.indptr) > 1 else 0
            for rows, at in ((data.features, data.indptr), (data.segment_features, data.spans[data.indptr]))
        )
        nanoseconds = (
            tokens * n_labels**2 / 6
            + spans * 8 * n_labels
            + of_tokens * (10 + ROLES * n_labels / 2)
            + of_spans * (10 + n_labels / 2)
        )
        return nanoseconds / 1000

    def _missed(self, recall: FloatVector, gold: IntVector, lengths: IntVector) -> FloatVector:
        """The recall penalty of the gold segment that begins at each token; 0 where none does, or none is known."""
        if self.known is not None:
            return self.known.missed(recall)
        return np.where(lengths > 0, recall[gold >> 1], 0.0)

    @property
    def layout(self) -> Layout:
        """Where the parts of the weight vector begin."""
        shape, labels = self.shape, self.shape.n_labels
        rows = np.cumsum([ROLES * shape.n_features, shape.n_segment_features, shape.longest, labels, 1]) * labels
        return Layout(labels, *rows.tolist())

    def parts(self, w: FloatVector | SegmentWeights) -> SegmentWeights:
        """The parts of weights in either form."""
        return w if isinstance(w, SegmentWeights) else self.shape.parts(w)

    def decode(self, w: FloatVector | SegmentWeights, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """The codes of the best segmentations of the batch, end to end."""
        return self._decoded(self.data, w, batch, error_scale)

    def _decoded(
        self, data: SegmentData, w: FloatVector | SegmentWeights, batch: IntVector, error_scale: Scale
    ) -> IntVector:
        starts = boundaries(self.lengths[batch])
        codes = np.empty(starts[-1], dtype=np.int32)
        decode_batch(data, self.parts(w), batch, starts, per_example(error_scale, batch), codes)
        return codes

    def decode_best(
        self, w: FloatVector | SegmentWeights, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, IntVector]:
        """The batch with each example repeated per output, and the `k` best segmentations, best first, end to end."""
        counts, codes = best_segmentations(self.data, self.parts(w), batch, k, per_example(error_scale, batch))
        return np.repeat(batch, counts), codes

    def decode_slack(self, w: FloatVector, batch: IntVector) -> IntVector:
        """The worst segmentations under slack scaling (`core.examples.ErrorCounts`)."""
        precision, recall, confusion = self._whole_penalties
        missed = self._missed(recall, self.data.gold, self.data.gold_lengths)
        data = self.data._replace(precision=precision, recall=recall, confusion=confusion, missed=missed)
        starts = boundaries(self.lengths[batch])
        codes = np.empty(starts[-1], dtype=np.int32)
        worst_segmentations(data, self.parts(w), batch, starts, codes)
        return codes

    def slack_bytes(self) -> FloatVector:
        """What `decode_slack` takes: two tables of the best score for each token, label and number of errors."""
        precision, recall, confusion = self._whole_penalties
        missed = self._missed(recall, self.data.gold, self.data.gold_lengths)
        most = sums(missed + max(precision.max(), confusion.max()), self.data.indptr)
        return 16.0 * self.lengths * self.shape.n_labels * (most + 1.0)

    @property
    def _whole_penalties(self) -> tuple[FloatVector, FloatVector, FloatMatrix]:
        """Penalties of precision, recall and confusion as multiples of one unit."""
        n_labels, data = self.shape.n_labels, self.data
        penalties = np.concatenate([data.precision, data.recall, data.confusion.ravel()])
        whole = whole_costs(penalties)[0].astype(np.float64)
        precision, recall, confusion = np.split(whole, [n_labels, 2 * n_labels])
        return precision, recall, confusion.reshape(n_labels, n_labels)

    @property
    def n_positions(self) -> LongVector:
        """How many candidate spans each example has."""
        return np.diff(self.data.spans[self.data.indptr])

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """For each candidate span the worst segmentation that is wrong there (`core.examples.Positions`)."""
        counts = self.n_positions[batch]
        errors = np.zeros(counts.sum())
        codes = violators(self.data, self.parts(w), batch, errors)
        return at_positions(errors, self.difference(np.repeat(batch, counts)[errors > 0], codes).psi)

    def violator_bytes(self) -> FloatVector:
        """What `violators` may take: a segmentation for each span, and its ψ if it is wrong everywhere."""
        data, positions = self.data, self.n_positions
        entries = 4.0 * (self.lengths + 1.0) + 2.0 * ROLES * np.diff(data.features.indptr[data.indptr])
        if len(data.segment_features.indptr) > 1:
            # No more segments than tokens, with as many features as spans have on average.
            of_spans = np.diff(data.segment_features.indptr[data.spans[data.indptr]])
            entries += 2.0 * self.lengths * of_spans / np.maximum(positions, 1)
        return positions * (BYTES_PER_ENTRY * entries + 8.0 * self.lengths)

    def max_marginals(self, w: FloatVector | SegmentWeights, batch: IntVector) -> tuple[FloatMatrix, LongVector]:
        """For each candidate span of the batch, a row of scores: the best segmentation's with each label there.

        The second array says where the rows of each example begin; −inf marks what no segmentation can have.
        """
        starts = boundaries(self.n_positions[batch])
        best = np.empty((starts[-1], self.shape.n_labels))
        span_marginals(self.data, self.parts(w), batch, starts, best)
        return best, starts

    def scores(self, w: FloatVector | SegmentWeights, batch: IntVector, outputs: IntVector) -> FloatVector:
        """⟨w, φ(x_i, y)⟩ of the batch's outputs, segmentations laid end to end."""
        totals = np.zeros(len(batch))
        scores(self.data, self.parts(w), batch, boundaries(self.lengths[batch]), outputs, totals)
        return totals

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences of segmentations laid end to end."""
        return Differences(*difference(self.data, self.layout, batch, boundaries(self.lengths[batch]), outputs))

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p of the gold segments and the expected feature differences (`core.examples.Marginals`)."""
        return Differences(*expectation(self.data, self.parts(w), self.layout, batch, error_scale))

    def probabilities(self, w: FloatVector | SegmentWeights, batch: IntVector) -> tuple[FloatMatrix, FloatVector]:
        """A row for each candidate span of the batch: the probability of a segment with each label; and each log Z."""
        starts, log_z = boundaries(self.n_positions[batch]), np.empty(len(batch))
        rows = np.empty((starts[-1], self.shape.n_labels))
        probabilities(self.data, self.parts(w), batch, starts, rows, log_z)
        return rows, log_z

    def expectation_bytes(self) -> FloatVector:
        """What `expectation` may take: scores and probabilities of all segments, and the entries of ψ."""
        data, labels = self.data, self.shape.n_labels
        entries = ROLES * np.diff(data.features.indptr[data.indptr])
        if len(data.segment_features.indptr) > 1:
            entries = entries + np.diff(data.segment_features.indptr[data.spans[data.indptr]])
        return labels * (BYTES_PER_ENTRY * entries + 24.0 * self.lengths * self.shape.longest)

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
        data, places = self.data, self.data.indptr
        labels = np.arange(self.shape.n_labels) if labels is None else labels
        old = old_numbers(labels)
        lengths = data.max_lengths[old]
        if max_lengths is not None and len(old) == len(max_lengths):
            lengths = np.minimum(lengths, max_lengths)
        about = [lengths.astype(np.int64), data.precision[old], data.recall[old], data.confusion[np.ix_(old, old)]]
        parts = [
            (places, 2 * labels[data.gold >> 1] + (data.gold & 1)),
            *parts_of_rows(places, data.features, features),
        ]
        if self.shape.n_segment_features:
            first = np.repeat(data.spans[:-1], np.diff(data.spans))
            short = np.flatnonzero(np.arange(data.spans[-1]) - first < lengths.max(initial=0))
            spans = span_boundaries(places, int(lengths.max(initial=0)))[places]
            parts += parts_of_rows(spans, taken(data.segment_features, short), segment_features)
        return digests_of_parts([*about, *data.limits, len(parts)], *parts)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of the batch's features, and those of all lengths and transitions."""
        data, layout, n_labels = self.data, self.layout, self.shape.n_labels
        of_tokens = distinct(data.features, data.indptr, batch)
        parts = [runs(of_tokens, ROLES * n_labels, 0), np.array([[layout.length, self.n_weights]])]
        if self.shape.n_segment_features:
            of_spans = distinct(data.segment_features, data.spans[data.indptr], batch)
            parts.append(runs(of_spans, n_labels, layout.segment))
        return np.concatenate(parts)
