"""A structure that the user writes: three methods in plain Python, nothing compiled.

    class MyStructure:
        def features(self, x, y): ...           # φ(x, y): a dict {index: value}, a pair (indices, values), or a vector
        def error(self, y, y_hat): ...          # Δ ≥ 0, and 0 for y itself
        def decode(self, x, w, y=None): ...     # argmax_ŷ ⟨w, φ(x, ŷ)⟩, plus error(y, ŷ) when the gold y is given

That is all a solver needs. Some attributes are optional: `n_weights`, the length of w, by default taken from the
features of the gold outputs; and `exact = False` for an approximate decoder, so that no gap is called proven.
With several jobs decoding runs in as many processes, so the methods must depend on nothing but their arguments; with
`releases_gil = True`, for a decoder that spends its time in code that releases the interpreter, it runs in threads.

**Optional methods.** Position-wise slacks (`objectives.positions`) expect an output to be a sequence of positions whose
error counts the wrong positions. A method `position_errors(y, y_hat)` may return the error of each position instead. An
output that is not a sequence is one position with the error of the whole. In these two cases the best output that is
wrong at a position need not be the worst violator, so nothing is proven unless all outputs are listed.

These slacks need the best output that is wrong at a given position. At each position where the decoder's first answer
is right, the decoder runs again, with one more keyword (Sarawagi & Gupta 2008, §4.3.3),

        def decode(self, x, w, y=None, wrong_at=None): ...     # … with ŷ[wrong_at] ≠ y[wrong_at]

If there are few outputs, `outputs(x)` may list them all, gold included. That gives the k best, exact slack scaling,
position-wise slacks and probabilities for free.

A structure with a latent part h of its outputs has one more method, and must say how long w is:

    class MyStructure:
        n_weights = …                           # the length of w
        def features(self, x, y, h): ...        # φ(x, y, h)
        def error(self, y, y_hat, h_hat): ...   # Δ ≥ 0, and 0 for y itself with any h that completes it
        def decode(self, x, w, y=None): ...     # argmax over pairs (ŷ, ĥ), plus error(y, ŷ, ĥ) when the gold y is given
        def complete(self, x, y, w): ...        # argmax_h ⟨w, φ(x, y, h)⟩

`guess(x, y, rng)`, a random h, is optional; without it, random weights give the first completions.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences, Scale, at_positions, per_example
from widemargin.core.products import inner
from widemargin.core.sparse import Rows, boundaries
from widemargin.errors import DataError

SparseVector = tuple[IntVector, FloatVector]


class CustomStructure(Protocol):
    """The methods that the user writes."""

    def features(self, x: Any, y: Any) -> Any:
        """φ(x, y): a dict {index: value}, a pair (indices, values), or a dense vector."""

    def error(self, y: Any, y_hat: Any) -> float:
        """Δ: how wrong `y_hat` is if `y` is right."""

    def decode(self, x: Any, w: FloatVector, y: Any = None) -> Any:
        """The output with the highest ⟨w, φ(x, ŷ)⟩, plus error(y, ŷ) when the gold `y` is given."""


class CustomExamples:
    """Training examples of a user's structure. Decoding holds the interpreter lock: only processes can share it.

    They are not made of parts (`structures.parts`), because the user's methods take whole outputs.

    `n_weights` is the length of w if earlier data have already fixed it.
    """

    structure: Any
    """The user's `CustomStructure`, with any of the optional methods."""

    work = None

    def __init__(
        self, structure: CustomStructure, X: Sequence[Any], y: Sequence[Any] | None = None, n_weights: int | None = None
    ) -> None:
        if y is not None and len(X) != len(y):
            raise DataError(f"there are {len(X)} inputs, but {len(y)} outputs")
        self.structure, self.X, self.y = structure, X, y
        self.n_examples = len(X)
        self.exact = bool(getattr(structure, "exact", True))
        self.releases_gil = bool(getattr(structure, "releases_gil", False))
        gold = [_sparse(structure.features(x, output), f"example {i}") for i, (x, output) in enumerate(self._pairs())]
        self._gold = [vector for vector, _ in gold]
        largest = max((size for _, size in gold), default=0)
        self.n_weights = int(getattr(structure, "n_weights", largest) if n_weights is None else n_weights)
        self._check_size(largest, "the gold outputs")

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> list[Any]:
        """The user's decoder on every example; argmax ⟨w, φ⟩ + s·Δ is argmax ⟨w/s, φ⟩ + Δ."""
        scales = per_example(error_scale, batch).tolist()
        if self.y is None or not any(scales):
            return [self.structure.decode(self.X[i], w) for i in batch]
        scaled = {scale: w if scale == 1.0 else w / scale for scale in set(scales) if scale}
        return [
            self.structure.decode(self.X[i], scaled[scale], self.y[i]) if scale else self.structure.decode(self.X[i], w)
            for i, scale in zip(batch, scales, strict=True)
        ]

    def difference(self, batch: IntVector, outputs: Sequence[Any]) -> Differences:
        """Errors and feature differences of the decoded outputs."""
        assert self.y is not None, "without gold outputs there is nothing to differ from"
        errors, parts = np.empty(len(batch)), []
        for k, (i, output) in enumerate(zip(batch.tolist(), outputs, strict=True)):
            errors[k] = self.structure.error(self.y[i], output)
            if not (np.isfinite(errors[k]) and errors[k] >= 0):
                raise DataError(f"error() of example {i} is {errors[k]}; an error is finite and not negative")
            parts.append(self._psi(i, output))
        return Differences(errors, as_rows(parts))

    def support(self, batch: IntVector) -> LongMatrix:
        """A user's decoder may read any weight."""
        return np.array([[0, self.n_weights]], dtype=np.int64)

    def _psi(self, i: int, output: Any) -> SparseVector:
        (indices, values), size = _sparse(self.structure.features(self.X[i], output), f"example {i}")
        self._check_size(size, f"example {i}")
        gold_indices, gold_values = self._gold[i]
        return summed(np.concatenate([gold_indices, indices]), np.concatenate([gold_values, -values]))

    def _pairs(self) -> Sequence[tuple[Any, Any]]:
        return [] if self.y is None else list(zip(self.X, self.y, strict=True))

    def _check_size(self, needed: int, where: str) -> None:
        if needed > self.n_weights:
            raise DataError(
                f"features() of {where} uses the index {needed - 1}, but there are {self.n_weights} weights; "
                "set n_weights on the structure to the number of all features there can be"
            )


def as_rows(vectors: Sequence[SparseVector]) -> Rows:
    """Sparse vectors as compressed rows."""
    return Rows(
        boundaries(len(indices) for indices, _ in vectors),
        np.concatenate([np.empty(0, dtype=np.int32), *(indices for indices, _ in vectors)]),
        np.concatenate([np.empty(0), *(values for _, values in vectors)]),
    )


def _sparse(features: Any, where: str) -> tuple[SparseVector, int]:
    """φ, in any of its forms, as distinct ascending indices with values, and the number of weights that it needs."""
    try:
        if isinstance(features, Mapping):
            raw_indices, raw_values = np.array(list(features)), np.array(list(features.values()), dtype=np.float64)
        elif isinstance(features, tuple) and len(features) == 2:
            raw_indices, raw_values = np.asarray(features[0]), np.asarray(features[1], dtype=np.float64)
        else:
            raw_values = np.asarray(features, dtype=np.float64)
            raw_indices = np.arange(raw_values.size)
    except (TypeError, ValueError):
        raise DataError(f"features() of {where} has values that are not numbers") from None
    if raw_indices.ndim != 1 or raw_indices.shape != raw_values.shape:
        raise DataError(f"features() of {where} must be a dict, a pair of two equally long lists, or a vector")
    if raw_indices.size and (raw_indices.dtype.kind not in "iu" or raw_indices.min() < 0):
        raise DataError(f"features() of {where} has indices that are not whole numbers from 0 on")
    if raw_indices.size and raw_indices.max() > np.iinfo(np.int32).max:
        raise DataError(f"features() of {where} uses the index {raw_indices.max()}; indices must be below 2³¹")
    if not np.isfinite(raw_values).all():
        raise DataError(f"features() of {where} has a value that is not finite")
    size = int(raw_indices.max()) + 1 if raw_indices.size else 0
    return summed(raw_indices.astype(np.int32), raw_values), size


def summed(indices: IntVector, values: FloatVector) -> SparseVector:
    """Entries with the same index summed, zeros dropped, in ascending order."""
    distinct, place = np.unique(indices, return_inverse=True)
    sums = np.bincount(place, weights=values, minlength=len(distinct))
    return distinct[sums != 0].astype(np.int32), sums[sums != 0]


class _OfPairs:
    """A latent structure as one whose outputs are pairs (y, h)."""

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.exact = bool(getattr(structure, "exact", True))
        self.releases_gil = bool(getattr(structure, "releases_gil", False))

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


class PositionalExamples(CustomExamples):
    """Examples of a structure whose decoder can be told where to be wrong (`core.examples.Positions`)."""

    @cached_property
    def n_positions(self) -> LongVector:
        """The number of positions of each example."""
        return np.fromiter((len(self._position_errors(gold, gold)) for _, gold in self._pairs()), dtype=np.int64)

    @property
    def exact_violators(self) -> bool:
        """Whether `violators` are proven to be the worst."""
        # The best output that is wrong at c is the worst violator if all outputs wrong at c have the same L_c, as when
        # wrong positions are counted. With the user's own errors, or errors of whole outputs, another may cost more.
        return not hasattr(self.structure, "position_errors") and all(_is_sequence(gold) for _, gold in self._pairs())

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """The worst outputs that are wrong at each position."""
        errors, wrong, outputs = [], [], []
        for i in batch.tolist():
            for error, output in self._worst(i, w):
                errors.append(error)
                if error > 0:
                    wrong.append(i)
                    outputs.append(output)
        psi = self.difference(np.array(wrong, dtype=np.int32), outputs).psi
        return at_positions(np.array(errors, dtype=np.float64), psi)

    def _worst(self, i: int, w: FloatVector) -> Iterable[tuple[float, Any]]:
        """For each position c of example i: L_c, or 0 without a violator, and the best output that is wrong there."""
        assert self.y is not None, "without gold outputs nothing is wrong"
        x, gold, structure = self.X[i], self.y[i], self.structure
        best = structure.decode(x, w)
        errors = self._position_errors(gold, best)
        for c in range(self.n_positions[i]):
            output, error = best, errors[c]
            if not error:
                output = structure.decode(x, w, gold, wrong_at=c)
                error = self._position_errors(gold, output)[c]
            yield (error if self._distance(i, output, w) < 1.0 else 0.0), output

    def _distance(self, i: int, output: Any, w: FloatVector) -> float:
        """⟨w, ψ⟩."""
        indices, values = self._psi(i, output)
        return inner(values, w[indices])

    def _position_errors(self, gold: Any, output: Any) -> Sequence[float]:
        if hasattr(self.structure, "position_errors"):
            errors: Sequence[float] = self.structure.position_errors(gold, output)
            return errors
        if not _is_sequence(gold):
            return [self.structure.error(gold, output)]
        if len(gold) != len(output):
            raise DataError(
                f"outputs of {len(gold)} and of {len(output)} positions cannot be compared position by position; "
                "give the structure a method position_errors(y, y_hat)"
            )
        return [float(one != other) for one, other in zip(gold, output, strict=True)]


def _is_sequence(output: Any) -> bool:
    """Whether an output has positions that can be compared; a text is one position."""
    return isinstance(output, Sequence | np.ndarray) and not isinstance(output, str)


class EnumeratedExamples(PositionalExamples):
    """Examples of a structure that lists all its outputs; every search looks at each of them."""

    @property
    def exact_violators(self) -> bool:
        """True: all outputs are looked at."""
        return True

    def decode_best(
        self, w: FloatVector, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, list[Any]]:
        """The `k` best outputs of each example (`core.examples.KBest`)."""
        repeated, best = [], []
        for i, scale in zip(batch.tolist(), per_example(error_scale, batch).tolist(), strict=True):
            outputs, errors, distances = self._all(i, w)
            for place in np.argsort(distances - scale * errors, kind="stable")[:k]:
                repeated.append(i)
                best.append(outputs[place])
        return np.array(repeated, dtype=np.int32), best

    def decode_slack(self, w: FloatVector, batch: IntVector) -> list[Any]:
        """The worst outputs under slack scaling (`core.examples.ErrorCounts`)."""
        assert self.y is not None, "without gold outputs nothing is wrong"
        worst = []
        for i in batch.tolist():
            outputs, errors, distances = self._all(i, w)
            values = errors * (1.0 - distances)
            worst.append(outputs[int(np.argmax(values))] if np.max(values) > 0 else self.y[i])
        return worst

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """−log p(gold) and φ(x, gold) − E[φ(x, y)], by summing over all outputs (`core.examples.Marginals`)."""
        losses, rows = np.empty(len(batch)), []
        for k, i in enumerate(batch.tolist()):
            outputs, errors, distances = self._all(i, w)
            scores = error_scale * errors - distances
            weights = np.exp(scores - scores.max())
            losses[k] = max(float(scores.max() + np.log(weights.sum())), 0.0)
            parts = [self._psi(i, output) for output in outputs]
            values = [p * psi for p, (_, psi) in zip(weights / weights.sum(), parts, strict=True)]
            rows.append(summed(np.concatenate([indices for indices, _ in parts]), np.concatenate(values)))
        return Differences(losses, as_rows(rows))

    def _worst(self, i: int, w: FloatVector) -> Iterable[tuple[float, Any]]:
        assert self.y is not None, "without gold outputs nothing is wrong"
        outputs, _, distances = self._all(i, w)
        by_position = np.array([self._position_errors(self.y[i], output) for output in outputs]).T
        for errors in by_position:
            values = errors * (1.0 - distances)
            place = int(np.argmax(values))
            yield (float(errors[place]) if values[place] > 0 else 0.0), outputs[place]

    def _all(self, i: int, w: FloatVector) -> tuple[list[Any], FloatVector, FloatVector]:
        """All outputs of example i, their Δ, and their ⟨w, ψ⟩."""
        outputs = list(self.structure.outputs(self.X[i]))
        assert self.y is not None, "without gold outputs nothing is wrong"
        errors = np.array([self.structure.error(self.y[i], output) for output in outputs], dtype=np.float64)
        return outputs, errors, np.array([self._distance(i, output, w) for output in outputs])


def custom_examples(
    structure: CustomStructure, X: Sequence[Any], y: Sequence[Any] | None = None, n_weights: int | None = None
) -> CustomExamples:
    """Training examples of a user's structure, with all abilities that its methods allow."""
    kind = CustomExamples
    if hasattr(structure, "complete"):
        kind = LatentCustomExamples
    elif hasattr(structure, "outputs"):
        kind = EnumeratedExamples
    elif "wrong_at" in inspect.signature(structure.decode).parameters:
        kind = PositionalExamples
    return kind(structure, X, y, n_weights)
