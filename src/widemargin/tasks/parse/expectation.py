"""How dependency trees differ from gold on average: φ(x, gold) − E[φ(x, y)].

Every part of a sentence has a residual, [gold has the part] − its probability. Each feature of the part adds it to a
weight. A sentence has n² arcs, so there are hundreds of thousands of such additions. They go to a vector as long as w.
Where anything was added is noted; only these places are read, and cleared, afterwards.

Features of labels that look at one token alone are added once per token, not once per arc. Parts with a probability
below 10⁻¹² are left out, if gold does not have them: a weight loses less than it would to rounding.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.examples import Differences
from widemargin.core.sparse import Rows
from widemargin.decoders.siblings import sibling_of
from widemargin.tasks.parse.decode import Order
from widemargin.tasks.parse.keys import (
    ARC,
    BETWEEN,
    LABEL,
    LABEL_HEAD,
    LABEL_MODIFIER,
    SIBLING,
    TreeKeys,
    row_of,
    step_of,
)
from widemargin.tasks.parse.marginals import SUMMATIONS, Parts, part_scores
from widemargin.tasks.parse.scores import ANY_STEP, TreeData

NEGLIGIBLE = 1e-12
NOWHERE = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)


class Sums(NamedTuple):
    """Scratch space: `total` has the length of w, and is zero between sentences.

    Something was added at the first counts[0] weights of `single`, and at as many weights as there are labels, from
    each of the first counts[1] slots of `runs` on.
    """

    total: FloatVector
    single: IntVector
    runs: IntVector
    counts: LongVector


@kernel
def _add_both(slot: int, step: int, value: float, sums: Sums) -> None:
    """Add to the weight of a feature that always counts, and to that of the step."""
    for index in (slot, slot + 1 + step):
        j = np.uint64(index)
        if sums.total[j] == 0.0:
            sums.single[sums.counts[0]] = index
            sums.counts[0] += 1
        sums.total[j] += value


@kernel
def _add_run(slot: int, row: FloatVector, sums: Sums) -> None:
    """Add to the weights of a feature for all labels."""
    sums.runs[sums.counts[1]] = slot
    sums.counts[1] += 1
    for label in range(len(row)):
        sums.total[np.uint64(slot + label)] += row[label]


@kernel
def _to_residuals(data: TreeData, first: int, parts: Parts) -> None:
    """Turn probabilities into residuals, and shares into the residuals of labels; zero where they are negligible."""
    n = len(parts.arcs) - 1
    for h in range(n + 1):
        for m in range(1, n + 1):
            gold, probability, row = data.heads[first + m - 1] == h, parts.arcs[h, m], parts.shares[h, m]
            if probability < NEGLIGIBLE:
                probability = 0.0
            parts.arcs[h, m] = (1.0 if gold else 0.0) - probability
            for label in range(len(row)):
                row[label] = -probability * row[label]
            if gold:
                row[data.labels[first + m - 1]] += 1.0


@kernel
def _add_arcs(data: TreeData, first: int, arcs: FloatMatrix, sums: Sums) -> None:
    """The features of arcs that look at head and modifier."""
    keys, n = data.keys, len(arcs) - 1
    for h in range(n + 1):
        for m in range(1, n + 1):
            if arcs[h, m] != 0.0:
                step, row = step_of(h, m), row_of(first, h)
                for t in range(keys.edges[ARC], keys.edges[ARC + 1]):
                    slot = (keys.head[row, t] + keys.modifier[first + m, t]) & data.mask
                    _add_both(slot, step, arcs[h, m], sums)


@kernel
def _new_value(keys: TreeKeys, found: LongVector, count: int, token: int) -> bool:
    """Whether the value of a token between differs from those of the tokens found so far."""
    value = keys.edges[BETWEEN]
    known = False
    for k in range(count):
        known |= keys.other[found[k], value] == keys.other[token, value]
    return not known


@kernel
def _count_between(keys: TreeKeys, first: int, n: int) -> int:
    """How many distinct values are between head and modifier, summed over all arcs."""
    found, total = np.empty(n, dtype=np.int64), 0
    for h in range(n + 1):
        for step in (1, -1):
            count, m = 0, h + step
            while 1 <= m <= n:
                total += count
                if _new_value(keys, found, count, first + m):
                    found[count] = first + m
                    count += 1
                m += step
    return total


@kernel
def _add_between(data: TreeData, first: int, arcs: FloatMatrix, sums: Sums) -> None:
    """The features of arcs that look at the tokens between, each distinct value once."""
    keys, n = data.keys, len(arcs) - 1
    found = np.empty(n, dtype=np.int64)
    for h in range(n + 1):
        head = row_of(first, h)
        for side in (1, -1):
            count, m = 0, h + side
            while 1 <= m <= n:
                step = step_of(h, m)
                for k in range(count if arcs[h, m] != 0.0 else 0):
                    for t in range(keys.edges[BETWEEN], keys.edges[BETWEEN + 1]):
                        pair = keys.head[head, t] + keys.modifier[first + m, t]
                        _add_both((pair + keys.other[found[k], t]) & data.mask, step, arcs[h, m], sums)
                if _new_value(keys, found, count, first + m):
                    found[count] = first + m
                    count += 1
                m += side


@kernel
def _add_labels(data: TreeData, first: int, parts: Parts, nodes: FloatMatrix, sums: Sums) -> None:
    """The features of arcs with labels; residuals by token and direction go to `nodes`, as in `scores.node_labels`."""
    keys, n = data.keys, len(parts.arcs) - 1
    for h in range(n + 1):
        head = row_of(first, h)
        for m in range(1, n + 1):
            gold = data.heads[first + m - 1] == h
            if h == m or (parts.arcs[h, m] == 0.0 and not gold):
                continue
            step, row = step_of(h, m), parts.shares[h, m]
            direction = 0 if step == 0 else (1 if step < 7 else 2)
            for label in range(len(row)):
                nodes[6 * m + direction, label] += row[label]
                nodes[6 * h + 3 + direction, label] += row[label]
            for t in range(keys.edges[LABEL], keys.edges[LABEL + 1]):
                slot = (keys.head[head, t] + keys.modifier[first + m, t] + keys.measure[step, t]) & data.mask
                _add_run(slot, row, sums)


@kernel
def _add_node_labels(data: TreeData, first: int, nodes: FloatMatrix, sums: Sums) -> None:
    """The features of labels that look at one token and the direction."""
    keys = data.keys
    for node in range(len(nodes) // 6):
        for direction in range(3):
            step = ANY_STEP[direction]
            if node > 0:
                for t in range(keys.edges[LABEL_MODIFIER], keys.edges[LABEL_MODIFIER + 1]):
                    slot = (keys.modifier[first + node, t] + keys.measure[step, t]) & data.mask
                    _add_run(slot, nodes[6 * node + direction], sums)
            if (node == 0) == (direction == 0):
                for t in range(keys.edges[LABEL_HEAD], keys.edges[LABEL_HEAD + 1]):
                    slot = (keys.head[row_of(first, node), t] + keys.measure[step, t]) & data.mask
                    _add_run(slot, nodes[6 * node + 3 + direction], sums)


@kernel
def _add_siblings(data: TreeData, first: int, siblings: FloatMatrix, sums: Sums) -> None:
    """The features of siblings, whose probabilities are given."""
    keys, n = data.keys, len(siblings) - 1
    before = np.empty(n, dtype=np.int32)
    sibling_of(data.heads[first : first + n], before)
    for h in range(n + 1):
        head = row_of(first, h)
        for m in range(1, n + 1):
            for s in range(h, m, 1 if m > h else -1):
                probability = siblings[h, s, m]
                gold = data.heads[first + m - 1] == h and before[m - 1] == s
                residual = (1.0 if gold else 0.0) - (probability if probability >= NEGLIGIBLE else 0.0)
                if residual != 0.0:
                    other, step = 0 if s == h else first + s, step_of(s, m)
                    for t in range(keys.edges[SIBLING], keys.edges[SIBLING + 1]):
                        slot = keys.head[head, t] + keys.modifier[first + m, t] + keys.other[other, t]
                        _add_both(slot & data.mask, step, residual, sums)


@kernel
def count_places(data: TreeData, batch: IntVector) -> tuple[LongVector, LongVector]:
    """At most how many single weights and runs the features of each sentence have."""
    single, runs = np.zeros(len(batch), dtype=np.int64), np.zeros(len(batch), dtype=np.int64)
    edges = data.keys.edges
    of_arc, of_between, of_sibling = np.diff(edges[: SIBLING + 2])
    of_label, of_node = edges[LABEL + 1] - edges[LABEL], edges[LABEL_MODIFIER + 1] - edges[LABEL_HEAD]
    for position in range(len(batch)):
        first = data.indptr[batch[position]]
        n = data.indptr[batch[position] + 1] - first
        single[position] = 2 * of_arc * n * (n + 1) + 2 * of_sibling * (n * (n + 1) * (n + 2) // 3)
        if of_between > 0:
            single[position] += 2 * of_between * _count_between(data.keys, first, n)
        runs[position] = of_label * n * (n + 1) + 3 * of_node * (n + 1)
    return single, runs


@kernel
def _move(places: IntVector, width: int, factor: float, total: FloatVector, psi: Rows, write: int) -> int:
    """Move the sums that are not zero, at `width` weights from each place on, to the entries; return their end."""
    # Arrays of their own: those of a tuple would be counted as used and unused for every entry.
    indices, values = psi.indices, psi.values
    for place in places:
        for k in range(width):
            j = np.uint64(place + k)
            value = factor * total[j]
            if value != 0.0:
                indices[np.uint64(write)], values[np.uint64(write)] = place + k, value
                write += 1
            total[j] = 0.0
    return write


@kernel
def append_expected(data: TreeData, i: int, parts: Parts, factor: float, sums: Sums, psi: Rows, write: int) -> int:
    """Append `factor` times φ(gold) − E[φ] of a sentence, given the probabilities of its parts, which are overwritten.

    Return where the entries end.
    """
    first, n = data.indptr[i], len(parts.arcs) - 1
    nodes = np.zeros((6 * (n + 1), data.n_labels))
    sums.counts[:] = 0
    _to_residuals(data, first, parts)
    _add_arcs(data, first, parts.arcs, sums)
    if data.keys.edges[BETWEEN] < data.keys.edges[BETWEEN + 1]:
        _add_between(data, first, parts.arcs, sums)
    _add_labels(data, first, parts, nodes, sums)
    _add_node_labels(data, first, nodes, sums)
    if len(parts.siblings) > 0:
        _add_siblings(data, first, parts.siblings, sums)
    write = _move(sums.single[: sums.counts[0]], 1, factor, sums.total, psi, write)
    return _move(sums.runs[: sums.counts[1]], data.n_labels, factor, sums.total, psi, write)


class Expectations:
    """The expectations of sentences of one kind of trees.

    Gold trees that decoding cannot return, those `beyond`, count as one output more: with Z the sum over all others,

        −log p(gold) = log(1 + Z / exp(score of gold)),   φ(gold) − E[φ] = (1 − p(gold)) (φ(gold) − E[φ | not gold])
    """

    def __init__(self, data: TreeData, decoder: str, order: Order, single_root: bool, beyond: BoolVector) -> None:
        self.data, self.single_root, self.beyond = data, single_root, beyond
        self.sum_over, self.with_siblings = SUMMATIONS[decoder, order], order != 1
        self._spare: list[Sums] = []

    def __call__(self, w: FloatVector, batch: IntVector, error_scale: float) -> Differences:
        """−log p of the gold trees of a batch, and φ(gold) − E[φ]."""
        errors, indptr = np.zeros(len(batch)), np.zeros(len(batch) + 1, dtype=np.int64)
        room, sums = self._room(w, batch)
        # The memory that is not written to is never taken.
        psi = Rows(indptr, np.empty(room, dtype=np.int32), np.empty(room))
        for position, i in enumerate(batch.tolist()):
            write = int(indptr[position])
            if self.data.indptr[i] < self.data.indptr[i + 1]:
                parts, gold = part_scores(self.data, w, i, error_scale, self.with_siblings)
                probabilities, log_z = self.sum_over(parts, self.single_root)
                errors[position] = np.logaddexp(log_z - gold, 0.0) if self.beyond[i] else max(log_z - gold, 0.0)
                factor = -np.expm1(-errors[position]) if self.beyond[i] else 1.0
                write = append_expected(self.data, i, probabilities, factor, sums, psi, write)
            indptr[position + 1] = write
        self._spare.append(sums)
        return Differences(errors, Rows(indptr, psi.indices[: indptr[-1]], psi.values[: indptr[-1]]))

    def n_entries(self, batch: IntVector) -> LongVector:
        """At most how many entries φ(gold) − E[φ] of each sentence has before any are put together."""
        single, runs = count_places(self.data, batch)
        return single + runs * self.data.n_labels

    def _room(self, w: FloatVector, batch: IntVector) -> tuple[int, Sums]:
        """How many entries a batch has at most, and scratch space for any of its sentences."""
        single, runs = count_places(self.data, batch)
        entries = np.minimum(single + runs * self.data.n_labels, len(w))
        # Threads that run at the same time need their own; it is handed on, since clearing it takes long.
        sums = self._spare.pop() if self._spare else Sums(np.zeros(len(w)), *NOWHERE, np.zeros(2, dtype=np.int64))
        for name, most in (("single", single.max(initial=0)), ("runs", runs.max(initial=0))):
            if len(getattr(sums, name)) < most:
                sums = sums._replace(**{name: np.empty(most, dtype=np.int32)})
        return int(entries.sum()), sums
