"""Trees of constituents: the best labelled binary tree over a sentence (`binary`, `decoders.cky`).

    ⟨w, φ(x, y)⟩ = Σ over nodes (i, j, l) of span(i, j, l) + Σ over halves of left or right and rules

The module `scores` defines what the parts score. The error Δ(ŷ) counts the nodes (i, j, l) of ŷ that the gold tree
lacks, including rests and words without a constituent. Every binary tree over n words has 2 n − 1 nodes, so this is
also the number of gold nodes that are missed. Wrong rests, and words wrongly without a constituent, stand where gold
has constituents. They may cost more than other wrong nodes, which makes for fewer missed constituents and more wrong
ones. Trees of constituents and binary trees correspond one to one, so that Δ = 0 for gold alone.

With the error of productions (Kummerfeld et al. 2015), a node of several words is right only if it is also split like
the gold one, into halves with the same labels. No half knows the label of the other, so gold productions are marked in
decoding (`decoders.charts`).
"""

from functools import cached_property

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.examples import Differences, Scale, at_positions, per_example
from widemargin.core.limits import check_memory, check_time
from widemargin.core.sparse import boundaries
from widemargin.decoders.charts import TreeParts
from widemargin.decoders.cky import best_tree
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.support import Found, block_runs, note, nothing_found
from widemargin.tasks.bracket.best import best_trees
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.difference import Layout, difference
from widemargin.tasks.bracket.marginals import expectation
from widemargin.tasks.bracket.positions import worst_trees
from widemargin.tasks.bracket.risk import least_risk, node_probabilities
from widemargin.tasks.bracket.scores import (
    BracketData,
    BracketKeys,
    BracketWeights,
    gold_marks,
    new_charts,
    new_slots,
    pair_slots,
    part_scores,
    rule_scores,
)

ERRORS = ("spans", "productions")


@kernel
def _decode(
    data: BracketData,
    weights: BracketWeights,
    batch: IntVector,
    starts: LongVector,
    scales: FloatVector,
    nodes: IntMatrix,
) -> None:
    charts, rules = new_charts(data, batch), rule_scores(data, weights)
    for position in range(len(batch)):
        n = part_scores(data, weights, batch[position], scales[position], charts)
        parts = TreeParts(charts.span, charts.left, charts.right, rules[0], rules[1])
        marks = gold_marks(data, batch[position], scales[position])
        best_tree(n, parts, marks, nodes[starts[position] : starts[position + 1]])


@kernel
def _reads(data: BracketData, layout: Layout, batch: IntVector, found: Found) -> int:
    """Find the weights of all features of the batch, and of all rules; return how many blocks there are."""
    keys, size = data.keys, layout.n_labels
    count = note(layout.rules, 2 * size**2, found, 0)
    for i in batch:
        begin, end = data.indptr[i], data.indptr[i + 1]
        for single in (keys.first, keys.last, keys.split):
            for t in range(begin, end):
                for template in range(single.shape[1]):
                    count = note(int(single[t, template]) & layout.mask, size, found, count)
        for pairs in (keys.spans, keys.lefts, keys.rights):
            slots = new_slots(pairs)
            for t in range(begin, end):
                for u in range(t + 1, end + 1):
                    pair_slots(keys, pairs, t, u, layout.mask, slots)
                    for slot in slots:
                        count = note(int(slot), size, found, count)
    return count


class BracketExamples:
    """Sentences with their gold trees (or without, for prediction only), compiled to arrays.

    Parameters
    ----------
    bracketing : the labels
    hash_bits : the weights of features are a table of 2^hash_bits numbers
    indptr : (n + 1,) where each sentence begins among the tokens; every sentence has at least one word
    keys : the keys of the features
    gold : (2 tokens − n, 3) nodes of the gold trees, end to end; None when the sentences are only to be parsed
    missing_cost : the error of a wrong node that is not a constituent; a wrong constituent costs 1
    error : ``"spans"`` or ``"productions"``, which are wrong
    source : where the sentences come from, for error messages
    """

    exact = True

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
        self.lengths = np.diff(indptr)
        if len(self.lengths) and self.lengths.min() < 1:
            raise DataError(f"sentence {int(self.lengths.argmin())} has no words, and so no tree")
        gold = np.empty((0, 3), dtype=np.int32) if gold is None else gold
        if len(gold) and len(gold) != 2 * indptr[-1] - len(self.lengths):
            raise DataError(f"there are {len(gold)} nodes of gold trees; a sentence of n tokens needs 2 n − 1")
        if not missing_cost > 0.0:
            raise WidemarginError(f"missing_cost must be above 0, not {missing_cost!r}")
        if error not in ERRORS:
            raise WidemarginError(f"there is no error {error!r}; there are {' and '.join(map(repr, ERRORS))}")
        n_labels, n_chains = bracketing.n_labels, len(bracketing.chains)
        costs = np.full(n_labels, float(missing_cost))
        costs[1:n_chains] = 1.0
        labelling = bracketing.allowed, bracketing.rests, bracketing.rest_side, n_chains
        self.data = BracketData(indptr, keys, gold, *labelling, costs, error == "productions")
        self.layout = Layout(n_labels, 2**hash_bits - 1, 2**hash_bits + n_labels - 1)
        self.n_examples, self.n_positions = len(self.lengths), 2 * self.lengths - 1
        self.n_weights = self.count_weights(n_labels, hash_bits)
        self._check_lengths(f"{source}, sentence")

    def _check_lengths(self, place: str) -> None:
        """Raise if a sentence is too long to be parsed."""
        check_time(
            self.work / 1e6,
            "parsing, whose time grows with the cube of the length",
            "Split the sentence, or leave it out",
            place,
        )
        check_memory(
            self.chart_bytes(3),
            "parsing, which keeps three scores for each span and label",
            "Split the sentence, or leave it out",
            place,
        )

    def chart_bytes(self, n_charts: int) -> FloatVector:
        """How much memory this number of charts takes for each sentence."""
        return 4.0 * n_charts * self.lengths * (self.lengths + 1.0) * self.layout.n_labels

    def sum_bytes(self) -> FloatVector:
        """What sums over all trees take: nine charts."""
        return self.chart_bytes(9)

    @staticmethod
    def count_weights(n_labels: int, hash_bits: int) -> int:
        """The number of weights: the table with room for the labels of its last slot, and two for each rule."""
        return 2**hash_bits + n_labels - 1 + 2 * n_labels**2

    @cached_property
    def work(self) -> FloatVector:
        """About how many microseconds parsing each sentence takes."""
        keys, L = self.data.keys, self.layout.n_labels
        n_pairs = sum(pairs.begin.shape[1] for pairs in (keys.spans, keys.lefts, keys.rights))
        n = self.lengths.astype(np.float64)
        return n**2 / 2 * n_pairs * (30 + L / 2) / 1000 + 1e6 * self.seconds_of_search()

    def seconds_of_search(self) -> FloatVector:
        """About how many seconds it takes to find the best tree of each sentence, given the scores of its parts."""
        n, L = self.lengths.astype(np.float64), self.layout.n_labels
        return 1e-9 * (n**2 / 2 * L**2 / 2 + n**3 / 6 * L / 2)

    def parts(self, w: FloatVector | BracketWeights) -> BracketWeights:
        """The parts of weights in either form."""
        if isinstance(w, BracketWeights):
            return w
        table, rules = np.split(w, [self.layout.rules])
        return BracketWeights(table, rules.reshape(2, self.layout.n_labels, self.layout.n_labels))

    def boundaries(self, batch: IntVector) -> LongVector:
        """Where the nodes of each of the batch's trees begin, and where those of the last end."""
        return boundaries(2 * self.lengths[batch] - 1)

    def decode(self, w: FloatVector | BracketWeights, batch: IntVector, *, error_scale: Scale = 0.0) -> IntMatrix:
        """The nodes of the best trees of the batch, end to end."""
        starts = self.boundaries(batch)
        nodes = np.empty((starts[-1], 3), dtype=np.int32)
        _decode(self.data, self.parts(w), batch, starts, per_example(error_scale, batch), nodes)
        return nodes

    def decode_best(
        self, w: FloatVector | BracketWeights, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, IntMatrix]:
        """The batch with each example repeated per tree, and the nodes of the `k` best, best first, end to end."""
        repeated, _, nodes = self.best(w, batch, k, error_scale=error_scale)
        return repeated, nodes

    def best(
        self, w: FloatVector | BracketWeights, batch: IntVector, k: int, *, error_scale: Scale = 0.0
    ) -> tuple[IntVector, FloatVector, IntMatrix]:
        """The same with what the trees score."""
        counts, totals, nodes = best_trees(self.data, self.parts(w), batch, per_example(error_scale, batch), k)
        return np.repeat(batch, counts), totals, nodes

    def difference(self, batch: IntVector, outputs: IntMatrix) -> Differences:
        """Errors and feature differences of the batch's trees, their nodes end to end, against gold."""
        return Differences(*difference(self.data, self.layout, batch, self.boundaries(batch), outputs))

    def expectation(
        self, w: FloatVector | BracketWeights, batch: IntVector, *, error_scale: float = 0.0
    ) -> Differences:
        """−log p of the gold trees and the expected feature differences (`core.examples.Marginals`)."""
        return Differences(*expectation(self.data, self.layout, self.parts(w), batch, error_scale))

    def expectation_bytes(self) -> FloatVector:
        """What `expectation` may take: sums over all trees, and ψ if all spans have some probability."""
        keys, n, L = self.data.keys, self.lengths.astype(np.float64), self.layout.n_labels
        of_pairs = sum(pairs.begin.shape[1] for pairs in (keys.spans, keys.lefts, keys.rights))
        of_tokens = sum(each.shape[1] for each in (keys.first, keys.last, keys.split))
        slots = n * (n + 1) / 2 * of_pairs + n * of_tokens
        entries = np.minimum(slots * L + 2 * L**2, self.n_weights)
        return self.sum_bytes() + 16 * slots + BYTES_PER_ENTRY * entries

    def violator_bytes(self) -> FloatVector:
        """What `violators` may take: a tree for each position, and ψ if all of its nodes are wrong."""
        keys, n = self.data.keys, self.lengths.astype(np.float64)
        of_nodes = sum(each.shape[1] for each in (keys.first, keys.last, keys.spans.begin))
        of_splits = sum(each.shape[1] for each in (keys.split, keys.lefts.begin, keys.rights.begin))
        entries = 2 * (2 * n - 1) * of_nodes + 2 * (n - 1) * (of_splits + 2)
        return (2 * n - 1) * (BYTES_PER_ENTRY * entries + 12 * (2 * n - 1))

    def violators(self, w: FloatVector | BracketWeights, batch: IntVector) -> Differences:
        """The worst trees that are wrong at each position (`core.examples.Positions`)."""
        errors, nodes = worst_trees(self.data, self.parts(w), batch)
        wrong = np.repeat(batch, self.n_positions[batch])[errors > 0]
        return at_positions(errors, self.difference(wrong, nodes).psi)

    def probabilities(self, w: FloatVector | BracketWeights, i: int) -> FloatMatrix:
        """The probability of every label for every span of one sentence; spans are sorted by end, then by beginning."""
        return node_probabilities(self.data, self.parts(w), i)

    def decode_least_risk(self, w: FloatVector | BracketWeights, batch: IntVector) -> IntMatrix:
        """The nodes of the trees with the fewest wrong nodes to be expected, end to end."""
        starts = self.boundaries(batch)
        nodes = np.empty((starts[-1], 3), dtype=np.int32)
        least_risk(self.data, self.parts(w), batch, starts, nodes)
        return nodes

    def support(self, batch: IntVector) -> LongMatrix:
        """Runs of weights that parsing the batch reads: those of its features, and all rules."""
        found = nothing_found(self.n_weights)
        return block_runs(found.blocks[: _reads(self.data, self.layout, batch, found)], self.n_weights)
