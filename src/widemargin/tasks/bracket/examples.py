"""Trees of constituents: the best labelled binary tree over a sentence (`binary`, `decoders.cky`).

    ⟨w, φ(x, y)⟩ = Σ over nodes (i, j, l) of span(i, j, l) + Σ over halves of left or right and rules

The module `scores` defines what the parts score. The error Δ(ŷ) counts the nodes (i, j, l) of ŷ that the gold tree
lacks, including rests and words without a constituent. Every binary tree over n words has 2 n − 1 nodes, so this is
also the number of gold nodes that are missed. Wrong rests, and words wrongly without a constituent, stand where gold
has constituents. They may cost more than other wrong nodes, which makes for fewer missed constituents and more wrong
ones. Trees of constituents and binary trees correspond one to one, so that Δ = 0 for gold alone.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.limits import check_memory, check_time
from widemargin.core.sparse import boundaries
from widemargin.decoders.cky import cky
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.support import Found, block_runs, note, nothing_found
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.difference import Layout, difference
from widemargin.tasks.bracket.scores import (
    BracketData,
    BracketKeys,
    BracketWeights,
    new_charts,
    pair_slot,
    part_scores,
    rule_scores,
)


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
        out = nodes[starts[position] : starts[position + 1]]
        cky(n, charts.span, charts.left, charts.right, rules[0], rules[1], out)


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
            for t in range(begin, end):
                for u in range(t + 1, end + 1):
                    for template in range(pairs.begin.shape[1]):
                        slot = pair_slot(pairs, keys.sums, keys.powers, t, u, template, layout.mask)
                        count = note(slot, size, found, count)
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
        n_labels, n_chains = bracketing.n_labels, len(bracketing.chains)
        costs = np.full(n_labels, missing_cost)
        costs[1:n_chains] = 1.0
        self.data = BracketData(indptr, keys, gold, bracketing.allowed, bracketing.rests, n_chains, costs)
        self.layout = Layout(n_labels, 2**hash_bits - 1, 2**hash_bits + n_labels - 1)
        self.n_examples = len(self.lengths)
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
            12.0 * self.lengths * (self.lengths + 1.0) * self.layout.n_labels,
            "parsing, which keeps three scores for each span and label",
            "Split the sentence, or leave it out",
            place,
        )

    @staticmethod
    def count_weights(n_labels: int, hash_bits: int) -> int:
        """The number of weights: the table with room for the labels of its last slot, and two for each rule."""
        return 2**hash_bits + n_labels - 1 + 2 * n_labels**2

    @property
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

    def difference(self, batch: IntVector, outputs: IntMatrix) -> Differences:
        """Errors and feature differences of the batch's trees, their nodes end to end, against gold."""
        return Differences(*difference(self.data, self.layout, batch, self.boundaries(batch), outputs))

    def support(self, batch: IntVector) -> LongMatrix:
        """Runs of weights that parsing the batch reads: those of its features, and all rules."""
        found = nothing_found(self.n_weights)
        return block_runs(found.blocks[: _reads(self.data, self.layout, batch, found)], self.n_weights)
