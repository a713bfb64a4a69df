"""Taggers for data larger than memory: labelled sequences are written to arrays on disk, piece by piece."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from widemargin._types import IntVector
from widemargin.core.header import many, names, record, whole
from widemargin.core.mapped import Pages, VectorFile
from widemargin.core.stored import Stored
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import assemble_tags, check_passes, costs_of
from widemargin.tasks.tag.features import ChainExamples, ChainFeatures, ChainShape
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.predict import check_scheme, labels_to_learn
from widemargin.tasks.token_training import extractor_for
from widemargin.tasks.training import Compiled, Data
from widemargin.text.extractor import Extractor
from widemargin.text.growing import FeatureFiles, StoredExtractor
from widemargin.text.inputs import check_templates, lengths, prepared, restore
from widemargin.text.labels import Encoded, by_frequency, check_kinds, encode_labels

FIELDS = {"labels": names(str, int, at_least=1), "counts": many(whole(at_least=1)), "features": record({})}
"""The fields of the header beside the arrays."""


class TagArrays:
    """Writes features and labels of pieces into files of a folder (`tasks.out_of_core`)."""

    settings: ClassVar[tuple[str, ...]] = ("templates", "lexicons", "clusters", "min_count", "hash_bits", "scheme")

    def __init__(self, parameters: TaggerParameters, folder: Path) -> None:
        check_passes(parameters, at_once=False)
        check_scheme(parameters)
        self.parameters, self.folder = parameters, folder
        self.indptr, self.gold = VectorFile(folder / "indptr", np.int64), VectorFile(folder / "gold", np.int32)
        self.indptr.append(np.zeros(1, dtype=np.int64))
        self.counts: dict[Any, int] = {}
        self.extractor: Extractor | None = None
        self.features: FeatureFiles | None = None

    def add(self, data: Data) -> None:
        """Write a piece."""
        if self.extractor is None:
            self.extractor, X = extractor_for(self.parameters, data)
            self.features = FeatureFiles(self.extractor, self.folder)
        else:
            X = prepared(data.X, self.extractor)
            check_templates(self.extractor, X, data.y)
        assert self.features is not None
        self.indptr.append(self.features.add(X)[1:] + self.gold.size)
        if any(lengths(X)):
            self._add_labels(encode_labels(X, labels_to_learn(self.parameters.scheme, X, data.y)))

    def _add_labels(self, encoded: Encoded) -> None:
        """Write the labels of a piece, numbered as they come."""
        if len(encoded.sets):
            raise UnsupportedError(
                "labels that are unknown, or known in part only, need all data in memory; leave out such sequences"
            )
        for label, count in zip(encoded.labels, np.bincount(encoded.known).tolist(), strict=True):
            self.counts[label] = self.counts.get(label, 0) + count
        check_kinds(self.counts)
        number = {label: k for k, label in enumerate(self.counts)}
        self.gold.append(np.array([number[label] for label in encoded.labels], dtype=np.int32)[encoded.known])

    def settle(self) -> StoredExtractor:
        """Renumber labels and features as if all data had come at once."""
        if self.features is None or not self.counts:
            raise DataError("there is no labelled position to learn from")
        labels = by_frequency(self.counts)
        place = {label: k for k, label in enumerate(labels)}
        numbers: IntVector = np.array([place[label] for label in self.counts], dtype=np.int32)
        for first, part in self.gold.parts():
            self.gold.put(first, numbers[part])
        header, arrays = self.features.settle()
        return StoredExtractor(
            {"labels": labels, "counts": [self.counts[label] for label in labels], "features": header}, arrays
        )

    @staticmethod
    def compiled(parameters: TaggerParameters, stored: Stored, pages: Pages, data: Data) -> Compiled[Tagger]:
        """The written arrays as examples; only the pages that training touches are in memory."""
        header = stored.checked(FIELDS)
        labels, extractor = header["labels"], restore(stored.part("features"))
        counts = np.array(header["counts"], dtype=np.float64)
        if len(counts) != len(labels):
            raise stored.place.damaged(f"it has {len(counts)} counts of {len(labels)} labels")
        examples = StoredChainExamples(
            pages,
            ChainShape(len(labels), extractor.n_features, extractor.n_transition_features),
            pages.vector("indptr", np.int64),
            pages.rows("features"),
            pages.vector("gold", np.int32),
            costs=costs_of(parameters, labels, lambda: counts),
            transition_features=pages.rows("transition_features") if pages.holds("transition_features") else None,
        )
        return assemble_tags(parameters, extractor, labels, examples, data)


class StoredFeatures(ChainFeatures):
    """The features of sequences in mapped files."""

    def summed(self, batches: Sequence[IntVector]) -> None:
        """None: the sums over all sequences would need a copy of all features in memory."""
        return


class StoredChainExamples(ChainExamples):
    """Sequences in mapped files (`core.examples.OnDisk`)."""

    kind: ClassVar[type[ChainFeatures]] = StoredFeatures

    def __init__(self, pages: Pages, *arrays: Any, **more: Any) -> None:
        self.pages = pages
        super().__init__(*arrays, **more)

    def _check(self) -> None:
        """Check as `ChainExamples` does, a share of each file at a time."""
        shape, own, pages, n = self.shape, self.features, self.pages, len(self.gold)
        found = [(own.rows, shape.n_features)]
        if shape.n_transition_features:
            found.append((own.transition_rows, shape.n_transition_features))
        whole = pages.are_boundaries(self.indptr, n) and pages.is_within(self.gold, shape.n_labels)
        for rows, width in found:
            whole &= len(rows.indptr) == n + 1 and pages.are_boundaries(rows.indptr, len(rows.indices))
            whole &= pages.is_within(rows.indices, width) and len(rows.values) in (0, len(rows.indices))
        if not whole:
            raise DataError(f"the arrays in {pages.folder} do not fit together")
