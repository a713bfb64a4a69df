"""Gold dependency trees: the columns `head` and `deprel` of a corpus, or lists of arcs, checked and turned into arrays.

Every token has one head: another token of its sentence, or 0 for the root. Following heads from any token leads to the
root. Several tokens may hang on the root. A relation is any text; a corpus without relations has `_` for every token.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.files.document import Document
from widemargin.files.raw import shorten
from widemargin.files.table import TokenTable
from widemargin.text.columns import Column, Columns, place_of, split
from widemargin.text.trees import Arc

UNKNOWN = ("_", "")

Place = Callable[[int], str]
"""Says where a token is, given its number counted over all sentences."""


class DependencyRows(NamedTuple):
    """The head and the relation of every token; heads count from 1 within their sentence, and 0 is the root."""

    heads: IntVector
    labels: Column


def arcs(given: Document | Columns) -> DependencyRows:
    """The trees in the columns `head` and `deprel`.

    >>> X = Columns({"head": Column.of(["2", "0"]), "deprel": Column.of(["det", "root"])}, np.array([0, 2]))
    >>> arcs(X).heads
    array([2, 0], dtype=int32)

    Raises
    ------
    DataError
        If the arcs of a sentence are not a tree; the message names the file and the line, or sentence and token.
    """
    columns = given.columns if isinstance(given, Document) else given
    of_token = partial(place_of, indptr=columns.indptr, source=columns.source)
    place = _line(given) if isinstance(given, TokenTable) else of_token
    heads, labels = columns["head"], columns["deprel"]
    numbers = np.array([_number(value) for value in heads.values], dtype=np.int64)
    _complain(numbers[heads.codes] < 0, place, lambda t: _no_number(heads.values[heads.codes[t]]))
    return _as_trees(numbers[heads.codes], labels, columns.indptr, place)


def as_arcs(sizes: Sequence[int], y: Any) -> DependencyRows:
    """The trees in `y`, which has a list of (head, relation) for each sentence; `sizes` has their numbers of tokens.

    >>> as_arcs([2], [[(2, "det"), (0, "root")]]).labels.strings()
    ['det', 'root']
    """
    if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list of (head, relation) for every sentence, not {y!r:.60}")
    if len(y) != len(sizes):
        raise DataError(f"X has {len(sizes)} sentences, but y has {len(y)}")
    flat: list[Arc] = []
    for i, (sentence, size) in enumerate(zip(y, sizes, strict=True)):
        if isinstance(sentence, str | bytes) or not hasattr(sentence, "__len__") or len(sentence) != size:
            raise DataError(f"y[{i}] must be a list of {size} arcs, as many as there are tokens, not {sentence!r:.60}")
        flat += (_arc(i, t, arc) for t, arc in enumerate(sentence))
    indptr = boundaries(sizes)
    heads = np.array([arc.head for arc in flat], dtype=np.int64)
    return _as_trees(
        heads, Column.of([arc.label for arc in flat]), indptr, partial(place_of, indptr=indptr, source="y")
    )


def as_dependencies(columns: Columns, y: Any) -> DependencyRows:
    """Gold trees for these sentences: `DependencyRows`, or for each sentence a list of (head, label)."""
    if not isinstance(y, DependencyRows):
        return as_arcs(np.diff(columns.indptr).tolist(), y)
    if len(y.heads) != columns.n_tokens:
        raise DataError(f"{columns.source} has {columns.n_tokens} tokens, but there are {len(y.heads)} heads")
    return y


def arc_lists(dependencies: DependencyRows, indptr: LongVector) -> list[list[Arc]]:
    """The trees as lists of arcs, one per sentence."""
    heads, labels = dependencies
    return split(list(map(Arc, heads.tolist(), labels.strings())), indptr)


def _as_trees(heads: LongVector, labels: Column, indptr: LongVector, place: Place) -> DependencyRows:
    """Heads and labels, checked to be trees."""
    sizes = np.diff(indptr)
    first, size = np.repeat(indptr[:-1], sizes), np.repeat(sizes, sizes)
    token = np.arange(len(heads)) - first + 1
    _complain(
        (heads < 0) | (heads > size),
        place,
        lambda t: f"the head {heads[t]} is not one of 0 … {size[t]}, the tokens of the sentence",
    )
    _complain(heads == token, place, lambda t: f"the head of token {token[t]} is this token itself")
    if labels.values != ["_"]:
        _complain(
            np.isin(labels.codes, [code for code, value in enumerate(labels.values) if value in UNKNOWN]),
            place,
            lambda t: f"the relation to the head {heads[t]} is missing",
        )
    above = _ancestor(heads, first, int(sizes.max(initial=0)))
    on_cycle = np.zeros(len(heads) + 1, dtype=bool)
    on_cycle[above] = True
    _complain(
        on_cycle[:-1],
        place,
        lambda t: f"the head of token {token[t]}, {heads[t]}, leads back to this token and never to the root",
    )
    return DependencyRows(heads.astype(np.int32), labels)


def _ancestor(heads: LongVector, first: LongVector, longest: int) -> LongVector:
    """For every token an ancestor at least `longest` steps above it: the root, n, unless there is a cycle.

    The steps double each time: the ancestors 2^k steps above give those 2^(k + 1) steps above.
    """
    n = len(heads)
    above = np.append(np.where(heads == 0, n, first + heads - 1), n)
    for _ in range(longest.bit_length()):
        above = above[above]
    return above[:-1]


def _complain(wrong: Any, place: Place, complaint: Callable[[int], str]) -> None:
    """Raise an error about the first token that is wrong, if there is one."""
    if wrong.any():
        t = int(np.argmax(wrong))
        raise DataError(f"{place(t)}: {complaint(t)}")


def _line(document: TokenTable) -> Place:
    return lambda t: f"{document.raw.source}, line {document.token_lines[t] + 1}"


def _number(text: str) -> int:
    """The number in `text`; −1 if it is not a number, or has ten digits or more."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1


def _no_number(text: str) -> str:
    return "the token has no head" if text in UNKNOWN else f"the head {shorten(text)!r} is not a number"


def _arc(sentence: int, token: int, given: Any) -> Arc:
    parts = list(given) if isinstance(given, list | tuple) else []
    head, label = parts if len(parts) == 2 else (None, None)
    if isinstance(head, bool) or not isinstance(head, int | np.integer) or not isinstance(label, str):
        raise DataError(f"y[{sentence}][{token}] must be (head, relation), a number and a text, not {given!r:.60}")
    return Arc(int(head), label)
