"""Shared by taggers and segmenters: a code per token, the layout of weights, decoding under constraints.

Weights have three forms: one flat vector for solvers, named arrays for decoding (`LabelWeights`), sparse rows (*thin*)
for storage. Labels may be partly known. The first completions then come from naive Bayes, whose counts of features
with labels come from the known tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from widemargin._types import AnyArray, BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.problem import predict
from widemargin.core.sparse import Rows, boundaries, compressed, expanded, take_rows
from widemargin.core.stored import Stored, packed_rows
from widemargin.errors import DataError, UnsupportedError
from widemargin.structures.examples import Partial, WithBestK, WithHull, WithSums, WithThrough, WithWorst
from widemargin.structures.parts import Costs
from widemargin.tasks.constraints import Constraints, Windows, best_without_repetition, check_possible, impossible
from widemargin.text.spans import Span


class TokenExamples(WithBestK, WithHull, WithWorst, WithThrough, WithSums):
    """Sequences whose outputs are a code for each token, end to end."""

    @property
    def shape(self) -> Any:
        """The layout of the weights."""
        return self.features.shape

    @property
    def indptr(self) -> LongVector:
        """Where each sequence begins among the tokens."""
        indptr: LongVector = self.features.indptr
        return indptr

    @property
    def everything(self) -> IntVector:
        """All sequences as a batch."""
        return np.arange(self.n_examples, dtype=np.int32)

    @property
    def part_boundaries(self) -> LongVector:
        """Where the parts of each sequence begin; max-marginals and probabilities have a row per part."""
        return self.indptr

    def bounds_of(self, indptr: LongVector, allowed: BoolMatrix) -> Costs:
        """Costs of −∞ for codes that are not `allowed` at a token; the rows of sequence i begin at `indptr[i]`."""
        raise NotImplementedError


class LabelWeights:
    """Weights as named arrays: those of features, and `shared` weights of pairs of labels, first and last labels.

    Classes of weights are named tuples with a field `shared`, so that kernels can take them. Trained weights of
    features are mostly zero. In `thin` weights, sparse rows `thin_x` (a row per feature) replace the array `x`,
    which is then empty. They take a fraction of the memory and of the time to sum.
    """

    __slots__ = ()
    shared: Any

    @property
    def n_labels(self) -> int:
        """The number of labels: `shared` has L (L + 2) weights."""
        return round((len(self.shared) + 1) ** 0.5) - 1

    @property
    def transition(self) -> FloatMatrix:
        """The weights of pairs of labels; rows are first labels."""
        return self.shared[: self.n_labels**2].reshape(self.n_labels, self.n_labels)

    @property
    def begin(self) -> FloatVector:
        """The weights of first labels."""
        return self.shared[-2 * self.n_labels : -self.n_labels]

    @property
    def end(self) -> FloatVector:
        """The weights of last labels."""
        return self.shared[-self.n_labels :]

    def thin(self) -> Self:
        """The same weights with sparse rows; a row with few zeros is stored whole."""
        weights, changed = cast("Any", self), dict[str, Any]()
        for name, part in weights._asdict().items():
            if f"thin_{name}" in weights._fields:
                changed |= {name: part[:0].copy(), f"thin_{name}": compressed(part)}
            elif not name.startswith("thin_"):
                changed[name] = part.copy()  # a view would keep the whole dense vector alive
        return weights._replace(**changed)

    def flat(self) -> FloatVector:
        """The flat weight vector."""
        weights, found = cast("Any", self), []
        for name in (name for name in weights._fields if not name.startswith("thin_")):
            part, thin = getattr(weights, name), getattr(weights, f"thin_{name}", None)
            found.append(part if thin is None or len(part) else expanded(thin, part.shape[1]))
        return np.concatenate([part.ravel() for part in found])

    def limit(self, pairs: BoolMatrix, begins: BoolVector, ends: BoolVector) -> Self:
        """The weights with −∞ for all but these pairs of labels, first labels and last labels."""
        weights: Any = self
        return weights._replace(shared=np.where(join_weights(pairs, begins, ends), self.shared, -np.inf))

    def reorder(self, codes: LongVector, axes: Mapping[str, Sequence[LongVector]]) -> Self:
        """The weights in the order of other labels and features: `axes` has their `tasks.warm.places`, by array."""
        from widemargin.tasks.warm import reorder_axes  # seldom needed

        weights: Any = self
        shared = join_weights(
            reorder_axes(self.transition, codes, codes), reorder_axes(self.begin, codes), reorder_axes(self.end, codes)
        )
        return weights._replace(
            shared=shared, **{name: reorder_axes(getattr(self, name), *axes[name]) for name in axes}
        )

    def tensors(self) -> dict[str, AnyArray]:
        """The arrays of a model file: dense ones, then sparse rows."""
        weights, dense, thin = cast("Any", self), dict[str, AnyArray](), dict[str, AnyArray]()
        for name in (name for name in weights._fields if not name.startswith("thin_")):
            if f"thin_{name}" in weights._fields:
                thin |= packed_rows(f"weights.{name}", getattr(weights, f"thin_{name}"))
            else:
                of_labels = ("transition", "begin", "end") if name == "shared" else (name,)
                dense |= {f"weights.{part}": getattr(weights, part) for part in of_labels}
        return dense | thin


class LabelShape(ABC):
    """How a flat weight vector is laid out: arrays one after another, in the order of the fields of `weights`."""

    weights: ClassVar[type[Any]]
    n_labels: int

    @property
    @abstractmethod
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """The shape of each array."""

    @cached_property
    def _slices(self) -> list[tuple[slice, tuple[int, ...]]]:
        ends = accumulate(map(prod, self.shapes), initial=0)
        return [(slice(*each), shape) for each, shape in zip(pairwise(ends), self.shapes, strict=True)]

    @property
    def offsets(self) -> list[int]:
        """Where each array begins in the flat vector."""
        return [place.start for place, _ in self._slices]

    @property
    def n_weights(self) -> int:
        """The length of the flat weight vector."""
        return sum(map(prod, self.shapes))

    def check_size(self, features: str) -> None:
        """Raise if there are more weights than can be numbered."""
        if self.n_weights > np.iinfo(np.int32).max:
            raise DataError(
                f"{features} × {self.n_labels} labels is more weights than can be indexed (2³¹); "
                "use a feature cut-off (min_count) or hashing"
            )

    def parts(self, w: FloatVector) -> Any:
        """`w` as named arrays, which are views of it."""
        return self.weights(*(w[place].reshape(shape) for place, shape in self._slices))

    def restored(self, stored: Stored) -> Any:
        """The inverse of `LabelWeights.tensors`."""
        fields: Any = self.weights
        n, found, thin = self.n_labels, dict[str, Any](), dict[str, Sequence[int]]()
        for name, shape in zip(fields._fields, self.shapes, strict=False):  # fields of sparse rows come last
            if f"thin_{name}" in fields._fields:
                found[name], thin[name] = np.empty((0, *shape[1:])), shape
            elif name == "shared":
                of_labels = {"transition": (n, n), "begin": (n,), "end": (n,)}
                found[name] = join_weights(
                    *(stored.tensor(f"weights.{part}", np.float64, of_labels[part]) for part in of_labels)
                )
            else:
                found[name] = stored.tensor(f"weights.{name}", np.float64, shape)
        found |= {f"thin_{name}": stored.rows(f"weights.{name}", *shape) for name, shape in thin.items()}
        return self.weights(**found)


def join_weights(transition: AnyArray, begin: AnyArray, end: AnyArray) -> AnyArray:
    """Values of pairs of labels (row by row), of first labels and of last labels, as one vector."""
    return np.concatenate([transition.ravel(), begin, end])


def check_rows(name: str, rows: Rows, n: int, of: str, width: int) -> None:
    """Raise unless there are n rows, and every index is below the `width`: kernels do not check."""
    if len(rows.indptr) != n + 1 or rows.indptr[-1] != len(rows.indices):
        raise DataError(f"there are {n} {of}, but {len(rows.indptr) - 1} rows of {name}")
    if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < width:
        raise DataError(f"{name} has an index outside 0 … {width - 1}")


E = TypeVar("E", bound=TokenExamples)


class Constrained(ABC, Generic[E]):
    """Sequences to be decoded under constraints.

    `examples` and `weights` contain all constraints but `at_most_one`, which only `decode` enforces.
    """

    def __init__(self, examples: E, weights: Any, labels: Sequence[Any], constraints: Constraints) -> None:
        constraints.refuse_rules()
        self.labels, self.constraints, self.indptr = labels, constraints, boundaries(examples.lengths)
        self.number = {label: k for k, label in enumerate(labels)}
        self.starting = {type_: self._starting(type_) for type_ in constraints.at_most_one}
        self.allowed = self._allowed(examples.lengths.tolist())
        self.examples: E = examples.within(examples.bounds_of(self.indptr, self.allowed))
        self.weights = weights.limit(*self._neighbours())

    @abstractmethod
    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""

    @abstractmethod
    def _allowed(self, lengths: list[int]) -> BoolMatrix:
        """Which codes each position may have."""

    @abstractmethod
    def _neighbours(self) -> tuple[BoolMatrix, BoolVector, BoolVector]:
        """Which pairs of labels may follow each other, and which labels may be first and last."""

    @abstractmethod
    def _starting(self, type_: str) -> BoolVector:
        """The codes that begin a span of a type."""

    def decode(self, n_threads: int = 1) -> IntVector:
        """The best outputs of all sequences, end to end."""
        codes = np.concatenate(predict(self.examples, self.weights, n_threads))
        batch = np.arange(self.examples.n_examples, dtype=np.int32)
        check_possible(batch, self.examples.scores(self.weights, batch, codes))
        if self.constraints.at_most_one:
            for i, (begin, end) in enumerate(zip(self.indptr[:-1].tolist(), self.indptr[1:].tolist(), strict=True)):
                if self._repeated(codes[begin:end]) is not None:
                    codes[begin:end] = self._search(i)
        return codes

    def check_by_parts(self, what: str) -> None:
        """Raise an error if `at_most_one` is set, which concerns whole outputs, not parts of them."""
        if self.constraints.at_most_one:
            raise UnsupportedError(f"{what} cannot be found under at_most_one; only the best output can")

    def _repeated(self, codes: IntVector) -> tuple[str, int] | None:
        """A type with too many spans, and where its first span begins; or None."""
        first: dict[str, int] = {}
        for span in self.spans(codes):
            if span.type in first and span.type in self.constraints.at_most_one:
                return span.type, first[span.type]
            first.setdefault(span.type, span.start)
        return None

    def _search(self, i: int) -> IntVector:
        begin, end = self.indptr[i : i + 2].tolist()
        indptr, one = np.clip(self.indptr - begin, 0, end - begin), np.array([i], dtype=np.int32)

        def decode(windows: Windows) -> tuple[float, IntVector]:
            """The best output whose spans of some types begin only in their windows, and its score."""
            allowed = self.allowed[begin:end].copy()
            for type_, (low, high) in windows.items():
                allowed[:low, self.starting[type_]] = allowed[high + 1 :, self.starting[type_]] = False
            examples = self.examples.within(self.examples.bounds_of(indptr, allowed))
            codes: IntVector = examples.decode(self.weights, one)
            return float(examples.scores(self.weights, one, codes)[0]), codes

        found = best_without_repetition(decode, self._repeated, end - begin - 1)
        if found is None:
            raise impossible(i)
        return found


class PartialTokens(Partial):
    """Sequences whose gold codes are partly known; a mixin for `TokenExamples`.

    Errors are counted against the sets of possible codes, whatever the completion.
    """

    whole: ClassVar[type[TokenExamples]]
    """The same examples with completions as gold."""

    everything: Any

    @abstractmethod
    def check_completions(self, completions: IntVector) -> None:
        """Raise unless all completions are possible."""

    def completed(self, completions: IntVector) -> TokenExamples:
        """The same sequences with these gold codes."""
        self.check_completions(completions)
        found = object.__new__(self.whole)
        found.__dict__.update(self.__dict__, gold=completions)
        return found

    @property
    @abstractmethod
    def informative(self) -> BoolVector:
        """Whether anything is known of each sequence; otherwise no output has an error."""

    @property
    @abstractmethod
    def n_unknown(self) -> int:
        """The number of tokens with several possible labels."""

    def first_completions(self) -> IntVector:
        """The best completions by naive Bayes, estimated from known tokens."""
        completions: IntVector = self.complete(self.naive_bayes(), self.everything)
        return completions

    @abstractmethod
    def naive_bayes(self) -> FloatVector:
        """Weights from the counts of features with labels."""


class LabelCounts:
    """How often labels are seen; a set of m labels counts as 1/m of each, the set of all labels as nothing.

    Parameters
    ----------
    truth : the set of each position, a row of `allowed`
    allowed : (K, L) the labels of each set
    """

    def __init__(self, truth: IntVector, allowed: BoolMatrix) -> None:
        self.sizes, self.n_labels = allowed.sum(axis=1), allowed.shape[1]
        self.truth, self.useful = truth.astype(np.int64), self.sizes[truth] < self.n_labels
        labels = np.nonzero(allowed)[1].astype(np.int32)
        self.shares = Rows(boundaries(self.sizes), labels, np.repeat(1.0 / self.sizes, self.sizes))
        everywhere = np.arange(len(truth))
        prior = 1.0 + self._of_groups(everywhere, np.zeros_like(everywhere), 1)[0]
        self.prior = prior / prior.sum()

    def likely(self, places: LongVector, groups: IntVector, n_groups: int) -> FloatMatrix:
        """log p(label | group), where `places[k]` is in `groups[k]`; smoothed by one label drawn from the prior."""
        counts = self._of_groups(places, groups, n_groups)
        return np.log((counts + self.prior) / (counts.sum(axis=1, keepdims=True) + 1.0))

    def _of_groups(self, places: LongVector, groups: IntVector | LongVector, n_groups: int) -> FloatMatrix:
        used = self.useful[places]
        numbers = self.truth[places[used]]
        found = take_rows(self.shares, numbers)
        at = np.repeat(groups[used].astype(np.int64), self.sizes[numbers]) * self.n_labels + found.indices
        counts: FloatMatrix = np.bincount(at, found.values, n_groups * self.n_labels).astype(np.float64)
        return counts.reshape(n_groups, self.n_labels)


def association(features: Rows, n_features: int, truth: IntVector, allowed: BoolMatrix) -> FloatMatrix:
    """log p(label | feature) / p(label) for each feature (row) and label (column); arguments as for `LabelCounts`."""
    counts = LabelCounts(truth, allowed)
    positions = np.repeat(np.arange(len(truth)), np.diff(features.indptr))
    return counts.likely(positions, features.indices, n_features) - np.log(counts.prior)
