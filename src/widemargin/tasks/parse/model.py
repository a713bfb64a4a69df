"""A trained dependency parser: labels, features and weights.

Model files call its structure ``tree``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix
from widemargin.core.header import Fields, flag, names, one_of, record
from widemargin.core.stored import Stored
from widemargin.errors import WidemarginError
from widemargin.files.conllu import parse as parse_conllu
from widemargin.files.document import Document
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Question, compared, listed
from widemargin.structures.dependencies import KINDS
from widemargin.tasks.answers import LEAST
from widemargin.tasks.base import Corpus, Reading, Tally
from widemargin.tasks.parse.dependencies import DependencyRows, arc_lists, arcs, as_dependencies
from widemargin.tasks.parse.examples import TreeExamples, Trees, tree_examples
from widemargin.tasks.parse.explain import ArcExplainer, ArcVotes
from widemargin.tasks.parse.features import ArcExtractor
from widemargin.tasks.parse.metrics import arc_counts, counted_evaluation
from widemargin.tasks.parse.pictures import arcs_lines, arcs_picture
from widemargin.tasks.strongest import Part, masked, strongest
from widemargin.tasks.trees import HASH_BITS, TreeModel, shown_tags, stored_weights
from widemargin.text.columns import Columns, split
from widemargin.text.inputs import as_columns
from widemargin.text.templates import TEMPLATES
from widemargin.text.trees import Arc, arc_columns

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
    evaluation_options = frozenset({"punctuation"})
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

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, *, punctuation: bool = True, **options: Any) -> Evaluation:
        """Attachment scores, with punctuation or without."""
        return self.tallied(self.tally(X, y, n_threads, punctuation=punctuation))

    def tally(self, X: Any, y: Any, n_threads: int = 1, *, punctuation: bool = True, **options: Any) -> Tally:
        """The counts of right and wrong arcs and tags."""
        columns = self.with_columns(X)
        gold = arc_lists(as_dependencies(columns, y), columns.indptr)
        predicted, seconds = self.timed(columns, n_threads)
        counts = arc_counts(gold, predicted, None if punctuation else columns.sequences("word"))
        return Tally(counts + self.tag_counts(columns), seconds)

    def tallied(self, tally: Tally) -> Evaluation:
        """Attachment scores."""
        return self.with_tag_accuracy(counted_evaluation(*tally), tally.counts)

    def gold(self, document: Document, X: Columns) -> DependencyRows:
        """The trees in the columns `head` and `deprel`."""
        return arcs(document)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The text of the document with the columns `head` and `deprel` filled in; plain text becomes CoNLL-U.

        Tags that the model predicted are filled in, too, where the document has a column for them.
        """
        document = _as_conllu(corpus.document) if reading.text else corpus.document
        tags = {name: corpus.X.strings(name) for name in corpus.X.predicted if name in document.columns}
        text: str = document.text(tags | arc_columns(outputs))
        return text

    def drawings(self, corpus: Corpus, trees: Sequence[Sequence[Arc]], *, terminal: bool) -> list[Any]:
        """A picture of every tree, or lines, one per word."""
        draw: Any = arcs_lines if terminal else arcs_picture
        sentences = zip(corpus.X.sequences("word"), trees, shown_tags(corpus.X), strict=True)
        return [draw(*each) for each in sentences]

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest relations of tokens before and after their head, whatever the two tokens are.

        All other features are hashed, and have no names outside a sentence.
        """
        votes, one = ArcVotes(self.extractor, self.two_tokens(), self.w, self.labels), np.zeros(len(self.labels), bool)
        one[list(chosen)] = True
        return {
            f"relations_{where}": Part(
                f"Relations of tokens {where} their head",
                strongest(masked(votes.biases(*arc), one), top, self.labels.__getitem__),
            )
            for where, arc in (("before", (2, 1)), ("after", (1, 2)))
        }

    def explain(self, X: Columns, question: Question) -> Explanation:
        """Why a token has its head; without a token, the margin of every arc."""
        if question.token is None and question.label is not None:
            raise WidemarginError("--explain compares one part with one other: give a --token, too")
        if question.span is not None:
            raise WidemarginError(f"the model predicts {self.predicts}, which have no spans; ask for a --token")
        X = self.with_columns(X)
        (words,), (arcs,) = X.sequences("word"), self.predict(X)
        explainer = ArcExplainer(ArcVotes(self.extractor, X, self.w, self.labels), words, arcs, self.labels)
        token = question.token
        if token is None:
            margins = explainer.margins(self.examples(X).part_scores(self.w, 0))
            parts = zip(arcs_lines(words, arcs), margins, strict=True)
            return listed(
                (line, margin, explainer.name_of(t, other)) for t, (line, (other, margin)) in enumerate(parts, 1)
            )
        if not 1 <= token <= len(words):
            raise WidemarginError(f"there is no token {token} in a sentence of {len(words)}")
        other = explainer.alternative(token, question.head, question.label)
        return compared(explainer.option(token, arcs[token - 1]), explainer.option(token, other))

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


def _as_conllu(document: Document) -> Document:
    """A CoNLL-U document with the words alone."""
    lines = [
        "".join(f"{t}\t{word}" + "\t_" * 8 + "\n" for t, word in enumerate(words, 1))
        for words in document.columns.sequences("word")
    ]
    text = "".join(line + "\n" for line in lines)
    return parse_conllu(replace(document.raw, lines=text.split("\n")))
