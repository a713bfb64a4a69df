"""Constituents: an output is a labelled binary tree over the words of a sentence.

    score(tree) = Σ over nodes span[i, j, l] + Σ over binary nodes (i, k, j, l) with children labelled p and q of
                  left[i, k, l] + rules[0, p, l]  +  right[k, j, l] + rules[1, q, l]

Trees are nodes (begin, end, label) in preorder, 2 n − 1 for n words. With C = n (n + 1) / 2 spans, numbered by
`decoders.cky.cell`, and L labels, the own parts of a sentence are the nodes (cell L + l). If halves are scored, the
left ones with the labels of their parents (C L + cell L + l) and the right ones (2 C L + cell L + l) follow. All
sentences share the rules ((side L + p) L + l).

A production is a node with its split and the labels of its children. It is no sum of parts. So one production of each
span may be marked and get an extra score (`decoders.cky.Marks`).

Errors are counted node by node (`NodeCosts`): Δ(ŷ) = Σ of costs[l] over the nodes (i, j, l) of ŷ that the gold tree
lacks. Every binary tree over n words has 2 n − 1 nodes, so if all costs are 1, this is also the number of gold nodes
that ŷ lacks. With the error of productions (Kummerfeld et al. 2015), a node of several words is right only if it is
also split like the gold node, into halves with the same labels. No half knows the label of the other. So all nodes of
several words cost something, and the marks of gold productions take that cost away again.

The positions of n words are the words and the n − 1 gaps between them. Number 2 t is word t, and 2 k − 1 is the gap
before word k. Every binary tree has one node at each position: the word itself, or the node that is split at the gap.
The error at a position is the error of its node. So the errors of all positions sum up to Δ, for all costs of nodes or
productions. Gold constituents cannot be positions: if a tree lacks one, none of its own nodes stands in for it, so the
position would have no cost.

The recursions are those of `decoders`: CKY, k best, max-marginals, inside–outside. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.cky import (
    Charts,
    Marks,
    TreeParts,
    best_tree,
    cell,
    new_charts,
    new_parts,
    no_marks,
    put_marks,
    tree_score,
)
from widemargin.structures.flat import Counts, Flat, InUnits, Numbers, leading
from widemargin.structures.parts import Best, Sums


class TreeScores(NamedTuple):
    """Part scores (`structures.flat.Scores`), and the marked productions: a row for each span, or no rows at all."""

    starts: LongVector
    sizes: LongVector
    own: FloatVector
    shared: FloatVector
    marks: Marks = no_marks()


class Scratch(NamedTuple):
    """The scores of halves that have none, room for the parts and for other charts of a sentence, and no marks."""

    nothing: FloatMatrix
    room: TreeParts
    charts: Charts
    unmarked: Marks


@kernel
def spans_of(scores: TreeScores, k: int, n_labels: int) -> FloatMatrix:
    """The scores of the nodes of sentence k."""
    begin, n_cells = scores.starts[k], cell(0, scores.sizes[k] + 1)
    return scores.own[begin : begin + n_cells * n_labels].reshape(n_cells, n_labels)


@kernel
def parts_of(scores: TreeScores, k: int, nothing: FloatMatrix) -> TreeParts:
    """The scores of sentence k; if halves are not scored, `nothing` has rows of zeros for them."""
    n_cells, n_labels = cell(0, scores.sizes[k] + 1), nothing.shape[1]
    size, left, right = n_cells * n_labels, nothing[:n_cells], nothing[:n_cells]
    if len(nothing) == 0:
        begin = scores.starts[k] + size
        left = scores.own[begin : begin + size].reshape(n_cells, n_labels)
        right = scores.own[begin + size : begin + 2 * size].reshape(n_cells, n_labels)
    rules = scores.shared.reshape(2, n_labels, n_labels)
    return TreeParts(spans_of(scores, k, n_labels), left, right, rules[0], rules[1])


@kernel
def marks_of(scores: TreeScores, k: int, n_labels: int, halves: bool) -> Marks:
    """The marks of sentence k."""
    # Every span has one row of marks, and one row of scores or, with halves, three.
    begin = scores.starts[k] // (3 * n_labels if halves else n_labels)
    end = begin + cell(0, scores.sizes[k] + 1)
    return Marks(scores.marks.productions[begin:end], scores.marks.extra[begin:end])


@kernel
def copy_of(parts: TreeParts, room: TreeParts) -> TreeParts:
    """The parts with their charts copied to `room`, because decoding overwrites them."""
    for chart, copy in ((parts.span, room.span), (parts.left, room.left), (parts.right, room.right)):
        for at in range(len(chart)):
            for label in range(chart.shape[1]):
                copy[at, label] = chart[at, label]
    return TreeParts(room.span, room.left, room.right, parts.left_rule, parts.right_rule)


@kernel
def _best(scores: TreeScores, scratch: Scratch, nodes: IntMatrix) -> None:
    nothing, n_labels, write = scratch.nothing, scratch.nothing.shape[1], 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            parts = copy_of(parts_of(scores, k, nothing), scratch.room)
            marks = marks_of(scores, k, n_labels, len(nothing) == 0)
            best_tree(n, parts, marks, nodes[write : write + 2 * n - 1])
            write += 2 * n - 1


@kernel
def _total(scores: TreeScores, nothing: FloatMatrix, nodes: IntMatrix, totals: FloatVector) -> None:
    read = 0
    for k in range(len(scores.sizes)):
        end = read + max(2 * scores.sizes[k] - 1, 0)
        marks = marks_of(scores, k, nothing.shape[1], len(nothing) == 0)
        totals[k] = tree_score(nodes[read:end], parts_of(scores, k, nothing), marks)
        read = end


@kernel
def _position(nodes: IntMatrix, r: int) -> int:
    """The position of node r: its word, or the gap where it is split."""
    begin = nodes[r, 0]
    return 2 * begin if nodes[r, 1] - begin == 1 else 2 * nodes[r + 1, 1] - 1


@kernel
def _parts(sizes: LongVector, n_labels: int, halves: bool, nodes: IntMatrix) -> tuple[LongVector, LongVector]:
    """At each position its node, the rule above it and, if halves are scored, the node as a half."""
    # Parts go by position, not by preorder: trees that agree on a node then have the same part at the same place.
    width = 3 if halves else 2
    indptr, numbers = np.zeros(len(sizes) + 1, dtype=np.int64), np.full(width * len(nodes), -1, dtype=np.int64)
    first = 0
    for k in range(len(sizes)):
        size, end = cell(0, sizes[k] + 1) * n_labels, first + max(2 * sizes[k] - 1, 0)
        tree, own = nodes[first:end], numbers[width * first : width * end]
        at_rules = 3 * size if halves else size
        for r in range(len(tree)):
            i, j, label = tree[r, 0], tree[r, 1], tree[r, 2]
            own[width * _position(tree, r)] = cell(i, j) * n_labels + label
            for side in range(2 if j - i > 1 else 0):
                child = r + 1 if side == 0 else r + 2 * (tree[r + 1, 1] - i)
                at = width * _position(tree, child)
                own[at + 1] = at_rules + (side * n_labels + tree[child, 2]) * n_labels + label
                if halves:
                    own[at + 2] = (1 + side) * size + cell(tree[child, 0], tree[child, 1]) * n_labels + label
        first = end
        indptr[k + 1] = width * end
    return indptr, numbers


@dataclass(frozen=True, slots=True)
class Constituents(Flat):
    """Labelled binary trees; `halves`: whether halves are scored, `by_productions`: whether costs mark productions."""

    scores: ClassVar[type[TreeScores]] = TreeScores

    n_labels: int
    halves: bool = False
    by_productions: bool = False

    def n_own(self, sizes: LongVector) -> LongVector:
        """A score for each span and label; three with halves."""
        return sizes * (sizes + 1) // 2 * (3 * self.n_labels if self.halves else self.n_labels)

    @property
    def n_shared(self) -> int:
        """Rules."""
        return 2 * self.n_labels**2

    def lengths(self, sizes: LongVector) -> LongVector:
        """The nodes of a binary tree."""
        return np.maximum(2 * sizes - 1, 0)

    def positions(self, sizes: LongVector) -> LongVector:
        """The words, and the gaps between them."""
        return self.lengths(sizes)

    def parts(self, sizes: LongVector, outputs: IntMatrix) -> Numbers:
        """Nodes, rules and halves."""
        return Numbers(*_parts(sizes, self.n_labels, self.halves, outputs))

    def room(self, sizes: LongVector) -> TreeScores:
        """Room for the scores, and for marks if there may be any."""
        rows = int((sizes * (sizes + 1) // 2).sum()) if self.by_productions else 0
        starts, sizes, own, shared = Flat.room(self, sizes)
        return TreeScores(starts, sizes, own, shared, Marks(np.empty((rows, 4), dtype=np.int32), np.empty(rows)))

    def _nothing(self, sizes: LongVector) -> FloatMatrix:
        """Zeros as scores of halves, enough for the longest sentence; no rows if halves are scored."""
        longest = 0 if self.halves else int(sizes.max(initial=0))
        return np.zeros((longest * (longest + 1) // 2, self.n_labels))

    def _scratch(self, sizes: LongVector) -> Scratch:
        """Room for the longest sentence."""
        longest, n_labels = int(sizes.max(initial=1)), self.n_labels
        return Scratch(self._nothing(sizes), new_parts(longest, n_labels), new_charts(longest, n_labels), no_marks())

    def best(self, scores: TreeScores) -> IntMatrix:
        """The best trees (CKY)."""
        nodes = np.empty((self.lengths(scores.sizes).sum(), 3), dtype=np.int32)
        _best(scores, self._scratch(scores.sizes), nodes)
        return nodes

    def total(self, scores: TreeScores, outputs: IntMatrix) -> FloatVector:
        """The scores of trees, marked productions included."""
        totals = np.empty(len(scores.sizes))
        _total(scores, self._nothing(scores.sizes), outputs, totals)
        return totals

    def best_k(self, scores: TreeScores, k: int) -> Best:
        """The k best trees."""
        from widemargin.structures.constituent_searches import best_trees  # all but decoding is loaded when needed

        return Best(*best_trees(scores, self._scratch(scores.sizes), k, int(self.lengths(scores.sizes).sum())))

    def through(self, scores: TreeScores) -> FloatMatrix:
        """A row for each span: the score of the best tree that has it as a node, for each label. Ignores marks."""
        from widemargin.structures.constituent_searches import through_nodes

        best = np.empty(((scores.sizes * (scores.sizes + 1) // 2).sum(), self.n_labels))
        through_nodes(scores, self._scratch(scores.sizes), best)
        return best

    def violators(self, scores: TreeScores, costs: TreeScores, gold: IntMatrix) -> tuple[FloatVector, IntMatrix]:
        """The worst trees that are wrong at each position (Sarawagi & Gupta 2008, §4).

        The best tree with a given node at a position is a max-marginal (`decoders.cky_searches`), so all positions of a
        sentence take one inside and one outside pass, and a climb for each violator.
        """
        from widemargin.structures.constituent_searches import violating_trees

        return violating_trees(scores, costs, self._scratch(scores.sizes), gold)

    def sums(self, scores: TreeScores) -> Sums:
        """Inside–outside."""
        from widemargin.structures.constituent_searches import sum_trees

        log_z, counts = np.empty(len(scores.sizes)), self.no_counts(scores)
        sum_trees(scores, self._scratch(scores.sizes), log_z, counts)
        return Sums(log_z, counts)

    def sample(self, scores: TreeScores, n: int, rng: np.random.Generator) -> IntMatrix:
        """An inside pass, then splits and labels from the top down. Ignores marks."""
        from widemargin.structures.constituent_searches import sample_trees

        n_nodes = self.lengths(scores.sizes).sum()
        outputs = np.empty((n, n_nodes, 3), dtype=np.int32)
        uniforms = np.asarray(rng.random((n, n_nodes, 2)))
        sample_trees(scores, self._scratch(scores.sizes), uniforms, outputs)
        return outputs

    def own(self, counts: Counts) -> FloatMatrix:
        """A row for each span: the probability that it is a node with each label."""
        return leading(counts, counts.sizes * (counts.sizes + 1) // 2 * self.n_labels, self.n_labels)

    def least_risk(self, scores: TreeScores) -> IntMatrix:
        """The trees with the fewest expected wrong nodes (Goodman 1996): argmax Σ over nodes of P(i, j, l).

        A tree has 2 n − 1 − Σ P wrong nodes on average. The best need not be the most probable tree: of two
        constituents that exclude each other, it tends to have the one with the higher marginal probability.
        """
        counts, own = self.sums(scores).counts, np.zeros(len(scores.own))
        for begin, n in zip(scores.starts, scores.sizes, strict=True):
            spans = slice(begin, begin + n * (n + 1) // 2 * self.n_labels)
            own[spans] = counts.own[spans]
        own[scores.own == -np.inf] = -np.inf  # forbidden parts stay forbidden
        return self.best(scores._replace(own=own, shared=np.where(scores.shared > -np.inf, 0.0, -np.inf)))


@kernel
def _fill(
    places: LongVector,
    gold: IntMatrix,
    costs: FloatVector,
    halves: bool,
    by_productions: bool,
    batch: IntVector,
    scales: FloatVector,
    room: TreeScores,
) -> None:
    # With productions, a gold node of several words keeps its cost here: only the mark of its whole production, split
    # and labels of halves included, takes the cost away again.
    n_labels = len(costs)
    scaled, less = np.empty(n_labels), np.empty(n_labels)
    for k in range(len(batch)):
        spans, marks, scale = spans_of(room, k, n_labels), marks_of(room, k, n_labels, halves), scales[k]
        for label in range(n_labels):
            scaled[label], less[label] = scale * costs[label], -scale * costs[label]
        for at in range(len(spans)):
            for label in range(n_labels):
                spans[at, label] = scaled[label]
        at_halves = room.starts[k] + spans.size
        for part in range(at_halves, at_halves + (2 * spans.size if halves else 0)):
            room.own[part] = 0.0
        for at in range(len(marks.extra)):
            marks.productions[at, 0] = 0
        if scale == 0.0 or len(gold) == 0:
            continue
        nodes = gold[places[batch[k]] : places[batch[k] + 1]]
        for r in range(len(nodes)):
            i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
            if j - i == 1 or not by_productions:
                spans[cell(i, j), label] = 0.0
        if by_productions:
            put_marks(nodes, less, marks)


@kernel
def _same_halves(nodes: IntMatrix, r: int, others: IntMatrix, s: int) -> bool:
    """Whether nodes r and s of two trees, over the same words, have the same split and the same labels of halves."""
    if nodes[r, 1] - nodes[r, 0] == 1:
        return True
    left = 2 * (nodes[r + 1, 1] - nodes[r, 0])
    if nodes[r + 1, 1] != others[s + 1, 1] or nodes[r + 1, 2] != others[s + 1, 2]:
        return False
    return nodes[r + left, 2] == others[s + left, 2]


@kernel
def _errors(
    places: LongVector,
    gold: IntMatrix,
    costs: FloatVector,
    by_productions: bool,
    batch: IntVector,
    outputs: IntMatrix,
) -> FloatVector:
    # One chart of gold rows serves the whole batch; only the cells of gold are cleared, so no sentence pays for n².
    errors, read, longest = np.zeros(len(batch)), 0, 0
    for i in batch:
        longest = max(longest, (places[i + 1] - places[i] + 1) // 2)
    rows = np.full(cell(0, longest + 1), -1, dtype=np.int32)
    for k in range(len(batch)):
        right = gold[places[batch[k]] : places[batch[k] + 1]]
        nodes = outputs[read : read + len(right)]
        read += len(right)
        for s in range(len(right)):
            rows[cell(right[s, 0], right[s, 1])] = s
        for r in range(len(nodes)):
            s, label = rows[cell(nodes[r, 0], nodes[r, 1])], nodes[r, 2]
            same = s >= 0 and right[s, 2] == label
            if not same or (by_productions and not _same_halves(nodes, r, right, s)):
                errors[k] += costs[label]
        for s in range(len(right)):
            rows[cell(right[s, 0], right[s, 1])] = -1
    return errors


class NodeCosts(InUnits):
    """Costs of nodes (`structures.parts.Costs`).

    Parameters
    ----------
    structure : the trees; with `by_productions`, nodes with a wrong split or wrong halves are wrong, too
    places : (n + 1,) where the nodes of each gold tree begin
    gold : the nodes of the gold trees, end to end; empty without gold
    costs : (L,) the errors of wrong nodes with each label
    """

    def __init__(self, structure: Constituents, places: LongVector, gold: IntMatrix, costs: FloatVector) -> None:
        self.structure, self.places, self.gold, self.costs = structure, places, gold, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: TreeScores) -> None:
        """Write the costs of nodes, times each example's scale, and mark gold productions; halves cost nothing."""
        kind = self.structure.halves, self.structure.by_productions
        _fill(self.places, self.gold, self.costs, *kind, batch, scales, room)

    def errors(self, batch: IntVector, outputs: IntMatrix) -> FloatVector:
        """The costs of the nodes that gold lacks."""
        return _errors(self.places, self.gold, self.costs, self.structure.by_productions, batch, outputs)

    def most(self) -> FloatVector:
        """The error if all nodes are wrong and have the most expensive label."""
        return np.diff(self.places) * float(self.costs.max())
