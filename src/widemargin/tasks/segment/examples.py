"""Semi-Markov models: segmentation of a sequence into labelled segments (Sarawagi & Cohen 2004).

    ⟨w, φ(x, y)⟩ = first[y_1] + Σ_j segment(t_j, u_j, y_j) + Σ_{j>1} T[y_j-1, y_j] + last[y_p]

over the segments (t_j, u_j, y_j) of y: from token t_j to token u_j, with the label y_j. The structure is
`structures.chain`. The module `scores` defines the score of a segment, the layout of the weights and the numbers of
spans, `costs` the error of a segment and how outputs are written: an int32 code per token.
"""

from typing import Any, ClassVar

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.contents import digests_of_parts, old_numbers, parts_of_rows
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.sparse import NO_ROWS, Rows, sums, take_rows
from widemargin.errors import DataError
from widemargin.structures.chain import Segments
from widemargin.tasks.segment.costs import Known, SegmentCosts, gold_lengths
from widemargin.tasks.segment.scores import INSIDE, ROLES, Segmentation, SegmentFeatures, span_boundaries
from widemargin.tasks.token_examples import PartialTokens, TokenExamples, association, check_rows


class SegmentExamples(TokenExamples):
    """Sequences with their gold segments (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    shape : the shape of the model
    indptr : (n + 1,) where each sequence begins among the tokens
    features : the features of each token, a row per token
    segment_features : the features of each candidate span, a row per span; None if the model has none
    gold : the code of each token (`tasks.segment.costs`); None when the sequences are only to be decoded
    precision : (L,) error of a wrong segment, by its label; None for ones
    recall : (L,) error of missing a gold segment, by its label; None for ones
    confusion : (L, L) error of the column's label on a gold segment with the row's; None counts wrong ones
    known : the facts about partly known gold segments; None if they are fully known
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
        rows = SegmentFeatures(shape, indptr, features, segment_features or NO_ROWS)
        _check(rows, gold, penalties)
        costs = SegmentCosts(indptr, shape.longest, gold, **penalties, known=known)
        super().__init__(Segments(n_labels, shape.longest), rows, costs, gold)

    @property
    def spans(self) -> LongVector:
        """The number of each token's first candidate span (`tasks.segment.scores`)."""
        return self.features.spans

    @property
    def part_boundaries(self) -> LongVector:
        """Where the candidate spans of each sequence begin: each has a row of max-marginals."""
        return self.spans[self.indptr]

    def bounds_of(self, indptr: LongVector, allowed: BoolMatrix) -> SegmentCosts:
        """Costs of −∞ for codes that are not `allowed` at a token; the rows of sequence i begin at `indptr[i]`."""
        n_labels, longest, nothing = self.shape.n_labels, self.shape.longest, np.zeros(len(allowed), dtype=np.bool_)
        known = Known.of(indptr, allowed, nothing)._replace(lengths=nothing.astype(np.int32))
        free, never = np.zeros((n_labels, n_labels)), np.full(n_labels, -np.inf)
        return SegmentCosts(indptr, longest, known.codes, never, free[0], free, known)

    def expectation_bytes(self) -> FloatVector:
        """The memory of `expectation`: scores and probabilities of all segments, and the entries of ψ."""
        scores = 24.0 * self.sizes * self.shape.longest * self.shape.n_labels
        return BYTES_PER_ENTRY * self.features.count_entries() + scores

    def digests(
        self,
        labels: LongVector | None = None,
        features: LongVector | None = None,
        segment_features: LongVector | None = None,
        max_lengths: LongVector | None = None,
    ) -> list[bytes]:
        """A digest of each example after renumbering labels and features (`tasks.warm`).

        Segments longer than `max_lengths`, which has a limit per old label, make no difference.
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
            parts += parts_of_rows(spans, take_rows(own.segment_rows, short), segment_features)
        return digests_of_parts([lengths.astype(np.int64), *penalties, len(parts)], *parts)


class PartialSegmentExamples(PartialTokens, SegmentExamples):
    """Sequences with a set of possible codes per token; the right one is latent (Yu & Joachims 2009).

    The best completion is decoded like any output, with an error of −∞ for segments that do not fit.

    Parameters
    ----------
    allowed : (n, 2L) the codes that each token may have
    given : whether anything is known of each token
    others : as for `SegmentExamples`
    """

    whole: ClassVar[type[SegmentExamples]] = SegmentExamples

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
        # The first token of a sequence cannot continue a segment.
        allowed = allowed.copy()
        allowed[indptr[:-1][np.diff(indptr) > 0], 0::2] = False
        self.known = Known.of(indptr, allowed, given)
        super().__init__(shape, indptr, features, segment_features, known=self.known, **penalties)
        self.limits = self.bounds_of(indptr, allowed)
        self.gold = self.complete(np.zeros(self.n_weights), self.everything)
        for t in np.flatnonzero(~allowed[np.arange(len(given)), self.gold])[:1]:
            i = int(np.searchsorted(indptr, t, side="right")) - 1
            raise DataError(f"no segmentation of sequence {i} complies with its labels and the lengths of segments")

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

    def check_completions(self, completions: IntVector) -> None:
        """Raise unless every token has one of its codes."""
        allowed = self.known.allowed
        if len(completions) != len(allowed) or not np.all(allowed[np.arange(len(completions)), completions]):
            raise DataError("completions must have one of its codes for every token")
        _check_gold(self.features, completions)

    def guess(self, rng: np.random.Generator) -> IntVector:
        """The best segmentations that fit, by weights drawn at random."""
        return self.complete(rng.normal(size=self.n_weights), self.everything)

    def naive_bayes(self) -> FloatVector:
        """I[f, l] = log p(l | f) / p(l), by the labels of tokens."""
        allowed, truth = np.unique(self._labels, axis=0, return_inverse=True)
        w = np.zeros(self.n_weights)
        parts, numbers = self.shape.parts(w), truth.ravel().astype(np.int32)
        roles = parts.roles.reshape(-1, ROLES, self.shape.n_labels)
        roles[:, INSIDE] = association(self.features.rows, self.shape.n_features, numbers, allowed)
        parts.length[:] = -1.0  # prefers one long segment to several short ones
        return w


def _check(features: SegmentFeatures, gold: IntVector, penalties: dict[str, Any]) -> None:
    """Raise unless every index is within bounds, and gold within the lengths: kernels do not check."""
    shape = features.shape
    check_rows("features", features.rows, int(features.indptr[-1]), "tokens", shape.n_features)
    if shape.n_segment_features:
        n, width = int(features.spans[-1]), shape.n_segment_features
        check_rows("segment_features", features.segment_rows, n, "candidate spans", width)
    _check_penalties(shape.n_labels, penalties)
    _check_gold(features, gold)


def _check_penalties(n_labels: int, penalties: dict[str, Any]) -> None:
    for name, penalty in penalties.items():
        form = (n_labels, n_labels) if name == "confusion" else (n_labels,)
        if penalty.shape != form or not np.all(np.isfinite(penalty) & (penalty >= 0)):
            raise DataError(f"{name} must be an array of the shape {form}, finite and not negative")
    if np.diagonal(penalties["confusion"]).any():
        raise DataError("confusion must have zeros for right labels")


def _check_gold(features: SegmentFeatures, gold: IntVector) -> None:
    if not len(gold):
        return
    shape, indptr = features.shape, features.indptr
    n = int(indptr[-1])
    if not (len(gold) == n and 0 <= gold.min() <= gold.max() < 2 * shape.n_labels):
        raise DataError(f"gold must hold {n} codes from 0 to {2 * shape.n_labels - 1}")
    firsts = indptr[:-1][np.diff(indptr) > 0]
    inside = np.flatnonzero(gold & 1 == 0)
    if not np.all(gold[firsts] & 1) or np.any(gold[inside] >> 1 != gold[inside - 1] >> 1):
        raise DataError("gold has a token that neither begins a segment nor goes on with the one before it")
    labels, lengths = gold >> 1, gold_lengths(gold)
    long = np.flatnonzero(lengths > np.array(shape.max_lengths)[labels])
    if len(long):
        t = int(long[0])
        i = int(np.searchsorted(indptr, t, side="right")) - 1
        raise DataError(
            f"example {i} has a gold segment of {lengths[t]} tokens with the label {labels[t]}, whose segments may "
            f"have {shape.max_lengths[labels[t]]}"
        )
