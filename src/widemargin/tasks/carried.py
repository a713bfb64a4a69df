"""Taggers that a model carries: they fill in the columns that its features read, so that words alone are enough.

They are stored in the same model file. Its header holds their headers under ``taggers``, by the column that each fills
in, and the names of their tensors begin with ``taggers.`` and this column.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from widemargin._types import AnyArray, BoolVector, IntVector
from widemargin.core.header import mapping, names, record
from widemargin.core.stored import Stored
from widemargin.errors import DataError
from widemargin.tasks import FILLS_COLUMNS, Kind, task
from widemargin.text.columns import VALUED, Column, Columns, place_of

BLANK = frozenset({"_", ""})

TAGGERS = mapping(record({"labels": names()}))
"""The taggers in the header of a model file; their labels are the texts of a column."""


class Fills(Protocol):
    """A model that finds the values of a column."""

    labels: list[Any]

    def predict_codes(self, X: Any, n_threads: int = 1) -> IntVector:
        """The numbers of the labels of all tokens."""

    def described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The model as a JSON header and arrays."""


Taggers = Mapping[str, Fills]
"""Models by the column that each fills in."""


@dataclass(frozen=True, slots=True)
class FilledColumns(Columns):
    """Columns as a model reads them; the `predicted` ones are filled in by its taggers, whatever was `given`."""

    predicted: tuple[str, ...] = ()
    given: Columns | None = None


class _Filled(Mapping[str, Column]):
    """The columns of `X`, some of them filled in by taggers on first use."""

    def __init__(self, X: Columns, taggers: Taggers) -> None:
        self._given, self._taggers = X, taggers
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if name not in self._taggers:
            return self._given.by_name[name]
        if name not in self._made:
            tagger = self._taggers[name]
            self._made[name] = Column(tagger.predict_codes(self._given), tagger.labels)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._taggers or name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._given.names, *self._taggers]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def fill_columns(X: Columns, taggers: Taggers) -> FilledColumns:
    """The sentences with their columns filled in by taggers, each on first use."""
    return FilledColumns(_Filled(X, taggers), X.indptr, X.source, tuple(taggers), X)


def count_right(X: FilledColumns, name: str) -> tuple[int, int] | None:
    """How many tokens have the given value in a predicted column, of how many; None if the column was not given."""
    if X.given is None or name not in X.given or is_blank(X.given, name):
        return None
    found, given = X.strings(name), X.given.strings(name)
    return sum(map(str.__eq__, found, given)), len(given)


def blanks(X: Columns, name: str) -> BoolVector:
    """Which tokens have no value in a column; the underscore is a value, such as a lemma, if it is the word itself."""
    column, word = X[name], X["word"]
    blank, itself = (np.array([value in BLANK for value in each.values], dtype=bool) for each in (column, word))
    return blank[column.codes] & ~itself[word.codes]


def is_blank(X: Columns, name: str) -> bool:
    """Whether no token has a value in a column."""
    return bool(X.n_tokens) and bool(blanks(X, name).all())


def check_filled(X: Columns, name: str, remedy: str, *, everywhere: bool) -> None:
    """Raise if a column that a model reads has no values, or not `everywhere`; `remedy` tells the user what to do."""
    if BLANK.isdisjoint(X[name].values) or (name in VALUED and not everywhere):
        return  # a quick test first, for single sentences
    blank = blanks(X, name)
    if len(blank) and blank.all():
        raise DataError(f"the column {name} of {X.source} is blank, and the model reads it; {remedy}")
    if everywhere and blank.any():
        where = place_of(int(blank.argmax()), X.indptr, X.source)
        raise DataError(f"{where}: the column {name} is blank, and the model reads it; {remedy}")


def kind_of_taggers() -> Kind:
    """The kind of model that fills in columns."""
    (kind,) = task(FILLS_COLUMNS).kinds.values()
    return kind


def describe_taggers(taggers: Taggers) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Taggers as a part of a JSON header and arrays; nothing if there are none."""
    headers: dict[str, Any] = {}
    tensors: dict[str, AnyArray] = {}
    for name, tagger in taggers.items():
        headers[name], arrays = tagger.described()
        tensors |= {f"taggers.{name}.{part}": array for part, array in arrays.items()}
    return ({"taggers": headers} if headers else {}), tensors


def restore_taggers(stored: Stored, read: Sequence[str]) -> dict[str, Any]:
    """The inverse of `describe_taggers`, for a model that reads these columns."""
    if "taggers" not in stored.header:
        return {}
    inside, kind = stored.within("taggers"), kind_of_taggers().model()
    for name in inside.header:
        if name not in read or name == "word":
            raise stored.place.damaged(f"it has a tagger for the column {name!r:.60}, which the model does not read")
    return {name: kind.from_stored(inside.within(name)) for name in inside.header}
