"""Ready-made features per position, in the conventions of python-crfsuite."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, starmap
from math import isfinite
from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows
from widemargin.core.stored import Stored
from widemargin.errors import DataError, WidemarginError
from widemargin.text.alphabet import Alphabet
from widemargin.text.columns import places
from widemargin.text.extractor import HASH_BITS, Extended, FeatureRows, ListedNames, NumberedFeatures
from widemargin.text.hashing import hash_strings
from widemargin.text.vocabulary import Tables, Vocabulary

COLLECTIONS = (Mapping, list, tuple, set, frozenset)
_ONES: FloatVector = np.empty(0)


class RecordExtractor(NumberedFeatures):
    """Feature names and weights given per position.

    A position is a list (or set) of names, each of weight 1, or a dict of name → number, bool, string (the feature
    ``name:string``), or nested dict, list or set (``name:`` is put before each of its names).
    """

    @classmethod
    def of_alphabet(cls, alphabet: Alphabet, spell: Callable[[], list[str]]) -> "RecordExtractor":
        """An extractor of the features in an alphabet; `spell` gives their names in the order of their numbers."""
        extractor = cls()
        extractor.indexes, extractor._spell = [alphabet], ListedNames([alphabet], spell)
        return extractor

    def extend(self, X: Sequence[Sequence[Any]]) -> Extended:
        """The features of more training sequences; new ones get the next numbers, for the time being."""
        strings, codes, values, counts, indptr = _flatten(X)
        numbers = self._numbers(self.index.intern(hash_strings(strings)), codes)
        return Extended(_assemble(numbers, values, counts, indptr), partial(_spell_strings, strings))

    def transform(self, X: Sequence[Sequence[Any]]) -> FeatureRows:
        """The known features of any sequences."""
        found = self._of_plain_records(X)
        if found is not None:
            return found
        strings, codes, values, counts, indptr = _flatten(X)
        return _assemble(self._numbers(self.index.lookup(hash_strings(strings)), codes), values, counts, indptr)

    def _of_plain_records(self, X: Sequence[Sequence[Any]]) -> FeatureRows | None:
        """The known features if all records are lists of names, or all are dicts without lists or dicts in them.

        No loop in Python is needed for these. `_flatten` handles anything else, mistakes included.
        """
        records = list(chain.from_iterable(X))
        kinds = set(map(type, records))
        if kinds <= {list, tuple}:
            names = list(chain.from_iterable(records))
            if not set(map(type, names)) <= {str}:
                return None
            numbers, values = self.index.lookup(hash_strings(names)), _ONES
        elif kinds <= {dict}:
            items = list(chain.from_iterable(map(dict.items, records)))
            try:
                rows, tables = self._vocabulary.look_up(items)
            except (TypeError, WidemarginError):
                return None
            numbers, values = (table[rows] for table in tables)
        else:
            return None
        counts = np.fromiter(map(len, records), dtype=np.int64, count=len(records))
        return _assemble(numbers, values, counts, places(X))

    @property
    def _vocabulary(self) -> Vocabulary:
        """The number and the value of every item of dicts."""
        if self._reader is None or self._reader[0] is not self.index:
            self._reader = self.index, Vocabulary(self._work_out, (np.full(1, -1, dtype=np.int32), np.zeros(1)))
        return self._reader[1]

    def _work_out(self, items: Sequence[tuple[Any, Any]]) -> Tables:
        names, values = zip(*starmap(_entry, items), strict=True)
        return self.index.lookup(hash_strings(names)), np.array(values, dtype=np.float64)

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Keys and names."""
        return self._describe_index()

    @classmethod
    def restore(cls, stored: Stored) -> "RecordExtractor":
        """The extractor that `describe` described."""
        extractor = cls(hash_bits=stored.checked(HASH_BITS)["hash_bits"])
        extractor._restore_index(stored)
        return extractor

    @staticmethod
    def _numbers(number_of_code: IntVector, codes: IntVector) -> IntVector:
        return number_of_code[codes] if len(codes) else codes


def _spell_strings(strings: Sequence[str], alphabets: Sequence[Alphabet]) -> list[str]:
    """The strings that are features of the one given alphabet, in the order of their numbers."""
    (alphabet,) = alphabets
    names = [""] * alphabet.size
    for string, number in zip(strings, alphabet.lookup(hash_strings(strings)).tolist(), strict=True):
        if number >= 0:
            names[number] = string
    return names


def _assemble(numbers: IntVector, values: FloatVector, counts: LongVector, indptr: LongVector) -> FeatureRows:
    """Rows from a number (−1: unknown) and a value per entry, and the number of entries per position."""
    return FeatureRows(indptr, Rows(*_known(numbers, values, counts)))


@kernel
def _known(numbers: IntVector, values: FloatVector, counts: LongVector) -> tuple[LongVector, IntVector, FloatVector]:
    """The entries of every position that have a number; an empty array of values means that all are 1."""
    ends, features = np.zeros(len(counts) + 1, dtype=np.int64), np.empty(len(numbers), dtype=np.int32)
    kept, binary = np.empty(len(values)), True
    write = k = ends[0]
    for position in range(len(counts)):
        for _ in range(counts[position]):
            if numbers[k] >= 0:
                features[write] = numbers[k]
                if len(values) > 0:
                    kept[write] = values[k]
                    binary &= values[k] == 1.0
                write += 1
            k += 1
        ends[position + 1] = write
    return ends, features[:write], kept[: 0 if binary else write]


def _flatten(X: Sequence[Sequence[Any]]) -> tuple[list[str], IntVector, FloatVector, LongVector, LongVector]:
    """All records end to end: distinct names, a code and a value per entry, entries per position, sequence ends."""
    number: dict[str, int] = {}
    codes: list[int] = []
    values: list[float] = []
    counts: list[int] = []
    for i, sequence in enumerate(X):
        for t, record in enumerate(sequence):
            before = len(codes)
            try:
                if isinstance(record, list | tuple | set | frozenset):
                    codes.extend([number.setdefault(_name(name), len(number)) for name in record])
                    values.extend([1.0] * len(record))
                else:
                    for name, value in _entries(record):
                        codes.append(number.setdefault(name, len(number)))
                        values.append(value)
            except WidemarginError as error:
                raise DataError(f"sequence {i}, position {t}: {error}") from None
            counts.append(len(codes) - before)
    return (
        list(number),
        np.array(codes, dtype=np.int32),
        np.array(values, dtype=np.float64),
        np.array(counts, dtype=np.int64),
        places(X),
    )


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise DataError(f"a feature's name must be a string, not {name!r}")
    return name


def _entries(record: Any) -> Iterator[tuple[str, float]]:
    """The (name, value) pairs of one record of any of python-crfsuite's forms."""
    if isinstance(record, Mapping):
        for name, value in record.items():
            if isinstance(value, COLLECTIONS):
                yield from ((f"{_name(name)}:{inner}", number) for inner, number in _entries(value))
            else:
                yield _entry(name, value)
    elif isinstance(record, list | tuple | set | frozenset):
        yield from ((_name(name), 1.0) for name in record)
    else:
        raise DataError(f"features must be a list of names or a dict, not {record!r}")


def _entry(name: Any, value: Any) -> tuple[str, float]:
    """The name and the value of the one feature that an item stands for."""
    if isinstance(value, str):
        return f"{_name(name)}:{value}", 1.0
    if isinstance(value, COLLECTIONS):
        raise TypeError("an item with several features")
    return _name(name), _number(name, value)


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, (bytes, bytearray)):  # which float() would read as text
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        shown = f"{value!r:.60}"
        raise DataError(f"the feature {name!r} has the value {shown}; a number, bool or string is wanted") from None
    if not isfinite(number):
        raise DataError(f"the feature {name!r} is {number}; values must be finite")
    return number
