"""A trained parser of constituents: labels, features and weights.

Model files call its structure ``brackets``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, IntMatrix, IntVector
from widemargin.core.header import Fields, flag, many, names, one_of, optional, text
from widemargin.core.problem import in_shares
from widemargin.core.stored import Stored
from widemargin.tasks.answers import LEAST, Alternatives, Ranked, checked_k, rank_outputs
from widemargin.tasks.bracket.binary import FOLDS, Bracketing
from widemargin.tasks.bracket.examples import BracketExamples, count_weights
from widemargin.tasks.bracket.features import BracketHasher, columns_read, parse_bracket_templates
from widemargin.tasks.trees import HASH_BITS, TreeModel, stored_weights
from widemargin.text.columns import Columns
from widemargin.text.inputs import as_tagged
from widemargin.text.templates import TEMPLATES
from widemargin.text.trees import Tree


@dataclass
class Bracketer(TreeModel, Alternatives):
    """Labels, templates and weights of a parser of constituents; `labels` are the chains of `bracketing`."""

    kind = "brackets"
    predicts = "trees of constituents"
    fields: ClassVar[Fields] = {
        "labels": names(at_least=2),
        "root": optional(text()),
        "folded": names(),
        "on_words": many(flag()),
        "on_spans": many(flag()),
        "templates": TEMPLATES,
        "hash_bits": HASH_BITS,
    }
    perhaps: ClassVar[Fields] = {**TreeModel.perhaps, "fold": one_of(*FOLDS)}

    bracketing: Bracketing
    texts: tuple[str, ...]
    hash_bits: int

    def __post_init__(self) -> None:
        self._parsed = parse_bracket_templates(self.texts)
        self._hasher = BracketHasher(self._parsed)

    @property
    def templates(self) -> Mapping[str, Sequence[str]]:
        """The templates of spans."""
        return {"": list(self.texts)}

    @property
    def columns_read(self) -> list[str]:
        """The columns of tokens to read: those of the features, and the words and tags of trees."""
        return columns_read(self._parsed)

    def columns(self, X: Any) -> Columns:
        """Sentences as columns, with their tags if they are given."""
        return as_tagged(X)

    def examples(self, X: Any) -> BracketExamples:
        """Sentences as examples to be parsed."""
        columns = self.with_columns(X)
        keys = self._hasher.keys(columns)
        return BracketExamples(self.bracketing, self.hash_bits, columns.indptr, keys, source=columns.source)

    def trees_of(self, nodes: IntMatrix, columns: Columns, numbers: IntVector | None = None) -> list[Tree]:
        """The trees with these nodes, end to end: one for each sentence in `columns`, or for each of these numbers."""
        words, tags, sizes = columns.sequences("word"), columns.sequences("pos"), 2 * np.diff(columns.indptr) - 1
        chosen = np.arange(len(sizes)) if numbers is None else numbers
        parts: Sequence[IntMatrix] = np.split(nodes, np.cumsum(sizes[chosen])[:-1])
        decode = self.bracketing.decode
        return [decode(part, words[i], tags[i]) for part, i in zip(parts, chosen.tolist(), strict=True)]

    def predict_best(self, X: Any, k: int, n_threads: int = 1) -> list[list[Ranked]]:
        """The `k` best trees of every sentence, best first; fewer if fewer exist."""
        columns, k = self.with_columns(X), checked_k(k)
        examples = self.examples(columns)
        parts = in_shares(examples, lambda batch: examples.best(self.weights, batch, k), n_threads)
        batch, scores, nodes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return rank_outputs(batch, scores, self.trees_of(nodes, columns, batch), examples.n_examples)

    def alternatives(self, X: Any, k: int, n_threads: int = 1) -> list[dict[str, Any]]:
        """Tokens, the best tree in brackets, and the `k` best with their scores."""
        columns = self.with_columns(X)
        return [
            {
                "tokens": words,
                "tree": str(each[0].output),
                "alternatives": [{"score": score, "tree": str(tree)} for score, tree in each],
            }
            for words, each in zip(columns.sequences("word"), self.predict_best(columns, k, n_threads), strict=True)
        ]

    def by_tokens(self, rows: FloatMatrix) -> AnyArray:
        """The probabilities by begin, end and label; rows are in the order of `decoders.cky.cell`."""
        n = round((2 * len(rows)) ** 0.5 - 0.5)
        found = np.zeros((n + 1, n + 1, len(self.labels)))
        ends, begins = np.tril_indices(n)
        found[begins, ends + 1] = rows[:, : len(self.labels)]
        return found

    def predict_proba(self, X: Any, n_threads: int = 1) -> list[AnyArray]:
        """For every sentence, at [begin, end, label] the probability that the words begin … end − 1 have this label.

        A label is one of `labels`: a whole chain of constituents over the same words, or the empty one of a word in no
        chain.
        """
        return list(map(self.by_tokens, self.probabilities(self.with_columns(X), n_threads)))

    def likely_parts(self, probabilities: AnyArray) -> dict[str, Any]:
        """The likely constituents."""
        found = [
            {"start": start, "end": end, "label": self.labels[label], "probability": float(p)}
            for start, end, label in np.argwhere(probabilities >= LEAST).tolist()
            for p in [probabilities[start, end, label]]
            if label
        ]
        return {"constituents": sorted(found, key=lambda each: -each["probability"])}

    def _header(self) -> dict[str, Any]:
        bracketing = self.bracketing
        header: dict[str, Any] = {
            "root": bracketing.root,
            "folded": bracketing.folded,
            "on_words": bracketing.on_words,
            "on_spans": bracketing.on_spans,
            "templates": list(self.texts),
            "hash_bits": self.hash_bits,
        }
        if bracketing.fold != "right":  # older files lack the entry, and their models fold from the right
            header["fold"] = bracketing.fold
        return header

    @classmethod
    def _restore(cls, stored: Stored) -> "Bracketer":
        header = stored.header
        labels, hash_bits = header["labels"], header["hash_bits"]
        places = header["folded"], header["on_words"], header["on_spans"]
        bracketing = Bracketing(header["root"], labels, *places, header.get("fold", "right"))
        bracketing.check()
        weights = stored_weights(stored, count_weights(bracketing.n_labels, hash_bits))
        texts = tuple(header["templates"])
        model = cls(labels, bracketing, texts, hash_bits, weights=weights, summary=header["summary"])
        return model.with_carried(stored)
