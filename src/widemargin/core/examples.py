"""What a structure offers to the rest of the library: training examples compiled to arrays, which can be decoded.

Structures decode; they know no objective and no solver. Everything they return for a batch is in the batch's order and
does not depend on how the batch is split, so that callers may divide it among threads.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Rows
from widemargin.errors import UnsupportedError

MOST_PARTS = 20  # costs that are exact only in smaller parts of 1 are too many different ones to count by

Outputs: TypeAlias = Any
"""Decoded outputs of a batch, in a form that only their structure looks into."""


Scale: TypeAlias = float | FloatVector
"""How much errors count in decoding: one number for all, or one for each example of a batch."""


def per_example(scale: Scale, batch: IntVector) -> FloatVector:
    """One number for each example of the batch."""
    scales: FloatVector = np.empty(len(batch))
    scales[:] = scale
    return scales


class Differences(NamedTuple):
    """How outputs differ from gold: Δ_i(ŷ) per example and ψ_i(ŷ) = φ(x_i, y_i) − φ(x_i, ŷ), entries coalesced."""

    errors: FloatVector
    psi: Rows


def at_positions(errors: FloatVector, psi: Rows) -> Differences:
    """The violators of positions: `psi` has a row for those whose error is not 0, the result a row for each."""
    indptr = np.zeros(len(errors) + 1, dtype=np.int64)
    indptr[1:][errors > 0] = np.diff(psi.indptr)
    return Differences(errors, psi._replace(indptr=np.cumsum(indptr)))


def whole_costs(costs: FloatMatrix) -> tuple[IntMatrix, float]:
    """Costs as whole multiples of a unit, and the unit.

    >>> whole_costs(np.array([0.0, 0.5, 2.0]))
    (array([0, 1, 4], dtype=int32), 0.5)
    """
    for parts in range(1, MOST_PARTS + 1):
        whole = np.rint(costs * parts)
        if np.allclose(whole, costs * parts, rtol=0.0, atol=1e-9):
            return whole.astype(np.int32), 1.0 / parts
    raise UnsupportedError(
        f"exact slack scaling counts errors: their costs must be multiples of 1/{MOST_PARTS} or some larger part; "
        "round them, or take the objective approximate-slack"
    )


class Examples(Protocol):
    """Training examples of one structure."""

    @property
    def n_examples(self) -> int:
        """How many examples there are."""

    @property
    def n_weights(self) -> int:
        """The length of the weight vector w."""

    @property
    def exact(self) -> bool:
        """Whether `decode` finds the true maximum, so that a duality gap is a proof."""

    @property
    def work(self) -> FloatVector | None:
        """About how many microseconds decoding each example takes; None when it holds the interpreter."""

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> Outputs:
        """argmax_y ⟨w, φ(x_i, y)⟩ + error_scale · Δ_i(y) for every example i of the batch."""

    def difference(self, batch: IntVector, outputs: Outputs) -> Differences:
        """Errors and feature differences of the batch's `outputs` against gold."""

    def support(self, batch: IntVector) -> LongMatrix:
        """Runs [begin, end) of weights, without overlap, a row each: all that decoding the batch reads."""


# What a structure may be able to do besides; solvers and objectives name what they require.


@runtime_checkable
class KBest(Protocol):
    """Examples that can be decoded to several outputs each."""

    def decode_best(
        self, w: FloatVector, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, Outputs]:
        """The `k` best outputs of every example, best first; fewer where there are no more.

        Returns the batch with each example repeated once per output, and the outputs of that longer batch.
        """


@runtime_checkable
class Listed(Protocol):
    """Examples whose decoded outputs can be listed, so that users see them (`widemargin.StructuredPredictor`)."""

    def listed(self, outputs: Outputs) -> list[Any]:
        """The decoded outputs of a batch as users want them, one per example."""


@runtime_checkable
class HullSearch(Protocol):
    """Examples that find the worst output that decoding can find, with features summed up but once."""

    def decode_hull(self, w: FloatVector, batch: IntVector, most_decodes: int) -> tuple[Outputs, LongVector]:
        """Of argmax −⟨w, ψ⟩ + λ Δ over y ≠ y_i, for all λ, that with the largest Δ(1 − ⟨w, ψ⟩); gold if none is > 0.

        The second array says how many decodes each example has taken. The search is that of `decoders.hull`.
        """


@runtime_checkable
class Marginals(Protocol):
    """Examples whose outputs can be summed over."""

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """Under p(y) ∝ exp(⟨w, φ(x_i, y)⟩ + error_scale · Δ_i(y)): how outputs differ from gold on average.

        `errors` holds −log p(y_i) ≥ 0 of the gold outputs, `psi` holds φ(x_i, y_i) − E[φ(x_i, y)].
        """


@runtime_checkable
class ErrorCounts(Protocol):
    """Examples whose outputs can be searched by how many errors they have."""

    def decode_slack(self, w: FloatVector, batch: IntVector) -> Outputs:
        """argmax_y Δ_i(y) (1 − ⟨w, ψ_i(y)⟩): the worst output under slack scaling; gold where none is above 0."""


@runtime_checkable
class Positions(Protocol):
    """Examples whose error is a sum over positions, Δ_i(y) = Σ_c L_c(y)."""

    @property
    def n_positions(self) -> LongVector:
        """How many positions each example has."""

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """For each position c of each example, in order: of the outputs wrong there, argmax L_c(y) (1 − ⟨w, ψ(y)⟩).

        `errors` holds L_c of that output and `psi` its ψ; both are zero where no output has a value above 0.
        """
