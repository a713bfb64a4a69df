"""Searches for trees of a batch other than the best: k best, through a node, worst at positions, sums, draws."""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector
from widemargin.decoders.cky import (
    Charts,
    Marks,
    TreeParts,
    cell,
    fill,
    mark_of,
    put_halves,
    split_scores,
    tree_score,
)
from widemargin.decoders.cky_searches import cky_kbest, outside, tree_through
from widemargin.decoders.cky_sums import ChartTables, exponentiated, inside_outside, inside_sums
from widemargin.decoders.scores import draw_one
from widemargin.structures.constituents import Scratch, TreeScores, copy_of, marks_of, parts_of, spans_of
from widemargin.structures.flat import Counts, grown, longest_of


@kernel
def best_trees(scores: TreeScores, scratch: Scratch, k: int, n_nodes: int) -> tuple[IntVector, FloatVector, IntMatrix]:
    """How many trees each sentence has, at most k; the scores and nodes of all, end to end."""
    # Each sentence writes where the one before it ended: sentences with fewer than k trees leave no holes.
    nothing, room = scratch.nothing, scratch.room
    n_labels, halves = nothing.shape[1], len(nothing) == 0
    counts, totals = np.ones(len(scores.sizes), dtype=np.int32), np.empty(len(scores.sizes) * k)
    nodes, write, found = np.empty((n_nodes * k, 3), dtype=np.int32), 0, 0
    for number in range(len(scores.sizes)):
        n = scores.sizes[number]
        if n > 0:
            size = 2 * n - 1
            parts, marks = copy_of(parts_of(scores, number, nothing), room), marks_of(scores, number, n_labels, halves)
            out = nodes[write : write + k * size].reshape(k, size, 3)
            counts[number] = cky_kbest(n, parts, marks, out, totals[found : found + k])
            write += counts[number] * size
        else:
            totals[found] = 0.0
        found += counts[number]
    return counts, totals[:found], nodes[:write]


@kernel
def through_nodes(scores: TreeScores, scratch: Scratch, best: FloatMatrix) -> None:
    """Write a row for each span: the score of the best tree that has it as a node, for each label."""
    outer, write = scratch.charts, 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n > 0:
            parts = parts_of(scores, k, scratch.nothing)
            filled = copy_of(parts, scratch.room)
            fill(n, filled, scratch.unmarked)
            outside(n, parts, filled, outer)
            for at in range(len(parts.span)):
                for label in range(best.shape[1]):
                    best[write, label] = outer.nodes[at, label] + filled.span[at, label]
                write += 1


class Worst(NamedTuple):
    """The worst tree for each position: its L_c (1 − ⟨w, ψ⟩), and its node at the position."""

    values: FloatVector
    nodes: IntMatrix


@kernel
def _consider(
    c: int, i: int, j: int, above: FloatVector, first: FloatVector, second: FloatVector, costs: FloatVector,
    skipped: int, gold_score: float, worst: Worst,
) -> None:  # fmt: skip
    """Compare nodes over i … j with all labels but `skipped`; their trees score above + first + second."""
    for label in range(len(above)):
        value = costs[label] * (1.0 + (above[label] + first[label] + second[label] - gold_score))
        if value > worst.values[c] and label != skipped:
            worst.values[c] = value
            worst.nodes[c, 0], worst.nodes[c, 1], worst.nodes[c, 2] = i, j, label


@kernel
def _find_worst(
    n: int, costs: FloatMatrix, gold_score: float, parts: TreeParts, filled: TreeParts, outer: Charts, marks: Marks
) -> Worst:
    """The worst trees that are wrong at each position; if errors count productions, marks of −inf forbid gold's."""
    # A node with the gold label may still have a wrong production, so its splits are scored apart, without gold's.
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
def violating_trees(
    scores: TreeScores, costs: TreeScores, scratch: Scratch, gold: IntMatrix
) -> tuple[FloatVector, IntMatrix]:
    """The error at each position, 0 where there is no violator, and the nodes of the violators, end to end."""
    # One inside and one outside pass serve all positions of a sentence; only violators are traced.
    nothing, outer, unmarked = scratch.nothing, scratch.charts, scratch.unmarked
    n_labels, errors = nothing.shape[1], np.zeros(len(gold))
    nodes, read, write = np.empty((64, 3), dtype=np.int32), 0, 0
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        size, parts, of_nodes = 2 * n - 1, parts_of(scores, k, nothing), spans_of(costs, k, n_labels)
        filled = copy_of(parts, scratch.room)
        fill(n, filled, unmarked)
        outside(n, parts, filled, outer)
        productions = marks_of(costs, k, n_labels, len(nothing) == 0).productions
        marks = Marks(productions, np.full(len(productions), -np.inf))
        gold_score = tree_score(gold[read : read + size], parts, unmarked)
        worst = _find_worst(n, of_nodes, gold_score, parts, filled, outer, marks)
        nodes = grown(nodes, write, size * size)
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
def sum_trees(scores: TreeScores, scratch: Scratch, log_z: FloatVector, counts: Counts) -> None:
    """Write log Z, the probabilities of nodes and halves, and the expected numbers of rules of each sentence."""
    nothing = scratch.nothing
    n_labels, halves = nothing.shape[1], len(nothing) == 0
    unscored = np.empty((2, nothing.shape[0], n_labels))
    for k in range(len(scores.sizes)):
        begin, n = scores.starts[k], scores.sizes[k]
        n_cells = cell(0, n + 1)
        size, rules = n_cells * n_labels, counts.shared[k].reshape(2, n_labels, n_labels)
        if n == 0:
            log_z[k], rules[:] = 0.0, 0.0
            continue
        left, right = unscored[0][:n_cells], unscored[1][:n_cells]
        if halves:
            left = counts.own[begin + size : begin + 2 * size].reshape(n_cells, n_labels)
            right = counts.own[begin + 2 * size : begin + 3 * size].reshape(n_cells, n_labels)
        span = counts.own[begin : begin + size].reshape(n_cells, n_labels)
        posteriors = TreeParts(span, left, right, rules[0], rules[1])
        marks = marks_of(scores, k, n_labels, halves)
        log_z[k] = inside_outside(n, parts_of(scores, k, nothing), marks, posteriors, scratch.charts)


@kernel
def _draw_label(inside: FloatVector, rule: FloatMatrix, parent: int, uniform: float, terms: FloatVector) -> int:
    """The label of a half whose parent has the label `parent`."""
    for label in range(len(inside)):
        terms[label] = inside[label] + rule[label, parent]
    return draw_one(terms[: len(inside)], uniform)


@kernel
def sample_trees(scores: TreeScores, scratch: Scratch, uniforms: FloatMatrix, outputs: IntMatrix) -> None:
    """Write a draw of every sentence to each row of `outputs`: an inside pass, then splits and labels downwards.

    `uniforms` has two random numbers between 0 and 1 for each node: for its label, and for its split.
    """
    # Nodes are in preorder, parents before children: one loop finds every node already drawn, without a stack.
    charts, n_labels, write = scratch.charts, scratch.nothing.shape[1], 0
    terms = np.empty(max(longest_of(scores.sizes), n_labels))
    for sentence in range(len(scores.sizes)):
        n = scores.sizes[sentence]
        if n == 0:
            continue
        parts = parts_of(scores, sentence, scratch.nothing)
        tables = ChartTables(exponentiated(parts.left_rule), exponentiated(parts.right_rule))
        inside_sums(n, parts, tables, scratch.unmarked, charts)
        for draw in range(len(outputs)):
            nodes, drawn = outputs[draw, write : write + 2 * n - 1], uniforms[draw, write : write + 2 * n - 1]
            terms[:n_labels] = charts.nodes[cell(0, n)]
            nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, n, draw_one(terms[:n_labels], drawn[0, 0])
            for r in range(len(nodes)):
                i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
                if j - i == 1:
                    continue
                for k in range(i + 1, j):
                    terms[k - i - 1] = charts.first[cell(i, k), label] + charts.second[cell(k, j), label]
                k = i + 1 + draw_one(terms[: j - i - 1], drawn[r, 1])
                other = r + 2 * (k - i)
                left = _draw_label(charts.nodes[cell(i, k)], parts.left_rule, label, drawn[r + 1, 0], terms)
                right = _draw_label(charts.nodes[cell(k, j)], parts.right_rule, label, drawn[other, 0], terms)
                put_halves(nodes, r, k, left, right)
        write += 2 * n - 1
