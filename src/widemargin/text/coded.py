"""Features of pairs as columns: the answers to a question about two items, for all pairs of a document at once.

A column is an array with an entry per pair. Booleans say whether a feature is present, floats are its values
(0: absent), and `Coded` has one of several features at each pair, ``question=answer``.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatMatrix, FloatVector, IntVector
from widemargin.core.sparse import Rows, binary, boundaries, stack
from widemargin.core.stored import Stored, packed_strings
from widemargin.text.alphabet import FeatureCounts, by_count
from widemargin.text.columns import number_values
from widemargin.text.extractor import FeatureRows, counts_of, new_numbers, renumber, select_names
from widemargin.text.hashing import hash_strings


class Coded(NamedTuple):
    """An answer for each item or pair p: names[codes[p]], or none if the code is −1."""

    codes: IntVector
    names: Sequence[str]

    @classmethod
    def of(cls, answers: Sequence[str | None]) -> "Coded":
        """The distinct answers, numbered; None is no answer."""
        codes, names = number_values(answers)
        if None not in names:
            return cls(codes, [str(name) for name in names])
        nothing = names.index(None)
        numbers = np.array([-1 if k == nothing else k - (k > nothing) for k in range(len(names))], dtype=np.int32)
        return cls(numbers[codes], [name for name in names if name is not None])

    def at(self, places: AnyArray) -> "Coded":
        """The answers at these places."""
        return Coded(self.codes[places], self.names)

    def where(self, present: BoolVector) -> "Coded":
        """The answers at the marked places only."""
        return Coded(np.where(present, self.codes, -1).astype(np.int32), self.names)

    def is_one_of(self, *names: str) -> BoolVector:
        """Where the answer is one of these."""
        wanted = [k for k, name in enumerate(self.names) if name in names]
        return np.isin(self.codes, wanted)


def cross(*parts: Coded) -> Coded:
    """Several answers as one, ``a/b``; none if any of them is missing."""
    codes, names = parts[0].codes.astype(np.int64), [[name] for name in parts[0].names]
    absent = codes < 0
    for part in parts[1:]:
        absent |= part.codes < 0
        codes = codes * len(part.names) + part.codes
        names = [[*before, name] for before, name in product(names, part.names)]
    return Coded(np.where(absent, -1, codes).astype(np.int32), ["/".join(each) for each in names])


def same(one: Coded, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether the items i and j both have an answer, and the same."""
    equal: BoolVector = (one.codes[i] == one.codes[j]) & (one.codes[i] >= 0)
    return equal


def common_members(sets: Sequence[frozenset[str]]) -> tuple[FloatMatrix, FloatVector]:
    """How many elements any two sets have in common, and how many each has."""
    from scipy import sparse  # slow to import

    number: dict[str, int] = {}
    indices = [number.setdefault(each, len(number)) for members in sets for each in sorted(members)]
    sizes = np.array([len(members) for members in sets], dtype=np.float64)
    indptr = boundaries(sizes)
    shape = (len(sets), max(len(number), 1))
    matrix = sparse.csr_array((np.ones(len(indices)), np.array(indices, dtype=np.int64), indptr), shape=shape)
    common: FloatMatrix = (matrix @ matrix.T).toarray().astype(np.float64)
    return common, sizes


Column: TypeAlias = BoolVector | FloatVector | Coded
Compared: TypeAlias = Mapping[str, Column]
"""The columns of one document by the names of their questions, all of the same length."""


class ColumnExtractor:
    """Numbers the features of columns by their names; it has the methods of `text.extractor.Extractor`."""

    n_transition_features = 0

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.number = {name: k for k, name in enumerate(names)}

    @property
    def n_features(self) -> int:
        """How many features are known."""
        return len(self.number)

    def names(self) -> list[str]:
        """Their names."""
        return list(self.number)

    def fit(self, X: Iterable[Compared]) -> FeatureRows:
        """Number the features that occur in the training data by falling count, then by key."""
        self.number = {}
        features = self._features(X, new=True)
        names, counts = self.names(), counts_of(features.rows, self.n_features)
        order = by_count(hash_strings(names), counts)
        self.number = {names[k]: number for number, k in enumerate(order.tolist())}
        return features._replace(rows=renumber(features.rows, new_numbers(order, len(names))))

    def survey(self, X: Sequence[Compared]) -> list[FeatureCounts]:
        """The features of a part of the training data and how often they occur."""
        fresh = ColumnExtractor()
        rows, names = fresh.fit(X).rows, fresh.names()
        return [FeatureCounts(hash_strings(names), counts_of(rows, len(names)), names)]

    def adopt(self, vocabularies: Sequence[FeatureCounts]) -> None:
        """Number the features as a survey of all data found them, instead of by `fit`."""
        self.number = {name: k for each in vocabularies for k, name in enumerate(each.numbered(1).names)}

    def transform(self, X: Iterable[Compared]) -> FeatureRows:
        """The known features of any documents."""
        return self._features(X, new=False)

    def keep(self, used: BoolVector) -> "ColumnExtractor":
        """An extractor of the `used` features only."""
        return ColumnExtractor(select_names(self.names(), used))

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The names."""
        return {}, packed_strings("names", self.names())

    @classmethod
    def restore(cls, stored: Stored) -> "ColumnExtractor":
        """The extractor that `describe` described."""
        names = stored.strings("names")()
        if len(set(names)) < len(names):
            raise stored.place.damaged("the names in its tensor names are not distinct")
        return cls(names)

    def _features(self, X: Iterable[Compared], *, new: bool) -> FeatureRows:
        parts = [self._rows(columns, new=new) for columns in X]
        if any(len(part.values) for part in parts):
            parts = [part if len(part.values) else part._replace(values=np.ones(len(part.indices))) for part in parts]
        indptr = boundaries(len(part.indptr) - 1 for part in parts)
        return FeatureRows(indptr, binary(stack(parts)) if parts else Rows(indptr, np.empty(0, np.int32), np.empty(0)))

    def _rows(self, columns: Compared, *, new: bool) -> Rows:
        numbers, values = [], []
        for name, column in columns.items():
            coded = column if isinstance(column, Coded) else Coded(np.where(column != 0, 0, -1).astype(np.int32), [""])
            numbers.append(self._numbers(name, coded, new=new))
            values.append(column if isinstance(column, np.ndarray) and column.dtype == np.float64 else None)
        present = np.stack(numbers, axis=1) >= 0
        indices = np.stack(numbers, axis=1)[present]
        indptr = boundaries(present.sum(axis=1))
        if all(each is None for each in values):
            return Rows(indptr, indices, np.empty(0))
        ones: FloatVector = np.ones(len(present))
        table: FloatMatrix = np.stack([ones if each is None else each for each in values], axis=1)
        return Rows(indptr, indices, table[present])

    def _numbers(self, question: str, coded: Coded, *, new: bool) -> IntVector:
        """The number of the feature at each place; −1 for none, or for an unknown one."""
        table = np.full(len(coded.names) + 1, -1, dtype=np.int32)
        for code in np.unique(coded.codes[coded.codes >= 0]).tolist():
            answer = coded.names[code]
            name = f"{question}={answer}" if answer else question
            if new:
                self.number.setdefault(name, len(self.number))
            table[code] = self.number.get(name, -1)
        return table[coded.codes]
