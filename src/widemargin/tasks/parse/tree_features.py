"""Features of dependency trees: θ = F w, from weights to the scores of arcs, labels and triples of tokens, and back.

Features are hashed into one table of 2^bits weights (`keys`). `scores` has the kernels of F. This module has those of
Fᵀ, from coefficients of parts to coefficients of weights (`structures.hashed`). If every part has a coefficient, label
features of one token are added once per token, not once per arc. The coefficient of an arc's features without labels is
the sum over its labels.
"""

from functools import cached_property

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.sparse import Draft, Rows, coalesce, new_table, sums
from widemargin.errors import DataError
from widemargin.structures.costs import ArcCosts
from widemargin.structures.dependencies import Dependencies
from widemargin.structures.flat import NOTHING, Counts, Parts, Scores, longest_of
from widemargin.structures.hashed import (
    NEGLIGIBLE,
    NOWHERE,
    HashedFeatures,
    Sink,
    add_runs,
    add_single,
    flush,
    matters,
    push,
)
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
    add_between,
    arc_slots,
    between,
    direction_of,
    grandparent_slots,
    group_slots,
    label_slots,
    row_of,
    sibling_slots,
    slot_room,
    step_of,
    token_slots,
)
from widemargin.tasks.parse.scores import add_scores


@kernel
def _gather(data: TreeData, batch: IntVector, parts: Parts) -> Rows:
    """ψ for sparse coefficients of parts, as `structures.dependencies` numbers them."""
    n_labels, groups = data.n_labels, np.diff(data.keys.edges)
    sizes = data.indptr[batch + 1] - data.indptr[batch] + 1
    slots, found = slot_room(data, longest_of(sizes))
    of_arc = 2 * groups[ARC] + groups[LABEL] + groups[LABEL_HEAD] + groups[LABEL_MODIFIER]
    per_part = max(of_arc, 2 * groups[SIBLING], 2 * groups[GRANDPARENT]) + 2 * groups[BETWEEN] * sizes
    wanted = np.diff(parts.indptr) * per_part
    # Far too large, but pages that are never written take no memory.
    draft = Draft(np.empty(wanted.sum(), np.int32), np.empty(wanted.sum()), new_table(longest_of(wanted)))
    ends = np.zeros(len(batch) + 1, dtype=np.int64)
    for k in range(len(batch)):
        first, size, j, last = data.indptr[batch[k]], sizes[k], parts.indptr[k], parts.indptr[k + 1]
        write, at_siblings = ends[k], size * size * n_labels
        while j < last:
            number, value = parts.numbers[j], parts.values[j]
            j += 1
            if number < at_siblings:
                arc = number // n_labels
                h, m = arc // size, arc % size
                count = label_slots(data, first, h, m, slots)
                write = push(slots[:count], number % n_labels, value, draft, write)
                # The gold part and the output part of a token follow one another. If only their labels differ, the
                # features without labels cancel out.
                if j < last and parts.numbers[j] // n_labels == arc:
                    write = push(slots[:count], parts.numbers[j] % n_labels, parts.values[j], draft, write)
                    value += parts.values[j]
                    j += 1
                if value == 0.0:
                    continue
                count = arc_slots(data, first, h, m, found, between(data.keys, first, h, m, found), slots)
            else:
                triple = (number - at_siblings) % size**3
                h, middle, end = triple // size**2, triple // size % size, triple % size
                if number < at_siblings + size**3:
                    count = sibling_slots(data, first, h, middle, end, slots)
                else:
                    count = grandparent_slots(data, first, h, middle, end, slots)
            write = push(slots[:count], 0, value, draft, write)
        ends[k + 1] = coalesce(draft.indices, draft.values, ends[k], write, ends[k], draft.table)
    return Rows(ends, draft.indices[: ends[-1]], draft.values[: ends[-1]])


@kernel
def _add_arcs(
    data: TreeData,
    first: int,
    n: int,
    own: FloatVector,
    slots: IntVector,
    tokens: LongVector,
    nodes: FloatMatrix,
    sink: Sink,
) -> None:
    """Add the features of arcs; label coefficients are summed up by token and direction, in rows as in `scores`."""
    size, n_labels = n + 1, data.n_labels
    nodes[: 6 * size] = 0.0
    for h in range(size):
        # Moving away from h, each token joins the tokens between after its own arc: none is searched twice.
        for side in (1, -1):
            n_between, m = 0, h + side
            while 1 <= m <= n:
                row = own[(h * size + m) * n_labels : (h * size + m + 1) * n_labels]
                if matters(row):
                    total = 0.0
                    for value in row:
                        total += value
                    step = step_of(h, m)
                    modifier, head = nodes[6 * m + direction_of(step)], nodes[6 * h + 3 + direction_of(step)]
                    for label in range(n_labels):
                        modifier[label] += row[label]
                        head[label] += row[label]
                    count = group_slots(data, LABEL, row_of(first, h), first + m, 0, step, slots, 0)
                    add_runs(slots[:count], row, sink)
                    add_single(slots[: arc_slots(data, first, h, m, tokens, n_between, slots)], total, sink)
                n_between = add_between(data.keys, first + m, tokens, n_between)
                m += side
    for r in range(6 * size):
        count = token_slots(data, first, r // 6, r % 3, LABEL_MODIFIER if r % 6 < 3 else LABEL_HEAD, slots)
        add_runs(slots[:count], nodes[r], sink)


@kernel
def _add_triples(data: TreeData, first: int, n: int, own: FloatVector, slots: IntVector, sink: Sink) -> None:
    """Add the features of siblings and grandparents."""
    size = n + 1
    for h in range(size):
        for m in range(1, size):
            for s in range(h, m, 1 if m > h else -1):
                value = own[(h * size + s) * size + m]
                if abs(value) > NEGLIGIBLE:
                    add_single(slots[: sibling_slots(data, first, h, s, m, slots)], value, sink)
            for g in range(size if data.n_triples > 1 and h > 0 and h != m else 0):
                value = own[size**3 + (h * size + m) * size + g]
                if (g < min(h, m) or g > max(h, m)) and abs(value) > NEGLIGIBLE:
                    add_single(slots[: grandparent_slots(data, first, h, m, g, slots)], value, sink)


@kernel
def _visit(data: TreeData, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
    longest = longest_of(counts.sizes)
    (slots, tokens), nodes = slot_room(data, longest), np.empty((6 * (longest + 1), data.n_labels))
    for k in range(len(batch)):
        first, n, own = data.indptr[batch[k]], counts.sizes[k], counts.own[counts.starts[k] :]
        _add_arcs(data, first, n, own, slots, tokens, nodes, sink)
        if data.n_triples > 0:
            _add_triples(data, first, n, own[(n + 1) ** 2 * data.n_labels :], slots, sink)
        flush(sink, data.n_labels, psi, k)


class TreeFeatures(HashedFeatures):
    """The features of sentences (`structures.parts.Features`).

    Parameters
    ----------
    indptr : (n + 1,) where each sentence begins among the tokens
    keys : the keys of the features of arcs
    hash_bits : features share 2^hash_bits weights
    structure : the kind of trees
    n_weights : the length of the weight vector
    heads : the gold heads, or none; the sizes of feature differences are estimated from them
    work : the estimated decoding time of each sentence in microseconds
    """

    def __init__(
        self,
        indptr: LongVector,
        keys: TreeKeys,
        hash_bits: int,
        structure: Dependencies,
        n_weights: int,
        heads: IntVector,
        work: FloatVector,
    ) -> None:
        super().__init__(np.diff(indptr), n_weights, structure.n_labels)
        self.data = TreeData(indptr, keys, (1 << hash_bits) - 1, structure.n_labels, structure.n_triples)
        self._structure, self.heads, self._groups = structure, heads, np.diff(keys.edges)
        self.work: FloatVector | None = work

    def check(self) -> None:
        """Raise unless every index is within bounds: kernels do not check."""
        n_tokens = int(self.data.indptr[-1])
        for role in ("head", "modifier", "other"):
            rows = len(getattr(self.data.keys, role))
            if rows != n_tokens + 1:
                raise DataError(f"{n_tokens} tokens and the root need a row of keys each; there are {rows} as {role}")

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of features."""
        add_scores(self.data, w, batch, room, NOWHERE, NOTHING, NOTHING, NOWHERE)
        return room

    def best_labels(
        self, w: FloatVector, batch: IntVector, costs: ArcCosts, scales: FloatVector, room: Scores
    ) -> IntVector:
        """Write to `room` the score of each arc with its best label, costs included; return these labels.

        Each sentence has (n + 1)² labels, by head, then by modifier. Storing the scores of all labels takes longer.
        """
        labels = np.empty(((self.sizes[batch] + 1) ** 2).sum(), dtype=np.int32)
        add_scores(self.data, w, batch, room, costs.gold, costs.costs, scales, labels)
        return labels

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """Feature vectors of sparse coefficients."""
        return _gather(self.data, batch, parts)

    def visit(self, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
        """Add the features of all arcs with all labels, and of all triples."""
        _visit(self.data, batch, counts, sink, psi)

    def n_parts(self, batch: IntVector) -> LongVector:
        """How many parts each sentence has."""
        return self._structure.n_own(self.sizes[batch])

    def most_entries(self) -> FloatVector:
        """The entries of ψ of each sentence if all heads are wrong, and arcs half as long as they can be."""
        indptr, sizes, groups = self.data.indptr, self.sizes, self._groups
        tokens = np.arange(1, len(self.heads) + 1) - np.repeat(indptr[:-1], sizes)
        apart = sums(np.abs(self.heads - tokens), indptr) + 0.5 * sizes**2
        of_tokens = 4.0 * (groups[ARC] + groups[SIBLING] + groups[GRANDPARENT])
        of_tokens += 2.0 * groups[LABEL : LABEL_MODIFIER + 1].sum()
        return sizes * of_tokens + 2.0 * groups[BETWEEN] * apart

    @cached_property
    def places(self) -> tuple[LongVector, LongVector]:
        """Upper bounds for each sentence: how many single weights its features have, and how many runs over labels."""
        n, groups = self.sizes.astype(np.int64), self._groups
        # 2n − 1 − 2j arcs have j tokens between, with at most u distinct values: Σ_j (2n − 1 − 2j) min(j, u).
        column = self.data.keys.other[1:, self.data.keys.edges[BETWEEN] :][:, :1]
        u = np.minimum(len(np.unique(column)), np.maximum(n - 1, 0))
        values = (2 * n - 1) * u * (u + 1) // 2 - u * (u + 1) * (2 * u + 1) // 3 + u * (n - 1 - u) ** 2
        single = 2 * groups[ARC] * n * (n + 1) + 2 * groups[SIBLING] * (n * (n + 1) * (n + 2) // 3)
        single += 2 * groups[BETWEEN] * np.where(n > 0, values, 0) + 2 * groups[GRANDPARENT] * n * n * n
        runs = groups[LABEL] * n * (n + 1) + 3 * (groups[LABEL_HEAD] + groups[LABEL_MODIFIER]) * (n + 1)
        return single, runs
