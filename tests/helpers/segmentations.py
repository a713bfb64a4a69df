"""Segmentations as one would write them down: a model without arrays or kernels, and scores of parts."""

from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.data import rows
from widemargin.decoders.viterbi import Segmented
from widemargin.tasks.segment.costs import encode
from widemargin.tasks.segment.examples import SegmentExamples
from widemargin.tasks.segment.scores import Segmentation


@dataclass(frozen=True)
class PlainSegmentation:
    """`sequences[i][t]` lists the (feature, value) pairs of a token, `spans[i][t, u]` those of the span t … u.

    Segmentations are lists of segments (t, u, y).
    """

    max_lengths: list
    n_features: int
    sequences: list
    gold: list
    n_segment_features: int = 0
    spans: list | None = None
    precision: list | None = None
    recall: list | None = None
    confusion: list | None = None
    binary: bool = False

    @property
    def n_labels(self):
        return len(self.max_lengths)

    def features(self, i, segments):
        """φ(x_i, segments) as a dict."""
        L, x, entries = self.n_labels, self.sequences[i], []
        at_segment = 3 * L * self.n_features
        at_length = at_segment + self.n_segment_features * L
        at_transition = at_length + max(self.max_lengths) * L
        at_begin, at_end = at_transition + L * L, at_transition + L * L + L
        for j, (t, u, y) in enumerate(segments):
            entries += [(f * 3 * L + y, value) for f, value in x[t]]
            entries += [(f * 3 * L + L + y, value) for s in range(t, u + 1) for f, value in x[s]]
            entries += [(f * 3 * L + 2 * L + y, value) for f, value in x[u]]
            if self.spans is not None:
                entries += [(at_segment + g * L + y, value) for g, value in self.spans[i][t, u]]
            entries.append((at_length + (u - t) * L + y, 1.0))
            entries.append((at_transition + segments[j - 1][2] * L + y if j > 0 else at_begin + y, 1.0))
        if segments:
            entries.append((at_end + segments[-1][2], 1.0))
        phi = {}
        for index, value in entries:
            phi[index] = phi.get(index, 0.0) + value
        return phi

    def score(self, w, i, segments):
        return sum(float(w[index]) * value for index, value in self.features(i, segments).items() if value != 0)

    def segment_error(self, i, segment):
        """L_i(t, u, y) of Sarawagi & Gupta (2008, 4.3.2), word for word."""
        t, u, y = segment
        same = [label for first, last, label in self.gold[i] if (first, last) == (t, u)]
        if same:
            return float(self.confusion[same[0]][y]) if self.confusion is not None else float(same[0] != y)
        recall, precision = self.recall or [1.0] * self.n_labels, self.precision or [1.0] * self.n_labels
        return float(precision[y] + sum(recall[label] for first, _, label in self.gold[i] if t <= first <= u))

    def error(self, i, segments):
        return sum(self.segment_error(i, segment) for segment in segments)

    def position_errors(self, i, segments):
        """L of every candidate span that is a segment, 0 of all others."""
        found = {(t, u): self.segment_error(i, (t, u, y)) for t, u, y in segments}
        return [found.get(span, 0.0) for span in candidate_spans(len(self.sequences[i]), max(self.max_lengths))]

    def psi(self, i, segments):
        """φ(x_i, gold) − φ(x_i, segments) without zeros."""
        gold, other = self.features(i, self.gold[i]), self.features(i, segments)
        difference = {index: gold.get(index, 0.0) - other.get(index, 0.0) for index in gold | other}
        return {index: value for index, value in difference.items() if value != 0.0}

    def outputs(self, i):
        """All segmentations of example i."""
        return segmentations(len(self.sequences[i]), self.max_lengths)

    def compiled(self):
        """The same as the library has it."""
        spans = None
        if self.spans is not None:
            spans = rows([table[span] for table in self.spans for span in sorted(table)], binary=self.binary)
        return SegmentExamples(
            Segmentation(self.n_labels, self.n_features, self.n_segment_features, tuple(self.max_lengths)),
            np.cumsum([0, *map(len, self.sequences)], dtype=np.int64),
            rows(list(chain.from_iterable(self.sequences)), binary=self.binary),
            spans,
            np.concatenate([encode(segments) for segments in self.gold]),
            precision=None if self.precision is None else np.array(self.precision),
            recall=None if self.recall is None else np.array(self.recall),
            confusion=None if self.confusion is None else np.array(self.confusion),
        )


def segmentations(n, max_lengths, first=0):
    """All ways to cut the tokens from `first` to n − 1 into labelled segments."""
    if first == n:
        return [[]]
    return [
        [(first, last, label), *rest]
        for last in range(first, n)
        for label, most in enumerate(max_lengths)
        if last - first < most
        for rest in segmentations(n, max_lengths, last + 1)
    ]


def candidate_spans(n, longest):
    return [(t, u) for t in range(n) for u in range(t, min(n, t + longest))]


def random_segmentation(
    seed, lengths, *, max_lengths, n_features=5, per_token=2, n_segment_features=0, penalties=False, binary=True
):
    """A `PlainSegmentation` drawn at random; gold follows the features of first tokens, with noise."""
    rng = np.random.default_rng(seed)

    def row(n, count):
        return [(int(f), 1.0 if binary else float(rng.normal())) for f in rng.integers(n, size=count)]

    def cut(sequence):
        segments, t = [], 0
        while t < len(sequence):
            label = int(rng.integers(len(max_lengths))) if rng.random() < 0.25 else sequence[t][0][0] % len(max_lengths)
            most = min(max_lengths[label], len(sequence) - t)
            d = int(rng.integers(most)) if rng.random() < 0.25 else sequence[t][1][0] % most
            segments.append((t, t + d, label))
            t += d + 1
        return segments

    sequences = [[row(n_features, per_token) for _ in range(n)] for n in lengths]
    spans = [
        {span: row(max(n_segment_features, 1), 1) for span in candidate_spans(n, max(max_lengths))} for n in lengths
    ]
    n_labels = len(max_lengths)
    precision, recall = ((rng.integers(1, 9, n_labels) / 4).tolist() for _ in range(2))
    confusion = (rng.integers(1, 9, (n_labels, n_labels)) / 4 * (1.0 - np.eye(n_labels))).tolist()
    return PlainSegmentation(
        max_lengths,
        n_features,
        sequences,
        [cut(sequence) for sequence in sequences],
        n_segment_features,
        spans if n_segment_features else None,
        *((precision, recall, confusion) if penalties else (None, None, None)),
        binary=binary,
    )


@st.composite
def part_scores(draw, score):
    """Tokens, longest segment and labels; what lies beyond the end of the sequence is not a number."""
    n, longest, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))

    def table(*size):
        return draw(arrays(np.float64, size, elements=score, fill=st.nothing()))

    segment = table(n, longest, n_labels)
    for t in range(n):
        segment[t, n - t :] = np.nan
    tables = n if draw(st.booleans()) else 1
    return Segmented(segment, table(tables, n_labels, n_labels), table(n_labels), table(n_labels))


def everything(parts):
    """All segmentations as wide as the scores."""
    n, longest, n_labels = parts[0].shape
    return segmentations(n, [longest] * n_labels)


def score(segments, segment, transition, begin, end):
    total = begin[segments[0][2]] + end[segments[-1][2]]
    total += sum(segment[t, u - t, y] for t, u, y in segments)
    tables = np.broadcast_to(transition, (len(segment), *transition.shape[1:]))
    return total + sum(tables[other[0], one[2], other[2]] for one, other in pairwise(segments))
