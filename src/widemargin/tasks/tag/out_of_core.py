"""Taggers for data larger than memory: labelled sequences are written to arrays on disk, piece by piece."""

from pathlib import Path
from typing import ClassVar

import numpy as np

from widemargin.core.examples import on_disk
from widemargin.core.header import many, names, record, whole
from widemargin.core.mapped import Pages
from widemargin.core.stored import Stored
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.arrays import PARTLY_KNOWN, Arrays, Boundaries, Facts, FeatureFiles, LabelFile
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import assemble_tags, check_passes, costs_of
from widemargin.tasks.tag.features import ChainExamples, ChainShape
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.predict import check_scheme, labels_to_learn
from widemargin.tasks.token_training import extractor_for
from widemargin.tasks.training import Compiled, Data
from widemargin.text.inputs import check_templates, describe, lengths, prepare, restore
from widemargin.text.labels import by_frequency, encode_labels

FIELDS = {"labels": names(str, int, at_least=1), "counts": many(whole(at_least=1)), "features": record({})}
"""The fields of the header beside the arrays."""


class TagArrays(Arrays):
    """Features and labels of positions."""

    settings: ClassVar[tuple[str, ...]] = ("templates", "lexicons", "clusters", "min_count", "hash_bits", "scheme")

    def __init__(self, parameters: TaggerParameters, folder: Path) -> None:
        check_passes(parameters, at_once=False)
        check_scheme(parameters)
        super().__init__(parameters, folder)
        self.places, self.labels = Boundaries(folder), LabelFile(folder)
        self.features: FeatureFiles | None = None

    def add(self, data: Data) -> None:
        """Write a piece."""
        if self.features is None:
            extractor, X = extractor_for(self.parameters, data)
            self.features = FeatureFiles(extractor, self.folder)
        else:
            X = prepare(data.X, self.features.extractor)
            check_templates(self.features.extractor, X, data.y)
        self.places.add(self.features.add(X))
        if any(lengths(X)):
            labels, known, sets = encode_labels(X, labels_to_learn(self.parameters.scheme, X, data.y))
            if len(sets):
                raise UnsupportedError(PARTLY_KNOWN)
            self.labels.add(labels, known, dict(zip(labels, np.bincount(known).tolist(), strict=True)))

    def settle(self) -> Facts:
        """Number labels by falling count, and features as `fit` does."""
        counts = self.labels.counts
        if self.features is None or not counts:
            raise DataError("there is no labelled position to learn from")
        labels = by_frequency(counts)
        self.labels.settle(labels)
        of_features = self.features.settle()
        header, tensors = describe(self.features.extractor)
        facts = {"labels": labels, "counts": [counts[label] for label in labels], "features": header}
        return Facts(facts, tensors | of_features)

    @staticmethod
    def compiled(parameters: TaggerParameters, stored: Stored, pages: Pages, data: Data) -> Compiled[Tagger]:
        """The written arrays as examples."""
        header = stored.checked(FIELDS)
        labels, extractor = header["labels"], restore(stored.part("features"))
        counts = np.array(header["counts"], dtype=np.float64)
        if len(counts) != len(labels):
            raise stored.place.damaged(f"it has {len(counts)} counts of {len(labels)} labels")
        gold = pages.vector("gold", np.int32)
        examples = ChainExamples(
            ChainShape(len(labels), extractor.n_features, extractor.n_transition_features),
            pages.boundaries("indptr", len(gold)),
            pages.rows("features"),
            gold,
            costs=costs_of(parameters, labels, lambda: counts),
            transition_features=pages.rows("transition_features") if pages.holds("transition_features") else None,
        )
        return assemble_tags(parameters, extractor, labels, on_disk(examples, pages), data)
