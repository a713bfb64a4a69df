"""A trained segmenter: labels, features and weights together, without anything of training.

This is what a model file of the structure ``segment`` holds; `estimators.Segmenter` wraps it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.answers.segments import SegmentAnswers
from widemargin.columns import Columns
from widemargin.features.base import Arrays
from widemargin.features.inputs import as_columns
from widemargin.features.segments import SegmentExtractor
from widemargin.labels import are_labels
from widemargin.predictors.base import TokenPredictor, are_numbers, are_rows, packed_rows, selected_rows, stored_rows
from widemargin.segmentations import bio_names
from widemargin.structures import Segmentation, SegmentExamples, SegmentWeights
from widemargin.structures.segment_weights import ROLES

DENSE = ("length", "transition", "begin", "end")


@dataclass
class SegmentPredictor(SegmentAnswers, TokenPredictor):
    """Labels, features and weights of a segmentation model; `max_lengths` holds the most tokens of each label."""

    structure = "segment"
    predicts = "segments"

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
    def w(self) -> FloatVector:
        """All weights as one vector."""
        return self.weights.flat()

    @property
    def sizes(self) -> dict[str, int]:
        """How much of everything there is."""
        shape = self.shape
        return {
            "labels": shape.n_labels,
            "features": shape.n_features,
            "segment_features": shape.n_segment_features,
            "weights": shape.n_weights,
        }

    @property
    def code_names(self) -> list[str]:
        """The BIO labels of codes, which are 2 · label, plus 1 where a segment begins."""
        return bio_names(self.labels)

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens that the features look at."""
        return sorted({"word", *self.extractor.tokens.columns_read})

    def examples(self, X: Any) -> SegmentExamples:
        """Sequences as examples to be decoded."""
        shape = self.shape
        columns = X if isinstance(X, Columns) else as_columns(X)
        return SegmentExamples(shape, *self.extractor.transform(columns, shape.longest))

    def compacted(self) -> "SegmentPredictor":
        """The same segmenter without the features that have no weight at all."""
        weights, before = self.weights, self.extractor
        used, in_segments = (np.diff(rows.indptr) > 0 for rows in (weights.thin_roles, weights.thin_segment))
        in_segments[before.index.size :] = True
        extractor = before.keep(used, in_segments)
        if extractor.n_features == before.n_features:
            used[:] = True  # hashed features stay, whether they are used or not
        kept = weights._replace(
            thin_roles=selected_rows(weights.thin_roles, used),
            thin_segment=selected_rows(weights.thin_segment, in_segments),
        )
        return replace(self, extractor=extractor, weights=kept)

    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = self.extractor.describe()
        tensors |= {f"weights.{name}": getattr(self.weights, name) for name in DENSE}
        tensors |= packed_rows("weights.roles", self.weights.thin_roles)
        tensors |= packed_rows("weights.segment", self.weights.thin_segment)
        return {"features": described, "max_lengths": list(self.max_lengths)}, tensors

    @classmethod
    def _restored(cls, header: Mapping[str, Any], tensors: Arrays) -> "SegmentPredictor":
        n_labels = len(header["labels"])
        weights = SegmentWeights(
            np.empty((0, ROLES * n_labels)),
            np.empty((0, n_labels)),
            **{part: tensors[f"weights.{part}"] for part in DENSE},
            thin_roles=stored_rows("weights.roles", tensors),
            thin_segment=stored_rows("weights.segment", tensors),
        )
        extractor = SegmentExtractor.restore(header["features"], tensors)
        lengths = tuple(header["max_lengths"])
        return cls(header["labels"], extractor, weights, lengths, summary=header["summary"])

    def _is_sound(self) -> bool:
        n = len(self.labels)
        if not (are_labels(self.labels) and all(type(each) is int for each in self.max_lengths)):
            return False
        shape, weights = self.shape, self.weights
        shapes = {"length": (shape.longest, n), "transition": (n, n), "begin": (n,), "end": (n,)}
        return (
            isinstance(self.labels[0], str)
            and all(are_numbers(getattr(weights, part), form) for part, form in shapes.items())
            and are_rows(weights.thin_roles, shape.n_features, ROLES * n)
            and are_rows(weights.thin_segment, shape.n_segment_features, n)
        )
