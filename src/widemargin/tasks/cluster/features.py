"""From documents, in the forms that users pass, to pairs with features.

| a document is | its pairs | their features |
| --- | --- | --- |
| `Pairs` | those given | given: a matrix with a row per pair, or a list of feature names or a dict for each |
| anything, with a function `pair_features` | all | what the function makes of two items: names, or a dict |
| a list of records: dicts or strings | all | comparisons of fields |
| `Mentions` of a text | all | comparisons of mentions |

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatVector, IntVector
from widemargin.core.header import many, one_of, optional, text
from widemargin.core.sparse import Rows, boundaries
from widemargin.core.stored import Stored
from widemargin.errors import DataError, ModelFileError
from widemargin.structures.forest import Documents
from widemargin.tasks.clusters import check_list
from widemargin.text.alphabet import FeatureCounts
from widemargin.text.coded import Coded, Column, ColumnExtractor, common_members, cross, same
from widemargin.text.extractor import FeatureRows
from widemargin.text.matrices import MatrixExtractor
from widemargin.text.mentions import (
    Mentions,
    agrees,
    classes,
    closest,
    copular,
    describe_mentions,
    initials_match,
    overlap,
)
from widemargin.text.records import RecordExtractor

EVERY_PAIR = "every pair"
"""The name of the feature that all pairs have: its weight is the bias."""
Inner: TypeAlias = ColumnExtractor | MatrixExtractor | RecordExtractor
INNER: dict[str, type[ColumnExtractor] | type[MatrixExtractor] | type[RecordExtractor]] = {
    "columns": ColumnExtractor,
    "matrix": MatrixExtractor,
    "names": RecordExtractor,
}
KINDS = ("pairs", "function", "records", "mentions")


class Pairs(NamedTuple):
    """A document given by its pairs.

    Parameters
    ----------
    pairs : two items each, as numbers from 0 on
    features : a matrix with a row per pair, or for each pair a list of feature names or a dict
    n : the number of items; by default one more than the largest in `pairs`
    """

    pairs: Any
    features: Any
    n: int | None = None


class PairExtractor:
    """Turns documents into pairs with features, in one of four ways (`KINDS`); their last feature is `EVERY_PAIR`."""

    def __init__(
        self,
        kind: str,
        inner: Inner,
        fields: Sequence[str] | None = None,
        function: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self.kind, self.inner, self.fields, self.function = kind, inner, fields, function

    @classmethod
    def choose(
        cls, X: Sequence[Any], function: Callable[[Any, Any], Any] | None, fields: Sequence[str] | None
    ) -> "PairExtractor":
        """The extractor for documents like those of `X`."""
        first = next((document for document in X if len(document)), None)
        if isinstance(first, Pairs):
            return cls("pairs", MatrixExtractor() if _is_matrix(first.features) else RecordExtractor())
        if function is not None:
            return cls("function", RecordExtractor(), function=function)
        if isinstance(first, Mentions):
            return cls("mentions", ColumnExtractor())
        found = fields_of(X) if fields is None else list(fields)
        if not found:
            raise DataError("the records have no fields to compare")
        return cls("records", ColumnExtractor(), found)

    @property
    def n_features(self) -> int:
        """The number of features, with `EVERY_PAIR`."""
        return self.inner.n_features + 1

    def names(self) -> list[str]:
        """The names of the features."""
        return [*self.inner.names(), EVERY_PAIR]

    def fit(self, X: Sequence[Any]) -> Documents:
        """Number the features of the training documents."""
        return self._documents(X, self.inner.fit)

    def survey(self, X: Sequence[Any]) -> list[FeatureCounts]:
        """The features of a piece of the training documents."""
        found: list[FeatureCounts] = []

        def extract(given: Any) -> FeatureRows:
            given = list(given)
            found.extend(self.inner.survey(given))
            return self.inner.fit(given)

        self._documents(X, extract)
        return found

    def adopt(self, vocabularies: Sequence[FeatureCounts]) -> None:
        """Number the features by a survey of all data, instead of by `fit`."""
        self.inner.adopt(vocabularies)

    def transform(self, X: Sequence[Any]) -> Documents:
        """The pairs of any documents, with the features that are known from training."""
        return self._documents(X, self.inner.transform)

    def keep(self, used: BoolVector) -> "PairExtractor":
        """An extractor of the `used` features only; `EVERY_PAIR` is always kept."""
        inner = self.inner.keep(used[:-1])
        assert inner is not None, "features of pairs are not hashed"
        return PairExtractor(self.kind, inner, self.fields, self.function)

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The extractor as JSON and arrays, without the user's function."""
        header, arrays = self.inner.describe()
        form = next(name for name, kind in INNER.items() if type(self.inner) is kind)
        return {"kind": self.kind, "form": form, "fields": self.fields, **header}, arrays

    @classmethod
    def restore(cls, stored: Stored) -> "PairExtractor":
        """The extractor that `describe` described."""
        fields = {"kind": one_of(*KINDS), "form": one_of(*INNER), "fields": optional(many(text()))}
        header = stored.checked(fields)
        forms = {"pairs": ("matrix", "names"), "function": ("names",)}.get(header["kind"], ("columns",))
        if header["form"] not in forms or (header["kind"] == "records") != bool(header["fields"]):
            raise stored.place.damaged(f"its features of {header['kind']} do not fit together")
        return cls(header["kind"], INNER[header["form"]].restore(stored), header["fields"])

    def _documents(self, X: Sequence[Any], extract: Callable[[Any], FeatureRows]) -> Documents:
        self._check(X)
        found = [_size_and_pairs(i, document) for i, document in enumerate(X)]
        sizes, numbers = [n for n, _ in found], [pairs for _, pairs in found]
        # A generator, so that the columns of only one document at a time are in memory.
        compared: Any = self._inner_inputs(X, numbers)
        features = extract(compared if isinstance(self.inner, ColumnExtractor) else list(compared))
        pairs, flat = boundaries(len(each) for each in numbers), np.concatenate([np.empty((0, 2), np.int32), *numbers])
        if not np.array_equal(features.indptr, pairs):
            i = int(np.flatnonzero(features.indptr != pairs)[0]) - 1
            n = features.indptr[i + 1] - features.indptr[i]
            raise DataError(f"document {i} has {pairs[i + 1] - pairs[i]} pairs, but {n} rows of features")
        rows = with_constant(features.rows, self.inner.n_features)
        first, second = flat.min(axis=1), flat.max(axis=1)
        return Documents(boundaries(sizes), pairs, first.copy(), second.copy(), rows)

    def _inner_inputs(self, X: Sequence[Any], numbers: Sequence[AnyArray]) -> Iterator[Any]:
        """The inputs of the inner extractor, document by document."""
        for k, (document, pairs) in enumerate(zip(X, numbers, strict=True)):
            i, j = pairs[:, 0], pairs[:, 1]
            if self.kind == "pairs":
                yield document.features
            elif self.kind == "mentions":
                yield compare_mentions(document, i, j)
            elif self.kind == "records":
                yield compare_records(document, self.fields or (), i, j, k)
            elif self.function is None:
                raise ModelFileError(
                    "the model was trained with a function pair_features, which is not in its file: name it on loading"
                )
            else:
                yield [self.function(document[a], document[b]) for a, b in pairs.tolist()]

    def _check(self, X: Any) -> None:
        check_list(X)
        wanted = {"pairs": Pairs, "mentions": Mentions}.get(self.kind)
        for i, document in enumerate(X):
            if wanted is None and isinstance(document, Pairs | Mentions | str | bytes | dict):
                raise DataError(f"document {i} must be a list of records, not {document!r:.60}")
            if wanted is not None and not isinstance(document, wanted):
                raise DataError(f"document {i} must be {wanted.__name__}(…), not {document!r:.60}")
            if not hasattr(document, "__len__"):
                raise DataError(f"document {i} must be a list of records, not {document!r:.60}")


def with_constant(rows: Rows, column: int) -> Rows:
    """The rows with one more entry at the end of each: the value 1 in `column`."""
    ends, n = rows.indptr[1:], len(rows.indptr) - 1
    values = np.insert(rows.values, ends, 1.0) if len(rows.values) else rows.values
    return Rows(rows.indptr + np.arange(n + 1), np.insert(rows.indices, ends, column).astype(np.int32), values)


def _size_and_pairs(i: int, document: Any) -> tuple[int, IntVector]:
    """The number of items of a document, and its pairs of items."""
    if not isinstance(document, Pairs):
        return len(document), np.stack(np.triu_indices(len(document), 1), axis=1).astype(np.int32)
    pairs = np.asarray(document.pairs) if len(document.pairs) else np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise DataError(f"document {i}: pairs must be a list of two numbers of items each")
    n = int(pairs.max(initial=-1)) + 1 if document.n is None else int(document.n)
    wrong = (pairs < 0).any(axis=1) | (pairs >= n).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        raise DataError(f"document {i}: {pairs[wrong][0].tolist()} is not a pair of two of its {n} items")
    return n, pairs.astype(np.int32)


def _is_matrix(features: Any) -> bool:
    return hasattr(features, "dtype") and len(getattr(features, "shape", ())) == 2


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
        columns |= {f"{field}: {name}": column for name, column in _field_features(texts, i, j).items()}
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


def _field_features(texts: Sequence[str | None], i: AnyArray, j: AnyArray) -> dict[str, Column]:
    missing = np.array([text is None for text in texts], dtype=bool)
    both = ~missing[i] & ~missing[j]
    equal = same(Coded.of(texts), i, j)
    words = [frozenset(WORD.findall(text or "")) for text in texts]
    columns: dict[str, Column] = {
        "equal": equal,
        "both missing": missing[i] & missing[j],
        "one missing": missing[i] != missing[j],
        "same beginning": same(Coded.of([None if text is None else text[:PREFIX] for text in texts]), i, j) & ~equal,
        "abbreviation": _abbreviates(texts, i, j),
        "one contained in the other": _contains(words, i, j) & ~equal,
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


def _contains(sets: Sequence[frozenset[str]], i: AnyArray, j: AnyArray) -> BoolVector:
    common, sizes = common_members(sets)
    smaller = np.minimum(sizes[i], sizes[j])
    whole: BoolVector = (common[i, j] == smaller) & (smaller > 0)
    return whole


def _abbreviates(texts: Sequence[str | None], i: AnyArray, j: AnyArray) -> BoolVector:
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
    d = describe_mentions(mentions)
    kinds = cross(d.kind.at(i), d.kind.at(j))
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
        "sentences apart": cross(d.kind.at(j), d.kind.at(i), apart),
        "mentions apart": cross(d.kind.at(j), between),
        "determiners": cross(d.determiner.at(i), d.determiner.at(j)).where(neither),
        "roles": cross(d.role.at(i), d.role.at(j)),
        "the same string": same(d.text, i, j) & neither,
        "the same string without determiner": cross(d.kind.at(j), apart).where(same_bare),
        "the same head": cross(d.kind.at(j), d.determiner.at(j)).where(same_head & ~same_bare),
        "the same head, sentences apart": apart.where(same_head),
        "the same head, the closest one": closest(same_head, i, j),
        "the same head, other modifiers": same_head & (rest > 0) & (shared <= 1),
        "different heads": kinds.where(neither & ~same(d.lemma, i, j)),
        "names with a word in common": names[i] & names[j] & (shared > 0) & ~same_bare,
        "names without a word in common": names[i] & names[j] & (shared == 0),
        "words of one in the other": kinds.where(neither & (fewer > 0) & (shared == fewer) & ~same_bare),
        "a word in common": neither & (shared > 0) & ~same_head,
        "one is the initials of the other": initials_match(d, i, j),
        "pronouns": cross(d.pronoun.at(i), d.pronoun.at(j)),
        "the same pronoun, sentences apart": apart.where(both & same(d.pronoun, i, j)),
        "pronoun after": cross(d.pronoun.at(j), d.kind.at(i), d.number.at(i)).where(~pronoun[i]),
        "pronoun before": cross(d.kind.at(j), apart).where(pronoun[i] & ~pronoun[j]),
        "pronoun, the closest that agrees": cross(d.pronoun.at(j), d.kind.at(i)).where(
            closest(agreeing & pronoun[j] & ~nested, i, j)
        ),
        "pronoun, the closest subject": closest(agreeing & pronoun[j] & d.role.is_one_of("nsubj")[i] & ~nested, i, j),
        "numbers": cross(d.number.at(i), d.number.at(j), d.kind.at(j)),
        "persons": cross(d.person.at(i), d.person.at(j)).where(d.person.codes[i] != d.person.codes[j]),
        "genders": cross(d.gender.at(i), d.gender.at(j)),
        "apposition": (d.parent[j] == d.head[i]) & d.role.is_one_of("appos")[j],
        "copula": copular(d, i, j) & ~nested,
        "nested": cross(d.kind.at(i), d.kind.at(j)).where(nested),
        "in one sentence": cross(d.role.at(i), d.kind.at(j)).where((d.sentence[i] == d.sentence[j]) & ~nested),
    }
