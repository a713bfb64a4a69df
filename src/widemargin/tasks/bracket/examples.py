"""Trees of constituents: the best labelled binary tree over a sentence (`binary`, `decoders.cky`).

    ⟨w, φ(x, y)⟩ = Σ over nodes (i, j, l) of span(i, j, l) + Σ over halves of left or right and rules

    span[i, j, l]  = first(i) + last(j) + both(i, j)       features of the span with its label l
    left[i, k, l]  = split(k) + both(i, k)                 features of a left half with its parent's label l
    right[k, j, l] = both(k, j)                            features of a right half, likewise
    rules[s, p, l]                                         the label p of a half on side s below a parent with label l

The features are hashed into a table of weights (`tasks.bracket.features`, `structures.hashed`). Features of one token
are summed up once per token, those of a pair of tokens once per span. Labels that a span may not have score −∞, and so
do rules that put a rest below any other constituent than its own.

The structure is `structures.constituents`. The error Δ(ŷ) counts the nodes (i, j, l) of ŷ that the gold tree lacks,
including rests and words without a constituent (`structures.constituents`). Wrong rests, and words wrongly without a
constituent, take the place of gold constituents. They may cost more than other wrong nodes: the parser then misses
fewer constituents and predicts more wrong ones. Trees of constituents and binary trees correspond one to one, so only
gold has Δ = 0.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, FloatMatrix, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.checks import check_memory, check_time
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, new_table, with_room
from widemargin.decoders.cky import cell, ends_of
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.constituents import Constituents, NodeCosts, TreeScores, parts_of
from widemargin.structures.examples import WithBestK, WithSums, WithThrough
from widemargin.structures.flat import Counts, Parts
from widemargin.structures.hashed import HashedFeatures, Sink, add_rows, add_runs, flush, matters, push
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.features import (
    LEFT,
    SPAN,
    BracketKeys,
    new_slots,
    pair_slots,
    part_slots,
    single_slots,
)

ERRORS = ("spans", "productions")
WORD, LONGER, TOP = range(3)


class BracketWeights(NamedTuple):
    """A weight vector as its parts: the table, and (2, L, L) weights of rules."""

    table: FloatVector
    rules: FloatMatrix


class BracketData(NamedTuple):
    """The features of sentences, whose tokens begin at `indptr`; slots are taken modulo `mask` + 1.

    The weights of rules begin at `rules`.
    """

    indptr: LongVector
    keys: BracketKeys
    mask: int
    n_labels: int
    rules: int


@kernel
def _single_scores(table: FloatVector, data: BracketData, keys: IntMatrix, begin: int, n: int) -> FloatMatrix:
    """(n, L) sums of the features of single tokens."""
    scores, slots = np.zeros((n, data.n_labels)), np.empty(keys.shape[1], dtype=np.int32)
    for t in range(n):
        single_slots(keys, begin + t, data.mask, slots)
        add_rows(table, slots, scores[t])
    return scores


@kernel
def _add_scores(
    data: BracketData, table: FloatVector, allowed: BoolMatrix, batch: IntVector, scores: TreeScores
) -> None:
    """Add the scores of spans and halves."""
    keys, n_labels, mask, slots = data.keys, data.n_labels, data.mask, new_slots(data.keys)
    all_scored = np.empty((0, n_labels))
    for k in range(len(batch)):
        begin, n, parts = data.indptr[batch[k]], scores.sizes[k], parts_of(scores, k, all_scored)
        first = _single_scores(table, data, keys.first, begin, n)
        last = _single_scores(table, data, keys.last, begin, n)
        split = _single_scores(table, data, keys.split, begin, n)
        for u in range(1, n + 1):
            for t in range(u):  # in the order of `cell`, so memory is written in sequence
                at = cell(t, u)
                kind = WORD if u - t == 1 else TOP if u - t == n else LONGER
                span, left, right = parts.span[at], parts.left[at], parts.right[at]
                for label in range(n_labels):
                    span[label] += first[t, label] + last[u - 1, label]
                    left[label] += split[u, label] if u < n else 0.0
                add_rows(table, slots[: pair_slots(keys, keys.spans, begin + t, begin + u, mask, slots)], span)
                if u < n:
                    add_rows(table, slots[: pair_slots(keys, keys.lefts, begin + t, begin + u, mask, slots)], left)
                if t > 0:
                    add_rows(table, slots[: pair_slots(keys, keys.rights, begin + t, begin + u, mask, slots)], right)
                for label in range(n_labels):
                    if not allowed[kind, label]:
                        span[label] = -np.inf


@kernel
def _gather(data: BracketData, batch: IntVector, parts: Parts) -> Rows:
    """ψ for sparse coefficients of parts, as `structures.constituents` numbers them."""
    ends, slots = np.zeros(len(batch) + 1, dtype=np.int64), new_slots(data.keys)
    draft = Draft(np.empty(0, np.int32), np.empty(0), new_table(1))
    for k in range(len(batch)):
        begin, end, n_labels = data.indptr[batch[k]], ends[k], data.n_labels
        size, write = cell(0, data.indptr[batch[k] + 1] - begin + 1) * n_labels, end
        draft = with_room(draft, end, (parts.indptr[k + 1] - parts.indptr[k]) * (len(slots) + 1))
        for p in range(parts.indptr[k], parts.indptr[k + 1]):
            number, value = parts.numbers[p], parts.values[p]
            if number >= 3 * size:
                draft.indices[write], draft.values[write] = data.rules + number - 3 * size, value
                write += 1
                continue
            # Parts come in three blocks of a row of labels per span: spans, left halves and right halves.
            t, u = ends_of(number % size // n_labels)
            count = part_slots(data.keys, number // size, begin + t, begin + u, data.mask, slots)
            write = push(slots[:count], number % n_labels, value, draft, write)
        ends[k + 1] = coalesce(draft.indices, draft.values, end, write, end, draft.table)
    return Rows(ends, draft.indices[: ends[-1]], draft.values[: ends[-1]])


@kernel
def _visit(data: BracketData, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
    """Add the features of all parts; coefficients that share a single token are summed up before they are added."""
    keys, n_labels, slots = data.keys, data.n_labels, new_slots(data.keys)
    for k in range(len(batch)):
        begin, n, own, row = data.indptr[batch[k]], counts.sizes[k], counts.own[counts.starts[k] :], 0
        # Spans count at their first word (row t) and at their last (n + u − 1), left halves at the split (2n + u). The
        # last row catches everything else and is never read, so that the loop over labels has no branch.
        singles = np.zeros((3 * n + 1, n_labels))
        for pairs in (keys.spans, keys.lefts, keys.rights):
            kind = row // cell(0, n + 1)
            for u in range(1, n + 1):
                for t in range(u):
                    values = own[row * n_labels : (row + 1) * n_labels]
                    row += 1
                    if not matters(values):
                        continue
                    add_runs(slots[: pair_slots(keys, pairs, begin + t, begin + u, data.mask, slots)], values, sink)
                    one, other = (t, n + u - 1) if kind == SPAN else (2 * n + u if kind == LEFT else 3 * n, 3 * n)
                    for label in range(n_labels):
                        singles[one, label] += values[label]
                        singles[other, label] += values[label]
        row = 0
        for single in (keys.first, keys.last, keys.split):
            for t in range(n):
                add_runs(slots[: single_slots(single, begin + t, data.mask, slots)], singles[row], sink)
                row += 1
        for rule in range(0, counts.shared.shape[1], n_labels):
            slots[0] = data.rules + rule
            add_runs(slots[:1], counts.shared[k, rule : rule + n_labels], sink)
        flush(sink, n_labels, psi, k)


def count_weights(n_labels: int, hash_bits: int) -> int:
    """The number of weights: the table with room for the labels of its last slot, and two for each rule."""
    return 2**hash_bits + n_labels - 1 + 2 * n_labels**2


class BracketFeatures(HashedFeatures):
    """The features of sentences (`structures.parts.Features`); arguments as for `BracketExamples`."""

    def __init__(self, bracketing: Bracketing, hash_bits: int, indptr: LongVector, keys: BracketKeys) -> None:
        n_labels, n_chains = bracketing.n_labels, len(bracketing.chains)
        super().__init__(np.diff(indptr), count_weights(n_labels, hash_bits), n_labels)
        self.data = BracketData(indptr, keys, 2**hash_bits - 1, n_labels, self.n_weights - 2 * n_labels**2)
        self.allowed, self.n_shared = bracketing.allowed, 2 * n_labels**2
        rests = np.arange(n_chains, n_labels)
        self.limits = np.zeros((2, n_labels, n_labels))
        self.limits[:, rests] = np.where(bracketing.rests == rests[:, None], 0.0, -np.inf)
        self.limits[1 - bracketing.rest_side, rests] = -np.inf
        self.work: FloatVector | None = 1e6 * self.seconds()

    def seconds(self) -> FloatVector:
        """The estimated seconds to parse each sentence."""
        n, L = self.sizes.astype(np.float64), self.width
        return 1e-9 * (n**2 / 2 * self.data.keys.of_pairs * (30 + L / 2)) + self.seconds_of_search()

    def seconds_of_search(self) -> FloatVector:
        """The estimated seconds to find the best tree of each sentence, given the scores of its parts."""
        n, L = self.sizes.astype(np.float64), self.width
        return 1e-9 * (n**2 / 2 * L**2 / 2 + n**3 / 6 * L / 2)

    def weights(self, w: FloatVector | BracketWeights) -> BracketWeights:
        """The table and the rules of a weight vector, or of weights that are already split."""
        if isinstance(w, BracketWeights):
            return w
        table, rules = np.split(w, [self.data.rules])
        return BracketWeights(table, rules.reshape(self.limits.shape))

    def scores(self, w: FloatVector | BracketWeights, batch: IntVector, room: TreeScores) -> TreeScores:
        """Add the scores of features; parts that no tree may have get −∞."""
        weights = self.weights(w)
        scores = room._replace(shared=(weights.rules + self.limits).ravel())
        _add_scores(self.data, weights.table, self.allowed, batch, scores)
        return scores

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(self.data, batch, parts)

    def visit(self, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
        """Add the features of all spans, halves and rules."""
        _visit(self.data, batch, counts, sink, psi)

    def n_parts(self, batch: IntVector) -> LongVector:
        """The number of labelled spans and halves of each sentence."""
        sizes = self.sizes[batch]
        return 3 * (sizes * (sizes + 1) // 2) * self.width

    @cached_property
    def places(self) -> tuple[LongVector, LongVector]:
        """Every feature has a weight for each label, and so has every label of a half."""
        n, keys = self.sizes.astype(np.int64), self.data.keys
        runs = n * (n + 1) // 2 * keys.of_pairs + n * keys.of_tokens + 2 * self.width
        return np.zeros_like(runs), runs

    def most_entries(self) -> FloatVector:
        """The most entries that ψ of each sentence can have: all nodes are wrong."""
        keys, n = self.data.keys, self.sizes.astype(np.float64)
        of_nodes = sum(each.shape[1] for each in (keys.first, keys.last, keys.spans.begin))
        of_splits = sum(each.shape[1] for each in (keys.split, keys.lefts.begin, keys.rights.begin))
        return 2 * (2 * n - 1) * of_nodes + 2 * (n - 1) * (of_splits + 2)


class BracketExamples(WithBestK, WithThrough, WithSums):
    """Sentences with their gold trees (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    bracketing : the labels
    hash_bits : the weights of features are a table of 2^hash_bits numbers
    indptr : (n + 1,) where each sentence begins among the tokens; every sentence has at least one word
    keys : the keys of the features
    gold : (2 tokens − n, 3) nodes of the gold trees, end to end; None when the sentences are only to be parsed
    missing_cost : the cost of a wrong node that is not a constituent; a wrong constituent costs 1
    error : whether wrong ``"spans"`` or wrong ``"productions"`` are counted
    source : where the sentences come from, for error messages
    """

    features: BracketFeatures
    structure: Constituents

    def __init__(
        self,
        bracketing: Bracketing,
        hash_bits: int,
        indptr: LongVector,
        keys: BracketKeys,
        gold: IntMatrix | None = None,
        *,
        missing_cost: float = 1.0,
        error: str = "spans",
        source: str = "input",
    ) -> None:
        sizes = np.diff(indptr)
        if len(sizes) and sizes.min() < 1:
            raise DataError(f"sentence {int(sizes.argmin())} has no words, and so no tree")
        gold = np.empty((0, 3), dtype=np.int32) if gold is None else gold
        if len(gold) and len(gold) != 2 * indptr[-1] - len(sizes):
            raise DataError(f"there are {len(gold)} nodes of gold trees; a sentence of n tokens needs 2 n − 1")
        if not missing_cost > 0.0:
            raise WidemarginError(f"missing_cost must be above 0, not {missing_cost!r}")
        if error not in ERRORS:
            raise WidemarginError(f"there is no error {error!r}; there are {' and '.join(map(repr, ERRORS))}")
        structure = Constituents(bracketing.n_labels, halves=True, by_productions=error == "productions")
        costs = np.full(bracketing.n_labels, float(missing_cost))
        costs[1 : len(bracketing.chains)] = 1.0
        places = boundaries(structure.lengths(sizes))
        features = BracketFeatures(bracketing, hash_bits, indptr, keys)
        super().__init__(structure, features, NodeCosts(structure, places, gold, costs), gold)
        self._check_lengths(f"{source}, sentence")

    def _check_lengths(self, place: str) -> None:
        """Raise if a sentence is too long to be parsed."""
        check_time(
            self.features.seconds(),
            "parsing, whose time grows with the cube of the length",
            "Split the sentence, or leave it out",
            place,
        )
        check_memory(
            self.chart_bytes(6),
            "parsing, which keeps six scores for each span and label",
            "Split the sentence, or leave it out",
            place,
        )

    def chart_bytes(self, n_charts: int) -> FloatVector:
        """The bytes that this number of charts takes for each sentence."""
        return 4.0 * n_charts * self.sizes * (self.sizes + 1.0) * self.structure.n_labels

    def sum_bytes(self) -> FloatVector:
        """The memory of sums over all trees: nine charts."""
        return self.chart_bytes(9)

    def expectation_bytes(self) -> FloatVector:
        """The memory that `expectation` may take: sums over all trees, and ψ if all spans have some probability."""
        return self.sum_bytes() + self.features.expected_bytes()

    def best(self, w: Any, batch: IntVector, k: int) -> tuple[IntVector, FloatVector, IntMatrix]:
        """The batch, each example repeated for each of its `k` best trees, and their scores and nodes, best first."""
        found = [self.structure.best_k(self._plain(w, each), k) for each in self.pieces(batch)]
        counts, totals, nodes = map(np.concatenate, zip(*found, strict=True))
        return np.repeat(batch, counts), totals, nodes

    def decode_least_risk(self, w: Any, batch: IntVector) -> IntMatrix:
        """The nodes of the trees with the lowest expected number of wrong nodes, end to end."""
        return np.concatenate([self.structure.least_risk(self._plain(w, each)) for each in self.pieces(batch)])
