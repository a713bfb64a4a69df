"""From documents, in the forms that users pass, to pairs with features.

| a document is | its pairs | their features |
| --- | --- | --- |
| `Pairs` | those given | given: a matrix with a row per pair, or a list of feature names or a dict for each |
| anything, with a function `pair_features` | all | what the function makes of two items: names, or a dict |
| a list of records: dicts or strings | all | comparisons of fields (`comparisons`) |
| `Mentions` of a text | all | comparisons of mentions (`comparisons`) |
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from widemargin._types import AnyArray, BoolVector, IntVector
from widemargin.core.header import many, one_of, optional, text
from widemargin.core.sparse import Rows, boundaries
from widemargin.core.stored import Stored
from widemargin.errors import DataError, ModelFileError
from widemargin.structures.forest import Documents
from widemargin.tasks.cluster.comparisons import compare_mentions, compare_records, fields_of
from widemargin.text.alphabet import FeatureCounts
from widemargin.text.coded import ColumnExtractor
from widemargin.text.extractor import Features
from widemargin.text.matrices import MatrixExtractor
from widemargin.text.mentions import Mentions
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

        def extract(given: Any) -> Features:
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

    def _documents(self, X: Sequence[Any], extract: Callable[[Any], Features]) -> Documents:
        self._check(X)
        found = [_size_and_pairs(i, document) for i, document in enumerate(X)]
        sizes, numbers = [n for n, _ in found], [pairs for _, pairs in found]
        # A generator, so that the columns of only one document at a time are in memory.
        compared: Any = self._compared(X, numbers)
        features = extract(compared if isinstance(self.inner, ColumnExtractor) else list(compared))
        pairs, flat = boundaries(len(each) for each in numbers), np.concatenate([np.empty((0, 2), np.int32), *numbers])
        if not np.array_equal(features.indptr, pairs):
            i = int(np.flatnonzero(features.indptr != pairs)[0]) - 1
            n = features.indptr[i + 1] - features.indptr[i]
            raise DataError(f"document {i} has {pairs[i + 1] - pairs[i]} pairs, but {n} rows of features")
        rows = with_constant(features.rows, self.inner.n_features)
        first, second = flat.min(axis=1), flat.max(axis=1)
        return Documents(boundaries(sizes), pairs, first.copy(), second.copy(), rows)

    def _compared(self, X: Sequence[Any], numbers: Sequence[AnyArray]) -> Iterator[Any]:
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
        if isinstance(X, str | bytes | dict) or not hasattr(X, "__len__"):
            raise DataError(f"X must be a list of documents, not {type(X).__name__}")
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
