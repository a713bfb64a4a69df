"""Features of constituents: θ = F w, from weights to the scores of spans, halves and rules, and back.

    span[i, j, l]  = first(i) + last(j) + both(i, j)       features of the span with its label l
    left[i, k, l]  = split(k) + both(i, k)                 features of a left half with its parent's label l
    right[k, j, l] = both(k, j)                            features of a right half, likewise
    rules[s, p, l]                                         the label p of a half on side s below a parent with label l

The features are hashed into a table of weights (`tasks.bracket.slots`). Those of one token are summed up once per
token, those of a pair of tokens once per span. Labels that a span may not have, and rules that would put a rest below
anything but what it is a rest of, score −∞.

Backwards, a feature adds the row of its part, a coefficient per label, to the weights from its slot on. Rows of
different slots may overlap, so features are sorted by slot, and rows are added up in a window that slides over the
weights. Coefficients below `NEGLIGIBLE` are taken for zero, because almost all spans have no probability to speak of.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, coalesce, new_table, with_room
from widemargin.decoders.cky import cell, ends_of
from widemargin.structures.constituents import TreeScores, parts_of
from widemargin.structures.flat import Counts, Parts
from widemargin.structures.support import Found, add_rows, block_runs, note, nothing_found
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.slots import (
    BracketKeys,
    Listed,
    PairKeys,
    list_slots,
    new_slots,
    pair_slots,
    part_slots,
    single_slots,
)

WORD, LONGER, TOP = range(3)
NEGLIGIBLE = 1e-13


class BracketWeights(NamedTuple):
    """A weight vector as its parts: the table, and (2, L, L) weights of rules."""

    table: FloatVector
    rules: FloatMatrix


class Layout(NamedTuple):
    """How many labels there are, the slots' mask, and where the weights of rules begin."""

    n_labels: int
    mask: int
    rules: int


@kernel
def _single_scores(table: FloatVector, keys: IntMatrix, begin: int, n: int, layout: Layout) -> FloatMatrix:
    """(n, L) sums of the features of single tokens."""
    scores, slots = np.zeros((n, layout.n_labels)), np.empty(keys.shape[1], dtype=np.int32)
    for t in range(n):
        single_slots(keys, begin + t, layout.mask, slots)
        add_rows(table, slots, scores[t])
    return scores


@kernel
def _add_pair(
    table: FloatVector,
    keys: BracketKeys,
    pairs: PairKeys,
    begin: int,
    end: int,
    mask: int,
    slots: IntVector,
    row: FloatVector,
) -> None:
    n = pair_slots(keys, pairs, begin, end, mask, slots)
    add_rows(table, slots[:n], row)


@kernel
def _add_scores(
    indptr: LongVector,
    keys: BracketKeys,
    layout: Layout,
    table: FloatVector,
    allowed: BoolMatrix,
    batch: IntVector,
    scores: TreeScores,
) -> None:
    """Add the scores of spans and halves."""
    slots, n_labels, mask = new_slots(keys), layout.n_labels, layout.mask
    all_scored = np.empty((0, n_labels))
    for k in range(len(batch)):
        begin, n, parts = indptr[batch[k]], scores.sizes[k], parts_of(scores, k, all_scored)
        first = _single_scores(table, keys.first, begin, n, layout)
        last = _single_scores(table, keys.last, begin, n, layout)
        split = _single_scores(table, keys.split, begin, n, layout)
        for u in range(1, n + 1):
            for t in range(u):  # one row after the other
                at = cell(t, u)
                kind = WORD if u - t == 1 else TOP if u - t == n else LONGER
                span, left, right = parts.span[at], parts.left[at], parts.right[at]
                for label in range(n_labels):
                    span[label] += first[t, label] + last[u - 1, label]
                    left[label] += split[u, label] if u < n else 0.0
                _add_pair(table, keys, keys.spans, begin + t, begin + u, mask, slots, span)
                if u < n:
                    _add_pair(table, keys, keys.lefts, begin + t, begin + u, mask, slots, left)
                if t > 0:
                    _add_pair(table, keys, keys.rights, begin + t, begin + u, mask, slots, right)
                for label in range(n_labels):
                    if not allowed[kind, label]:
                        span[label] = -np.inf


@kernel
def _gather(indptr: LongVector, keys: BracketKeys, layout: Layout, batch: IntVector, parts: Parts) -> Rows:
    psi = np.zeros(len(batch) + 1, dtype=np.int64)
    draft, slots = Draft(np.empty(1024, dtype=np.int32), np.empty(1024), new_table(64)), new_slots(keys)
    for k in range(len(batch)):
        begin, end, n_labels = indptr[batch[k]], psi[k], layout.n_labels
        size, write = cell(0, indptr[batch[k] + 1] - begin + 1) * n_labels, end
        draft = with_room(draft, end, (parts.indptr[k + 1] - parts.indptr[k]) * (len(slots) + 1))
        for p in range(parts.indptr[k], parts.indptr[k + 1]):
            number, value = parts.numbers[p], parts.values[p]
            if number >= 3 * size:
                draft.indices[write], draft.values[write] = layout.rules + number - 3 * size, value
                write += 1
                continue
            t, u = ends_of(number % size // n_labels)
            for s in range(part_slots(keys, number // size, begin + t, begin + u, layout.mask, slots)):
                draft.indices[write], draft.values[write] = slots[s] + number % n_labels, value
                write += 1
        psi[k + 1] = coalesce(draft.indices, draft.values, end, write, end, draft.table)
    end = psi[len(batch)]
    return Rows(psi, draft.indices[:end], draft.values[:end])


@kernel
def _sum_singles(n: int, rows: FloatMatrix, singles: FloatMatrix) -> None:
    """Sum the rows of spans by first and by last word, and those of left halves by the word after them."""
    n_labels, n_cells = singles.shape[1], cell(0, n + 1)
    for t in range(3 * n):
        for label in range(n_labels):
            singles[t, label] = 0.0
    for u in range(1, n + 1):
        for t in range(u):
            first, last, span = singles[t], singles[n + u - 1], rows[cell(t, u)]
            for label in range(n_labels):
                first[label] += span[label]
                last[label] += span[label]
            if u < n:
                split, left = singles[2 * n + u], rows[n_cells + cell(t, u)]
                for label in range(n_labels):
                    split[label] += left[label]


@kernel
def _matters(row: FloatVector) -> bool:
    largest = 0.0
    for label in range(len(row)):
        largest = max(largest, abs(row[label]))
    return largest > NEGLIGIBLE


@kernel
def _append(row: FloatVector, offset: int, n: int, draft: Draft, write: int) -> tuple[Draft, int]:
    """Append the first `n` entries of `row` that matter, at the weights from `offset` on."""
    draft = with_room(draft, write, n)
    for j in range(n):
        if abs(row[j]) > NEGLIGIBLE:
            draft.indices[write], draft.values[write] = offset + j, row[j]
            write += 1
    return draft, write


@kernel
def _append_listed(
    listed: Listed, rows: FloatMatrix, singles: FloatMatrix, draft: Draft, write: int
) -> tuple[Draft, int]:
    """Append the sums of rows by weight: that of a feature lies at the weights from its slot on."""
    n_labels, at = rows.shape[1], 0
    window = np.zeros(n_labels)
    for k in np.argsort(listed.slots):
        slot, number = listed.slots[k], listed.rows[k]
        shift = min(slot - at, n_labels)
        if shift > 0:
            draft, write = _append(window, at, shift, draft, write)
            for label in range(n_labels):
                window[label] = window[label + shift] if label + shift < n_labels else 0.0
            at = slot
        row = rows[number] if number < len(rows) else singles[number - len(rows)]
        for label in range(n_labels):
            window[label] += row[label]
    return _append(window, at, n_labels, draft, write)


@kernel
def _gather_counts(indptr: LongVector, keys: BracketKeys, layout: Layout, batch: IntVector, counts: Counts) -> Rows:
    n_labels = layout.n_labels
    psi, write = np.zeros(len(batch) + 1, dtype=np.int64), 0
    draft = Draft(np.empty(1024, dtype=np.int32), np.empty(1024), new_table(1))
    for k in range(len(batch)):
        n, place, n_cells = counts.sizes[k], counts.starts[k], cell(0, counts.sizes[k] + 1)
        rows = counts.own[place : place + 3 * n_cells * n_labels].reshape(3 * n_cells, n_labels)
        singles, wanted = np.empty((3 * n, n_labels)), np.empty(len(rows), dtype=np.bool_)
        _sum_singles(n, rows, singles)
        for row in range(len(rows)):
            wanted[row] = _matters(rows[row])
        listed = list_slots(keys, indptr[batch[k]], n, layout.mask, wanted)
        draft, write = _append_listed(listed, rows, singles, draft, write)
        draft, write = _append(counts.shared[k], layout.rules, counts.shared.shape[1], draft, write)
        psi[k + 1] = write
    return Rows(psi, draft.indices[:write], draft.values[:write])


@kernel
def _reads(indptr: LongVector, keys: BracketKeys, layout: Layout, batch: IntVector, found: Found) -> int:
    """Find the weights of all features of the batch, and of all rules; return how many blocks there are."""
    width = layout.n_labels
    count = note(layout.rules, 2 * width**2, found, 0)
    for i in batch:
        begin, n = indptr[i], indptr[i + 1] - indptr[i]
        every = np.ones(3 * cell(0, n + 1), dtype=np.bool_)
        for slot in list_slots(keys, begin, n, layout.mask, every).slots:
            count = note(int(slot), width, found, count)
    return count


def count_weights(n_labels: int, hash_bits: int) -> int:
    """The number of weights: the table with room for the labels of its last slot, and two for each rule."""
    return 2**hash_bits + n_labels - 1 + 2 * n_labels**2


class BracketFeatures:
    """The features of sentences (`structures.parts.Features`).

    Parameters
    ----------
    bracketing : the labels
    hash_bits : the weights of features are a table of 2^hash_bits numbers
    indptr : (n + 1,) where each sentence begins among the tokens
    keys : the keys of the features
    """

    def __init__(self, bracketing: Bracketing, hash_bits: int, indptr: LongVector, keys: BracketKeys) -> None:
        n_labels, n_chains = bracketing.n_labels, len(bracketing.chains)
        self.indptr, self.keys, self.allowed, self.sizes = indptr, keys, bracketing.allowed, np.diff(indptr)
        self.layout = Layout(n_labels, 2**hash_bits - 1, 2**hash_bits + n_labels - 1)
        self.n_weights = count_weights(n_labels, hash_bits)
        rests = np.arange(n_chains, n_labels)
        self.limits = np.zeros((2, n_labels, n_labels))
        self.limits[:, rests] = np.where(bracketing.rests == rests[:, None], 0.0, -np.inf)
        self.limits[1 - bracketing.rest_side, rests] = -np.inf
        self.work: FloatVector | None = 1e6 * self.seconds()

    def seconds(self) -> FloatVector:
        """About how many seconds parsing each sentence takes."""
        n, L = self.sizes.astype(np.float64), self.layout.n_labels
        return 1e-9 * (n**2 / 2 * self.keys.of_pairs * (30 + L / 2)) + self.seconds_of_search()

    def seconds_of_search(self) -> FloatVector:
        """About how many seconds it takes to find the best tree of each sentence, given the scores of its parts."""
        n, L = self.sizes.astype(np.float64), self.layout.n_labels
        return 1e-9 * (n**2 / 2 * L**2 / 2 + n**3 / 6 * L / 2)

    def weights(self, w: FloatVector | BracketWeights) -> BracketWeights:
        """The parts of weights in either form."""
        if isinstance(w, BracketWeights):
            return w
        table, rules = np.split(w, [self.layout.rules])
        return BracketWeights(table, rules.reshape(self.limits.shape))

    def scores(self, w: FloatVector | BracketWeights, batch: IntVector, room: TreeScores) -> TreeScores:
        """Add the scores of features, and −∞ for what no tree may have."""
        weights = self.weights(w)
        scores = room._replace(shared=(weights.rules + self.limits).ravel())
        _add_scores(self.indptr, self.keys, self.layout, weights.table, self.allowed, batch, scores)
        return scores

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(self.indptr, self.keys, self.layout, batch, parts)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        return _gather_counts(self.indptr, self.keys, self.layout, batch, counts)

    def n_slots(self) -> FloatVector:
        """How many features all parts of each sentence have."""
        n = self.sizes.astype(np.float64)
        return n * (n + 1) / 2 * self.keys.of_pairs + n * self.keys.of_tokens

    def most_entries(self) -> FloatVector:
        """How many entries ψ of each sentence may have: all nodes are wrong."""
        keys, n = self.keys, self.sizes.astype(np.float64)
        of_nodes = sum(each.shape[1] for each in (keys.first, keys.last, keys.spans.begin))
        of_splits = sum(each.shape[1] for each in (keys.split, keys.lefts.begin, keys.rights.begin))
        return 2 * (2 * n - 1) * of_nodes + 2 * (n - 1) * (of_splits + 2)

    def summed(self, batches: Sequence[IntVector]) -> None:
        """None: rows are as good."""

    def support(self, batch: IntVector) -> LongMatrix:
        """Runs of weights that parsing the batch reads: those of its features, and all rules."""
        found = nothing_found(self.n_weights)
        count = _reads(self.indptr, self.keys, self.layout, batch, found)
        return block_runs(found.blocks[:count], self.n_weights)
