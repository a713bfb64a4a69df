"""The layer of parts: a structure numbers the parts of outputs, features score parts, costs are errors of parts.

    x ──features──▶ part scores ──structure──▶ output = a set of part numbers
    w ──────────────┘        ◀──gather── coefficients of parts (gold − output, gold − expected) ──▶ ψ, a sparse row

An output y of example i is a 0/1 vector z(y) over the numbers 0 … m_i − 1 of its parts. Its score is ⟨θ, z(y)⟩ with
θ = F_i w, its error ⟨c_i, z(y)⟩. Parts that all examples score alike, such as pairs of neighbouring labels, are stored
once and counted.

`Scores` are the θ of a batch, one flat vector (`structures.flat`). Outputs are laid end to end, in the order of the
examples; each structure has its own form of outputs.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from widemargin._types import FloatMatrix, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Outputs
from widemargin.core.sparse import Rows
from widemargin.structures.flat import Counts, Numbers, Parts, Scores


class Sums(NamedTuple):
    """log Σ_y exp(score(y)) of each example, and the expected counts of its parts under p(y) ∝ exp(score(y))."""

    log_z: FloatVector
    counts: Counts


class Best(NamedTuple):
    """The k best outputs: how many each example has, at most k; the scores of all; the outputs of all, end to end."""

    counts: IntVector
    totals: FloatVector
    outputs: Outputs


class Structure(Protocol):
    """The outputs of examples, and the best of them by part scores. No method changes the scores that it is given.

    Every structure has these methods. Many also have some of `Abilities`, and their examples offer what follows from
    them (`structures.examples`).
    """

    def n_own(self, sizes: LongVector) -> LongVector:
        """How many parts of its own an example of each size has."""

    def lengths(self, sizes: LongVector) -> LongVector:
        """How many entries the output of an example of each size has."""

    def best(self, scores: Scores) -> Outputs:
        """argmax_y ⟨θ, z(y)⟩ of each example."""

    def parts(self, sizes: LongVector, outputs: Outputs) -> Numbers:
        """The numbers of the parts of an output of each example: where z(y) is 1."""


class Abilities(Structure, Protocol):
    """Everything that a structure may be able to do. Each ability is optional by itself.

    `sums` needs `own`, `worst` needs `counts_errors` and `worst_bytes`, and `violators` needs `positions`.
    """

    counts_errors: ClassVar[bool]
    """Whether `worst` counts errors, so that costs must be whole multiples of a unit."""

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best outputs of each example, best first; all of them if there are fewer."""

    def sums(self, scores: Scores) -> Sums:
        """log Z and expected counts of each example."""

    def own(self, counts: Counts) -> FloatMatrix:
        """The counts of the parts that are not shared, in the layout of `through`."""

    def sample(self, scores: Scores, n: int, rng: np.random.Generator) -> Outputs:
        """`n` rows of outputs, each one draw of every example from p(y) ∝ exp(score(y))."""

    def worst(self, scores: Scores, costs: Scores, unit: float, gold: Outputs) -> Outputs:
        """argmax_y Δ(y)(1 + ⟨θ, z(y) − z(gold)⟩), gold if none is above 0; costs may have to be multiples of `unit`."""

    def worst_bytes(self, sizes: LongVector, most: FloatVector) -> FloatVector:
        """The memory of `worst` for examples of these sizes whose outputs have at most `most` units of errors."""

    def hull(self, scores: Scores, costs: Scores, gold: Outputs, most_decodes: int) -> Outputs:
        """As `worst`, but only among the argmax of ⟨θ + λc, z(y)⟩ for at most `most_decodes` λ (`decoders.hull`)."""

    def through(self, scores: Scores) -> FloatMatrix:
        """For each part that is not shared, the score of the best output that has it: max-marginals."""

    def positions(self, sizes: LongVector) -> LongVector:
        """How many positions an example of each size has, if errors are sums over positions."""

    def violators(self, scores: Scores, costs: Scores, gold: Outputs) -> tuple[FloatVector, Outputs]:
        """argmax L_c(y)(1 + ⟨θ, z(y) − z(gold)⟩) over the outputs wrong at c, for each position c of each example.

        The first array holds L_c, or 0 if no output has a value above 0; the second the outputs of all other positions.
        """


class Features(Protocol):
    """θ = F w: the linear map from weights to part scores, and its transpose. It does not decode."""

    @property
    def n_weights(self) -> int:
        """The length of w."""

    @property
    def sizes(self) -> LongVector:
        """How large each example is."""

    @property
    def work(self) -> FloatVector | None:
        """The estimated decoding time of each example in microseconds (`core.examples.Examples`)."""

    def scores(self, w: Any, batch: IntVector, room: Any) -> Any:
        """Add F_i w to each example's scores in `room`, which hold costs or zeros, and fill in the shared scores."""

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """F_iᵀ z for sparse coefficients z, a row for each example, coalesced."""

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights that the scores of the batch read, as disjoint runs [begin, end), a row each."""


class AllFeatures(Features, Protocol):
    """Features for structures with positions, which need `most_entries`, and with sums, which need `gather_counts`."""

    def most_entries(self) -> FloatVector:
        """The most entries that Fᵀ(z(gold) − z(y)) may have for each example."""

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """F_iᵀ z for a coefficient of every part."""

    def summed(self, batches: Sequence[IntVector]) -> "Summed | None":
        """An accumulator of Σ_i c_i F_iᵀ z_i over all examples of these batches; None, or no method, if rows do."""


class Summed(Protocol):
    """Σ_i c_i F_iᵀ z_i over all examples of fixed batches, independent of which thread adds which batch."""

    def put(self, number: int, counts: Counts, c: FloatVector) -> None:
        """Replace c_i z_i of the examples of batch `number`."""

    def total(self, n_threads: int) -> FloatVector:
        """The sum over all batches."""


class Costs(Protocol):
    """Errors as costs of parts: Δ(y) = ⟨c_i, z(y)⟩, plus a constant of the example in some tasks."""

    def fill(self, batch: IntVector, scales: FloatVector, room: Any) -> None:
        """Write each example's costs, times its scale, over the scores of its own parts; zeros if the scale is 0."""

    def errors(self, batch: IntVector, outputs: Outputs) -> FloatVector:
        """Δ of the batch's outputs."""


class CountableCosts(Costs, Protocol):
    """Costs of structures that find the worst output."""

    def whole(self) -> "tuple[CountableCosts, float]":
        """The costs as whole multiples of a unit, and the unit; raise if there is none."""

    def most(self) -> FloatVector:
        """An upper bound of the error of any output, for each example."""
