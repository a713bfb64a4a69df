"""Two passes: a tagger that reads the labels that another one has found, also those that are still to come.

The second pass has two more columns, and templates for them (stacking, Cohen & Carvalho 2005; non-local features,
Krishnan & Manning 2006):

| column | value |
| --- | --- |
| ``guess`` | the label that the first pass gives the token; if labels are BIO, also whether its span ends there |
| ``nearby`` | the label that the first pass most often gives to the same word in sequences nearby, if any |

`tasks.tag.first_pass` trains it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from widemargin._types import IntVector
from widemargin.text.columns import Column, Columns

if TYPE_CHECKING:
    from widemargin.tasks.tag.model import Tagger

GUESS, NEARBY = "guess", "nearby"


@dataclass(frozen=True, slots=True)
class Guessed(Columns):
    """Columns that a second pass can read."""


@dataclass(frozen=True)
class FirstPass:
    """A tagger for the first pass, and how many sequences before and after a word's own are nearby."""

    tagger: "Tagger"
    nearby: int = 0

    def read(self, X: Columns) -> Guessed:
        """The columns of the second pass."""
        if isinstance(X, Guessed):
            return X
        return self.with_guesses(X, self.tagger.predict_codes(X))

    def with_guesses(self, X: Columns, codes: IntVector) -> Guessed:
        """The columns of the second pass, with these guesses."""
        if not X.n_tokens:
            return Guessed({}, X.indptr, X.source)
        labels = self.tagger.labels
        read = [*self.tagger.columns_read, *(["word"] if self.nearby else [])]
        columns = {**{name: X[name] for name in read}, GUESS: Column(codes, labels)}
        if self.nearby:
            columns[NEARBY] = Column(nearby_labels(X, codes, len(labels), self.nearby), [*labels, ""])
        return Guessed(columns, X.indptr, X.source)


def nearby_labels(X: Columns, codes: IntVector, n_labels: int, distance: int) -> IntVector:
    """For each token the most frequent label of its word, whatever the case, in other sequences up to `distance` away.

    The label with the smallest number wins a tie; `n_labels` stands for none.
    """
    word = X["word"]
    number: dict[str, int] = {}
    lower = np.array([number.setdefault(value.lower(), len(number)) for value in word.values], dtype=np.int64)
    sequence = np.repeat(np.arange(X.n_sequences), np.diff(X.indptr))
    # Sorted by word, then by sequence: the tokens of a word in neighbouring sequences stand together.
    width = X.n_sequences + 2 * distance + 2
    key = lower[word.codes] * width + sequence + distance
    order = np.argsort(key, kind="stable")
    own, ordered = key[order], codes[order]
    begin, end = (np.searchsorted(own, own + step) for step in (-distance, distance + 1))
    here, there = np.searchsorted(own, own), np.searchsorted(own, own + 1)
    best, most = np.full(len(own), n_labels, dtype=np.int32), np.zeros(len(own), dtype=np.int64)
    for label in range(n_labels):
        so_far = np.concatenate([[0], np.cumsum(ordered == label)])
        count = so_far[end] - so_far[begin] - (so_far[there] - so_far[here])
        best[count > most] = label
        most = np.maximum(most, count)
    found = np.empty_like(best)
    found[order] = best
    return found
