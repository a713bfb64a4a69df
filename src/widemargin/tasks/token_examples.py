"""What the examples of taggers and segmenters share: a code for each token, and weights of labels in a row."""

from typing import Any, Self

import numpy as np

from widemargin._types import AnyArray, BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Rows
from widemargin.errors import DataError
from widemargin.structures.examples import WithBestK, WithBestWrong, WithSums, WithThrough, WithWorst
from widemargin.structures.parts import Costs


class TokenExamples(WithBestK, WithBestWrong, WithWorst, WithThrough, WithSums):
    """Sequences whose outputs are a code for each token, end to end."""

    @property
    def shape(self) -> Any:
        """Of the weights."""
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
        """Where the parts of each sequence begin: each part has a row of max-marginals and of probabilities."""
        return self.indptr

    def bounds_of(self, indptr: LongVector, allowed: BoolMatrix) -> Costs:
        """Costs of −∞ for codes that are not `allowed` at a token; sequence i has those from `indptr[i]` on."""
        raise NotImplementedError


class LabelWeights:
    """Weights seen as their parts: next to those of features, `shared` ones of pairs, first and last labels.

    Classes of weights are named tuples with a field `shared`, so that kernels can take them.
    """

    __slots__ = ()
    shared: Any

    @property
    def n_labels(self) -> int:
        """The number of labels: `shared` has L (L + 2) weights."""
        return round((len(self.shared) + 1) ** 0.5) - 1

    @property
    def transition(self) -> FloatMatrix:
        """The weights of pairs of labels, by the first."""
        return self.shared[: self.n_labels**2].reshape(self.n_labels, self.n_labels)

    @property
    def begin(self) -> FloatVector:
        """The weights of first labels."""
        return self.shared[-2 * self.n_labels : -self.n_labels]

    @property
    def end(self) -> FloatVector:
        """The weights of last labels."""
        return self.shared[-self.n_labels :]

    def limited(self, pairs: BoolMatrix, begins: BoolVector, ends: BoolVector) -> Self:
        """The weights with only these pairs of labels, first labels and last labels."""
        weights: Any = self
        return weights._replace(shared=np.where(joined(pairs, begins, ends), self.shared, -np.inf))


def joined(transition: AnyArray, begin: AnyArray, end: AnyArray) -> AnyArray:
    """What there is for pairs of labels, by the first, for first labels and for last labels, as one vector."""
    return np.concatenate([transition.ravel(), begin, end])


def check_rows(name: str, rows: Rows, n: int, of: str, width: int) -> None:
    """Raise unless there are n rows, and every index is below the `width`: kernels do not check."""
    if len(rows.indptr) != n + 1 or rows.indptr[-1] != len(rows.indices):
        raise DataError(f"there are {n} {of}, but {len(rows.indptr) - 1} rows of {name}")
    if len(rows.indices) and not 0 <= rows.indices.min() <= rows.indices.max() < width:
        raise DataError(f"{name} has an index outside 0 … {width - 1}")
