"""A structure of the user's own whose outputs hide something: one more method.

    class MyStructure:
        n_weights = …                           # the length of w
        def features(self, x, y, h): ...        # φ(x, y, h)
        def error(self, y, y_hat, h_hat): ...   # Δ ≥ 0, and 0 for y itself with any h that completes it
        def decode(self, x, w, y=None): ...     # argmax over pairs (ŷ, ĥ), plus error(y, ŷ, ĥ) when the gold y is given
        def complete(self, x, y, w): ...        # argmax_h ⟨w, φ(x, y, h)⟩

`guess(x, y, rng)`, an h at random, is optional; without it, the first completions are those at random weights.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.errors import DataError
from widemargin.structures.custom import CustomExamples


class LatentStructure(Protocol):
    """The methods that the user writes."""

    def features(self, x: Any, y: Any, h: Any) -> Any:
        """φ(x, y, h): a dict {index: value}, a pair (indices, values), or a dense vector."""

    def error(self, y: Any, y_hat: Any, h_hat: Any) -> float:
        """Δ: how wrong `y_hat` with `h_hat` is if `y` is right."""

    def decode(self, x: Any, w: FloatVector, y: Any = None) -> tuple[Any, Any]:
        """The pair (ŷ, ĥ) with the highest ⟨w, φ(x, ŷ, ĥ)⟩, plus error(y, ŷ, ĥ) when the gold `y` is given."""

    def complete(self, x: Any, y: Any, w: FloatVector) -> Any:
        """The h with the highest ⟨w, φ(x, y, h)⟩."""


class _OfPairs:
    """A latent structure as one whose outputs are pairs (y, h)."""

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.exact = bool(getattr(structure, "exact", True))

    def features(self, x: Any, y: Any) -> Any:
        return self.structure.features(x, *pair(y))

    def error(self, y: Any, y_hat: Any) -> float:
        error: float = self.structure.error(y[0], *pair(y_hat))
        return error

    def decode(self, x: Any, w: FloatVector, y: Any = None) -> Any:
        return self.structure.decode(x, w) if y is None else self.structure.decode(x, w, y[0])


def pair(output: Any) -> tuple[Any, Any]:
    """Check that the `output` of a latent structure's `decode` is a pair (y, h), and return it."""
    if not isinstance(output, tuple | list) or len(output) != 2:
        raise DataError(f"decode() of a structure with complete() must return a pair (y, h), not {output!r:.100}")
    return output[0], output[1]


class LatentCustomExamples(CustomExamples):
    """Examples of a latent structure; completions are a list of pairs (y, h)."""

    def __init__(
        self,
        structure: Any,
        X: Sequence[Any],
        y: Sequence[Any] | None = None,
        n_weights: int | None = None,
        completions: Sequence[Any] | None = None,
    ) -> None:
        if y is not None and len(X) != len(y):
            raise DataError(f"there are {len(X)} inputs, but {len(y)} outputs")
        n_weights = getattr(structure, "n_weights", None) if n_weights is None else n_weights
        if n_weights is None:
            raise DataError("a structure with complete() must say how long w is: set n_weights on it")
        self.latent, self.golds = structure, y
        super().__init__(_OfPairs(structure), X, completions, int(n_weights))

    def complete(self, w: FloatVector, batch: IntVector) -> list[tuple[Any, Any]]:
        """The user's completion of every example."""
        return [(y, self.latent.complete(x, y, w)) for x, y in self._given(batch)]

    def completed(self, completions: Sequence[Any]) -> "LatentCustomExamples":
        """The same examples with these pairs (y, h) as gold."""
        return LatentCustomExamples(self.latent, self.X, self.golds, self.n_weights, completions)

    def guess(self, rng: np.random.Generator) -> list[tuple[Any, Any]]:
        """The user's guesses; without any, the completions at random weights."""
        everything = np.arange(self.n_examples, dtype=np.int32)
        if hasattr(self.latent, "guess"):
            return [(y, self.latent.guess(x, y, rng)) for x, y in self._given(everything)]
        return self.complete(rng.standard_normal(self.n_weights), everything)

    def _given(self, batch: IntVector) -> list[tuple[Any, Any]]:
        assert self.golds is not None, "without gold outputs there is nothing to complete"
        return [(self.X[i], self.golds[i]) for i in batch.tolist()]
