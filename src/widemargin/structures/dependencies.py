"""Dependency trees: every word of a sentence has a head, another word or the root, and the arc to it has a label.

    score(y) = Σ over arcs (h, m, l) of arcs[h, m, l]   [+ siblings[h, s, m]  [+ grandparents[h, m, g]]]

Words are 1 … n and the root is 0; s is the sibling before m, or h if there is none, and g is the head of h. An
output is a code for each word, h · K + l with K labels. With S = n + 1, the parts of a sentence are, in this order,
its labelled arcs ((h S + m) K + l), its siblings ((h S + s) S + m) and its grandparents ((h S + m) S + g).

A wrong head costs something, and so does a wrong label at the right head (`ArcCosts`):

    Δ(y) = Σ_m head_cost [h_m wrong] + label_cost [h_m right, l_m wrong]

The label of an arc changes only the score of that arc. So labels are chosen, or summed over, before any tree is
decoded.

The recursions are those of `decoders`: Eisner, grandsiblings, arborescence. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.eisner import sibling_of
from widemargin.decoders.top import highest
from widemargin.decoders.tree_kbest import (
    GRANDSIBLINGS,
    NON_PROJECTIVE,
    PROJECTIVE,
    SIBLINGS,
    decode_tree,
    new_tree_scratch,
    tree_kbest,
)
from widemargin.structures.flat import Flat, InUnits, Numbers, Scores, longest_of
from widemargin.structures.parts import Best

Order = int | str
WITH_GRANDPARENTS = "grandsiblings"

KINDS: dict[tuple[str, Order], int] = {
    ("projective", 1): PROJECTIVE,
    ("projective", 2): SIBLINGS,
    ("projective", WITH_GRANDPARENTS): GRANDSIBLINGS,
    ("nonprojective", 1): NON_PROJECTIVE,
}
"""The kinds of trees by decoder and order, as `decoders.tree_kbest` numbers them."""


class Sentence(NamedTuple):
    """The scores of one sentence: (S, S, K) of arcs, (S, S, S) of triples, or (0, 0, 0) if they are not scored.

    Only arcs and triples that a tree can have are filled in.
    """

    arcs: FloatMatrix
    siblings: FloatMatrix
    grandparents: FloatMatrix


@kernel
def triples_of(kind: int) -> int:
    """How many kinds of triples are scored: 1 for siblings, 2 with grandparents."""
    return 2 if kind == GRANDSIBLINGS else (1 if kind == SIBLINGS else 0)


@kernel
def _cube(own: FloatVector, at: int, size: int) -> FloatMatrix:
    return own[at : at + size**3].reshape(size, size, size)


@kernel
def sentence_of(scores: Scores, k: int, n_labels: int, kind: int) -> Sentence:
    """The scores of sentence k."""
    size, at, n_triples = scores.sizes[k] + 1, scores.starts[k], triples_of(kind)
    arcs = scores.own[at : at + size * size * n_labels].reshape(size, size, n_labels)
    at += size * size * n_labels
    siblings = _cube(scores.own, at, size if n_triples > 0 else 0)
    grandparents = _cube(scores.own, at + size**3, size if n_triples > 1 else 0)
    return Sentence(arcs, siblings, grandparents)


@kernel
def _choose_labels(labelled: FloatMatrix, arcs: FloatMatrix, labels: IntMatrix) -> None:
    """Write the score of each arc with its best label, the first in a tie, and that label."""
    alone = labelled.shape[2] == 1
    for h in range(len(arcs)):
        for m in range(1, len(arcs)):
            best = 0 if alone else highest(labelled[h, m])
            arcs[h, m], labels[h, m] = labelled[h, m, best], best


@kernel
def _best(scores: Scores, kind: int, single_root: bool, n_labels: int, outputs: IntVector) -> None:
    longest = longest_of(scores.sizes)
    scratch, write = new_tree_scratch(longest, kind), 0
    room, names = np.empty((longest + 1) ** 2), np.empty((longest + 1) ** 2, dtype=np.int32)
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        one, out = sentence_of(scores, k, n_labels, kind), outputs[write : write + n]
        arcs = room[: (n + 1) ** 2].reshape(n + 1, n + 1)
        labels = names[: (n + 1) ** 2].reshape(n + 1, n + 1)
        _choose_labels(one.arcs, arcs, labels)
        decode_tree(kind, arcs, one.siblings, one.grandparents, single_root, out, scratch)
        for t in range(n):
            out[t] = out[t] * n_labels + labels[out[t], t + 1]
        write += n


@kernel
def _best_k(
    scores: Scores, kind: int, single_root: bool, n_labels: int, k: int
) -> tuple[IntVector, FloatVector, IntVector]:
    scratch, n_sentences = new_tree_scratch(longest_of(scores.sizes), kind), len(scores.sizes)
    counts, totals = np.ones(n_sentences, dtype=np.int32), np.zeros(n_sentences * k)
    outputs, write, found = np.empty(k * scores.sizes.sum(), dtype=np.int32), 0, 0
    for number in range(n_sentences):
        n = scores.sizes[number]
        if n > 0:
            one = sentence_of(scores, number, n_labels, kind)
            out, best = outputs[write : write + k * n].reshape(k, n), totals[found : found + k]
            counts[number] = tree_kbest(kind, one.arcs, one.siblings, one.grandparents, single_root, out, best, scratch)
        else:
            totals[found] = 0.0
        write += counts[number] * n
        found += counts[number]
    return counts, totals[:found], outputs[:write]


@kernel
def _parts(sizes: LongVector, kind: int, n_labels: int, outputs: IntVector) -> tuple[LongVector, LongVector]:
    """At each word its arc, then the sibling and the grandparent if they are scored."""
    # A word whose head is the root has no grandparent, but keeps its place (−1): trees are compared place by place.
    n_triples, longest, write = triples_of(kind), longest_of(sizes), 0
    indptr, numbers = np.zeros(len(sizes) + 1, np.int64), np.empty((1 + n_triples) * len(outputs), np.int64)
    all_heads, all_before = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int32)
    read = 0
    for k in range(len(sizes)):
        n, size = sizes[k], sizes[k] + 1
        codes, heads, before = outputs[read : read + n], all_heads[:n], all_before[:n]
        at_siblings = size * size * n_labels
        for t in range(n):
            heads[t] = codes[t] // n_labels
        if n_triples > 0:
            sibling_of(heads, before)
        for m in range(1, size):
            head = int(heads[m - 1])
            numbers[write] = (head * size + m) * n_labels + codes[m - 1] % n_labels
            if n_triples > 0:
                numbers[write + 1] = at_siblings + (head * size + before[m - 1]) * size + m
            if n_triples > 1:
                above = heads[head - 1] if head > 0 else -1
                numbers[write + 2] = at_siblings + size**3 + (head * size + m) * size + above if head > 0 else -1
            write += 1 + n_triples
        read += n
        indptr[k + 1] = write
    return indptr, numbers


@kernel
def _wrong_label(row: FloatVector, right: int) -> int:
    """The best label other than the right one; −1 if there is no other."""
    best = -1
    for label in range(len(row)):
        if label != right and (best < 0 or row[label] > row[best]):
            best = label
    return best


@kernel
def _violators(
    scores: Scores,
    costs: Scores,
    kind: int,
    single_root: bool,
    n_labels: int,
    gold: IntVector,
    gold_scores: FloatVector,
    outputs: IntVector,
) -> tuple[FloatVector, int]:
    """The errors of the violators of all words, and the end of the violators' codes in `outputs`."""
    scratch, errors = new_tree_scratch(longest_of(scores.sizes), kind), np.zeros(len(gold))
    read = write = 0
    for k in range(len(scores.sizes)):
        n, right = scores.sizes[k], gold[read : read + scores.sizes[k]]
        if n == 0:
            continue
        one, cost_of = sentence_of(scores, k, n_labels, kind), sentence_of(costs, k, n_labels, kind).arcs
        arcs, labels = np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1), dtype=np.int32)
        best, other = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        pairs, chains = one.siblings, one.grandparents
        _choose_labels(one.arcs, arcs, labels)
        decoded = decode_tree(kind, arcs, pairs, chains, single_root, best, scratch)
        for c in range(n):
            head, heads, total, relabelled = right[c] // n_labels, best, decoded, -1
            if best[c] == head:
                score, arcs[head, c + 1] = arcs[head, c + 1], -np.inf
                heads, total = other, decode_tree(kind, arcs, pairs, chains, single_root, other, scratch)
                arcs[head, c + 1] = score
            error = cost_of[heads[c], c + 1, labels[heads[c], c + 1]]
            # If a word can have no other head, decoding returns a forbidden tree with a score of −∞.
            gain = error * (1.0 + total - gold_scores[k]) if total > -np.inf else 0.0
            if best[c] == head:
                row = one.arcs[head, c + 1]
                wrong = _wrong_label(row, right[c] % n_labels)
                cost = cost_of[head, c + 1, wrong] if wrong >= 0 else 0.0
                if cost > 0.0 and cost * (1.0 + decoded - (score - row[wrong]) - gold_scores[k]) > gain:
                    gain = cost * (1.0 + decoded - (score - row[wrong]) - gold_scores[k])
                    heads, error, relabelled = best, cost, wrong
            if not gain > 0.0:
                continue
            errors[read + c], out = error, outputs[write : write + n]
            for t in range(n):
                out[t] = heads[t] * n_labels + labels[heads[t], t + 1]
            if relabelled >= 0:
                out[c] = head * n_labels + relabelled
            write += n
        read += n
    return errors, write


@dataclass(frozen=True, slots=True)
class Dependencies(Flat):
    """Dependency trees.

    Parameters
    ----------
    n_labels : how many labels arcs have
    kind : one of `KINDS`
    single_root : whether exactly one word is attached to the root
    """

    n_labels: int
    kind: int
    single_root: bool

    @property
    def n_triples(self) -> int:
        """How many kinds of triples are scored: siblings, and grandparents."""
        return int(triples_of(self.kind))

    def n_own(self, sizes: LongVector) -> LongVector:
        """Labelled arcs and triples."""
        return (sizes + 1) ** 2 * (self.n_labels + self.n_triples * (sizes + 1))

    def lengths(self, sizes: LongVector) -> LongVector:
        """A code for each word."""
        return sizes

    def positions(self, sizes: LongVector) -> LongVector:
        """The words."""
        return sizes

    def parts(self, sizes: LongVector, outputs: IntVector) -> Numbers:
        """Arcs, siblings and grandparents."""
        return Numbers(*_parts(sizes, self.kind, self.n_labels, outputs))

    def best(self, scores: Scores) -> IntVector:
        """The best trees."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, self.kind, self.single_root, self.n_labels, outputs)
        return outputs

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best trees with labels."""
        return Best(*_best_k(scores, self.kind, self.single_root, self.n_labels, k))

    def violators(self, scores: Scores, costs: Scores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst trees that are wrong at each word (Sarawagi & Gupta 2008, §4.3.3).

        All wrong heads of a word must cost the same, and wrong labels at the right head no more. Let y be the best
        tree. If y has the wrong head at c, no other tree is worse there. Otherwise the worst tree is y with the best
        wrong label at c, or the best tree without the gold arc: decoding runs again with that arc forbidden.
        """
        outputs, totals = np.empty(int((scores.sizes**2).sum()), dtype=np.int32), self.total(scores, gold)
        given = self.kind, self.single_root, self.n_labels
        errors, end = _violators(scores, costs, *given, gold, totals, outputs)
        return errors, outputs[:end]


@kernel
def cost_row(code: int, head: int, costs: FloatVector, scale: float, row: FloatVector) -> None:
    """Write the costs of all labels of an arc from this head; `code` is that of the gold arc, −1 for none."""
    right = code // len(row) == head
    cost = scale * costs[1 if right else 0]
    for label in range(len(row)):
        row[label] = cost
    if right:
        row[code % len(row)] = 0.0


@kernel
def _fill(
    indptr: LongVector,
    gold: IntVector,
    n_labels: int,
    costs: FloatVector,
    batch: IntVector,
    scales: FloatVector,
    n_own: LongVector,
    room: Scores,
) -> None:
    for k in range(len(batch)):
        first, size = indptr[batch[k]], room.sizes[k] + 1
        own = room.own[room.starts[k] : room.starts[k] + n_own[k]]
        for h in range(size):
            for m in range(size):
                code, at = gold[first + m - 1] if m > 0 and scales[k] != 0.0 else -1, (h * size + m) * n_labels
                cost_row(code, h, costs, scales[k], own[at : at + n_labels])
        for at in range(size * size * n_labels, len(own)):
            own[at] = 0.0


@kernel
def _errors(
    indptr: LongVector, gold: IntVector, n_labels: int, costs: FloatVector, batch: IntVector, outputs: IntVector
) -> FloatVector:
    errors, read = np.zeros(len(batch)), 0
    for k in range(len(batch)):
        for t in range(indptr[batch[k]], indptr[batch[k] + 1]):
            if gold[t] // n_labels != outputs[read] // n_labels:
                errors[k] += costs[0]
            elif gold[t] != outputs[read]:
                errors[k] += costs[1]
            read += 1
    return errors


class ArcCosts(InUnits):
    """Costs of arcs and labels (`structures.parts.Costs`); triples cost nothing.

    Parameters
    ----------
    indptr : (n + 1,) where each sentence begins among the words
    gold : the code of each word's arc; empty without gold
    structure : the kind of trees
    costs : of a wrong head, and of a wrong label at the right head
    """

    def __init__(self, indptr: LongVector, gold: IntVector, structure: Dependencies, costs: FloatVector) -> None:
        self.indptr, self.gold, self.structure, self.costs = indptr, gold, structure, costs

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of arcs with their labels, times each example's scale."""
        n_labels, n_own = self.structure.n_labels, self.structure.n_own(room.sizes)
        _fill(self.indptr, self.gold, n_labels, self.costs, batch, scales, n_own, room)

    def errors(self, batch: IntVector, outputs: IntVector) -> FloatVector:
        """The errors of trees laid end to end."""
        return _errors(self.indptr, self.gold, self.structure.n_labels, self.costs, batch, outputs)

    def most(self) -> FloatVector:
        """The error with all heads wrong."""
        return np.diff(self.indptr) * float(self.costs.max())
