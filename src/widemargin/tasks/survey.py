"""Labels, features and a few facts of all data, which must be known before any piece of them can be compiled.

Each worker surveys its own piece; surveys are merged pair by pair. With the merged survey, a piece is compiled as if
all data were there: from what its survey has `drafted`, or, without that, from the data once more.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

from widemargin.core.sparse import Matrix
from widemargin.errors import DataError, UnsupportedError
from widemargin.text.alphabet import FeatureCounts
from widemargin.text.matrices import as_matrix


@dataclass(frozen=True)
class Survey:
    """Counts of labels, vocabularies of features in groups, and facts by name.

    Facts of two pieces are merged by their type: truth values by *and*, lists to the elements of both, sets to their
    union, numbers in a dict to the larger, counts to their sum. Anything else must be equal.
    """

    labels: Counter[Any] = field(default_factory=Counter)
    features: list[FeatureCounts] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    drafted: Any = None
    """The piece itself, if its features need not be extracted again to compile it; it stays with its worker."""

    def merged(self, other: Self) -> Self:
        """The survey of both pieces."""
        return type(self)(
            self.labels + other.labels,
            [one.merged(two) for one, two in zip(self.features, other.features, strict=True)],
            {name: _merged(name, self.facts[name], other.facts[name]) for name in self.facts},
        )

    @property
    def by_frequency(self) -> list[Any]:
        """The labels, the most frequent first."""
        return sorted(self.labels, key=lambda label: (-self.labels[label], label))


def refuse_latent(what: str) -> NoReturn:
    """Raise because `what` means latent variables, which are learnt on one machine only."""
    raise UnsupportedError(f"{what}: latent variables are learnt on one machine only; take the estimator without Dask")


def widened(X: Any, survey: Survey | None) -> Matrix:
    """A matrix as wide as the widest piece of the data; only sparse rows of a file may be narrower."""
    matrix = as_matrix(X)
    if survey is None or matrix.width == survey.facts["size"]["width"]:
        return matrix
    if not isinstance(X, Matrix):
        raise DataError(f"a part of X has {matrix.width} columns, but another has {survey.facts['size']['width']}")
    return Matrix(matrix.rows, survey.facts["size"]["width"])


def _merged(name: str, one: Any, two: Any) -> Any:
    if isinstance(one, bool):
        return one and two
    if isinstance(one, list):
        return [each for each in one if each in two]
    if isinstance(one, set | frozenset):
        return one | two
    if isinstance(one, Counter):
        return one + two
    if isinstance(one, dict):
        return {each: max(part[each] for part in (one, two) if each in part) for each in [*one, *two]}
    if one != two:
        raise DataError(f"the parts of the data differ in their {name}: {one!r:.60} and {two!r:.60}")
    return one
