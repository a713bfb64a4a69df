"""A trained dependency parser: labels, features and weights together, without anything of training.

This is what a model file of the structure ``tree`` holds; `estimators.DependencyParser` wraps it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._types import AnyArray
from widemargin.columns import split
from widemargin.errors import WidemarginError
from widemargin.features.arcs import ArcExtractor
from widemargin.features.base import Arrays
from widemargin.features.inputs import as_columns
from widemargin.labels import are_labels
from widemargin.predictors.base import are_numbers
from widemargin.predictors.hashed import HashedPredictor, checked_bits, packed_weights, stored_weights
from widemargin.problem import predict
from widemargin.structures.tree import TreeExamples, Trees
from widemargin.trees import Arc

PARTS = ("arc", "label", "sibling")
"""The lists of templates that an extractor has."""


@dataclass
class Parser(HashedPredictor):
    """Labels, templates and weights of a dependency parser."""

    structure = "tree"
    predicts = "dependency trees"

    trees: Trees
    extractor: ArcExtractor

    @property
    def n_templates(self) -> int:
        """How many templates there are."""
        return sum(map(len, self.extractor.groups.values()))

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens that are looked at."""
        return self.extractor.columns_read

    def examples(self, X: Any) -> TreeExamples:
        """Sentences as examples to be parsed."""
        columns = as_columns(X)
        return TreeExamples(self.trees, columns.indptr, self.extractor.keys(columns))

    def predict_trees(self, X: Any, n_threads: int = 1) -> list[list[Arc]]:
        """The best tree of every sentence."""
        examples = self.examples(X)
        codes = np.concatenate(predict(examples, self.weights, n_threads))
        heads, labels = np.divmod(codes, len(self.labels))
        arcs = [Arc(head, self.labels[label]) for head, label in zip(heads.tolist(), labels.tolist(), strict=True)]
        return split(arcs, examples.data.indptr)

    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        trees, extractor = self.trees, self.extractor
        header = {
            "decoder": trees.decoder,
            "order": trees.order,
            "single_root": trees.single_root,
            "hash_bits": trees.hash_bits,
            "templates": {part: list(getattr(extractor, part)) for part in PARTS},
        }
        return header, packed_weights(self.weights)

    @classmethod
    def _restored(cls, header: Mapping[str, Any], tensors: Arrays) -> "Parser":
        labels = header["labels"]
        try:
            bits = checked_bits(header["hash_bits"])
            arc, label, sibling = (header["templates"][part] for part in PARTS)
            extractor = ArcExtractor(arc, label, sibling, bits)
            trees = Trees(len(labels), bits, header["decoder"], header["order"], header["single_root"])
        except WidemarginError as error:
            raise ValueError("settings that no parser has") from error
        weights = stored_weights(tensors, trees.n_weights)
        return cls(labels, trees, extractor, weights=weights, summary=header["summary"])

    def _is_sound(self) -> bool:
        return (
            are_labels(self.labels)
            and type(self.trees.single_root) is bool
            and bool(self.trees.order == 2) == bool(self.extractor.groups["sibling"])
            and are_numbers(self.weights, (self.trees.n_weights,))
        )
