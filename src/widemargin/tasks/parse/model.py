"""A trained dependency parser: labels, features and weights.

Model files call its structure ``tree``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix
from widemargin.core.header import Fields, flag, names, one_of, record
from widemargin.core.stored import Stored
from widemargin.structures.dependencies import KINDS
from widemargin.tasks.answers import LEAST
from widemargin.tasks.parse.examples import TreeExamples, Trees, tree_examples
from widemargin.tasks.parse.features import ArcExtractor
from widemargin.tasks.trees import HASH_BITS, TreeModel, stored_weights
from widemargin.text.columns import Columns, split
from widemargin.text.inputs import as_columns
from widemargin.text.templates import TEMPLATES
from widemargin.text.trees import Arc

PARTS = {
    "arc": ("arc", "between"),
    "label": ("label", "label_head", "label_modifier"),
    "sibling": ("sibling",),
    "grandparent": ("grandparent",),
}
"""The lists of templates of an extractor, and their groups."""
ALWAYS = ("arc", "label", "sibling")
"""The lists that every model file has; they may be empty."""


@dataclass
class Parser(TreeModel):
    """Labels, templates and weights of a dependency parser."""

    kind = "tree"
    predicts = "dependency trees"
    fields: ClassVar[Fields] = {
        "labels": names(at_least=1),
        "decoder": one_of(*dict.fromkeys(name for name, _ in KINDS)),
        "order": one_of(*dict.fromkeys(order for _, order in KINDS)),
        "single_root": flag(),
        "hash_bits": HASH_BITS,
        "templates": record(dict.fromkeys(ALWAYS, TEMPLATES), {"grandparent": TEMPLATES}),
    }

    trees: Trees
    extractor: ArcExtractor

    @property
    def templates(self) -> Mapping[str, Sequence[str]]:
        """The templates of arcs, of labels, of siblings and of grandparents."""
        groups = self.extractor.groups
        return {
            part: [template.text for name in names for template in groups[name]]
            for part, names in PARTS.items()
            if part in ALWAYS or getattr(self.extractor, part)
        }

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens that the features look at."""
        return self.extractor.columns_read

    def columns(self, X: Any) -> Columns:
        """Sentences as columns."""
        return as_columns(X)

    def examples(self, X: Any) -> TreeExamples:
        """Sentences as examples to be parsed."""
        columns = self.with_columns(X)
        return tree_examples(self.trees, columns.indptr, self.extractor.keys(columns), source=columns.source)

    def trees_of(self, outputs: AnyArray, columns: Columns) -> list[list[Arc]]:
        """The trees as lists of arcs."""
        heads, labels = np.divmod(outputs, len(self.labels))
        arcs = [Arc(head, self.labels[label]) for head, label in zip(heads.tolist(), labels.tolist(), strict=True)]
        return split(arcs, columns.indptr)

    def by_tokens(self, rows: FloatMatrix) -> AnyArray:
        """The probabilities of arcs by token, head and label; tokens count from 0, and heads from 1."""
        size = isqrt(len(rows))
        return rows.reshape(size, size, -1)[:, 1:].swapaxes(0, 1)

    def predict_proba(self, X: Any, n_threads: int = 1, *, labelled: bool = False) -> list[FloatMatrix]:
        """For each token of every sentence, the probability of each head: 0 is the root, tokens count from 1.

        `labelled` adds a last axis with the probability of each of the `labels` on that arc.
        """
        found = map(self.by_tokens, self.probabilities(self.with_columns(X), n_threads))
        return list(found) if labelled else [each.sum(axis=2) for each in found]

    def likely_parts(self, probabilities: AnyArray) -> dict[str, Any]:
        """For each token its likely heads with labels."""
        return {"heads": [self._likely_heads(token) for token in probabilities]}

    def _likely_heads(self, probabilities: FloatMatrix) -> list[dict[str, Any]]:
        found = [
            {"head": head, "label": self.labels[label], "probability": float(probabilities[head, label])}
            for head, label in np.argwhere(probabilities >= LEAST).tolist()
        ]
        return sorted(found, key=lambda each: -each["probability"])

    def _header(self) -> dict[str, Any]:
        trees = self.trees
        return {
            "decoder": trees.decoder,
            "order": trees.order,
            "single_root": trees.single_root,
            "hash_bits": trees.hash_bits,
            "templates": {part: list(getattr(self.extractor, part)) for part in self.templates},
        }

    @classmethod
    def _restore(cls, stored: Stored) -> "Parser":
        header = stored.header
        labels, bits = header["labels"], header["hash_bits"]
        templates = {part: texts for part, texts in header["templates"].items() if part in PARTS}
        extractor = ArcExtractor(**templates, hash_bits=bits)
        trees = Trees(len(labels), bits, header["decoder"], header["order"], header["single_root"])
        for part, wanted in (("sibling", trees.siblings), ("grandparent", trees.grandparents)):
            if wanted != bool(extractor.groups[part]):
                raise stored.place.damaged(f"it is of order {trees.order}, which does not fit its {part} templates")
        weights = stored_weights(stored, trees.n_weights)
        return cls(labels, trees, extractor, weights=weights, summary=header["summary"]).with_carried(stored)
