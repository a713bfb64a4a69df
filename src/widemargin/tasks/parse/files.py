"""Files of dependency trees: CoNLL-U and CoNLL-X."""

from collections.abc import Mapping
from typing import Any

from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.files import Files, open_tokens, size_of
from widemargin.tasks.parse.dependencies import arcs

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
