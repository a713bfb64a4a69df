"""Features of dependency trees: θ = F w, from weights to the scores of arcs, labels and triples of tokens, and back.

Features are hashed into one table of 2^bits weights (`keys`). `scores` has the loops of F, `gather` those of Fᵀ.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Rows, sums
from widemargin.errors import DataError
from widemargin.structures.dependencies import ArcScores
from widemargin.structures.dependency_sums import ArcCounts
from widemargin.structures.parts import Parts, Summed
from widemargin.structures.support import block_runs, nothing_found
from widemargin.tasks.parse.gather import Added, gather, gather_counts, support
from widemargin.tasks.parse.keys import (
    ARC,
    BETWEEN,
    GRANDPARENT,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    TreeData,
    TreeKeys,
)
from widemargin.tasks.parse.scores import add_scores

NOWHERE = np.empty(0, dtype=np.int32)


class TreeFeatures:
    """The features of sentences (`structures.parts.Features`).

    Parameters
    ----------
    indptr : (n + 1,) where each sentence begins among the tokens
    keys : of the features of arcs
    hash_bits : features share 2^hash_bits weights
    n_labels : how many labels arcs have
    n_weights : the length of the weight vector
    heads : of the gold arcs, from which the sizes of feature differences are estimated; or none
    work : the estimated decoding time of each sentence in microseconds
    """

    def __init__(
        self,
        indptr: LongVector,
        keys: TreeKeys,
        hash_bits: int,
        n_labels: int,
        n_weights: int,
        heads: IntVector,
        work: FloatVector,
    ) -> None:
        self.data = TreeData(indptr, keys, (1 << hash_bits) - 1, n_labels)
        self.n_weights, self.sizes, self.heads = n_weights, np.diff(indptr), heads
        self.work: FloatVector | None = work
        self._groups = np.diff(keys.edges)
        self._spare: list[Added] = []

    def check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        n_tokens = int(self.data.indptr[-1])
        for role in ("head", "modifier", "other"):
            rows = len(getattr(self.data.keys, role))
            if rows != n_tokens + 1:
                raise DataError(f"{n_tokens} tokens and the root need a row of keys each; there are {rows} as {role}")

    def scores(self, w: FloatVector, batch: IntVector, room: ArcScores) -> ArcScores:
        """Add the scores of features."""
        add_scores(self.data, w, batch, self._longest(batch), room)
        return room

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return gather(self.data, batch, self._longest(batch), parts)

    def gather_counts(self, batch: IntVector, counts: ArcCounts) -> Rows:
        """Feature vectors of coefficients for all parts."""
        return self.gather_pieces(batch, [(batch, counts)])

    def gather_pieces(self, batch: IntVector, pieces: Iterable[tuple[IntVector, ArcCounts]]) -> Rows:
        """The same for a batch whose coefficients come in pieces: rows are long, so that none is copied."""
        single, runs = (each[batch] for each in self._places)
        # Threads that run at the same time need their own; it is handed on, since clearing it takes long.
        nothing = Added(np.zeros(0), NOWHERE, NOWHERE, np.zeros(2, dtype=np.int64))
        added = self._spare.pop() if self._spare else nothing._replace(total=np.zeros(self.n_weights))
        for name, most in (("single", single.max(initial=0)), ("runs", runs.max(initial=0))):
            if len(getattr(added, name)) < most:
                added = added._replace(**{name: np.empty(most, dtype=np.int32)})
        # The memory that is not written to is never taken.
        room = int(np.minimum(single + runs * self.data.n_labels, self.n_weights).sum())
        psi = Rows(np.zeros(len(batch) + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))
        row = 0
        for piece, counts in pieces:
            gather_counts(self.data, piece, self._longest(piece), counts, added, psi, row)
            row += len(piece)
        self._spare.append(added)
        end = psi.indptr[-1]
        return Rows(psi.indptr, psi.indices[:end], psi.values[:end])

    def most_entries(self) -> FloatVector:
        """How many entries ψ of each sentence has if all heads are wrong and half as far off as they can be."""
        indptr, sizes, groups = self.data.indptr, self.sizes, self._groups
        tokens = np.arange(1, len(self.heads) + 1) - np.repeat(indptr[:-1], sizes)
        apart = sums(np.abs(self.heads - tokens), indptr) + 0.5 * sizes**2
        of_tokens = 4.0 * (groups[ARC] + groups[SIBLING] + groups[GRANDPARENT])
        of_tokens += 2.0 * groups[LABEL : LABEL_MODIFIER + 1].sum()
        return sizes * of_tokens + 2.0 * groups[BETWEEN] * apart

    def most_expected(self) -> LongVector:
        """How many entries `gather_counts` has at most for each sentence before any are put together."""
        single, runs = self._places
        return single + runs * self.data.n_labels

    def summed(self, batches: Sequence[IntVector]) -> Summed | None:
        """Rows are as good."""
        return None

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of all arcs of the batch, with all labels, and of all triples."""
        found = nothing_found(self.n_weights)
        count = support(self.data, batch, self._longest(batch), found)
        return block_runs(found.blocks[:count], self.n_weights)

    @cached_property
    def _places(self) -> tuple[LongVector, LongVector]:
        """At most how many single weights, and runs of weights for all labels, the features of each sentence have."""
        n, groups = self.sizes.astype(np.int64), self._groups
        # 2n − 1 − 2j arcs have j tokens between, of at most u values: Σ_j (2n − 1 − 2j) min(j, u).
        u = np.minimum(self._n_values, np.maximum(n - 1, 0))
        values = (2 * n - 1) * u * (u + 1) // 2 - u * (u + 1) * (2 * u + 1) // 3 + u * (n - 1 - u) ** 2
        single = 2 * groups[ARC] * n * (n + 1) + 2 * groups[SIBLING] * (n * (n + 1) * (n + 2) // 3)
        single += 2 * groups[BETWEEN] * np.where(n > 0, values, 0)
        runs = groups[LABEL] * n * (n + 1) + 3 * (groups[LABEL_HEAD] + groups[LABEL_MODIFIER]) * (n + 1)
        return single, runs

    @property
    def _n_values(self) -> LongVector:
        """How many values of `between` each sentence has."""
        if not self._groups[BETWEEN]:
            return np.zeros(len(self.sizes), dtype=np.int64)
        column = self.data.keys.other[1:, self.data.keys.edges[BETWEEN]]
        sentences = np.repeat(np.arange(len(self.sizes)), self.sizes)
        distinct = np.unique(np.stack([sentences, column], axis=1), axis=0)[:, 0]
        return np.bincount(distinct, minlength=len(self.sizes))

    def _longest(self, batch: IntVector) -> int:
        return int(self.sizes[batch].max(initial=0))
