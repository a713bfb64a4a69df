"""Segmenters for data larger than memory: segmented sequences are written to arrays on disk, piece by piece.

Which features spans have depends on the segments of all data, and so does the longest span. Until these are known, only
the keys of words are written, from which the features of spans are then computed, share by share.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from widemargin._types import LongVector
from widemargin.core.examples import on_disk
from widemargin.core.header import many, names, record, whole
from widemargin.core.mapped import Pages, RowsFile, VectorFile
from widemargin.core.stored import Stored
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.arrays import PARTLY_KNOWN, Arrays, Boundaries, Facts, FeatureFiles, LabelFile
from widemargin.tasks.segment import SegmenterParameters
from widemargin.tasks.segment.estimator import assemble_segments, extractor_of, known_lengths
from widemargin.tasks.segment.examples import SegmentExamples
from widemargin.tasks.segment.features import SegmentExtractor
from widemargin.tasks.segment.labels import (
    Penalties,
    as_spans,
    count_tokens,
    encode_segments,
    longest_spans,
    max_lengths,
    partial_labels,
)
from widemargin.tasks.segment.model import SegmentModel
from widemargin.tasks.segment.scores import Segmentation
from widemargin.tasks.training import Compiled, Data
from widemargin.text.alphabet import FeatureCounts
from widemargin.text.inputs import as_columns, check_templates
from widemargin.text.labels import by_frequency

FIELDS = {
    "labels": names(str, at_least=1),
    "max_lengths": many(whole(at_least=1), at_least=1),
    "features": record({}),
}
"""The fields of the header beside the arrays."""
TOKENS = 1 << 14
"""About how many tokens have the features of their spans computed together."""


class SegmentArrays(Arrays):
    """Features of tokens and spans, and the code of each token."""

    settings: ClassVar[tuple[str, ...]] = (
        *("templates", "lexicons", "clusters", "min_count", "hash_bits"),
        *("segment_features", "segment_min_count", "max_length"),
    )

    def __init__(self, parameters: SegmenterParameters, folder: Path) -> None:
        super().__init__(parameters, folder)
        self.places, self.labels = Boundaries(folder), LabelFile(folder, marks=2)
        self.keys, self.longest = VectorFile(folder / "keys", np.uint64), dict[str, int]()
        self.segments = list[FeatureCounts]()  # each smaller than half of the one before
        self.extractor: SegmentExtractor | None = None

    def add(self, data: Data) -> None:
        """Write a piece."""
        X = as_columns(data.X)
        if self.extractor is None:
            self.extractor = extractor_of(self.parameters, data, X)
            self.features = FeatureFiles(self.extractor.tokens, self.folder)
        else:
            check_templates(self.extractor.tokens, X, data.y)
        self.places.add(self.features.add(X))
        if not X.n_tokens:
            return
        if partial_labels(X, data.y) is not None:
            raise UnsupportedError(PARTLY_KNOWN)
        spans, sizes = as_spans(X, data.y), np.diff(X.indptr).tolist()
        labels, codes = encode_segments(spans, sizes)
        self.labels.add(labels, codes, count_tokens(spans, sizes))
        for label, length in longest_spans(spans).items():
            self.longest[label] = max(self.longest.get(label, 1), length)
        keys, segments = self.extractor.words(X, known_lengths(labels, codes))
        self.keys.append(keys.ravel())
        self.segments.append(segments)
        while len(self.segments) > 1 and 2 * len(self.segments[-1].keys) >= len(self.segments[-2].keys):
            *self.segments, one, two = self.segments
            self.segments.append(one.merged(two))

    def settle(self) -> Facts:
        """Number labels and features as `fit` does, and write the features of spans."""
        if self.extractor is None or not self.labels.counts:
            raise DataError("there is no token to learn from")
        labels = by_frequency(self.labels.counts)
        limits = max_lengths(self.parameters.max_length, labels, self.longest)
        self.labels.settle(labels)
        known = self.segments.pop()
        while self.segments:
            known = self.segments.pop().merged(known)
        self.extractor.adopt_segments(known)
        rows, width = RowsFile(self.folder, "segment_features"), self.extractor.n_fields
        for indptr, first in self._shares():
            n = int(indptr[-1])
            keys = self.keys.part(first * width, (first + n) * width).reshape(n, width)
            rows.append(self.extractor.rows_of_words(indptr, keys, max(limits)))
        self.keys.path.unlink()
        of_features = self.features.settle()
        header, tensors = self.extractor.describe()
        return Facts({"labels": labels, "max_lengths": list(limits), "features": header}, tensors | of_features)

    def _shares(self) -> Iterator[tuple[LongVector, int]]:
        """Where the sequences of a share begin within it, and the first token of the share."""
        for first, part in self.places.file.parts():
            # The first sequence of a part begins where the part before ends.
            ends = self.places.file.part(max(first - 1, 0), first + len(part))
            cuts = np.flatnonzero(np.diff(ends // TOKENS)) + 1
            for begin, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(ends) - 1], strict=True):
                yield ends[begin : end + 1] - ends[begin], int(ends[begin])

    @staticmethod
    def compiled(parameters: SegmenterParameters, stored: Stored, pages: Pages, data: Data) -> Compiled[SegmentModel]:
        """The written arrays as examples."""
        header = stored.checked(FIELDS)
        labels, extractor = header["labels"], SegmentExtractor.restore(stored.part("features"))
        limits = tuple(header["max_lengths"])
        shape = Segmentation(len(labels), extractor.n_features, extractor.n_segment_features, limits)
        gold = pages.vector("gold", np.int32)
        indptr = pages.boundaries("indptr", len(gold))
        penalties = Penalties.of(labels, parameters.precision, parameters.recall, parameters.confusion)
        rows = pages.rows("features"), pages.rows("segment_features")
        examples = SegmentExamples(shape, indptr, *rows, gold, **penalties._asdict())
        return assemble_segments(parameters, extractor, labels, on_disk(examples, pages), data)
