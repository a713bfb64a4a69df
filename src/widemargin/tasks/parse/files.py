"""Files of dependency trees: CoNLL-U and CoNLL-X."""

from collections.abc import Mapping
from typing import Any

from widemargin.files.formats import guess
from widemargin.files.raw import RawText
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, Likeness, check_same_words, open_tokens, size_of
from widemargin.tasks.parse.dependencies import arc_lists, arcs

GUESSED = ("conllu", "conllx")
GOLD = ("head", "deprel", "deps", "phead", "pdeprel")
"""Columns that features may not read, because they hold the trees to predict."""


class ParseFiles(Files):
    """Files whose columns `head` and `deprel` a parser learns to fill in."""

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """The columns to learn from, and the trees to learn."""
        document, format_ = open_tokens(path, reading, about)
        X = document.columns
        found = {"format": format_, "columns": X.names}
        y = arcs(document) if gold else None
        return Corpus(
            X.only(*(name for name in X.names if name not in GOLD)), y, found, size_of(X, "sentences"), document
        )

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """Sentences with heads."""
        if reading.label is not None or (reading.format or guess(raw)) not in GUESSED:
            return Likeness.NONE
        tokens = (line.split("\t") for line in raw.lines if line[:1].isdecimal())
        return Likeness.LIKELY if any(len(fields) > 6 and fields[6].isdecimal() for fields in tokens) else Likeness.NONE

    def check_aligned(self, gold: Corpus, predicted: Corpus) -> None:
        """The words must be the same."""
        check_same_words(gold.document, predicted.document)

    def compared(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """Attachment scores."""
        from widemargin.tasks.parse.metrics import tree_evaluation

        X = gold.document.columns
        right, found = (arc_lists(corpus.y, X.indptr) for corpus in (gold, predicted))
        return tree_evaluation(right, found, X.sequences("word"), {}, **options)
