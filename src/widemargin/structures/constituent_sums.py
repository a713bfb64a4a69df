"""Inside–outside over a batch of sentences, and draws from the inside charts."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix
from widemargin.decoders.charts import TreeParts, cell, no_marks
from widemargin.decoders.cky import put_halves
from widemargin.decoders.cky_inside import Tables, exponentiated, inside_sums, new_inside
from widemargin.decoders.cky_sums import marked_inside_outside
from widemargin.decoders.log_sums import draw_one
from widemargin.structures.constituents import TreeScores, marks_of, parts_of
from widemargin.structures.flat import Counts, longest_of


@kernel
def sum_trees(scores: TreeScores, nothing: FloatMatrix, log_z: FloatVector, counts: Counts) -> None:
    """Write log Z, the probabilities of nodes and halves, and the expected numbers of rules of each sentence."""
    n_labels, halves = nothing.shape[1], len(nothing) == 0
    scratch, unscored = new_inside(longest_of(scores.sizes), n_labels), np.empty((2, nothing.shape[0], n_labels))
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
        log_z[k] = marked_inside_outside(n, parts_of(scores, k, nothing), marks, posteriors, scratch)


@kernel
def _draw_label(inside: FloatVector, rule: FloatMatrix, parent: int, uniform: float, terms: FloatVector) -> int:
    """The label of a half whose parent has the label `parent`."""
    for label in range(len(inside)):
        terms[label] = inside[label] + rule[label, parent]
    return draw_one(terms[: len(inside)], uniform)


@kernel
def sample_trees(scores: TreeScores, nothing: FloatMatrix, uniforms: FloatMatrix, outputs: IntMatrix) -> None:
    """Write a draw of every sentence to each row of `outputs`: an inside pass, then splits and labels downwards.

    `uniforms` has two random numbers between 0 and 1 for each node: for its label, and for its split.
    """
    n_labels, longest, write = nothing.shape[1], longest_of(scores.sizes), 0
    scratch, terms = new_inside(longest, n_labels), np.empty(max(longest, n_labels))
    for sentence in range(len(scores.sizes)):
        n = scores.sizes[sentence]
        if n == 0:
            continue
        parts = parts_of(scores, sentence, nothing)
        inside_sums(
            n, parts, Tables(exponentiated(parts.left_rule), exponentiated(parts.right_rule)), no_marks(), scratch
        )
        for draw in range(len(outputs)):
            nodes, drawn = outputs[draw, write : write + 2 * n - 1], uniforms[draw, write : write + 2 * n - 1]
            terms[:n_labels] = scratch.inside[cell(0, n)]
            nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, n, draw_one(terms[:n_labels], drawn[0, 0])
            for r in range(len(nodes)):
                i, j, label = nodes[r, 0], nodes[r, 1], nodes[r, 2]
                if j - i == 1:
                    continue
                for k in range(i + 1, j):
                    terms[k - i - 1] = scratch.first[cell(i, k), label] + scratch.second[cell(k, j), label]
                k = i + 1 + draw_one(terms[: j - i - 1], drawn[r, 1])
                other = r + 2 * (k - i)
                left = _draw_label(scratch.inside[cell(i, k)], parts.left_rule, label, drawn[r + 1, 0], terms)
                right = _draw_label(scratch.inside[cell(k, j)], parts.right_rule, label, drawn[other, 0], terms)
                put_halves(nodes, r, k, left, right)
        write += 2 * n - 1
