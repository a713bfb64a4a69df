"""Trees of constituents: the best labelled binary tree over a sentence (`binary`, `decoders.cky`).

    ⟨w, φ(x, y)⟩ = Σ over nodes (i, j, l) of span(i, j, l) + Σ over halves of left or right and rules

The structure is `structures.constituents`, the linear map is `tasks.bracket.linear`. The error Δ(ŷ) counts the nodes
(i, j, l) of ŷ that the gold tree lacks, including rests and words without a constituent (`structures.constituents`).
Wrong rests, and words wrongly without a constituent, stand where gold has constituents. They may cost more than other
wrong nodes, which makes for fewer missed constituents and more wrong ones. Trees of constituents and binary trees
correspond one to one, so that Δ = 0 for gold alone.
"""

from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.cut_store import BYTES_PER_ENTRY
from widemargin.core.limits import check_memory, check_time
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.constituents import Constituents, NodeCosts
from widemargin.structures.examples import WithBestK, WithSums, WithThrough
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.linear import BracketFeatures
from widemargin.tasks.bracket.slots import BracketKeys

ERRORS = ("spans", "productions")


class BracketExamples(WithBestK, WithThrough, WithSums):
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
        """How much memory this number of charts takes for each sentence."""
        return 4.0 * n_charts * self.sizes * (self.sizes + 1.0) * self.structure.n_labels

    def sum_bytes(self) -> FloatVector:
        """What sums over all trees take: nine charts."""
        return self.chart_bytes(9)

    def expectation_bytes(self) -> FloatVector:
        """What `expectation` may take: sums over all trees, and ψ if all spans have some probability."""
        slots, L = self.features.n_slots(), self.structure.n_labels
        entries = np.minimum(slots * L + 2 * L**2, self.n_weights)
        return self.sum_bytes() + 16 * slots + BYTES_PER_ENTRY * entries

    def best(self, w: Any, batch: IntVector, k: int) -> tuple[IntVector, FloatVector, IntMatrix]:
        """The batch with each example repeated per tree, and the scores and nodes of the `k` best, best first."""
        found = [self.structure.best_k(self._plain(w, each), k) for each in self.pieces(batch)]
        counts, totals, nodes = map(np.concatenate, zip(*found, strict=True))
        return np.repeat(batch, counts), totals, nodes

    def decode_least_risk(self, w: Any, batch: IntVector) -> IntMatrix:
        """The nodes of the trees with the fewest wrong nodes to be expected, end to end."""
        return np.concatenate([self.structure.least_risk(self._plain(w, each)) for each in self.pieces(batch)])
