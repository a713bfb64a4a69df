"""Features of pairs of items: records are compared field by field, mentions of a text by their words and context.

**Records** have strings, numbers and missing values. Features of two records, for each field: equal, one or both
missing, the shares of common character trigrams and of common words (and whether a share reaches a quarter, a half,
three quarters), one contained in the other, the same beginning, one an abbreviation of the other, and the relative
difference of numbers.

**Mentions** are compared in the manner of Ng & Cardie (2002): matching strings and heads, with and without determiners;
names, initials, words in common; pronouns and agreement; distances in sentences and mentions; apposition, copula and
nesting. The first of two mentions is the one that begins earlier or, if both begin together, the longer one.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatVector
from widemargin.errors import DataError
from widemargin.text.coded import Coded, Column, common_members, crossed, same
from widemargin.text.mentions import Mentions, agrees, classes, closest, copular, described, initials_match, overlap

TEXT = "text"
"""The name of the field of a record that is a string instead of a dict."""
LEVELS = (0.25, 0.5, 0.75)
PREFIX = 3
WORD = re.compile(r"\w+")
SENTENCES, BETWEEN = np.array([1, 2, 3, 5, 9, 17]), np.array([1, 2, 4, 8, 16, 32, 64])
"""The bins of distances in sentences and in mentions: each begins with one of these numbers."""


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
    """A record as a dict; a string becomes the field `text`."""
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
    """Whether one text of each pair consists of the initials of the other's words."""
    words = [WORD.findall(text or "") for text in texts]
    initials = ["".join(word[0] for word in each) if len(each) > 1 else None for each in words]
    joined = ["".join(each) if all(len(word) == 1 for word in each) or len(each) == 1 else None for each in words]
    codes = Coded.of([*initials, *joined]).codes
    first, second = codes[: len(texts)], codes[len(texts) :]
    forwards, backwards = (first[i] == second[j]) & (first[i] >= 0), (first[j] == second[i]) & (first[j] >= 0)
    found: BoolVector = forwards | backwards
    return found


def _numeric(texts: Sequence[str | None], i: AnyArray, j: AnyArray) -> dict[str, Column]:
    """The relative difference of numbers; no features if no pair has two numbers."""
    numbers = np.array([_number(text) for text in texts], dtype=np.float64)
    both = np.isfinite(numbers[i]) & np.isfinite(numbers[j])
    if not both.any():
        return {}
    one, other = np.where(both, numbers[i], 0.0), np.where(both, numbers[j], 0.0)
    size = np.maximum(np.maximum(np.abs(one), np.abs(other)), 1e-300)
    # Halved before the subtraction, because the difference of two large numbers may overflow.
    apart = np.minimum(np.abs(one / 2 - other / 2) / size * 2, 1.0)
    return {"relative difference": apart, "the same number": both & (apart == 0.0)}


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def compare_mentions(mentions: Mentions, i: AnyArray, j: AnyArray) -> dict[str, Column]:
    """The features of the pairs (i, j) of one document, i before j."""
    d = described(mentions)
    kinds = crossed(d.kind.at(i), d.kind.at(j))
    pronoun = d.kind.is_one_of("pronoun")
    neither, both = ~pronoun[i] & ~pronoun[j], pronoun[i] & pronoun[j]
    apart = Coded(
        np.searchsorted(SENTENCES, d.sentence[j] - d.sentence[i], "right").astype(np.int32), classes(SENTENCES)
    )
    between = Coded(np.searchsorted(BETWEEN, j - i, "right").astype(np.int32), classes(BETWEEN))
    same_head, same_bare = same(d.lemma, i, j) & neither, same(d.bare, i, j) & neither
    names = d.kind.is_one_of("name")
    nested = d.end[i] >= d.end[j]
    shared, fewer, rest = overlap(d, i, j)
    agreeing = agrees(d, i, j)
    return {
        "kinds": kinds,
        "sentences apart": crossed(d.kind.at(j), d.kind.at(i), apart),
        "mentions apart": crossed(d.kind.at(j), between),
        "determiners": crossed(d.determiner.at(i), d.determiner.at(j)).where(neither),
        "roles": crossed(d.role.at(i), d.role.at(j)),
        "the same string": same(d.text, i, j) & neither,
        "the same string without determiner": crossed(d.kind.at(j), apart).where(same_bare),
        "the same head": crossed(d.kind.at(j), d.determiner.at(j)).where(same_head & ~same_bare),
        "the same head, sentences apart": apart.where(same_head),
        "the same head, the closest one": closest(same_head, i, j),
        "the same head, other modifiers": same_head & (rest > 0) & (shared <= 1),
        "different heads": kinds.where(neither & ~same(d.lemma, i, j)),
        "names with a word in common": names[i] & names[j] & (shared > 0) & ~same_bare,
        "names without a word in common": names[i] & names[j] & (shared == 0),
        "words of one in the other": kinds.where(neither & (fewer > 0) & (shared == fewer) & ~same_bare),
        "a word in common": neither & (shared > 0) & ~same_head,
        "one is the initials of the other": initials_match(d, i, j),
        "pronouns": crossed(d.pronoun.at(i), d.pronoun.at(j)),
        "the same pronoun, sentences apart": apart.where(both & same(d.pronoun, i, j)),
        "pronoun after": crossed(d.pronoun.at(j), d.kind.at(i), d.number.at(i)).where(~pronoun[i]),
        "pronoun before": crossed(d.kind.at(j), apart).where(pronoun[i] & ~pronoun[j]),
        "pronoun, the closest that agrees": crossed(d.pronoun.at(j), d.kind.at(i)).where(
            closest(agreeing & pronoun[j] & ~nested, i, j)
        ),
        "pronoun, the closest subject": closest(agreeing & pronoun[j] & d.role.is_one_of("nsubj")[i] & ~nested, i, j),
        "numbers": crossed(d.number.at(i), d.number.at(j), d.kind.at(j)),
        "persons": crossed(d.person.at(i), d.person.at(j)).where(d.person.codes[i] != d.person.codes[j]),
        "genders": crossed(d.gender.at(i), d.gender.at(j)),
        "apposition": (d.parent[j] == d.head[i]) & d.role.is_one_of("appos")[j],
        "copula": copular(d, i, j) & ~nested,
        "nested": crossed(d.kind.at(i), d.kind.at(j)).where(nested),
        "in one sentence": crossed(d.role.at(i), d.kind.at(j)).where((d.sentence[i] == d.sentence[j]) & ~nested),
    }
