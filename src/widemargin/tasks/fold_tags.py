"""Tags to train a parser on, as in `tasks.jackknife`, where the data are in parts.

A fold is the union of one block of sentences of every part. Its tagger learns from all other sentences of all parts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin.tasks.carried import check_filled
from widemargin.tasks.jackknife import FILL, Retagged, check_learnable, check_tags, codes_by, only, parts
from widemargin.tasks.training import Data
from widemargin.tasks.tree_parameters import TreeParameters
from widemargin.text.columns import Column, Columns, Notation


class Learnt(NamedTuple):
    """How a kind of parser learns tags: how it reads sentences, and which columns its templates read."""

    read: Callable[[Any], Columns]
    columns: Callable[[Any, Any], Sequence[str]]

    def wanted(self, parameters: TreeParameters, survey: Any) -> list[str]:
        """The columns to learn, given the survey of all data."""
        check_tags(parameters)
        return [] if parameters.tags == "given" else [n for n in self.columns(parameters, survey) if n != "word"]


@dataclass(frozen=True)
class TagsOf:
    """Sentences as a tagger sees them that learns a column; without those of one `fold`, if any, of `n_folds`."""

    read: Callable[[Any], Columns]
    name: str
    fold: int | None
    n_folds: int

    def __call__(self, data: Data) -> Data:
        """Words and tags of these data."""
        X = self.read(data.X)
        check_filled(X, self.name, FILL, everywhere=False)
        check_learnable(X, self.name)
        labels, words = Column(X[self.name].codes, X[self.name].values, Notation(unknown=None)), X.only("word")
        if self.fold is None:
            return Data(words, labels)
        rest = parts(X.indptr, self.n_folds, least=1) != self.fold
        return Data(words.chosen(np.flatnonzero(rest)), only(labels, np.repeat(rest, np.diff(X.indptr))))


@dataclass(frozen=True)
class TaggedBy:
    """Sentences with tags of taggers that have not learnt from them: for each column, one tagger per fold."""

    read: Callable[[Any], Columns]
    taggers: dict[str, Any]
    by_fold: dict[str, list[Any]]

    def __call__(self, data: Data) -> Data:
        """These data with tags."""
        X = self.read(data.X)
        words, columns = X.only("word"), {"word": X["word"]}
        for name, taggers in self.by_fold.items():
            whole, codes = self.taggers[name], np.empty(X.n_tokens, dtype=np.int32)
            fold = parts(X.indptr, len(taggers), least=1)
            for k, tagger in enumerate(taggers):
                here = np.repeat(fold == k, np.diff(X.indptr))
                if here.any():
                    codes[here] = codes_by(whole, tagger, words.chosen(np.flatnonzero(fold == k)))
            columns[name] = Column(codes, whole.labels)
        return data._replace(X=Retagged(columns, X.indptr, X.source, self.taggers))
