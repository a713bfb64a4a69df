"""Dependency trees: every token has a head, another token or the artificial root, and the arc to it has a label.

    ⟨w, φ(x, y)⟩ = Σ over arcs (h, m, l) of arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)  [+ grandparent(g, h, m)]]

Features are hashed into one table of 2^bits weights (`keys`); with labels they have a weight per label, side by side.
Trees are projective or not, with one root or several. The error counts wrong arcs: those with the wrong head, and those
with the right head and the wrong label, each times its cost. The structure is `structures.dependencies`, the linear map
is `tasks.parse.tree_features`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences, Scale
from widemargin.core.limits import check_memory, check_time
from widemargin.core.sparse import sums
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.arc_costs import ArcCosts
from widemargin.structures.dependencies import KINDS, WITH_GRANDPARENTS, ArcScores, Dependencies, Order
from widemargin.structures.dependency_sums import SummedDependencies, dependencies
from widemargin.structures.examples import PartExamples, Scored, WithBestK, WithPositions, WithSums
from widemargin.structures.parts import Costs, Counts
from widemargin.tasks.parse.crossing import crossing
from widemargin.tasks.parse.keys import STEPS, TreeKeys
from widemargin.tasks.parse.tree_features import TreeFeatures

NANOSECONDS_PROJECTIVE = 0.45
"""Measured: times the cube of the length."""

NANOSECONDS_GRANDSIBLINGS = 0.4
"""Measured: times the fourth power of the length."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The kind of trees, and the layout of the weights.

    Parameters
    ----------
    n_labels : how many labels arcs have
    hash_bits : features share 2^hash_bits weights
    decoder : ``"projective"`` or ``"nonprojective"``
    order : 1; 2 for scores of pairs of siblings; or ``"grandsiblings"`` for those of grandparents as well
    single_root : whether exactly one token is attached to the root
    """

    n_labels: int
    hash_bits: int
    decoder: str = "projective"
    order: Order = 1
    single_root: bool = True

    def __post_init__(self) -> None:
        if (self.decoder, self.order) not in KINDS:
            known = ", ".join(f"{name} of order {order}" for name, order in KINDS)
            raise WidemarginError(f"there is no {self.decoder} decoder of order {self.order}; there are {known}")

    @property
    def siblings(self) -> bool:
        """Whether pairs of siblings are scored."""
        return self.order != 1

    @property
    def grandparents(self) -> bool:
        """Whether grandparents are scored."""
        return self.order == WITH_GRANDPARENTS

    @property
    def n_weights(self) -> int:
        """The length of the weight vector: the table, and room for the last slot's neighbours."""
        return (1 << self.hash_bits) + max(self.n_labels, len(STEPS) + 1)

    @property
    def structure(self) -> Dependencies:
        """The trees on scores of arcs, with sums if there are any."""
        kind = KINDS[self.decoder, self.order]
        return dependencies(self.n_labels, kind, self.single_root)

    def check_lengths(self, lengths: LongVector, source: str) -> None:
        """Raise if a sentence is too long to be parsed."""
        place, size = f"{source}, sentence", (lengths + 1).astype(np.float64)
        if self.decoder == "projective" and self.order == 1:
            check_time(
                NANOSECONDS_PROJECTIVE * 1e-9 * size**3,
                "projective parsing, whose time grows with the cube of the length",
                "Split the sentence, or train a model with the decoder nonprojective, whose time grows with the square",
                place,
            )
        if self.grandparents:
            check_time(
                NANOSECONDS_GRANDSIBLINGS * 1e-9 * size**4,
                "parsing with grandparents, whose time grows with the fourth power of the length",
                "Split the sentence, or train a model of order 2",
                place,
            )
        # Scores and labels of arcs and three tables for decoding; the scores of siblings; those of grandparents and
        # three tables for decoding.
        triples = 0.0 if not self.siblings else (5.0 if self.grandparents else 1.0)
        needed = 36.0 * size**2 + 8.0 * triples * size**3
        power = "cube" if self.siblings else "square"
        advice = "Split the sentence" + (", or train a model of order 1" if self.siblings else "")
        check_memory(needed, f"parsing, whose memory grows with the {power} of the length", advice, place)


class TreeExamples(WithBestK, WithPositions):
    """Sentences with their gold trees (or without, for prediction only), compiled to arrays.

    Outputs have a code for each token, head · n_labels + label.

    Parameters
    ----------
    trees : the kind of trees
    indptr : (n + 1,) where each sentence begins among the tokens
    keys : of the features of arcs
    heads, labels : of the gold arcs; a head is 0 for the root, else the number of a token in its sentence, from 1
    head_cost, label_cost : of a wrong head, and of a wrong label at the right head, which may not cost more
    source : where the sentences come from, for error messages
    """

    features: TreeFeatures

    def __init__(
        self,
        trees: Trees,
        indptr: LongVector,
        keys: TreeKeys,
        heads: IntVector | None = None,
        labels: IntVector | None = None,
        *,
        head_cost: float = 1.0,
        label_cost: float = 1.0,
        source: str = "input",
    ) -> None:
        if not 0.0 <= label_cost <= head_cost or head_cost == 0.0:
            raise WidemarginError(
                f"a wrong label costs {label_cost:g} and a wrong head {head_cost:g}; both must be at least 0, and the "
                "wrong head must cost something, and not less than the label"
            )
        lengths = np.diff(indptr)
        trees.check_lengths(lengths, source)
        self.trees, self.heads = trees, np.empty(0, dtype=np.int32) if heads is None else heads
        gold = self._checked(lengths, labels)
        costs = ArcCosts(indptr, gold, trees.n_labels, np.array([head_cost, label_cost], dtype=np.float64))
        features = TreeFeatures(
            indptr, keys, trees.hash_bits, trees.n_labels, trees.n_weights, self.heads, _microseconds(trees, lengths)
        )
        features.check()
        super().__init__(trees.structure, features, costs, gold)
        # Only the best labels of arcs are kept where no other is asked for: that takes less time than to write them.
        self._folded = PartExamples(replace(self.structure, folded=True), features, costs, gold)

    def _checked(self, lengths: LongVector, labels: IntVector | None) -> IntVector:
        """The codes of the gold arcs; raise unless every index is within bounds: kernels do not check."""
        heads, n_labels, n_tokens = self.heads, self.trees.n_labels, int(lengths.sum())
        if not len(heads):
            return heads
        if len(heads) != n_tokens or np.any((heads < 0) | (heads > np.repeat(lengths, lengths))):
            raise DataError("heads must be token numbers in their sentences, or 0, for each token")
        if labels is None or len(labels) != n_tokens or np.any((labels < 0) | (labels >= n_labels)):
            raise DataError(f"labels must be numbers from 0 to {n_labels - 1} for each token")
        codes: IntVector = heads * np.int32(n_labels) + labels
        return codes

    def decode(self, w: Any, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """The best trees of the batch, end to end."""
        if isinstance(w, Scored):
            return super().decode(w, batch, error_scale=error_scale)
        return self._folded.decode(w, batch, error_scale=error_scale)

    def arc_scores(self, w: FloatVector, i: int) -> ArcScores:
        """The part scores of one sentence, folded."""
        return self._folded.scored(w, np.array([i], dtype=np.int32)).scores

    def unreachable(self) -> dict[str, BoolVector]:
        """The gold trees that decoding cannot return (`core.examples.Unreachable`)."""
        heads, indptr, trees = self.heads, self.features.data.indptr, self.trees
        if not len(heads):
            return {}
        reasons = {}
        if trees.decoder == "projective":
            reasons["crossing arcs"] = crossing(indptr, heads)
        if trees.single_root:
            reasons["more than one root"] = sums(heads == 0, indptr) > 1
        return reasons


class SummedTreeExamples(WithSums, TreeExamples):
    """Sentences with sums over all of their trees.

    Gold trees that decoding cannot return, those `beyond`, count as one output more: with Z the sum over all others,

        −log p(gold) = log(1 + Z / exp(score of gold)),   φ(gold) − E[φ] = (1 − p(gold)) (φ(gold) − E[φ | not gold])
    """

    structure: SummedDependencies

    def losses(
        self, w: Any, batch: IntVector, error_scale: float, costs: Costs | None = None
    ) -> tuple[FloatVector, Counts]:
        """−log p of the gold trees, and z(gold) − E[z]."""
        scores, gold = self._scores(w, batch, np.full(len(batch), error_scale), costs), self.gold_of(batch)
        total = self.structure.total(scores, gold)
        log_z, counts = self.structure.sums(scores, over=True)
        losses, beyond = np.maximum(log_z - total, 0.0), np.flatnonzero(self._beyond[batch])
        losses[beyond] = np.logaddexp(log_z[beyond] - total[beyond], 0.0)
        counts = self.structure.residual(counts, gold)
        for k in beyond.tolist():
            factor, size = -np.expm1(-losses[k]), int(counts.widths[k])
            counts.arcs[counts.starts[k] :][: size**2] *= factor
            counts.labels[counts.starts[k] :][: size**2] *= factor
            counts.siblings[counts.triples[k] :][: size**3] *= factor
        return losses, counts

    def _expected(self, w: Any, batch: IntVector, error_scale: float, costs: Costs) -> Differences:
        losses = []

        def counted() -> Iterator[tuple[IntVector, Counts]]:
            for piece in self.pieces(batch):
                loss, counts = self.losses(w, piece, error_scale, costs)
                losses.append(loss)
                yield piece, counts

        psi = self.features.gather_pieces(batch, counted())
        return Differences(np.concatenate(losses), psi)

    def labelled(self, w: FloatVector, i: int) -> FloatMatrix:
        """(n + 1, n + 1, labels) the probabilities of the arcs of one sentence with all labels, by head, then token."""
        scores = self.scored(w, np.array([i], dtype=np.int32)).scores
        size = int(self.lengths[i]) + 1
        return self.structure.own(self.structure.sums(scores, over=True).counts).reshape(size, size, -1)

    def expectation_bytes(self) -> FloatVector:
        """What `expectation` may take: sums over all trees, and the entries of ψ."""
        entries = self.features.most_expected()
        return BYTES_PER_ENTRY * np.minimum(entries, self.n_weights) + 4.0 * entries + self.sum_bytes()

    def sum_bytes(self) -> FloatVector:
        """What sums over all trees take: the shares of all labels, seven tables of arcs and three of siblings."""
        size = self.lengths + 1.0
        return 8.0 * ((self.trees.n_labels + 7.0) * size**2 + (3.0 * size**3 if self.trees.siblings else 0.0))

    @cached_property
    def _beyond(self) -> BoolVector:
        beyond = np.zeros(self.n_examples, dtype=np.bool_)
        for holds in self.unreachable().values():
            beyond |= holds
        return beyond


def tree_examples(trees: Trees, *parts: Any, **options: Any) -> TreeExamples:
    """Examples of this kind of trees, with sums if there are any; the arguments are those of `TreeExamples`."""
    return (TreeExamples if trees.grandparents else SummedTreeExamples)(trees, *parts, **options)


def _microseconds(trees: Trees, lengths: LongVector) -> FloatVector:
    """Measured: about half a microsecond an arc, 20 nanoseconds a pair of siblings, and 30 a chain of two arcs."""
    work: FloatVector = 0.5 * lengths * (lengths + 1.0)
    if trees.siblings:
        work += 0.02 * lengths**3
    if trees.grandparents:
        work += 0.03 * lengths**3 + 1e-3 * NANOSECONDS_GRANDSIBLINGS * lengths**4.0
    return work
