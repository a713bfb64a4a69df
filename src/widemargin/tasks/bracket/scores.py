"""Scores of the parts of a binary tree of constituents: hashed features of spans, halves and splits.

    span[i, j, l]  = first(i) + last(j) + both(i, j)       features of the span with its label l
    left[i, k, l]  = split(k) + both(i, k)                 features of a left half with its parent's label l
    right[k, j, l] = both(k, j)                            features of a right half, likewise
    rules[s, p, l]                                         the label p of a half on side s below a parent with label l

A feature is a slot s of the table, and its weights for the labels are w[s], …, w[s + L − 1]. Features of one token are
summed up once per token, those of a pair of tokens once per span. The slot of a pair is a sum of keys
(`text.roles`): of the token at either end, of the length, and of the *sequences* of what lies between. With a key
x_t per token, the sequence from i to j has the key

    Σ_{i ≤ t < j} x_t r^(i − t)  =  (S_j − S_i) r^i,   S_j = Σ_{t < j} x_t r^(−t)   (mod 2³¹, r odd)

so that it costs two differences and a product whatever its length.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.decoders.charts import Marks, cell, mark_tree, no_marks
from widemargin.structures.rows import add_rows

MODULUS_MASK = 2**31 - 1
WORD, SPAN, TOP = range(3)


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


class BracketData(NamedTuple):
    """Sentences compiled to arrays.

    `gold` holds the nodes of all sentences, those of sentence i from 2 indptr[i] − i on; it is empty where sentences
    are only to be parsed. `allowed` says which labels may be on words, on longer spans and on top; `rests` which label
    a rest of each label has, −1 for none, `rest_side` whether rests are left halves (0) or right ones (1), and
    `n_chains` where the labels of rests begin. `costs` are the errors of wrong nodes with each label; `by_productions`
    says whether nodes with wrong halves are wrong, too.
    """

    indptr: LongVector
    keys: BracketKeys
    gold: IntMatrix
    allowed: BoolMatrix
    rests: IntVector
    rest_side: int
    n_chains: int
    costs: FloatVector
    by_productions: bool


class BracketWeights(NamedTuple):
    """A weight vector as its parts: the table, and (2, L, L) weights of rules."""

    table: FloatVector
    rules: FloatMatrix


class Charts(NamedTuple):
    """Part scores of one sentence, with room for the longest of a batch."""

    span: FloatMatrix
    left: FloatMatrix
    right: FloatMatrix


@kernel
def pair_slots(keys: BracketKeys, pairs: PairKeys, begin: int, end: int, mask: int, slots: IntVector) -> None:
    """Write the slots of the features of the tokens begin … end − 1, one per template."""
    steps = min(end - begin, len(pairs.length) - 1)
    for template in range(len(slots)):
        ends = pairs.begin[begin, template] + pairs.end[end - 1, template]
        slots[template] = (ends + pairs.length[steps, template]) & mask
    for q in range(len(keys.sums)):
        sequence = ((keys.sums[q, end] - keys.sums[q, begin]) * keys.powers[begin]) & MODULUS_MASK
        for template in range(len(slots)):
            slots[template] = (slots[template] + sequence * pairs.factors[q, template]) & mask


@kernel
def new_slots(pairs: PairKeys) -> IntVector:
    """Room for the slots of a pair of tokens."""
    return np.empty(pairs.begin.shape[1], dtype=np.int32)


@kernel
def _single_scores(table: FloatVector, keys: IntMatrix, begin: int, n: int, n_labels: int, mask: int) -> FloatMatrix:
    """(n, L) sums of the features of single tokens."""
    scores, slots = np.zeros((n, n_labels)), np.empty(keys.shape[1], dtype=np.int32)
    for t in range(n):
        for template in range(len(slots)):
            slots[template] = keys[begin + t, template] & mask
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
    pair_slots(keys, pairs, begin, end, mask, slots)
    add_rows(table, slots, row)


@kernel
def kind_of(i: int, j: int, n: int) -> int:
    """Which row of `BracketData.allowed` is about the span i … j of `n` words."""
    return WORD if j - i == 1 else TOP if j - i == n else SPAN


@kernel
def part_scores(data: BracketData, weights: BracketWeights, i: int, scale: float, charts: Charts) -> int:
    """Fill in the charts of sentence i, errors times `scale` included; return how many words it has."""
    keys, table = data.keys, weights.table
    begin, n, n_labels = data.indptr[i], data.indptr[i + 1] - data.indptr[i], data.allowed.shape[1]
    # Slots are below the largest power of two in the table.
    mask = len(table) - n_labels
    first = _single_scores(table, keys.first, begin, n, n_labels, mask)
    last = _single_scores(table, keys.last, begin, n, n_labels, mask)
    split = _single_scores(table, keys.split, begin, n, n_labels, mask)
    of_spans, of_lefts, of_rights = new_slots(keys.spans), new_slots(keys.lefts), new_slots(keys.rights)
    for t in range(n):
        for u in range(t + 1, n + 1):
            at = cell(t, u)
            kind = kind_of(t, u, n)
            span, left, right = charts.span[at], charts.left[at], charts.right[at]
            for label in range(n_labels):
                span[label] = first[t, label] + last[u - 1, label] + scale * data.costs[label]
                left[label] = split[u, label] if u < n else 0.0
                right[label] = 0.0
            _add_pair(table, keys, keys.spans, begin + t, begin + u, mask, of_spans, span)
            if u < n:
                _add_pair(table, keys, keys.lefts, begin + t, begin + u, mask, of_lefts, left)
            if t > 0:
                _add_pair(table, keys, keys.rights, begin + t, begin + u, mask, of_rights, right)
            for label in range(n_labels):
                if not data.allowed[kind, label]:
                    span[label] = -np.inf
    if len(data.gold) > 0:
        for r in range(2 * begin - i, 2 * (begin + n) - i - 1):
            t, u, label = data.gold[r, 0], data.gold[r, 1], data.gold[r, 2]
            # Whether a production is right, only `gold_marks` can tell.
            if u - t == 1 or not data.by_productions:
                charts.span[cell(t, u), label] -= scale * data.costs[label]
    return n


@kernel
def gold_tree(data: BracketData, i: int) -> IntMatrix:
    """The nodes of the gold tree of sentence i."""
    return data.gold[2 * data.indptr[i] - i : 2 * data.indptr[i + 1] - i - 1]


@kernel
def gold_marks(data: BracketData, i: int, scale: float) -> Marks:
    """What gold productions score besides the charts: `part_scores` counts them as errors if productions are."""
    if len(data.gold) > 0 and data.by_productions and scale != 0.0:
        return mark_tree(gold_tree(data, i), -scale * data.costs)
    return no_marks()


@kernel
def rule_scores(data: BracketData, weights: BracketWeights) -> FloatMatrix:
    """The weights of rules; −inf where a rest is not on its side of what it is a rest of."""
    rules = weights.rules.copy()
    for child in range(data.n_chains, rules.shape[1]):
        for label in range(rules.shape[1]):
            rules[1 - data.rest_side, child, label] = -np.inf
            if data.rests[label] != child:
                rules[data.rest_side, child, label] = -np.inf
    return rules


@kernel
def longest_of(data: BracketData, batch: IntVector) -> int:
    """The number of words of the longest sentence of the batch."""
    longest = 0
    for i in batch:
        longest = max(longest, data.indptr[i + 1] - data.indptr[i])
    return longest


@kernel
def new_charts(data: BracketData, batch: IntVector) -> Charts:
    """Charts for any sentence of the batch."""
    longest = longest_of(data, batch)
    n_cells, n_labels = longest * (longest + 1) // 2, data.allowed.shape[1]
    return Charts(np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)), np.empty((n_cells, n_labels)))
