"""The interface of structures to the rest of the library: training examples, compiled to arrays, that can be decoded.

Structures decode; they know no objective and no solver. Everything they return for a batch is in the batch's order and
does not depend on how the batch is split, so callers may divide it among threads.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.core.mapped import Pages
from widemargin.core.sparse import Rows
from widemargin.errors import UnsupportedError

MOST_PARTS = 20  # costs in units finer than 1/20 have too many different sums

E = TypeVar("E")

Outputs: TypeAlias = Any
"""Decoded outputs of a batch, in a form that only their structure reads."""


Scale: TypeAlias = float | FloatVector
"""How much errors count in decoding: one number for all, or one for each example of a batch."""


def per_example(scale: Scale, batch: IntVector) -> FloatVector:
    """`scale` as one number for each example of the batch."""
    scales: FloatVector = np.empty(len(batch))
    scales[:] = scale
    return scales


class Differences(NamedTuple):
    """How outputs differ from gold: Δ_i(ŷ) per example and ψ_i(ŷ) = φ(x_i, y_i) − φ(x_i, ŷ), entries coalesced."""

    errors: FloatVector
    psi: Rows


def at_positions(errors: FloatVector, psi: Rows) -> Differences:
    """The violators of all positions, a row each; the given `psi` has rows only for positions with a positive error."""
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
        f"exact slack scaling counts errors, so all costs must be multiples of 1/n for one n up to {MOST_PARTS}; "
        "round them, or use the objective approximate-slack"
    )


BLOCK = 8
"""How many neighbouring weights solvers bring up to date together: those in a line of the processor's cache."""


class Examples(Protocol):
    """Training examples of one structure."""

    @property
    def n_examples(self) -> int:
        """The number of examples."""

    @property
    def n_weights(self) -> int:
        """The length of the weight vector w."""

    @property
    def exact(self) -> bool:
        """Whether `decode` finds the maximum or bounds what it missed (`Bounded`), so that a gap is a proof."""

    @property
    def work(self) -> FloatVector | None:
        """The estimated decoding time of each example in microseconds; None if decoding holds the interpreter lock."""

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> Outputs:
        """argmax_y ⟨w, φ(x_i, y)⟩ + error_scale · Δ_i(y) for every example i of the batch."""

    def difference(self, batch: IntVector, outputs: Outputs) -> Differences:
        """Errors and feature differences of the batch's `outputs` against gold."""

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights that decoding the batch reads, as disjoint runs [begin, end), a row each."""


# Optional abilities of a structure. Solvers and objectives name those they require. Examples with `ErrorCounts`,
# `Positions` or `Marginals` may also have `slack_bytes()`, `violator_bytes()` and `expectation_bytes()`: the most bytes
# that these take for each example. Examples that need too many are refused before training (`core.checks`).


@runtime_checkable
class KBest(Protocol):
    """Examples that can be decoded to several outputs each."""

    def decode_best(
        self, w: FloatVector, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, Outputs]:
        """The `k` best outputs of every example, best first; all of them if there are fewer.

        Returns the batch with each example repeated once per output, and the outputs of that longer batch.
        """


@runtime_checkable
class Bounded(Protocol):
    """Examples whose decoding may be cut short, for example by a time limit, with a bound on what it missed.

    The bound is added to the primal objective, so that a duality gap stays a proof (`core.oracle`).
    """

    def excess(self, batch: IntVector, outputs: Outputs) -> FloatVector:
        """By how much ⟨w, φ⟩ + error_scale · Δ of any output may exceed that of the one that `decode` returned."""


@runtime_checkable
class Listed(Protocol):
    """Examples whose decoded outputs can be listed for users (`widemargin.StructuredPredictor`)."""

    def listed(self, outputs: Outputs) -> list[Any]:
        """The decoded outputs of a batch as users want them, one per example."""


@runtime_checkable
class HullSearch(Protocol):
    """Examples that find the worst output decoding can reach in one search, summing their features only once."""

    def decode_hull(self, w: FloatVector, batch: IntVector, most_decodes: int) -> Outputs:
        """Of argmax −⟨w, ψ⟩ + λ Δ over Δ > 0, for all λ, the one with the largest Δ(1 − ⟨w, ψ⟩); gold if none is > 0.

        The search is that of `decoders.hull`, in at most `most_decodes` decodes an example.
        """


@runtime_checkable
class Scorable(Protocol):
    """Examples that take part scores instead of w, so that searches that decode often sum up features only once."""

    def scored(self, w: FloatVector, batch: IntVector) -> Any:
        """The part scores of the batch, which `decode` and `decode_best` of these examples take instead of w."""

    def pieces(self, batch: IntVector) -> list[IntVector]:
        """The batch in pieces that have few enough part scores to hold."""


@runtime_checkable
class Marginals(Protocol):
    """Examples whose outputs can be summed over."""

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """The expected difference from gold under p(y) ∝ exp(⟨w, φ(x_i, y)⟩ + error_scale · Δ_i(y)).

        `errors` holds −log p(y_i) ≥ 0 of the gold outputs, `psi` holds φ(x_i, y_i) − E[φ(x_i, y)].
        """


class Totals(Protocol):
    """Sums expected differences over all examples of fixed batches, without a row for each example.

    The sums depend on the batches, but neither on the order in which they are visited nor on the threads that do so.
    """

    def visit(self, w: FloatVector, number: int, c: FloatVector) -> FloatVector:
        """−log p(y_i) of the examples of batch `number`; `total` will count each of them c_i times.

        Several threads may visit different batches at once.
        """

    def total(self, n_threads: int) -> FloatVector:
        """Σ_i c_i (φ(x_i, y_i) − E[φ(x_i, y)]) over all batches, each at the w of its last visit."""


@runtime_checkable
class SummedMarginals(Protocol):
    """Examples with `Marginals` that compute sums over many examples faster than one row per example."""

    def totals(self, batches: Sequence[IntVector], error_scale: float) -> Totals | None:
        """The sums over these batches, with p as in `Marginals`; None if these examples do not support it."""


@runtime_checkable
class ErrorCounts(Protocol):
    """Examples whose outputs can be searched by their number of errors."""

    def decode_slack(self, w: FloatVector, batch: IntVector) -> Outputs:
        """argmax_y Δ_i(y) (1 − ⟨w, ψ_i(y)⟩), the worst output under slack scaling; gold if no value is above 0."""


@runtime_checkable
class Positions(Protocol):
    """Examples whose error is a sum over positions, Δ_i(y) = Σ_c L_c(y)."""

    @property
    def n_positions(self) -> LongVector:
        """The number of positions of each example."""

    def violators(self, w: FloatVector, batch: IntVector) -> Differences:
        """argmax L_c(y) (1 − ⟨w, ψ(y)⟩) over the outputs wrong at c, for each position c of each example, in order.

        `errors` holds L_c of that output and `psi` its ψ; both are zero if no output has a value above 0.
        """


@runtime_checkable
class Latent(Protocol):
    """Examples whose gold outputs have a hidden side: outputs are pairs (y, h), but gold gives only y_i.

    A *completion* is a gold output with an h, in the form that `decode` returns. The completions of a batch are a list,
    or an array with one example after the other along its first axis. The error of an output may depend on its ĥ, but
    not on the h of the completion, so every completion has the error 0.
    """

    def complete(self, w: FloatVector, batch: IntVector) -> Outputs:
        """argmax_h ⟨w, φ(x_i, y_i, h)⟩ for every example i of the batch."""

    def completed(self, completions: Outputs) -> Examples:
        """The same examples, each with its completion as the gold output: these are ordinary examples."""

    def guess(self, rng: np.random.Generator) -> Outputs:
        """Completions of all examples at random."""


@runtime_checkable
class LatentMarginals(Protocol):
    """Latent examples that can sum over all completions of gold."""

    def expectation_over_completions(
        self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0
    ) -> Differences:
        """Like `Marginals.expectation`, but for the gold y_i with any h: −log Σ_h p(y_i, h), which is not convex in w.

        `psi` holds E[φ(x_i, y_i, h)] under p(h | y_i) − E[φ(x_i, y, h)].
        """


@runtime_checkable
class FirstCompletions(Protocol):
    """Latent examples with a rule of their own for the completions to start from."""

    def first_completions(self) -> Outputs:
        """Completions of all examples."""


@runtime_checkable
class Uncertain(Protocol):
    """Latent examples that know how uncertain their completions are, for self-paced learning."""

    def uncertainty(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """The entropy of p(h) ∝ exp⟨w, φ(x_i, y_i, h)⟩ for every example i of the batch."""


class Elsewhere(Protocol):
    """Examples that are not in this process, and answer questions where they are (`core.asking`)."""

    def answers(self, question: Any, w: FloatVector, batch: IntVector, look: Callable[[], None]) -> list[Any]:
        """The answers of `question(examples, w, part)` for successive parts of the batch; `look` may raise."""


@runtime_checkable
class OnDisk(Protocol):
    """Examples whose arrays are mapped files; solvers keep their cuts on disk, too."""

    pages: Pages


def on_disk(examples: E, pages: Pages) -> E:
    """These examples, whose arrays are mapped files."""
    vars(examples)["pages"] = pages
    return examples


@runtime_checkable
class Unreachable(Protocol):
    """Examples that know which gold outputs decoding can never return, such as trees with crossing arcs.

    They stay in training: their slack is max(0, max over the outputs that decoding can return), as if gold were one of
    these, so their cuts and certificates are valid. But no weights predict them without an error.
    """

    def unreachable(self) -> Mapping[str, BoolVector]:
        """Maps each reason why gold may be out of reach to the examples that it holds for."""


def count_unreachable(examples: Any) -> dict[str, int]:
    """How many gold outputs decoding can never return, by reason; one with several reasons counts for the first."""
    counts: dict[str, int] = {}
    if isinstance(examples, Unreachable):
        counted: BoolVector | bool = False
        for reason, holds in examples.unreachable().items():
            new = holds & ~np.asarray(counted)
            if new.any():
                counts[reason] = int(new.sum())
            counted = counted | holds
    return counts
