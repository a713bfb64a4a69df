"""Answers besides labels as JSON lines, and constraints as options and columns of a file."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from widemargin.answers.constraints import Constraints
from widemargin.columns import Columns
from widemargin.data.document import Document, label_column
from widemargin.errors import WidemarginError
from widemargin.predictors.base import TokenPredictor

FREE = ("*", "_", "")


class Limits(NamedTuple):
    """The options of `predict` that constrain it."""

    bio: bool
    forbid: Sequence[str]
    at_most_one: Sequence[str]
    allowed: str | None
    forced: str | None

    def constraints(self, document: Document, labels: Sequence[Any]) -> Constraints | None:
        """The same for a model with these labels; None if there are none."""
        if not any(self):
            return None
        return Constraints(
            allowed=self._allowed(document, {str(label): label for label in labels}),
            forbidden=[_pair(text, labels) for text in self.forbid],
            bio=self.bio,
            at_most_one=self.at_most_one,
        )

    def _allowed(self, document: Document, known: dict[str, Any]) -> list[list[set[Any] | None]] | None:
        """Of both columns, the labels that each position may have."""
        cuts = [
            [_cells(document, column, i, cells, known, separator) for i, cells in enumerate(sequences)]
            for column, separator in ((self.allowed, ","), (self.forced, None))
            if column is not None
            for sequences in [document.columns.sequences(label_column(document, column))]
        ]
        if len(cuts) == 2:
            return [[_both(*pair) for pair in zip(*pairs, strict=True)] for pairs in zip(*cuts, strict=True)]
        return cuts[0] if cuts else None


def _cells(
    document: Document, column: str, i: int, cells: Sequence[str], known: dict[str, Any], separator: str | None
) -> list[set[Any] | None]:
    """The labels that a column leaves to the positions of sequence i; None where it leaves all."""
    found: list[set[Any] | None] = []
    for t, cell in enumerate(cells):
        named = [name.strip() for name in cell.split(separator)] if separator else [cell]
        for name in () if cell in FREE else named:
            if name not in known:
                raise WidemarginError(
                    f"{document.raw.source}, sequence {i + 1}, token {t + 1}: the column {column} names the label "
                    f"{name!r}, which the model does not know"
                )
        found.append(None if cell in FREE else {known[name] for name in named})
    return found


def _both(one: set[Any] | None, other: set[Any] | None) -> set[Any] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _pair(text: str, labels: Sequence[Any]) -> tuple[Any, Any]:
    """A:B, cut at the colon that leaves a label on either side."""
    known = {str(label): label for label in labels}
    for at in range(len(text)):
        if text[at] == ":" and text[:at] in known and text[at + 1 :] in known:
            return known[text[:at]], known[text[at + 1 :]]
    raise WidemarginError(f"--forbid {text} does not name two labels of the model with a colon between them")


def json_lines(
    predictor: TokenPredictor,
    X: Columns,
    constraints: Constraints | None,
    n_threads: int,
    best: int | None,
    confidence: bool,
) -> Iterator[str]:
    """An object a sequence: tokens and what is predicted, and as far as wanted confidence and alternatives."""
    parts: list[list[dict[str, Any]]] = [[{"tokens": tokens} for tokens in X.sequences("word")]]
    if best is not None:
        name: str = predictor.outputs_are
        parts.append(
            [
                {name: ranked[0].output, "alternatives": [{"score": score, name: output} for score, output in ranked]}
                for ranked in predictor.predict_best(X, best, n_threads, constraints)
            ]
        )
    if confidence:
        parts.append(predictor.predict_surely(X, n_threads, constraints))
    for of_sequence in zip(*parts, strict=True):
        answer = {key: value for part in of_sequence for key, value in part.items()}
        yield json.dumps(answer, ensure_ascii=False) + "\n"
