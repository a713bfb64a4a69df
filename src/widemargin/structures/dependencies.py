"""Dependency trees: every word of a sentence has a head, another word or the root, and the arc to it has a label.

    score(y) = Σ over arcs (h, m, l) of arcs[h, m, l]   [+ siblings[h, s, m]  [+ grandparents[h, m, g]]]

Words are 1 … n and the root is 0; s is the sibling before m, or h if there is none, and g is the head of h. An
output is a code for each word, h · K + l with K labels. With S = n + 1, the parts of a sentence are, in this order,
its labelled arcs ((h S + m) K + l), its siblings ((h S + s) S + m) and its grandparents ((h S + m) S + g).

A wrong head costs something, and so does a wrong label at the right head (`costs.ArcCosts`):

    Δ(y) = Σ_m head_cost [h_m wrong] + label_cost [h_m right, l_m wrong]

The label of an arc changes only the score of that arc. So labels are chosen before any tree is decoded, or summed over:

    score(h, m) = log Σ_l exp(arcs[h, m, l]),   share(l | h, m) = exp(arcs[h, m, l] − score(h, m))

Sums over trees with these scores give p(h, m): inside–outside, or the matrix-tree theorem for trees with crossing arcs.
A label of an arc has the probability p(h, m) · share(l | h, m). There are no sums over trees with scores of
grandparents.

The recursions are those of `decoders`. Here they run over a batch.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.arborescence import Elimination, matrix_tree, new_elimination
from widemargin.decoders.eisner import sibling_of
from widemargin.decoders.eisner_sums import SumChart, eisner_sums, new_sum_chart
from widemargin.decoders.scores import highest, to_shares
from widemargin.decoders.tree_kbest import (
    GRANDSIBLINGS,
    NON_PROJECTIVE,
    PROJECTIVE,
    SIBLINGS,
    TreeScratch,
    decode_tree,
    new_tree_scratch,
    tree_kbest,
)
from widemargin.structures.flat import Counts, Flat, Numbers, Scores, leading, longest_of
from widemargin.structures.parts import Best, Sums

Order = int | str
NO_LABELS: IntVector = np.empty(0, dtype=np.int32)
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
def sentence_of(scores: Scores, k: int, n_labels: int, kind: int) -> Sentence:
    """The scores of sentence k."""
    size, begin = scores.sizes[k] + 1, scores.starts[k]
    one, other = size if kind >= SIBLINGS else 0, size if kind == GRANDSIBLINGS else 0
    at_siblings = begin + size * size * n_labels
    at_grandparents = at_siblings + one**3
    arcs = scores.own[begin:at_siblings].reshape(size, size, n_labels)
    siblings = scores.own[at_siblings:at_grandparents].reshape(one, one, one)
    grandparents = scores.own[at_grandparents : at_grandparents + other**3].reshape(other, other, other)
    return Sentence(arcs, siblings, grandparents)


@kernel
def _choose_labels(labelled: FloatMatrix, arcs: FloatMatrix, labels: IntMatrix) -> None:
    """Write the score of each arc with its best label, the first in a tie, and that label."""
    for h in range(len(arcs)):
        for m in range(1, len(arcs)):
            best = highest(labelled[h, m])
            arcs[h, m], labels[h, m] = labelled[h, m, best], best


@kernel
def _best(
    scores: Scores,
    kind: int,
    single_root: bool,
    n_labels: int,
    scratch: TreeScratch,
    chosen: IntVector,
    outputs: IntVector,
) -> None:
    write, read, n_scored = 0, 0, 1 if len(chosen) > 0 else n_labels
    most = (longest_of(scores.sizes) + 1) ** 2 if n_scored > 1 else 0
    room, names = np.empty(most), np.empty(most, dtype=np.int32)
    for k in range(len(scores.sizes)):
        n, n_arcs = scores.sizes[k], (scores.sizes[k] + 1) ** 2
        one, out = sentence_of(scores, k, n_scored, kind), outputs[write : write + n]
        arcs, labels = one.arcs.reshape(n_arcs * n_scored), chosen[read : read + n_arcs]
        if n_scored > 1:
            arcs, labels = room[:n_arcs], names[:n_arcs]
            _choose_labels(one.arcs, arcs.reshape(n + 1, n + 1), labels.reshape(n + 1, n + 1))
        if n > 0:
            square = arcs.reshape(n + 1, n + 1)
            decode_tree(kind, square, one.siblings, one.grandparents, single_root, out, scratch)
        for t in range(n if n_labels > 1 else 0):
            out[t] = out[t] * n_labels + labels[out[t] * (n + 1) + t + 1]
        write, read = write + n, read + n_arcs


@kernel
def _best_k(
    scores: Scores, kind: int, single_root: bool, n_labels: int, scratch: TreeScratch, k: int
) -> tuple[IntVector, FloatVector, IntVector]:
    n_sentences = len(scores.sizes)
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
    n_triples, longest, write = max(kind - NON_PROJECTIVE, 0), longest_of(sizes), 0
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
    scratch: TreeScratch,
    gold: IntVector,
    gold_scores: FloatVector,
    outputs: IntVector,
) -> tuple[FloatVector, int]:
    """The errors of the violators of all words, and the end of the violators' codes in `outputs`."""
    errors = np.zeros(len(gold))
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
        return max(self.kind - NON_PROJECTIVE, 0)

    @property
    def unlabelled(self) -> "Dependencies":
        """Trees whose arcs have one label."""
        return replace(self, n_labels=1)

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

    def best(self, scores: Scores, labels: IntVector = NO_LABELS) -> IntVector:
        """The best trees; with the best `labels` of all arcs already chosen, scores are those of `unlabelled` trees."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, *self._given(scores), labels, outputs)
        return outputs

    def best_k(self, scores: Scores, k: int) -> Best:
        """The k best trees with labels."""
        return Best(*_best_k(scores, *self._given(scores), k))

    def violators(self, scores: Scores, costs: Scores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst trees that are wrong at each word (Sarawagi & Gupta 2008, §4.3.3).

        All wrong heads of a word must cost the same, and wrong labels at the right head no more. Let y be the best
        tree. If y has the wrong head at c, no other tree is worse there. Otherwise the worst tree is y with the best
        wrong label at c, or the best tree without the gold arc: decoding runs again with that arc forbidden.
        """
        outputs, totals = np.empty(int((scores.sizes**2).sum()), dtype=np.int32), self.total(scores, gold)
        errors, end = _violators(scores, costs, *self._given(scores), gold, totals, outputs)
        return errors, outputs[:end]

    def _given(self, scores: Scores) -> tuple[int, bool, int, TreeScratch]:
        """The arguments that all searches have."""
        scratch = new_tree_scratch(int(scores.sizes.max(initial=1)), self.kind)
        return self.kind, self.single_root, self.n_labels, scratch


@kernel
def _sums(
    scores: Scores,
    kind: int,
    single_root: bool,
    n_labels: int,
    chart: SumChart,
    elimination: Elimination,
    counts: Scores,
    log_z: FloatVector,
) -> None:
    """Write the probabilities of all parts to `counts`, which may be the scores themselves."""
    # Labels are summed out of each arc first; its probability is then divided among them in proportion.
    for k in range(len(scores.sizes)):
        size, one = scores.sizes[k] + 1, sentence_of(scores, k, n_labels, kind)
        shares = sentence_of(counts, k, n_labels, kind)
        arcs, found = np.empty((size, size)), np.zeros((size, size))
        for h in range(size):
            for m in range(1, size):
                arcs[h, m] = to_shares(one.arcs[h, m], shares.arcs[h, m]) if h != m else -inf
        log_z[k], pairs = 0.0, np.zeros(one.siblings.shape)
        if size > 1 and kind == NON_PROJECTIVE:
            log_z[k] = matrix_tree(arcs, single_root, elimination, found)
        elif size > 1:
            log_z[k] = eisner_sums(arcs, one.siblings, single_root, chart, found, pairs)
        shares.siblings[:] = pairs
        for h in range(size):
            for m in range(size):
                row = shares.arcs[h, m]
                for label in range(n_labels):  # the places of impossible arcs were never filled in
                    row[label] = found[h, m] * row[label] if found[h, m] > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class SummedDependencies(Dependencies):
    """Dependency trees that can be summed over: all but those with grandparents."""

    def sums(self, scores: Scores, *, over: bool = False) -> Sums:
        """Probabilities of labelled arcs and siblings; `over` writes them over the scores, to save memory."""
        found, log_z = scores if over else self.room(scores.sizes), np.empty(len(scores.sizes))
        longest, crossing = int(scores.sizes.max(initial=1)), self.kind == NON_PROJECTIVE
        scratch = new_sum_chart(0 if crossing else longest), new_elimination(longest if crossing else 0)
        _sums(scores, self.kind, self.single_root, self.n_labels, *scratch, found, log_z)
        return Sums(log_z, Counts(found.starts, found.sizes, found.own, np.empty((len(log_z), 0))))

    def own(self, counts: Counts) -> FloatMatrix:
        """A row for each arc, by head, then by modifier, with its labels."""
        return leading(counts, (counts.sizes + 1) ** 2 * self.n_labels, self.n_labels)


def dependencies(n_labels: int, kind: int, single_root: bool) -> Dependencies:
    """Dependency trees of this kind, with sums unless grandparents are scored."""
    return (Dependencies if kind == GRANDSIBLINGS else SummedDependencies)(n_labels, kind, single_root)
