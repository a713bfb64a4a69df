"""Dependency trees: every word of a sentence has a head, another word or the root, and the arc to it has a label.

    score(y) = Σ over arcs (h, m, l) of arcs[h, m, l]   [+ siblings[h, s, m]  [+ grandparents[h, m, g]]]

Words are 1 … n and the root is 0; s is the sibling before m, h itself where there is none, and g the head of h. An
output is a code for each word, h · K + l with K labels. With S = n + 1, the parts of a sentence are, in this order,
its arcs (h S + m), their labels ((h S + m) K + l), its siblings ((h S + s) S + m) and grandparents ((h S + m) S + g).

Nothing depends on the label of an arc. So labels are chosen, or summed over, before any tree is decoded, and scores
may be *folded*: they then hold for each arc the score of its best label alone, and which one that is.

The recursions are those of `decoders`: Eisner, siblings, grandsiblings, arborescence. Here they run over a batch.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.decoders.highest import highest
from widemargin.decoders.siblings import sibling_of
from widemargin.decoders.tree_kbest import (
    GRANDSIBLINGS,
    NON_PROJECTIVE,
    PROJECTIVE,
    SIBLINGS,
    decode_tree,
    new_tree_scratch,
    tree_kbest,
)
from widemargin.structures.parts import Best, Parts

Order = int | str
WITH_GRANDPARENTS = "grandsiblings"

KINDS: dict[tuple[str, Order], int] = {
    ("projective", 1): PROJECTIVE,
    ("projective", 2): SIBLINGS,
    ("projective", WITH_GRANDPARENTS): GRANDSIBLINGS,
    ("nonprojective", 1): NON_PROJECTIVE,
}
"""The kinds of trees by decoder and order, as `decoders.tree_kbest` numbers them."""


class ArcScores(NamedTuple):
    """The arc from h to m of sentence k has the row starts[k] + h · widths[k] + m of `arcs`, (rows, K).

    Folded scores have one column, and the best label of each row in `labels`, which is empty otherwise. The triple
    (a, b, c) of sentence k is entry triples[k] + (a · widths[k] + b) · widths[k] + c of `siblings` or `grandparents`,
    which are empty where nothing scores them. Only arcs and triples that trees may have are filled in.
    """

    starts: LongVector
    sizes: LongVector
    widths: LongVector
    triples: LongVector
    arcs: FloatMatrix
    labels: IntVector
    siblings: FloatVector
    grandparents: FloatVector

    def some(self, places: LongVector) -> "ArcScores":
        """The scores of the sentences at these places of the batch."""
        names = ("starts", "sizes", "widths", "triples")
        return self._replace(**{name: getattr(self, name)[places] for name in names})


@kernel
def fold(scores: ArcScores, k: int, arcs: FloatMatrix, labels: IntMatrix) -> None:
    """Write the score of each arc of sentence k with its best label, the first in a tie, and that label."""
    width, folded, alone = scores.widths[k], len(scores.labels) > 0, scores.arcs.shape[1] == 1
    for h in range(len(arcs)):
        for m in range(1, len(arcs)):
            row = scores.starts[k] + h * width + m
            best = 0 if alone else highest(scores.arcs[row])
            arcs[h, m] = scores.arcs[row, best]
            labels[h, m] = scores.labels[row] if folded else best


@kernel
def _cube(scores: ArcScores, values: FloatVector, k: int) -> FloatMatrix:
    """The scores of triples of sentence k, copied only if there is padding between them; (0, 0, 0) if none are."""
    size, width, at = scores.sizes[k] + 1, scores.widths[k], scores.triples[k]
    if len(values) == 0:
        return np.empty((0, 0, 0))
    if size == width:
        return values[at : at + size**3].reshape(size, size, size)
    cube = np.empty((size, size, size))
    for a in range(size):
        for b in range(size):
            for c in range(size):
                cube[a, b, c] = values[at + (a * width + b) * width + c]
    return cube


@kernel
def siblings_of(scores: ArcScores, k: int) -> FloatMatrix:
    """The scores of heads × siblings before × modifiers of sentence k."""
    return _cube(scores, scores.siblings, k)


@kernel
def grandparents_of(scores: ArcScores, k: int) -> FloatMatrix:
    """The scores of heads × modifiers × grandparents of sentence k."""
    return _cube(scores, scores.grandparents, k)


@kernel
def _best(scores: ArcScores, kind: int, single_root: bool, n_labels: int, longest: int, outputs: IntVector) -> None:
    scratch, write = new_tree_scratch(longest, kind), 0
    room, names = np.empty((longest + 1) ** 2), np.empty((longest + 1) ** 2, dtype=np.int32)
    for k in range(len(scores.sizes)):
        n = scores.sizes[k]
        if n == 0:
            continue
        arcs = room[: (n + 1) ** 2].reshape(n + 1, n + 1)
        labels = names[: (n + 1) ** 2].reshape(n + 1, n + 1)
        fold(scores, k, arcs, labels)
        out = outputs[write : write + n]
        decode_tree(kind, arcs, siblings_of(scores, k), grandparents_of(scores, k), single_root, out, scratch)
        for t in range(n):
            out[t] = out[t] * n_labels + labels[out[t], t + 1]
        write += n


@kernel
def _labelled(scores: ArcScores, k: int) -> FloatMatrix:
    """The scores of heads × modifiers × labels of sentence k, copied only if there is padding between them."""
    size, width, n_labels, at = scores.sizes[k] + 1, scores.widths[k], scores.arcs.shape[1], scores.starts[k]
    if size == width:
        return scores.arcs[at : at + size**2].reshape(size, size, n_labels)
    labelled = np.empty((size, size, n_labels), dtype=scores.arcs.dtype)
    for h in range(size):
        for m in range(size):
            for label in range(n_labels):
                labelled[h, m, label] = scores.arcs[at + h * width + m, label]
    return labelled


@kernel
def _best_k(
    scores: ArcScores, kind: int, single_root: bool, longest: int, k: int
) -> tuple[IntVector, FloatVector, IntVector]:
    scratch, n_sentences = new_tree_scratch(longest, kind), len(scores.sizes)
    counts, totals = np.ones(n_sentences, dtype=np.int32), np.zeros(n_sentences * k)
    outputs, write, found = np.empty(k * scores.sizes.sum(), dtype=np.int32), 0, 0
    for number in range(n_sentences):
        n = scores.sizes[number]
        if n > 0:
            labelled = _labelled(scores, number)
            pairs, chains = siblings_of(scores, number), grandparents_of(scores, number)
            out, best = outputs[write : write + k * n].reshape(k, n), totals[found : found + k]
            counts[number] = tree_kbest(kind, labelled, pairs, chains, single_root, out, best, scratch)
        else:
            totals[found] = 0.0
        write += counts[number] * n
        found += counts[number]
    return counts, totals[:found], outputs[:write]


@kernel
def _split(codes: IntVector, n_labels: int, heads: IntVector, before: IntVector) -> None:
    """Write the heads of a tree, and the sibling before each word."""
    for t in range(len(codes)):
        heads[t] = codes[t] // n_labels
    sibling_of(heads[: len(codes)], before)


@kernel
def _tree_score(scores: ArcScores, k: int, codes: IntVector) -> float:
    """The score of a tree of sentence k; scores are not folded."""
    n, width, n_labels, total = len(codes), scores.widths[k], scores.arcs.shape[1], 0.0
    for t in range(n):
        total += scores.arcs[scores.starts[k] + codes[t] // n_labels * width + t + 1, codes[t] % n_labels]
    if len(scores.siblings) > 0:
        heads, before = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        _split(codes, n_labels, heads, before)
        for t in range(n):
            total += scores.siblings[scores.triples[k] + (heads[t] * width + before[t]) * width + t + 1]
            if len(scores.grandparents) > 0 and heads[t] > 0:
                chain = (heads[t] * width + t + 1) * width + heads[heads[t] - 1]
                total += scores.grandparents[scores.triples[k] + chain]
    return total


@kernel
def _total(scores: ArcScores, outputs: IntVector, totals: FloatVector) -> None:
    read = 0
    for k in range(len(scores.sizes)):
        totals[k] = _tree_score(scores, k, outputs[read : read + scores.sizes[k]])
        read += scores.sizes[k]


@kernel
def siblings_before(sizes: LongVector, n_labels: int, outputs: IntVector) -> IntVector:
    """The sibling before each word of trees laid end to end."""
    heads, before, read = np.empty(len(outputs), dtype=np.int32), np.empty(len(outputs), dtype=np.int32), 0
    for n in sizes:
        _split(outputs[read : read + n], n_labels, heads[:n], before[read : read + n])
        read += n
    return before


@kernel
def _append(
    codes: IntVector,
    others: IntVector,
    before: IntVector,
    other_before: IntVector,
    n_labels: int,
    kind: int,
    sign: float,
    parts: Parts,
    write: int,
) -> int:
    """Append the parts of a tree that another one lacks; return where they end."""
    numbers, size = parts.numbers, len(codes) + 1
    at_labels, begin = size**2, write
    at_siblings = at_labels * (1 + n_labels)
    for m in range(1, size):
        code, other = codes[m - 1], others[m - 1]
        head, same = code // n_labels, code // n_labels == other // n_labels
        if not same:
            numbers[write] = head * size + m
            write += 1
        if code != other:
            numbers[write] = at_labels + (head * size + m) * n_labels + code % n_labels
            write += 1
        if kind in (SIBLINGS, GRANDSIBLINGS) and not (same and before[m - 1] == other_before[m - 1]):
            numbers[write] = at_siblings + (head * size + before[m - 1]) * size + m
            write += 1
        if kind == GRANDSIBLINGS and head > 0:
            grandparent = codes[head - 1] // n_labels
            if not (same and grandparent == others[head - 1] // n_labels):
                numbers[write] = at_siblings + size**3 + (head * size + m) * size + grandparent
                write += 1
    for j in range(begin, write):
        parts.values[j] = sign
    return write


@kernel
def _change(
    sizes: LongVector, kind: int, n_labels: int, gold: IntVector, outputs: IntVector
) -> tuple[LongVector, LongVector, FloatVector]:
    room = 8 * len(gold)
    parts = Parts(np.zeros(len(sizes) + 1, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room))
    right_before = found_before = np.empty(len(gold), dtype=np.int32)
    if kind in (SIBLINGS, GRANDSIBLINGS):
        right_before = siblings_before(sizes, n_labels, gold)
        found_before = siblings_before(sizes, n_labels, outputs)
    write = read = 0
    for k in range(len(sizes)):
        end = read + sizes[k]
        right, found = gold[read:end], outputs[read:end]
        one, other = right_before[read:end], found_before[read:end]
        write = _append(right, found, one, other, n_labels, kind, 1.0, parts, write)
        write = _append(found, right, other, one, n_labels, kind, -1.0, parts, write)
        parts.indptr[k + 1] = write
        read = end
    return parts.indptr, parts.numbers[:write], parts.values[:write]


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
    scores: ArcScores, costs: ArcScores, kind: int, single_root: bool, longest: int, gold: IntVector, outputs: IntVector
) -> tuple[FloatVector, int]:
    """The errors of the violators of all words; the trees of words that have one go to `outputs`, up to the number."""
    scratch, n_labels, errors = new_tree_scratch(longest, kind), scores.arcs.shape[1], np.zeros(len(gold))
    read = write = 0
    for k in range(len(scores.sizes)):
        n, right = scores.sizes[k], gold[read : read + scores.sizes[k]]
        if n == 0:
            continue
        arcs, labels = np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1), dtype=np.int32)
        best, other = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        pairs, chains = siblings_of(scores, k), grandparents_of(scores, k)
        fold(scores, k, arcs, labels)
        decoded = decode_tree(kind, arcs, pairs, chains, single_root, best, scratch)
        gold_score = _tree_score(scores, k, right)
        for c in range(n):
            head, heads, total, relabelled = right[c] // n_labels, best, decoded, -1
            if best[c] == head:
                score, arcs[head, c + 1] = arcs[head, c + 1], -np.inf
                heads, total = other, decode_tree(kind, arcs, pairs, chains, single_root, other, scratch)
                arcs[head, c + 1] = score
            error = costs.arcs[costs.starts[k] + heads[c] * costs.widths[k] + c + 1, labels[heads[c], c + 1]]
            # A word that has no other head is left with the tree that is forbidden.
            gain = error * (1.0 + total - gold_score) if total > -np.inf else 0.0
            if best[c] == head:
                row = scores.arcs[scores.starts[k] + head * scores.widths[k] + c + 1]
                wrong = _wrong_label(row, right[c] % n_labels)
                cost = costs.arcs[costs.starts[k] + head * costs.widths[k] + c + 1, wrong] if wrong >= 0 else 0.0
                if cost > 0.0 and cost * (1.0 + decoded - (score - row[wrong]) - gold_score) > gain:
                    gain = cost * (1.0 + decoded - (score - row[wrong]) - gold_score)
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


@kernel
def _plus(room: ArcScores, scores: ArcScores) -> None:
    for k in range(len(room.sizes)):
        for h in range(room.sizes[k] + 1):
            for m in range(1, room.sizes[k] + 1):
                own = room.arcs[room.starts[k] + h * room.widths[k] + m]
                other = scores.arcs[scores.starts[k] + h * scores.widths[k] + m]
                for label in range(len(own)):
                    own[label] += other[label]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependency trees.

    Parameters
    ----------
    n_labels : how many labels arcs have
    kind : one of `KINDS`
    single_root : whether exactly one word is attached to the root
    folded : whether scores are folded, of which only the best trees are asked for
    """

    n_labels: int
    kind: int
    single_root: bool
    folded: bool = False

    def room(self, sizes: LongVector) -> ArcScores:
        """Room for the scores of arcs, siblings and grandparents."""
        widths = sizes + 1
        rows = widths**2
        cubes = rows * widths if self._n_cubes else np.zeros_like(rows)
        n_rows, n_triples = int(rows.sum()), int(cubes.sum())
        return ArcScores(
            np.cumsum(rows) - rows,
            sizes,
            widths,
            np.cumsum(cubes) - cubes,
            np.empty((n_rows, 1 if self.folded else self.n_labels)),
            np.empty(n_rows if self.folded else 0, dtype=np.int32),
            np.empty(n_triples),
            np.empty(n_triples if self._n_cubes > 1 else 0),
        )

    @property
    def _n_cubes(self) -> int:
        """How many scores a triple has: of siblings, and of grandparents."""
        return {SIBLINGS: 1, GRANDSIBLINGS: 2}.get(self.kind, 0)

    def lengths(self, sizes: LongVector) -> LongVector:
        """A code for each word."""
        return sizes

    def entries(self, sizes: LongVector) -> LongVector:
        """Labels of arcs, or only the best ones, and triples."""
        return (sizes + 1) ** 2 * ((1 if self.folded else self.n_labels) + self._n_cubes * (sizes + 1))

    def positions(self, sizes: LongVector) -> LongVector:
        """The words."""
        return sizes

    def plus(self, room: ArcScores, scores: ArcScores) -> ArcScores:
        """The scores added to costs that fill the room; triples cost nothing."""
        _plus(room, scores)
        return room._replace(triples=scores.triples, siblings=scores.siblings, grandparents=scores.grandparents)

    def best(self, scores: ArcScores) -> IntVector:
        """The best trees."""
        outputs = np.empty(scores.sizes.sum(), dtype=np.int32)
        _best(scores, self.kind, self.single_root, self.n_labels, _longest(scores), outputs)
        return outputs

    def best_k(self, scores: ArcScores, k: int) -> Best:
        """The k best trees with labels."""
        return Best(*_best_k(scores, self.kind, self.single_root, _longest(scores), k))

    def total(self, scores: ArcScores, outputs: IntVector) -> FloatVector:
        """The scores of trees."""
        totals = np.empty(len(scores.sizes))
        _total(scores, outputs, totals)
        return totals

    def change(self, sizes: LongVector, gold: IntVector, outputs: IntVector) -> Parts:
        """The arcs, labels, siblings and grandparents that differ."""
        return Parts(*_change(sizes, self.kind, self.n_labels, gold, outputs))

    def violators(self, scores: ArcScores, costs: ArcScores, gold: IntVector) -> tuple[FloatVector, IntVector]:
        """The worst trees that are wrong at each word (Sarawagi & Gupta 2008, §4.3.3).

        All wrong heads of a word must cost the same, and wrong labels at the right head no more. Let y be the best of
        all trees. Where y has the wrong head at c, no other tree is worse there. Else the worst is the best tree
        without the gold arc, which is decoded again with that arc forbidden, or y with the best wrong label at c.
        """
        outputs = np.empty(int((scores.sizes**2).sum()), dtype=np.int32)
        errors, end = _violators(scores, costs, self.kind, self.single_root, _longest(scores), gold, outputs)
        return errors, outputs[:end]


def _longest(scores: ArcScores) -> int:
    return int(scores.sizes.max(initial=0))
