"""Records as users have them, compared field by field: strings, numbers and missing values.

Features of two records, for each field: equal, one or both missing, the share of common character trigrams and of
common words (and whether these shares reach a quarter, a half, three quarters), one contained in the other, the same
beginning, one an abbreviation of the other, and for numbers how far they are apart.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatVector
from widemargin.errors import DataError
from widemargin.text.coded import Coded, Column, common_members, same

TEXT = "text"
"""The only field of a record that is a string."""
LEVELS = (0.25, 0.5, 0.75)
PREFIX = 3
WORD = re.compile(r"\w+")


def fields_of(X: Sequence[Sequence[Any]]) -> list[str]:
    """The names of all fields, in the order of first appearance."""
    found: dict[str, None] = {}
    for i, records in enumerate(X):
        for k, record in enumerate(records):
            for name in as_mapping(record, i, k):
                if not isinstance(name, str):
                    raise DataError(f"document {i}, record {k}: the name of a field must be a string, not {name!r:.60}")
                found.setdefault(name)
    return list(found)


def as_mapping(record: Any, document: int, number: int) -> Mapping[str, Any]:
    """A record as a dict; strings have the one field `text`."""
    if isinstance(record, str):
        return {TEXT: record}
    if not isinstance(record, Mapping):
        raise DataError(f"document {document}, record {number}: a dict or a string is wanted, not {record!r:.60}")
    return record


def compare_records(
    records: Sequence[Any], fields: Sequence[str], i: AnyArray, j: AnyArray, document: int
) -> dict[str, Column]:
    """The features of the pairs (i, j) of one document."""
    mappings = [as_mapping(record, document, k) for k, record in enumerate(records)]
    columns: dict[str, Column] = {}
    for field in fields:
        texts = [_text(mapping.get(field), field, document, k) for k, mapping in enumerate(mappings)]
        columns |= {f"{field}: {name}": column for name, column in _compared(texts, i, j).items()}
    return columns


def _text(value: Any, field: str, document: int, number: int) -> str | None:
    """The value as a text in lower case with single blanks; None if it is missing."""
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        value = " ".join(value)
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        value = None
    if not (value is None or isinstance(value, str | int | float | np.integer | np.floating)):
        raise DataError(
            f"document {document}, record {number}: the field {field!r} is {value!r:.60}, not a string or a number"
        )
    text = "" if value is None else " ".join(str(value).lower().split())
    return text or None


def _compared(texts: Sequence[str | None], i: AnyArray, j: AnyArray) -> dict[str, Column]:
    missing = np.array([text is None for text in texts], dtype=bool)
    both = ~missing[i] & ~missing[j]
    equal = same(Coded.of(texts), i, j)
    words = [frozenset(WORD.findall(text or "")) for text in texts]
    columns: dict[str, Column] = {
        "equal": equal,
        "both missing": missing[i] & missing[j],
        "one missing": missing[i] != missing[j],
        "same beginning": same(Coded.of([None if text is None else text[:PREFIX] for text in texts]), i, j) & ~equal,
        "abbreviation": _abbreviated(texts, i, j),
        "one contained in the other": _contained(words, i, j) & ~equal,
    }
    shares = {"trigrams": _jaccard([_trigrams(text) for text in texts], i, j), "words": _jaccard(words, i, j)}
    for name, share in shares.items():
        columns[f"{name} in common"] = share
        columns |= {f"{name} in common ≥ {level:g}": share >= level for level in LEVELS}
    columns["different"] = both & (shares["trigrams"] == 0.0)
    return columns | _numeric(texts, i, j)


def _trigrams(text: str | None) -> frozenset[str]:
    padded = f"  {text} "
    return frozenset() if text is None else frozenset(padded[k : k + 3] for k in range(len(padded) - 2))


def _jaccard(sets: Sequence[frozenset[str]], i: AnyArray, j: AnyArray) -> FloatVector:
    common, sizes = common_members(sets)
    shared = common[i, j]
    share: FloatVector = shared / np.maximum(sizes[i] + sizes[j] - shared, 1.0)
    return share


def _contained(sets: Sequence[frozenset[str]], i: AnyArray, j: AnyArray) -> BoolVector:
    common, sizes = common_members(sets)
    smaller = np.minimum(sizes[i], sizes[j])
    whole: BoolVector = (common[i, j] == smaller) & (smaller > 0)
    return whole


def _abbreviated(texts: Sequence[str | None], i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether one consists of the initials of the other's words."""
    words = [WORD.findall(text or "") for text in texts]
    initials = ["".join(word[0] for word in each) if len(each) > 1 else None for each in words]
    joined = ["".join(each) if all(len(word) == 1 for word in each) or len(each) == 1 else None for each in words]
    codes = Coded.of([*initials, *joined]).codes
    first, second = codes[: len(texts)], codes[len(texts) :]
    forwards, backwards = (first[i] == second[j]) & (first[i] >= 0), (first[j] == second[i]) & (first[j] >= 0)
    found: BoolVector = forwards | backwards
    return found


def _numeric(texts: Sequence[str | None], i: AnyArray, j: AnyArray) -> dict[str, Column]:
    """How far numbers are apart; nothing if no two values are numbers."""
    numbers = np.array([_number(text) for text in texts], dtype=np.float64)
    both = np.isfinite(numbers[i]) & np.isfinite(numbers[j])
    if not both.any():
        return {}
    one, other = np.where(both, numbers[i], 0.0), np.where(both, numbers[j], 0.0)
    size = np.maximum(np.maximum(np.abs(one), np.abs(other)), 1e-300)
    # Halved before they are subtracted, since the difference of two numbers may be too large for a float.
    apart = np.minimum(np.abs(one / 2 - other / 2) / size * 2, 1.0)
    return {"relative difference": apart, "the same number": both & (apart == 0.0)}


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan
