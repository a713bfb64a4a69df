"""A trained segmenter: labels, features and weights. Model files call its structure ``segment``.

*Minimum risk.* If a wrong or missed segment costs 1, and tokens outside cost nothing, the expected cost of a
segmentation is

    Σ over its segments of (1 − p) + Σ over all others of p   =   a constant − Σ over its segments of (2p − 1)

so the segmentation of minimum risk is the best one under the scores 2p − 1 of segments.

*Margins.* An output without a span has the span's first token in another segment; the max-marginals of such segments
give the best of these outputs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from widemargin._types import AnyArray, BoolMatrix, BoolVector, FloatMatrix, IntVector, LongVector
from widemargin.core.header import Fields, many, names, record, whole
from widemargin.core.sparse import Rows
from widemargin.core.stored import Stored
from widemargin.structures.chain import Segments
from widemargin.structures.examples import best_outputs
from widemargin.tasks.answers import LEAST, SureSpan
from widemargin.tasks.base import selected_rows
from widemargin.tasks.calibration import Ahead, Judged
from widemargin.tasks.constraints import Constraints, numbers_of
from widemargin.tasks.segment.examples import SegmentExamples
from widemargin.tasks.segment.features import ReadSegments, SegmentExtractor
from widemargin.tasks.segment.labels import as_labels, bio_names, decode_segments
from widemargin.tasks.segment.scores import Segmentation, SegmentFeatures, SegmentWeights
from widemargin.tasks.token_examples import Constrained
from widemargin.tasks.tokens import TokenModel
from widemargin.text.inputs import as_columns
from widemargin.text.partial import judged_spans
from widemargin.text.spans import OUTSIDE, Span, bio

ROLE_NAMES = ("first token", "any token", "last token")


class SegmentPredictor:
    """The segmentations that a model gives to sequences, as codes, without the checks and gold of training."""

    def __init__(self, extractor: SegmentExtractor, weights: SegmentWeights, shape: Segmentation) -> None:
        self.extractor, self.weights, self.shape = extractor, weights, shape
        self.longest, self._structure = shape.longest, Segments(shape.n_labels, shape.longest)

    def looked_up(self, X: Any) -> ReadSegments:
        """Sequences with their strings looked up."""
        return self.extractor.read(as_columns(X), self.longest)

    def label(self, found: ReadSegments, first: int, last: int) -> IntVector:
        """The codes of the sequences first:last, end to end."""
        features = SegmentFeatures(self.shape, *found.features(first, last))
        codes: IntVector = best_outputs(self._structure, features, self.weights)
        return codes

    @property
    def token_work(self) -> float:
        """About how many microseconds a token takes."""
        # Measured: a nanosecond for 6 label pairs, 8 for each label of a span, 100 for its features.
        n_labels = len(self.weights.begin)
        return 0.5 + n_labels**2 / 6000 + self.longest * (8 * n_labels + 100) / 1000


class ConstrainedSegments(Constrained[SegmentExamples]):
    """Sequences to be cut into segments under constraints.

    Labels are those of segments: the types of spans, and ``"O"`` for tokens outside, each of which is a segment of its
    own. Spans cannot be marked improperly, so `bio` forbids nothing.
    """

    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""
        return decode_segments(codes, self.labels, np.array([0, len(codes)]))[0]

    def _allowed(self, lengths: list[int]) -> BoolMatrix:
        allowed: BoolMatrix = np.repeat(self.constraints.possible_labels(lengths, self.number), 2, axis=1)
        for i, span in self.constraints.forced_spans(lengths):
            first, end = self.indptr[i] + span.start, self.indptr[i] + span.end
            [label] = numbers_of([span.type], self.number)
            allowed[first:end, np.arange(2 * len(self.labels)) // 2 != label] = False
            allowed[first + 1 : end, 1::2] = False  # tokens inside begin nothing
            allowed[first, 0::2] = False
            if span.end < lengths[i]:
                allowed[end, 0::2] = False
        return allowed

    def _neighbours(self) -> tuple[BoolMatrix, BoolVector, BoolVector]:
        any_label = np.ones(len(self.labels), dtype=bool)
        return self.constraints.possible_pairs(self.number), any_label, any_label

    def _starting(self, type_: str) -> BoolVector:
        return np.arange(2 * len(self.labels)) == 2 * numbers_of([type_], self.number)[0] + 1


@dataclass
class SegmentModel(TokenModel[SegmentExamples]):
    """Labels, features and weights of a segmentation model; `max_lengths` limits the tokens of segments by label."""

    kind = "segment"
    predicts = "segments"
    outputs_are = "spans"
    sizes_of = ("labels", "features", "segment_features", "weights")
    fields: ClassVar[Fields] = {
        "labels": names(at_least=1),
        "features": record({}),
        "max_lengths": many(whole(at_least=1)),
    }

    extractor: SegmentExtractor
    weights: SegmentWeights
    max_lengths: tuple[int, ...]

    @property
    def shape(self) -> Segmentation:
        """The layout of the weights."""
        extractor = self.extractor
        return Segmentation(
            len(self.labels), extractor.n_features, extractor.n_segment_features, tuple(self.max_lengths)
        )

    @property
    def code_names(self) -> list[str]:
        """The BIO label of each code; a code is 2 · label, plus 1 where a segment begins."""
        return bio_names(self.labels)

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens that the features look at."""
        return sorted({"word", *self.extractor.tokens.columns_read})

    def examples(self, X: Any) -> SegmentExamples:
        """Sequences as examples to be decoded."""
        shape = self.shape
        return SegmentExamples(shape, *self.extractor.transform(as_columns(X), shape.longest))

    @cached_property
    def predictor(self) -> SegmentPredictor:
        """Finds the segments of new sequences."""
        return SegmentPredictor(self.extractor, self.weights, self.shape)

    @property
    def templates(self) -> Mapping[str, Sequence[str]]:
        """The templates of tokens."""
        return {"": self.extractor.tokens.texts}

    def gold_labels(self, X: Any, y: Any) -> Sequence[Sequence[Any]]:
        """Gold segments as BIO labels."""
        return as_labels(X, y)

    def named_rows(self) -> list[tuple[Rows, list[str]]]:
        """The weights of the features of tokens, by their place in a segment, and of segments."""
        names, n = self.extractor.names(), self.extractor.n_features
        in_roles = [f"{name} ({role})" for name in names[:n] for role in ROLE_NAMES]
        return [(self.weights.thin_roles, in_roles), (self.weights.thin_segment, names[n:])]

    def constrain(self, examples: SegmentExamples, constraints: Constraints) -> ConstrainedSegments:
        """The sequences under constraints."""
        return ConstrainedSegments(examples, self.weights, self.labels, constraints)

    def outputs(self, codes: IntVector, indptr: LongVector) -> list[list[Span]]:
        """The spans of every sequence."""
        return decode_segments(codes, self.labels, indptr)

    def margins(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[Ahead]:
        """The predicted spans of every sequence, with their margins."""
        examples, codes, best = self.best_with_marginals(X, n_threads, constraints)
        indptr, rows = examples.indptr, examples.spans
        found = []
        for i, predicted in enumerate(self.outputs(codes, indptr)):
            own = rows[indptr[i] : indptr[i + 1] + 1]
            ahead = [segment_margin(best, own, start, end, self.labels.index(type_)) for start, end, type_ in predicted]
            found.append(Ahead(predicted, np.array(ahead, dtype=np.float64)))
        return found

    def ahead(self, margins: Ahead, kind: Literal["labels", "spans"]) -> Ahead:
        """The spans of a sequence, and their margins."""
        return margins

    @property
    def label_numbers(self) -> dict[str, int]:
        """The number of the segment's label that each BIO label names."""
        return {name: code // 2 for code, name in enumerate(self.code_names)}

    def of_tokens(self, examples: SegmentExamples, probabilities: list[FloatMatrix]) -> list[FloatMatrix]:
        """For each token, the probability that it is in a segment with each of the `labels`."""
        sizes, longest = examples.lengths.tolist(), self.shape.longest
        return [token_probabilities(each, n, longest) for each, n in zip(probabilities, sizes, strict=True)]

    def span_proba(
        self, X: Any, n_threads: int = 1, constraints: Constraints | None = None, *, least: float = LEAST
    ) -> list[list[SureSpan]]:
        """All spans of every sequence whose probability is at least `least`, each with its probability."""
        examples, found = self.probabilities(X, n_threads, constraints)
        sizes, longest = examples.lengths.tolist(), self.shape.longest
        return [
            [
                SureSpan(start, end, self.labels[label], p)
                for start, end, label, p in likely_segments(each, n, longest, least)
                if self.labels[label] != OUTSIDE
            ]
            for each, n in zip(found, sizes, strict=True)
        ]

    def least_risk(self, examples: SegmentExamples, probabilities: list[FloatMatrix]) -> IntVector:
        """The segmentations with the fewest wrong plus missed segments on average."""
        inside = np.array([label != OUTSIDE for label in self.labels])
        return least_risk(examples.structure, probabilities, examples.sizes, inside)

    def likely(self, X: Any, n_threads: int = 1, constraints: Constraints | None = None) -> list[dict[str, Any]]:
        """Tokens, and the spans that are likely enough."""
        found = self.span_proba(X, n_threads, constraints)
        return [
            {"tokens": words, "spans": [_described_span(span) for span in spans]}
            for words, spans in zip(X.sequences("word"), found, strict=True)
        ]

    def spans_in(self, outputs: list[list[Any]]) -> list[list[Span]]:
        """The outputs themselves."""
        return outputs

    def judge(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The spans predicted for `X`, judged by `y`."""
        gold, margins = as_labels(X, y), self.margins(X, n_threads)
        marked = [bio(found, len(own)) for (found, _), own in zip(margins, gold, strict=True)]
        right = [each for own, found in zip(gold, marked, strict=True) for each in judged_spans(own, found)]
        judged = Judged.of([ahead for _, ahead in margins], right)
        return {"spans": judged} if len(judged.right) else {}

    def compact(self) -> "SegmentModel":
        """The same segmenter without features whose weights are all zero."""
        weights, before = self.weights, self.extractor
        used, in_segments = (np.diff(rows.indptr) > 0 for rows in (weights.thin_roles, weights.thin_segment))
        in_segments[before.index.size :] = True
        extractor = before.keep(used, in_segments)
        if extractor.n_features == before.n_features:
            used[:] = True  # hashed features stay, used or not
        kept = weights._replace(
            thin_roles=selected_rows(weights.thin_roles, used),
            thin_segment=selected_rows(weights.thin_segment, in_segments),
        )
        return replace(self, extractor=extractor, weights=kept)

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = self.extractor.describe()
        return {"features": described, "max_lengths": list(self.max_lengths)}, tensors | self.weights.tensors()

    @classmethod
    def _restore(cls, stored: Stored) -> "SegmentModel":
        labels, lengths = stored.header["labels"], tuple(stored.header["max_lengths"])
        extractor = SegmentExtractor.restore(stored.part("features"))
        shape = Segmentation(len(labels), extractor.n_features, extractor.n_segment_features, lengths)
        return cls(labels, extractor, shape.restored(stored), lengths, summary=stored.header["summary"])


def _table(rows: FloatMatrix, n: int, longest: int) -> FloatMatrix:
    """(n, ≤ longest, L) probabilities from a row for each candidate span; −1 beyond the end of the sequence."""
    table = np.full((n, min(longest, n), rows.shape[1]), -1.0)
    table[np.add.outer(np.arange(n), np.arange(table.shape[1])) < n] = rows
    return table


def token_probabilities(rows: FloatMatrix, n: int, longest: int) -> FloatMatrix:
    """For each of n tokens, the probability that it is in a segment with each label.

    >>> token_probabilities(np.array([[0.25], [0.75], [0.25]]), 2, 2)  # the first token, both, the second
    array([[1.],
           [1.]])
    """
    table, found = np.maximum(_table(rows, n, longest), 0.0), np.zeros((n, rows.shape[1]))
    reaching = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]  # segments from t on that hold the token t + d
    for d in range(table.shape[1]):
        found[d:] += reaching[: n - d, d]
    return found


def likely_segments(rows: FloatMatrix, n: int, longest: int, least: float) -> Iterator[tuple[int, int, int, float]]:
    """Start, end, label and probability of the segments with a probability of `least` or more, in order."""
    table = _table(rows, n, longest)
    for t, d, label in np.argwhere(table >= max(least, 0.0)).tolist():
        yield t, t + d + 1, label, float(table[t, d, label])


def least_risk(structure: Segments, rows: list[FloatMatrix], sizes: LongVector, inside: BoolVector) -> IntVector:
    """The codes of the segmentations of minimum risk, end to end; labels that are not `inside` cost nothing."""
    room, n = structure.room(sizes), len(inside)
    gains = np.concatenate([*rows, np.empty((0, n))])
    gains = np.where(gains > 0.0, np.where(inside, 2.0 * gains - 1.0, 0.0), -np.inf)
    room.own[structure.candidates(room.starts, sizes)] = gains
    return structure.best(room._replace(shared=np.zeros(n * (n + 2))))


def segment_margin(best: FloatMatrix, spans: LongVector, first: int, end: int, label: int) -> float:
    """The margin of the segment `first:end`; `spans[t]` is the row of `best` for token t alone."""
    own = spans[first] + end - 1 - first
    without = -np.inf
    for t in range(first, -1, -1):
        # Segments that begin at t and reach `first`; if none does, none further back does either.
        rows = best[spans[t] + first - t : spans[t + 1]]
        if not len(rows):
            break
        without = max(without, _best_but(rows, own - spans[t] if t == first else -1, label))
    return max(float(best[own, label] - without), 0.0)


def _best_but(rows: FloatMatrix, row: int, label: int) -> float:
    """The best entry other than [row, label], which may be out of range."""
    if 0 <= row < len(rows):
        rows = rows.copy()
        rows[row, label] = -np.inf
    return float(rows.max())


def _described_span(span: SureSpan) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "type": span.type, "probability": span.confidence}
