"""Position-wise slacks on dependency trees (Sarawagi & Gupta 2008, §4.3.3): the worst tree that is wrong at each token.

A token is wrong by its head (L_c = the cost of a wrong head), or by its label alone (the cost of a wrong label, which
is no higher). Let y be the best of all trees.

- Where y has the wrong head at c, no other tree is worse there.
- Else the worst is the best tree without the gold arc, which is decoded again with that arc forbidden, or y with the
  best wrong label at c, for which nothing need be decoded.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.decoders.siblings import sibling_of
from widemargin.tasks.parse.decode import (
    NOTHING,
    Decoder,
    Scores,
    Tasks,
    arcs_of,
    grandparents_of,
    labels_of,
    siblings_of,
)
from widemargin.tasks.parse.scores import TreeData, label_row, label_slots, node_labels


class Gold(NamedTuple):
    """Facts about the gold arcs of a batch, a number per token, and about the gold trees.

    `wrong` is the best wrong label of the arc and `wrong_by` how far it scores below the best label; `scores` are
    those of the whole trees.
    """

    wrong: IntVector
    wrong_by: FloatVector
    scores: FloatVector


@kernel
def _wrong_label(row: FloatVector, right: int) -> int:
    """The best label other than the right one; `NOTHING` if there is no other."""
    best = NOTHING
    for label in range(len(row)):
        if label != right and (best == NOTHING or row[label] > row[best]):
            best = label
    return best


@kernel
def _chains(heads: IntVector, grandparents: FloatMatrix) -> float:
    """The scores of a tree's grandparents."""
    total = 0.0
    for m in range(1, len(heads) + 1):
        h = heads[m - 1]
        if h > 0:
            total += grandparents[h, m, heads[h - 1]]
    return total


@kernel
def gold_arcs(data: TreeData, w: FloatVector, batch: IntVector, starts: LongVector, scores: Scores, gold: Gold) -> None:
    """Fill in `gold`."""
    longest = 0
    for size in scores.sizes:
        longest = max(longest, size)
    nodes, row, slots = np.empty((6 * (longest + 1), data.n_labels)), np.empty(data.n_labels), label_slots(data.keys)
    siblings = np.empty(longest, dtype=np.int32)
    for position in range(len(batch)):
        first, n = data.indptr[batch[position]], scores.sizes[position]
        arcs, best = arcs_of(scores, position), labels_of(scores, position)
        node_labels(data.keys, w, data.mask, first, n, nodes)
        gold.scores[position] = 0.0
        for m in range(1, n + 1):
            h, right, place = data.heads[first + m - 1], data.labels[first + m - 1], starts[position] + m - 1
            label_row(data.keys, w, data.mask, first, h, m, nodes, slots, row)
            highest = row[best[h, m]]
            wrong = _wrong_label(row, right)
            gold.wrong[place] = wrong
            gold.wrong_by[place] = highest - row[wrong] if wrong >= 0 else np.inf
            gold.scores[position] += arcs[h, m] - (highest - row[right])
        if len(scores.sibling) > 0:
            pairs = siblings_of(scores, position)
            sibling_of(data.heads[first : first + n], siblings)
            for m in range(1, n + 1):
                gold.scores[position] += pairs[data.heads[first + m - 1], siblings[m - 1], m]
        if len(scores.grandparent) > 0:
            gold.scores[position] += _chains(data.heads[first : first + n], grandparents_of(scores, position))


@kernel
def choose(
    data: TreeData, batch: IntVector, starts: LongVector, scores: Scores, gold: Gold,
    heads: IntVector, totals: FloatVector, tasks: Tasks, other_heads: IntVector, other_totals: FloatVector,
    errors: FloatVector, codes: IntVector,
) -> int:  # fmt: skip
    """Write the worst tree of each token that has a violator, end to end; return where they end.

    `heads` and `totals` are those of the best trees, `other_heads` and `other_totals` those without a gold arc, as
    `tasks` lists them.
    """
    task = write = 0
    for position in range(len(batch)):
        first, n, shift = data.indptr[batch[position]], scores.sizes[position], starts[position]
        best = labels_of(scores, position)
        for c in range(n):
            at_gold = heads[shift + c] == data.heads[first + c]
            error, value = data.costs[0], totals[position] - gold.scores[position]
            redone = relabelled = False
            if at_gold:
                value = other_totals[task] - gold.scores[position]
                by_label = totals[position] - gold.wrong_by[shift + c] - gold.scores[position]
                relabelled = data.costs[1] * (1.0 + by_label) > data.costs[0] * (1.0 + value)
                redone = not relabelled
                if relabelled:
                    error, value = data.costs[1], by_label
                task += 1
            errors[shift + c] = 0.0
            if error * (1.0 + value) <= 0.0:
                continue
            errors[shift + c] = error
            for t in range(n):
                head = other_heads[tasks.starts[task - 1] + t] if redone else heads[shift + t]
                codes[write + t] = head * data.n_labels + best[head, t + 1]
            if relabelled:
                codes[write + c] = data.heads[first + c] * data.n_labels + gold.wrong[shift + c]
            write += n
    return write


def worst_trees(
    data: TreeData,
    w: FloatVector,
    batch: IntVector,
    starts: LongVector,
    scores: Scores,
    decoder: Decoder,
    single_root: bool,
) -> tuple[FloatVector, IntVector]:
    """L_c of the worst tree of each token, 0 where none violates, and the codes of those that do, end to end."""
    n_tokens = int(starts[-1])
    gold = Gold(np.empty(n_tokens, dtype=np.int32), np.empty(n_tokens), np.empty(len(batch)))
    gold_arcs(data, w, batch, starts, scores, gold)
    heads, totals = np.empty(n_tokens, dtype=np.int32), np.empty(len(batch))
    decoder(scores, every_sentence(scores.sizes, starts), single_root, heads, totals)
    tasks = _without_gold(data, batch, starts, scores.sizes, heads)
    other_heads, other_totals = np.empty(tasks.starts[-1], dtype=np.int32), np.empty(len(tasks.position))
    decoder(scores, tasks, single_root, other_heads, other_totals)
    errors, codes = np.empty(n_tokens), np.empty(int((scores.sizes**2).sum()), dtype=np.int32)
    end = choose(
        data, batch, starts, scores, gold, heads, totals, tasks, other_heads, other_totals, errors, codes
    )  # fmt: skip
    return errors, codes[:end]


def every_sentence(sizes: LongVector, starts: LongVector) -> Tasks:
    """Decode all sentences, once each, with all arcs."""
    nothing = np.full(len(sizes), NOTHING, dtype=np.int32)
    return Tasks(np.arange(len(sizes), dtype=np.int32), nothing, nothing, starts)


def _without_gold(data: TreeData, batch: IntVector, starts: LongVector, sizes: LongVector, heads: IntVector) -> Tasks:
    """Decode once without each gold arc that is among the best trees' `heads`."""
    position = np.repeat(np.arange(len(batch), dtype=np.int32), sizes)
    modifier = np.arange(len(heads)) - starts[:-1][position]
    gold = data.heads[data.indptr[batch][position] + modifier]
    again = gold == heads
    sizes = sizes[position[again]]
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Tasks(position[again], gold[again], (modifier[again] + 1).astype(np.int32), begin)
