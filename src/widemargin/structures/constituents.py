"""Constituents: an output is a labelled binary tree over the words of a sentence.

    score(tree) = Σ over nodes span[i, j, l] + Σ over binary nodes (i, k, j, l) with children labelled p and q of
                  left[i, k, l] + rules[0, p, l]  +  right[k, j, l] + rules[1, q, l]

Trees are nodes (begin, end, label) in preorder, 2 n − 1 for n words. With C = n (n + 1) / 2 spans, numbered by
`decoders.charts.cell`, and L labels, the parts of a sentence are, in this order, the nodes (cell L + l), the left
halves with the labels of their parents (C L + cell L + l), the right halves, and the rules (3 C L + (side L + p) L +
l), which all sentences score alike.

A production is a node with its split and the labels of its children, which is no sum of parts. So one production of
each span may be marked, and scores something extra (`decoders.charts.Marks`). Costs mark those of gold.

The positions of n words are the words and the n − 1 gaps between them. Number 2 t is word t, and 2 k − 1 is the gap
before word k. Every binary tree has one node at each: the word itself, and the node that is split at the gap. The error
at a position is that of its node. So the errors of all positions sum up to Δ, whatever wrong nodes cost, and whether
nodes or productions count. Gold constituents would not do as positions: where a tree misses one, nothing tells which of
its own nodes stands there instead, and what that costs.

The recursions are those of `decoders`: CKY, k best, max-marginals, inside–outside. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.charts import Marks, TreeParts, cell, mark_of, new_parts, no_marks, tree_score
from widemargin.decoders.cky import best_tree, fill, split_scores
from widemargin.decoders.cky_inside import new_inside
from widemargin.decoders.cky_kbest import cky_kbest
from widemargin.decoders.cky_outside import OuterScores, new_outer, outside, tree_through
from widemargin.decoders.cky_sums import marked_inside_outside
from widemargin.structures.parts import Best, Parts, Sums


class ConstituentScores(NamedTuple):
    """A sentence of n = sizes[k] words has the rows starts[k] … starts[k] + n (n + 1) / 2 − 1 of `charts` and `marks`.

    `charts` is (3, rows, L): spans, left halves and right halves; (1, rows, L) if halves score nothing. `rules` is
    (2, L, L), of left and of right halves: rows for the child's label, columns for its parent's.
    """

    starts: LongVector
    sizes: LongVector
    charts: FloatMatrix
    rules: FloatMatrix
    marks: Marks


class ConstituentCounts(NamedTuple):
    """Coefficients of spans and halves, in charts like those of the scores; of rules, (2, L, L) for each sentence."""

    starts: LongVector
    sizes: LongVector
    charts: FloatMatrix
    rules: FloatMatrix


@kernel
def _longest_of(sizes: LongVector) -> int:
    longest = 0
    for size in sizes:
        longest = max(longest, size)
    return longest


@kernel
def parts_of(scores: ConstituentScores, k: int, nothing: FloatMatrix) -> TreeParts:
    """The scores of sentence k; those of halves are zeros from `nothing` if halves score nothing."""
    begin, charts, rules = scores.starts[k], scores.charts, scores.rules
    size = cell(0, scores.sizes[k] + 1)
    end, three = begin + size, len(charts) == 3
    left = charts[1][begin:end] if three else nothing[:size]
    right = charts[2][begin:end] if three else nothing[:size]
    return TreeParts(charts[0][begin:end], left, right, rules[0], rules[1])


@kernel
def _marks_of(scores: ConstituentScores, k: int) -> Marks:
    begin, marks = scores.starts[k], scores.marks
    end = begin + cell(0, scores.sizes[k] + 1)
    return Marks(marks.productions[begin:end], marks.extra[begin:end])


@kernel
def _nothing(scores: ConstituentScores) -> FloatMatrix:
    """Scores of halves that score nothing, in any of the sentences."""
    longest = _longest_of(scores.sizes) if len(scores.charts) == 1 else 0
    return np.zeros((cell(0, longest + 1), scores.charts.shape[2]))


@kernel
def _copied(chart: FloatMatrix, copy: FloatMatrix) -> None:
    for at in range(len(chart)):
        for label in range(chart.shape[1]):
            copy[at, label] = chart[at, label]


@kernel
def _copy_of(parts: TreeParts, room: TreeParts) -> TreeParts:
    """The parts with their charts copied to those of the room, where decoding overwrites them."""
    _copied(parts.span, room.span)
    _copied(parts.left, room.left)
    _copied(parts.right, room.right)
    return TreeParts(room.span, room.left, room.right, parts.left_rule, parts.right_rule)


@kernel
def _room(scores: ConstituentScores, overwrite: bool) -> TreeParts:
    """Room for a copy of the charts of any sentence, unless these may be overwritten."""
    return new_parts(0 if overwrite else _longest_of(scores.sizes), scores.charts.shape[2])


@kernel
def _best(scores: ConstituentScores, overwrite: bool, nodes: IntMatrix) -> None:
    room, nothing, write = _room(scores, overwrite), _nothing(scores), 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            parts = parts_of(scores, k, nothing)
            if not overwrite:
                parts = _copy_of(parts, room)
            best_tree(n, parts, _marks_of(scores, k), nodes[write : write + 2 * n - 1])
            write += 2 * n - 1


@kernel
def _best_k(
    scores: ConstituentScores, k: int, overwrite: bool, n_nodes: int
) -> tuple[IntVector, FloatVector, IntMatrix]:
    room, nothing = _room(scores, overwrite), _nothing(scores)
    counts, totals = np.ones(len(scores.sizes), dtype=np.int32), np.empty(len(scores.sizes) * k)
    nodes, write, found = np.empty((n_nodes * k, 3), dtype=np.int32), 0, 0
    for number in range(len(scores.sizes)):
        n = scores.sizes[number]
        if n > 0:
            size = 2 * n - 1
            parts = parts_of(scores, number, nothing)
            if not overwrite:
                parts = _copy_of(parts, room)
            out = nodes[write : write + k * size].reshape(k, size, 3)
            counts[number] = cky_kbest(n, parts, _marks_of(scores, number), out, totals[found : found + k])
            write += counts[number] * size
        else:
            totals[found] = 0.0
        found += counts[number]
    return counts, totals[:found], nodes[:write]


@kernel
def _total(scores: ConstituentScores, nodes: IntMatrix, totals: FloatVector) -> None:
    nothing, read = _nothing(scores), 0
    for k in range(len(scores.sizes)):
        end = read + max(2 * scores.sizes[k] - 1, 0)
        totals[k] = tree_score(nodes[read:end], parts_of(scores, k, nothing), _marks_of(scores, k))
        read = end


@kernel
def _parents(nodes: IntMatrix, n_labels: int) -> IntVector:
    """For every node, side · L + the label of its parent, where side is 0 on the left and 1 on the right; −1 on top."""
    found = np.full(len(nodes), -1, dtype=np.int32)
    for r in range(len(nodes)):
        if nodes[r, 1] - nodes[r, 0] > 1:
            found[r + 1] = nodes[r, 2]
            found[r + 2 * (nodes[r + 1, 1] - nodes[r, 0])] = n_labels + nodes[r, 2]
    return found


@kernel
def _note_others(
    nodes: IntMatrix,
    others: IntMatrix,
    n_labels: int,
    places: IntVector,
    value: float,
    numbers: LongVector,
    values: FloatVector,
    write: int,
) -> int:
    """Append the parts that `nodes` have and `others` lack; `places` is −1 for every span before and after."""
    above, others_above = _parents(nodes, n_labels), _parents(others, n_labels)
    size = len(places) * n_labels
    for r in range(len(others)):
        places[cell(others[r, 0], others[r, 1])] = r
    for r in range(len(nodes)):
        at, label = cell(nodes[r, 0], nodes[r, 1]), nodes[r, 2]
        other = places[at]
        same = other >= 0 and others[other, 2] == label
        same_half = other >= 0 and others_above[other] == above[r]
        if not same:
            numbers[write], values[write] = at * n_labels + label, value
            write += 1
        if above[r] >= 0:
            side, parent = above[r] // n_labels, above[r] % n_labels
            if not (same and same_half):
                numbers[write], values[write] = 3 * size + (side * n_labels + label) * n_labels + parent, value
                write += 1
            if not same_half:
                numbers[write], values[write] = (1 + side) * size + at * n_labels + parent, value
                write += 1
    for r in range(len(others)):
        places[cell(others[r, 0], others[r, 1])] = -1
    return write


@kernel
def _change(
    sizes: LongVector, n_labels: int, gold: IntMatrix, outputs: IntMatrix
) -> tuple[LongVector, LongVector, FloatVector]:
    indptr, room = np.zeros(len(sizes) + 1, dtype=np.int64), 6 * len(gold)
    numbers, values = np.empty(room, dtype=np.int64), np.empty(room)
    places = np.full(cell(0, _longest_of(sizes) + 1), -1, dtype=np.int32)
    write = read = 0
    for k in range(len(sizes)):
        n = sizes[k]
        if n > 0:
            end, own = read + 2 * n - 1, places[: cell(0, n + 1)]
            right, found = gold[read:end], outputs[read:end]
            write = _note_others(right, found, n_labels, own, 1.0, numbers, values, write)
            write = _note_others(found, right, n_labels, own, -1.0, numbers, values, write)
            read = end
        indptr[k + 1] = write
    return indptr, numbers[:write], values[:write]


@kernel
def _through(scores: ConstituentScores, best: FloatMatrix) -> None:
    room, nothing, write = _room(scores, False), _nothing(scores), 0
    outer = new_outer(_longest_of(scores.sizes), scores.charts.shape[2])
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            parts = parts_of(scores, k, nothing)
            filled = _copy_of(parts, room)
            fill(n, filled, no_marks())
            outside(n, parts, filled, outer)
            for at in range(len(parts.span)):
                for label in range(best.shape[1]):
                    best[write, label] = outer.nodes[at, label] + filled.span[at, label]
                write += 1


class Worst(NamedTuple):
    """For each position: L_c (1 − ⟨w, ψ⟩) of the worst tree, and the node that it has there."""

    values: FloatVector
    nodes: IntMatrix


@kernel
def _consider(
    c: int, i: int, j: int, above: FloatVector, first: FloatVector, second: FloatVector, costs: FloatVector,
    skipped: int, gold_score: float, worst: Worst,
) -> None:  # fmt: skip
    """Compare the nodes i … j with all labels but `skipped`; their trees score above + first + second."""
    for label in range(len(above)):
        value = costs[label] * (1.0 + (above[label] + first[label] + second[label] - gold_score))
        if value > worst.values[c] and label != skipped:
            worst.values[c] = value
            worst.nodes[c, 0], worst.nodes[c, 1], worst.nodes[c, 2] = i, j, label


@kernel
def _find_worst(
    n: int, costs: FloatMatrix, gold_score: float, parts: TreeParts, filled: TreeParts, outer: OuterScores, marks: Marks
) -> Worst:
    """The worst trees that are wrong; right productions are marked with −inf if only these are right."""
    n_labels = parts.span.shape[1]
    worst = Worst(np.zeros(2 * n - 1), np.zeros((2 * n - 1, 3), dtype=np.int32))
    above, nothing, splits = np.empty(n_labels), np.zeros(n_labels), np.empty(n)
    for j in range(1, n + 1):
        for i in range(j):
            at, mark = cell(i, j), mark_of(i, j, marks)
            marked = marks.productions[mark, 1] if mark >= 0 else -1
            for label in range(n_labels):
                above[label] = outer.nodes[at, label] + parts.span[at, label]
            if j - i == 1:
                _consider(2 * i, i, j, above, nothing, nothing, costs[at], marked, gold_score, worst)
            for k in range(i + 1, j):
                first, second = filled.left[cell(i, k)], filled.right[cell(k, j)]
                _consider(2 * k - 1, i, j, above, first, second, costs[at], marked, gold_score, worst)
            if mark >= 0:
                split_scores(i, j, marked, filled, marks, splits)
                for k in range(i + 1, j):
                    value = costs[at, marked] * (1.0 + (above[marked] + splits[k - i - 1] - gold_score))
                    if value > worst.values[2 * k - 1]:
                        worst.values[2 * k - 1] = value
                        at_gap = worst.nodes[2 * k - 1]
                        at_gap[0], at_gap[1], at_gap[2] = i, j, marked
    return worst


@kernel
def _with_room(nodes: IntMatrix, used: int, wanted: int) -> IntMatrix:
    """The nodes with room for `wanted` more after the first `used`."""
    if len(nodes) >= used + wanted:
        return nodes
    larger = np.empty((2 * (used + wanted), 3), dtype=np.int32)
    larger[:used] = nodes[:used]
    return larger


@kernel
def _violators(scores: ConstituentScores, costs: ConstituentScores, gold: IntMatrix) -> tuple[FloatVector, IntMatrix]:
    room, nothing, n_labels = _room(scores, False), _nothing(scores), scores.charts.shape[2]
    outer, errors = new_outer(_longest_of(scores.sizes), n_labels), np.zeros(len(gold))
    nodes, read, write = np.empty((64, 3), dtype=np.int32), 0, 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        size, parts, of_nodes = 2 * n - 1, parts_of(scores, k, nothing), parts_of(costs, k, nothing).span
        filled = _copy_of(parts, room)
        fill(n, filled, no_marks())
        outside(n, parts, filled, outer)
        productions = _marks_of(costs, k).productions
        marks = Marks(productions, np.full(len(productions), -np.inf))
        gold_score = tree_score(gold[read : read + size], parts, no_marks())
        worst = _find_worst(n, of_nodes, gold_score, parts, filled, outer, marks)
        nodes = _with_room(nodes, write, size * size)
        for c in range(size):
            if worst.values[c] > 0.0:
                begin, end, label = worst.nodes[c, 0], worst.nodes[c, 1], worst.nodes[c, 2]
                errors[read + c] = of_nodes[cell(begin, end), label]
                split = (c + 1) // 2 if end - begin > 1 else 0
                out = nodes[write : write + size]
                tree_through(n, begin, end, label, split, parts, filled, outer, marks, out)
                write += size
        read += size
    return errors, nodes[:write]


@kernel
def _plus(room: ConstituentScores, scores: ConstituentScores) -> None:
    for k in range(len(room.sizes)):
        for at in range(cell(0, room.sizes[k] + 1)):
            row, other = room.starts[k] + at, scores.starts[k] + at
            for label in range(room.charts.shape[2]):
                room.charts[0, row, label] += scores.charts[0, other, label]
                room.charts[1, row, label] = scores.charts[1, other, label]
                room.charts[2, row, label] = scores.charts[2, other, label]


@kernel
def _sums(scores: ConstituentScores, log_z: FloatVector, charts: FloatMatrix, rules: FloatMatrix) -> None:
    longest, n_labels, three = _longest_of(scores.sizes), charts.shape[2], len(charts) == 3
    nothing, scratch = _nothing(scores), new_inside(longest, n_labels)
    halves = np.empty((2, 0 if three else cell(0, longest + 1), n_labels))
    for k in range(len(scores.sizes)):
        begin, n = scores.starts[k], scores.sizes[k]
        if n == 0:
            log_z[k], rules[k] = 0.0, 0.0
            continue
        size = cell(0, n + 1)
        left = charts[1][begin : begin + size] if three else halves[0][:size]
        right = charts[2][begin : begin + size] if three else halves[1][:size]
        posteriors = TreeParts(charts[0][begin : begin + size], left, right, rules[k, 0], rules[k, 1])
        parts, marks = parts_of(scores, k, nothing), _marks_of(scores, k)
        log_z[k] = marked_inside_outside(n, parts, marks, posteriors, scratch)


@kernel
def _residual(counts: ConstituentCounts, nodes: IntMatrix) -> None:
    charts, rules, read = counts.charts, counts.rules, 0
    for k in range(len(counts.sizes)):
        begin, n = counts.starts[k], counts.sizes[k]
        for chart in range(3):
            for row in range(begin, begin + cell(0, n + 1)):
                for label in range(charts.shape[2]):
                    charts[chart, row, label] = -charts[chart, row, label]
        for side in range(2):
            for child in range(rules.shape[2]):
                for label in range(rules.shape[3]):
                    rules[k, side, child, label] = -rules[k, side, child, label]
        end = read + 2 * n - 1
        for r in range(read, end):
            i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
            charts[0, begin + cell(i, j), label] += 1.0
            if j - i > 1:
                split = nodes[r + 1, 1]
                charts[1, begin + cell(i, split), label] += 1.0
                charts[2, begin + cell(split, j), label] += 1.0
                rules[k, 0, nodes[r + 1, 2], label] += 1.0
                rules[k, 1, nodes[r + 2 * (split - i), 2], label] += 1.0
        read = end


NO_RULES = np.empty((2, 0, 0))


@dataclass(frozen=True, slots=True)
class Constituents:
    """Labelled binary trees; `by_productions` says that costs mark productions."""

    n_labels: int
    by_productions: bool = False

    def room(self, sizes: LongVector) -> ConstituentScores:
        """Room for the scores of spans and halves, and for marks if there may be any."""
        cells = sizes * (sizes + 1) // 2
        rows = int(cells.sum())
        marked = rows if self.by_productions else 0
        marks = Marks(np.empty((marked, 4), dtype=np.int32), np.empty(marked))
        charts = np.empty((3, rows, self.n_labels))
        return ConstituentScores(np.cumsum(cells) - cells, sizes, charts, NO_RULES, marks)

    def lengths(self, sizes: LongVector) -> LongVector:
        """The nodes of a binary tree."""
        return np.maximum(2 * sizes - 1, 0)

    def entries(self, sizes: LongVector) -> LongVector:
        """Three scores for each span and label."""
        return 3 * (sizes * (sizes + 1) // 2) * self.n_labels

    def positions(self, sizes: LongVector) -> LongVector:
        """The words, and the gaps between them."""
        return self.lengths(sizes)

    def plus(self, room: ConstituentScores, scores: ConstituentScores) -> ConstituentScores:
        """The scores added to costs, which only spans have."""
        _plus(room, scores)
        return room._replace(rules=scores.rules)

    def best(self, scores: ConstituentScores, *, overwrite: bool = False) -> IntMatrix:
        """The best trees (CKY); `overwrite` says that all three charts may be used as scratch, to save a copy."""
        nodes = np.empty((self.lengths(scores.sizes).sum(), 3), dtype=np.int32)
        _best(scores, overwrite, nodes)
        return nodes

    def best_k(self, scores: ConstituentScores, k: int, *, overwrite: bool = False) -> Best:
        """The k best trees; `overwrite` as for `best`."""
        return Best(*_best_k(scores, k, overwrite, int(self.lengths(scores.sizes).sum())))

    def total(self, scores: ConstituentScores, outputs: IntMatrix) -> FloatVector:
        """The scores of trees."""
        totals = np.empty(len(scores.sizes))
        _total(scores, outputs, totals)
        return totals

    def change(self, sizes: LongVector, gold: IntMatrix, outputs: IntMatrix) -> Parts:
        """The nodes, halves and rules that differ."""
        return Parts(*_change(sizes, self.n_labels, gold, outputs))

    def through(self, scores: ConstituentScores) -> FloatMatrix:
        """For each span a row of scores: the best tree's with each label there. Marks do not count."""
        best = np.empty((scores.charts.shape[1], self.n_labels))
        _through(scores, best)
        return best

    def violators(
        self, scores: ConstituentScores, costs: ConstituentScores, gold: IntMatrix
    ) -> tuple[FloatVector, IntMatrix]:
        """The worst trees that are wrong at each position (Sarawagi & Gupta 2008, §4).

        The best tree with a given node at a position is a max-marginal (`decoders.cky_outside`), so all positions of a
        sentence take one inside and one outside pass, and a climb for each violator.
        """
        return _violators(scores, costs, gold)

    def sums(self, scores: ConstituentScores) -> Sums:
        """Inside–outside."""
        n, (_, rows, L) = len(scores.sizes), scores.charts.shape
        # Rows of padding belong to no sentence.
        room = np.empty if self.entries(scores.sizes).sum() == 3 * rows * L else np.zeros
        log_z, charts, rules = np.empty(n), room(scores.charts.shape), np.empty((n, 2, L, L))
        _sums(scores, log_z, charts, rules)
        return Sums(log_z, ConstituentCounts(scores.starts, scores.sizes, charts, rules))

    def own(self, counts: ConstituentCounts) -> FloatMatrix:
        """A row for each span: the probability that it is a node with each label."""
        spans: FloatMatrix = counts.charts[0]
        return spans

    def residual(self, counts: ConstituentCounts, gold: IntMatrix) -> ConstituentCounts:
        """Indicators of the parts of gold, less the counts."""
        _residual(counts, gold)
        return counts

    def least_risk(self, scores: ConstituentScores) -> IntMatrix:
        """The trees with the fewest wrong nodes to be expected (Goodman 1996): argmax Σ over nodes of P(i, j, l).

        A tree has 2 n − 1 − Σ P wrong nodes on average. The best need not be the most probable tree: of two
        constituents that exclude each other, it has the one that more of the trees have.
        """
        charts = self.sums(scores).counts.charts
        charts[1:] = 0.0
        charts[scores.charts == -np.inf] = -np.inf  # what is forbidden stays so
        counted = scores._replace(charts=charts, rules=np.where(scores.rules > -np.inf, 0.0, -np.inf))
        return self.best(counted, overwrite=len(charts) == 3)
