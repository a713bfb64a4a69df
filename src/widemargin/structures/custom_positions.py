"""Optional methods of a user's structure: for slacks of positions, and for listing all outputs.

Position-wise slacks (`objectives.positions`) expect an output to be a sequence of positions whose error counts the
wrong positions. An optional method `position_errors(y, y_hat)` may return the error of each position instead. An output
that is not a sequence is one position with the error of the whole. In these two cases the best output that is wrong at
a position need not be the worst violator, so nothing is proven unless all outputs are listed.

These slacks need the best output that is wrong at a given position. At each position where the decoder's first answer
is right, the decoder runs again, with one more keyword (Sarawagi & Gupta 2008, §4.3.3),

        def decode(self, x, w, y=None, wrong_at=None): ...     # … with ŷ[wrong_at] ≠ y[wrong_at]

If there are few outputs, `outputs(x)` may list them all, gold included. That gives the k best, exact slack scaling,
position-wise slacks and probabilities for free.
"""

import inspect
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import Differences, Scale, at_positions, per_example
from widemargin.core.products import inner
from widemargin.errors import DataError
from widemargin.structures.custom import CustomExamples, CustomStructure, LatentCustomExamples, as_rows, summed


class PositionalStructure(CustomStructure, Protocol):
    """A structure whose decoder can be told where to be wrong."""

    def decode(self, x: Any, w: FloatVector, y: Any = None, wrong_at: int | None = None) -> Any:
        """As in `CustomStructure`; if `wrong_at` is given, the best output with ŷ[wrong_at] ≠ y[wrong_at]."""


class ListedStructure(CustomStructure, Protocol):
    """A structure with few outputs."""

    def outputs(self, x: Any) -> Iterable[Any]:
        """All outputs of an input."""


class PositionalExamples(CustomExamples):
    """Examples of a structure whose decoder can be told where to be wrong (`core.examples.Positions`)."""

    def __init__(
        self, structure: CustomStructure, X: Sequence[Any], y: Sequence[Any] | None = None, n_weights: int | None = None
    ) -> None:
        super().__init__(structure, X, y, n_weights)
        golds = [output for _, output in self._pairs()]
        self.n_positions = np.fromiter((len(self._position_errors(gold, gold)) for gold in golds), dtype=np.int64)
        # The best output that is wrong at c is the worst violator if all outputs wrong at c have the same L_c, as when
        # wrong positions are counted. With the user's own errors, or errors of whole outputs, another may cost more.
        self.exact_violators = not hasattr(structure, "position_errors") and all(map(_is_sequence, golds))

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
        x, gold = self.X[i], self.y[i]
        structure = cast("PositionalStructure", self.structure)
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

    def __init__(
        self, structure: CustomStructure, X: Sequence[Any], y: Sequence[Any] | None = None, n_weights: int | None = None
    ) -> None:
        super().__init__(structure, X, y, n_weights)
        self.exact_violators = True

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
        outputs = list(cast("ListedStructure", self.structure).outputs(self.X[i]))
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
