"""Dependency trees: every token has a head, another token or the artificial root, and the arc to it has a label.

    ⟨w, φ(x, y)⟩ = Σ over arcs (h, m, l) of arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)  [+ grandparent(g, h, m)]]

Features are hashed into one table of 2^bits weights (`features`); those with labels have a weight for each, side by
side. Trees are projective or not, with one root or several. The error is the sum of costs of wrong arcs: one cost for a
wrong head, another for the right head with a wrong label. The structure is `structures.dependencies`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.checks import check_memory, check_time
from widemargin.core.examples import Scale, per_example
from widemargin.core.sparse import Rows, sums
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.costs import ArcCosts
from widemargin.structures.dependencies import (
    KINDS,
    WITH_GRANDPARENTS,
    Dependencies,
    Order,
    Sentence,
    SummedDependencies,
    dependencies,
    sentence_of,
)
from widemargin.structures.examples import MOST_SUMMED, Scored, WithBestK, WithPositions, WithSums, slices
from widemargin.structures.flat import NOTHING, Counts, Parts, Scores
from widemargin.structures.hashed import NOWHERE, HashedFeatures, Sink
from widemargin.structures.parts import Costs
from widemargin.tasks.parse.features import (
    ARC,
    BETWEEN,
    GRANDPARENT,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    STEPS,
    TreeData,
    TreeKeys,
)
from widemargin.tasks.parse.scores import add_scores, gather, visit

NANOSECONDS_PROJECTIVE = 0.45
"""Measured decoding time, divided by the cube of the length."""

NANOSECONDS_GRANDSIBLINGS = 0.4
"""Measured decoding time, divided by the fourth power of the length."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The kind of trees, and the layout of the weights.

    Parameters
    ----------
    n_labels : how many labels arcs have
    hash_bits : features share 2^hash_bits weights
    decoder : ``"projective"`` or ``"nonprojective"``
    order : 1 scores arcs; 2 scores pairs of siblings, too; ``"grandsiblings"`` also scores grandparents
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
        """The length of the weight vector: the table, and room for the weights that follow the last slot."""
        return (1 << self.hash_bits) + max(self.n_labels, len(STEPS) + 1)

    @property
    def structure(self) -> Dependencies:
        """The structure that decodes these trees, and sums over them if it can."""
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
        # Arcs: scores, labels and three tables for decoding. Siblings: scores. Grandparents: scores and three tables.
        triples = 0.0 if not self.siblings else (5.0 if self.grandparents else 1.0)
        needed = 36.0 * size**2 + 8.0 * triples * size**3
        power = "cube" if self.siblings else "square"
        advice = "Split the sentence" + (", or train a model of order 1" if self.siblings else "")
        check_memory(needed, f"parsing, whose memory grows with the {power} of the length", advice, place)


class TreeFeatures(HashedFeatures):
    """The features of sentences (`structures.parts.Features`), whose tokens begin at `indptr`.

    The sizes of feature differences are estimated from the gold `heads`, if there are any.
    """

    def __init__(self, trees: Trees, indptr: LongVector, keys: TreeKeys, heads: IntVector) -> None:
        super().__init__(np.diff(indptr), trees.n_weights, trees.n_labels)
        self._structure, self.heads, self._groups = trees.structure, heads, np.diff(keys.edges)
        n_triples = self._structure.n_triples
        self.data = TreeData(indptr, keys, (1 << trees.hash_bits) - 1, trees.n_labels, n_triples)
        self.work: FloatVector | None = _microseconds(trees, self.sizes)

    def check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        n_tokens = int(self.data.indptr[-1])
        for role in ("head", "modifier", "other"):
            rows = len(getattr(self.data.keys, role))
            if rows != n_tokens + 1:
                raise DataError(f"{n_tokens} tokens and the root need a row of keys each; there are {rows} as {role}")

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features."""
        add_scores(self.data, w, batch, room, NOWHERE, NOTHING, NOTHING, NOWHERE)
        return room

    def best_labels(
        self, w: FloatVector, batch: IntVector, costs: ArcCosts, scales: FloatVector, room: Scores
    ) -> IntVector:
        """Write to `room` the score of each arc with its best label, costs included; return these labels.

        Each sentence has (n + 1)² labels, by head, then by modifier. Storing the scores of all labels takes longer.
        """
        labels = np.empty(((self.sizes[batch] + 1) ** 2).sum(), dtype=np.int32)
        add_scores(self.data, w, batch, room, costs.gold, costs.costs, scales, labels)
        return labels

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return gather(self.data, batch, parts)

    def visit(self, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
        """Add the features of all arcs with all labels, and of all triples."""
        visit(self.data, batch, counts, sink, psi)

    def n_parts(self, batch: IntVector) -> LongVector:
        """How many parts each sentence has."""
        return self._structure.n_own(self.sizes[batch])

    def most_entries(self) -> FloatVector:
        """The entries of ψ of each sentence if all heads are wrong, and arcs half as long as they can be."""
        indptr, sizes, groups = self.data.indptr, self.sizes, self._groups
        tokens = np.arange(1, len(self.heads) + 1) - np.repeat(indptr[:-1], sizes)
        apart = sums(np.abs(self.heads - tokens), indptr) + 0.5 * sizes**2
        of_tokens = 4.0 * (groups[ARC] + groups[SIBLING] + groups[GRANDPARENT])
        of_tokens += 2.0 * groups[LABEL : LABEL_MODIFIER + 1].sum()
        return sizes * of_tokens + 2.0 * groups[BETWEEN] * apart

    @cached_property
    def places(self) -> tuple[LongVector, LongVector]:
        """Upper bounds for each sentence: how many single weights its features have, and how many runs over labels."""
        n, groups = self.sizes.astype(np.int64), self._groups
        # 2n − 1 − 2j arcs have j tokens between, with at most u distinct values: Σ_j (2n − 1 − 2j) min(j, u).
        column = self.data.keys.other[1:, self.data.keys.edges[BETWEEN] :][:, :1]
        u = np.minimum(len(np.unique(column)), np.maximum(n - 1, 0))
        values = (2 * n - 1) * u * (u + 1) // 2 - u * (u + 1) * (2 * u + 1) // 3 + u * (n - 1 - u) ** 2
        single = 2 * groups[ARC] * n * (n + 1) + 2 * groups[SIBLING] * (n * (n + 1) * (n + 2) // 3)
        single += 2 * groups[BETWEEN] * np.where(n > 0, values, 0) + 2 * groups[GRANDPARENT] * n * n * n
        runs = groups[LABEL] * n * (n + 1) + 3 * (groups[LABEL_HEAD] + groups[LABEL_MODIFIER]) * (n + 1)
        return single, runs


class TreeExamples(WithBestK, WithPositions):
    """Sentences with their gold trees (or without, for prediction only), compiled to arrays.

    Outputs have a code for each token, head · n_labels + label.

    Parameters
    ----------
    trees : the kind of trees
    indptr : (n + 1,) where each sentence begins among the tokens
    keys : the keys of the features of arcs
    heads, labels : the gold arcs; a head is 0 for the root, else the number of a token in its sentence, from 1
    head_cost, label_cost : the costs of a wrong head, and of a wrong label at the right head; the first is not smaller
    source : where the sentences come from, for error messages
    """

    features: TreeFeatures
    costs: ArcCosts
    structure: Dependencies

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
        gold = self._gold_codes(lengths, labels)
        structure, features = trees.structure, TreeFeatures(trees, indptr, keys, self.heads)
        costs = ArcCosts(indptr, gold, structure, np.array([head_cost, label_cost], dtype=np.float64))
        features.check()
        super().__init__(structure, features, costs, gold)

    def _gold_codes(self, lengths: LongVector, labels: IntVector | None) -> IntVector:
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
        """The best trees of the batch, end to end; only the best label of each arc is kept while decoding."""
        if isinstance(w, Scored):
            return super().decode(w, batch, error_scale=error_scale)
        scales, sizes, unlabelled, found = per_example(error_scale, batch), self.sizes[batch], self._unlabelled, []
        for at in slices(unlabelled.n_own(sizes), MOST_SUMMED):
            scores = unlabelled.room(sizes[at])
            labels = self.features.best_labels(w, batch[at], self.costs, scales[at], scores)
            found.append(self.structure.best(scores, labels))
        return np.concatenate(found)

    @cached_property
    def _unlabelled(self) -> Dependencies:
        return self.structure.unlabelled

    def part_scores(self, w: FloatVector, i: int) -> Sentence:
        """The part scores of one sentence."""
        scores = self.scored(w, np.array([i], dtype=np.int32)).scores
        return sentence_of(scores, 0, self.trees.n_labels, self.structure.kind)

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

    A gold tree that decoding cannot return (it is *beyond*) counts as one more output. With Z the sum over all others,

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
        ends = counts.starts + self.structure.n_own(counts.sizes)
        for k in beyond.tolist():
            counts.own[counts.starts[k] : ends[k]] *= -np.expm1(-losses[k])
        return losses, counts

    def probabilities(self, w: Any, batch: IntVector) -> tuple[FloatMatrix, FloatVector]:
        """A row for each arc, by head, then by token, and log Z; they are written over the scores, to save memory."""
        found = [self.structure.sums(self._plain(w, each), over=True) for each in self.pieces(batch)]
        rows = [self.structure.own(each.counts) for each in found]
        return np.concatenate(rows), np.concatenate([each.log_z for each in found])

    def decode_least_risk(self, w: Any, batch: IntVector) -> IntVector:
        """The trees with the most right labelled arcs in expectation, end to end."""
        structure, found = replace(self.trees, order=1).structure, []
        for each in self.pieces(batch):
            rows, _ = self.probabilities(w, each)
            found.append(structure.best(structure.room(self.sizes[each])._replace(own=rows.ravel())))
        return np.concatenate(found)

    def expectation_bytes(self) -> FloatVector:
        """The memory that `expectation` may take: sums over all trees, and the entries of ψ."""
        return self.features.expected_bytes() + self.sum_bytes()

    def sum_bytes(self) -> FloatVector:
        """The memory of sums over all trees: the shares of all labels, seven tables of arcs and three of siblings."""
        size = self.lengths + 1.0
        return 8.0 * ((self.trees.n_labels + 7.0) * size**2 + (3.0 * size**3 if self.trees.siblings else 0.0))

    @cached_property
    def _beyond(self) -> BoolVector:
        beyond = np.zeros(self.n_examples, dtype=np.bool_)
        for holds in self.unreachable().values():
            beyond |= holds
        return beyond


def tree_examples(trees: Trees, *parts: Any, **options: Any) -> TreeExamples:
    """Examples of this kind of trees, with sums unless grandparents are scored; arguments as for `TreeExamples`."""
    return (TreeExamples if trees.grandparents else SummedTreeExamples)(trees, *parts, **options)


def _microseconds(trees: Trees, lengths: LongVector) -> FloatVector:
    """Measured: about half a microsecond an arc, 20 nanoseconds a pair of siblings, and 30 a chain of two arcs."""
    work: FloatVector = 0.5 * lengths * (lengths + 1.0)
    if trees.siblings:
        work += 0.02 * lengths**3
    if trees.grandparents:
        work += 0.03 * lengths**3 + 1e-3 * NANOSECONDS_GRANDSIBLINGS * lengths**4.0
    return work


def crossing(indptr: LongVector, heads: IntVector) -> BoolVector:
    """Whether any two arcs of each tree cross; sentences begin at `indptr`, heads count from 1, and 0 is the root.

    The root is left of all words, so a word that hangs on it may not be inside another arc.

    >>> crossing(np.array([0, 3, 6, 9]), np.array([2, 0, 2, 3, 0, 2, 0, 1, 2]))
    array([False,  True, False])
    """
    # Places count all words, with one place for the root before the words of each sentence.
    roots = np.repeat(indptr[:-1] + np.arange(len(indptr) - 1), np.diff(indptr))
    words = np.arange(len(heads)) + 1 + np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    left, right = np.minimum(words, roots + heads), np.maximum(words, roots + heads)
    order = np.lexsort((-right, left))
    across = np.empty(len(heads), dtype=np.bool_)
    across[order] = _across(left[order], right[order])
    return sums(across, indptr) > 0


@kernel
def _across(left: LongVector, right: LongVector) -> BoolVector:
    """Whether each arc crosses one that it begins inside; arcs are sorted by left end, then the longest first.

    The stack holds the right ends of the arcs that the current one begins inside. Up to the first crossing these arcs
    are nested, so comparing with the innermost is enough.
    """
    across, stack, depth = np.zeros(len(left), dtype=np.bool_), np.empty(len(left), dtype=np.int64), 0
    for k in range(len(left)):
        while depth > 0 and stack[depth - 1] <= left[k]:
            depth -= 1
        across[k] = depth > 0 and stack[depth - 1] < right[k]
        stack[depth] = right[k]
        depth += 1
    return across
