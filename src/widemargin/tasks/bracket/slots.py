"""The slots of a binary tree's features: hashed features of spans, halves and single tokens.

A feature is a slot s of the table, and its weights for the labels are w[s], …, w[s + L − 1]. The slot of a pair of
tokens is a sum of keys (`text.roles`): of the token at either end, of the length, and of the *sequences* of what lies
between. With a key x_t per token, the sequence from i to j has the key

    Σ_{i ≤ t < j} x_t r^(i − t)  =  (S_j − S_i) r^i,   S_j = Σ_{t < j} x_t r^(−t)   (mod 2³¹, r odd)

so that it costs two differences and a product whatever its length. Every feature is enumerated here: those of a token,
of a pair, all those of a part, and all those of a sentence. Whoever scores, gathers or explains parts asks these
kernels.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.cky import cell

MODULUS_MASK = 2**31 - 1
SPAN, LEFT, RIGHT = range(3)
"""The kinds of parts with features, in the order of `structures.constituents`."""


class PairKeys(NamedTuple):
    """Keys of features of two tokens and what is between, a column per template, each summed up over the five parts.

    Row t of `begin` is for pairs that begin with token t, of `end` for pairs that end right after token t, of `length`
    for pairs of t tokens, the last row also for longer ones. Row q of `factors` multiplies the key of sequence q.
    """

    begin: IntMatrix
    end: IntMatrix
    length: IntMatrix
    factors: LongMatrix


class BracketKeys(NamedTuple):
    """The keys of a corpus: (tokens, templates) of single tokens, those of pairs, (names, tokens + 1) of sequences."""

    first: IntMatrix
    last: IntMatrix
    split: IntMatrix
    spans: PairKeys
    lefts: PairKeys
    rights: PairKeys
    sums: LongMatrix
    powers: LongVector

    @property
    def of_tokens(self) -> int:
        """The number of templates of single tokens."""
        return sum(each.shape[1] for each in (self.first, self.last, self.split))

    @property
    def of_pairs(self) -> int:
        """The number of templates of pairs of tokens."""
        return sum(each.begin.shape[1] for each in (self.spans, self.lefts, self.rights))


@kernel
def single_slots(keys: IntMatrix, token: int, mask: int, slots: IntVector) -> int:
    """Write the slots of the features of one token, and return how many there are: one per template."""
    for template in range(keys.shape[1]):
        slots[template] = keys[token, template] & mask
    return keys.shape[1]


@kernel
def pair_slots(keys: BracketKeys, pairs: PairKeys, begin: int, end: int, mask: int, slots: IntVector) -> int:
    """Write the slots of the features of the tokens begin … end − 1, and return how many there are."""
    steps, n_templates = min(end - begin, len(pairs.length) - 1), pairs.begin.shape[1]
    for template in range(n_templates):
        ends = pairs.begin[begin, template] + pairs.end[end - 1, template]
        slots[template] = (ends + pairs.length[steps, template]) & mask
    for q in range(len(keys.sums)):
        sequence = ((keys.sums[q, end] - keys.sums[q, begin]) * keys.powers[begin]) & MODULUS_MASK
        for template in range(n_templates):
            slots[template] = (slots[template] + sequence * pairs.factors[q, template]) & mask
    return n_templates


@kernel
def part_slots(keys: BracketKeys, kind: int, begin: int, end: int, mask: int, slots: IntVector) -> int:
    """Write the slots of all features of a span or a half of the tokens begin … end − 1; return how many there are.

    What is known of a split alone is a feature of the left half.
    """
    if kind == RIGHT:
        return pair_slots(keys, keys.rights, begin, end, mask, slots)
    if kind == LEFT:
        n = single_slots(keys.split, end, mask, slots)
        return n + pair_slots(keys, keys.lefts, begin, end, mask, slots[n:])
    n = single_slots(keys.first, begin, mask, slots)
    n += single_slots(keys.last, end - 1, mask, slots[n:])
    return n + pair_slots(keys, keys.spans, begin, end, mask, slots[n:])


@kernel
def new_slots(keys: BracketKeys) -> IntVector:
    """Room for the slots of a part."""
    singles = keys.first.shape[1] + keys.last.shape[1] + keys.split.shape[1]
    pairs = keys.spans.begin.shape[1] + keys.lefts.begin.shape[1] + keys.rights.begin.shape[1]
    return np.empty(singles + pairs, dtype=np.int32)


class Listed(NamedTuple):
    """Features of a sentence: the slot of each, and the number of its row.

    Rows are numbered through: those of spans, of left and right halves, of first words, of last words and of splits.
    """

    slots: IntVector
    rows: IntVector


@kernel
def list_slots(keys: BracketKeys, begin: int, n: int, mask: int, wanted: BoolVector) -> Listed:
    """The features of the n tokens from `begin` on: of `wanted` spans and halves, and of every token, once each."""
    of_tokens = keys.first.shape[1] + keys.last.shape[1] + keys.split.shape[1]
    size, n_cells, m = n * of_tokens, cell(0, n + 1), 0
    for row in range(len(wanted)):
        pairs = keys.spans if row < n_cells else keys.lefts if row < 2 * n_cells else keys.rights
        size += pairs.begin.shape[1] if wanted[row] else 0
    slots, rows, row = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32), 0
    for pairs in (keys.spans, keys.lefts, keys.rights):
        for u in range(1, n + 1):
            for t in range(u):
                for _ in range(pair_slots(keys, pairs, begin + t, begin + u, mask, slots[m:]) if wanted[row] else 0):
                    rows[m] = row
                    m += 1
                row += 1
    for single in (keys.first, keys.last, keys.split):
        for t in range(n):
            for _ in range(single_slots(single, begin + t, mask, slots[m:])):
                rows[m] = row
                m += 1
            row += 1
    return Listed(slots, rows)
