"""A trained parser of constituents: labels, features and weights together, without anything of training.

This is what a model file of the structure ``brackets`` holds; `estimators.ConstituencyParser` wraps it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._types import AnyArray, IntMatrix
from widemargin.bracketings import Bracketing
from widemargin.columns import Columns
from widemargin.features.base import Arrays
from widemargin.features.brackets import bracket_keys, columns_read, parse_bracket_templates
from widemargin.features.inputs import as_tagged
from widemargin.labels import are_labels
from widemargin.predictors.base import are_numbers
from widemargin.predictors.hashed import HashedPredictor, checked_bits, packed_weights, stored_weights
from widemargin.problem import predict
from widemargin.structures.bracket import BracketExamples
from widemargin.trees import Tree


@dataclass
class Bracketer(HashedPredictor):
    """Labels, templates and weights of a parser of constituents; `labels` are the chains of `bracketing`."""

    structure = "brackets"
    predicts = "trees of constituents"

    bracketing: Bracketing
    templates: tuple[str, ...]
    hash_bits: int

    def __post_init__(self) -> None:
        self._parsed = parse_bracket_templates(self.templates)

    @property
    def n_templates(self) -> int:
        """How many templates there are."""
        return len(self._parsed)

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens that are looked at; trees have tags in any case."""
        return sorted({"word", "pos", *columns_read(self._parsed)})

    def examples(self, X: Any) -> BracketExamples:
        """Sentences as examples to be parsed."""
        columns = as_tagged(X)
        return BracketExamples(self.bracketing, self.hash_bits, columns.indptr, bracket_keys(columns, self._parsed))

    def predict_trees(self, X: Any, n_threads: int = 1) -> list[Tree]:
        """The best tree of every sentence."""
        columns = as_tagged(X)
        nodes = predict(self.examples(columns), self.weights, n_threads)
        return spelt(self.bracketing, np.concatenate(nodes), columns)

    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        bracketing = self.bracketing
        header = {
            "root": bracketing.root,
            "folded": bracketing.folded,
            "on_words": bracketing.on_words,
            "on_spans": bracketing.on_spans,
            "templates": list(self.templates),
            "hash_bits": self.hash_bits,
        }
        return header, packed_weights(self.weights)

    @classmethod
    def _restored(cls, header: Mapping[str, Any], tensors: Arrays) -> "Bracketer":
        labels, hash_bits = header["labels"], checked_bits(header["hash_bits"])
        places = (header[name] for name in ("folded", "on_words", "on_spans"))
        bracketing = Bracketing(header["root"], labels, *places)
        weights = stored_weights(tensors, BracketExamples.count_weights(bracketing.n_labels, hash_bits))
        templates = tuple(map(str, header["templates"]))
        return cls(labels, bracketing, templates, hash_bits, weights=weights, summary=header["summary"])

    def _is_sound(self) -> bool:
        bracketing, n = self.bracketing, len(self.labels)
        places = bracketing.on_words, bracketing.on_spans
        return (
            are_labels(self.labels)
            and self.labels[0] == ""
            and (bracketing.root is None or isinstance(bracketing.root, str))
            and (not bracketing.folded or (are_labels(bracketing.folded) and isinstance(bracketing.folded[0], str)))
            and all(len(each) == n and all(type(flag) is bool for flag in each) for each in places)
            and bracketing.on_words[0]
            and any(bracketing.on_spans)
            and not bracketing.on_spans[0]
            and are_numbers(self.weights, (BracketExamples.count_weights(bracketing.n_labels, self.hash_bits),))
        )


def spelt(bracketing: Bracketing, nodes: IntMatrix, columns: Columns) -> list[Tree]:
    """The trees of sentences with these columns whose nodes lie end to end."""
    words, tags = columns.sequences("word"), columns.sequences("pos")
    ends = np.cumsum(2 * np.diff(columns.indptr) - 1)
    parts: Sequence[IntMatrix] = np.split(nodes, ends[:-1])
    return [bracketing.decode(*each) for each in zip(parts, words, tags, strict=True)]
