"""Features of dependency trees: θ = F w, from weights to the scores of arcs, labels and triples of tokens, and back.

    arcs[h, m, l] = Σ w over the slots of the arc, its label, and the tokens between
    siblings[h, s, m], grandparents[h, m, g] = Σ w over their slots

`features` lists the slots of a part. Fᵀ, from coefficients of parts to coefficients of weights, follows these lists
(`structures.hashed`). If every part has a coefficient, label features of one token are added once per token, not once
per arc. The coefficient of an arc's features without labels is the sum over its labels.

F has loops of its own, because fetching weights takes most of the time. They run along rows of parts instead of over
the slots of one part, and features that look at fewer tokens than a part has are summed up once.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, coalesce, new_table
from widemargin.decoders.scores import highest
from widemargin.structures.costs import cost_row
from widemargin.structures.flat import Counts, Parts, Scores, longest_of
from widemargin.structures.hashed import (
    NEGLIGIBLE,
    Sink,
    add_rows,
    add_runs,
    add_single,
    flush,
    matters,
    push,
)
from widemargin.tasks.parse.features import (
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
    group_slots,
    label_slots,
    row_of,
    slot_room,
    step_of,
    token_slots,
    triple_slots,
    turn_of,
)


@kernel
def _by_template(keys: IntMatrix, first: int, n: int, begin: int, end: int) -> LongMatrix:
    """(end − begin, n + 1) the keys of the nodes of a sentence in the columns begin … end − 1, transposed."""
    found = np.empty((end - begin, n + 1), dtype=np.int64)
    for node in range(n + 1):
        for t in range(begin, end):
            found[t - begin, node] = keys[row_of(first, node), t]
    return found


@kernel
def _write_steps(node: int, steps: LongVector) -> None:
    """Write the steps from a node to the tokens 1 … n of its sentence."""
    steps[0] = 0
    for m in range(1, len(steps)):
        steps[m] = step_of(node, m)


@kernel
def _add_row(key: int, others: LongVector, steps: LongVector, w: FloatVector, mask: int, row: FloatVector) -> None:
    """Add the weights of a template's features to a row of parts that differ in one token and in their steps.

    `others` has the keys of these tokens, and `key` is the sum of the keys of all other roles. The sums are
    independent, so that fetches overlap.
    """
    for i in range(len(row)):
        m = np.uint64(i)
        slot = np.uint64((key + others[m]) & mask)
        row[m] += w[slot] + w[slot + np.uint64(1 + steps[m])]


@kernel
def _same_values(keys: TreeKeys, first: int, n: int) -> LongMatrix:
    """The nearest tokens with the same value of `between`: before it (row 0; 0 if none), after it (row 1; n + 1)."""
    value, nearest = keys.edges[BETWEEN], np.empty((2, n + 1), dtype=np.int64)
    for m in range(1, n + 1):
        nearest[0, m], nearest[1, m] = 0, n + 1
        for before in range(m - 1, 0, -1):
            if keys.other[first + before, value] == keys.other[first + m, value]:
                nearest[0, m], nearest[1, before] = before, m
                break
    return nearest


@kernel
def _arcs_from(
    data: TreeData,
    w: FloatVector,
    first: int,
    h: int,
    modifiers: LongMatrix,
    nearest: LongMatrix,
    steps: LongVector,
    row: FloatVector,
) -> None:
    """Write the scores of the arcs from h without labels; `modifiers` has the keys of the sentence by template."""
    # Nothing is allocated here: references to arrays would be counted then, those of every slice.
    keys, mask, n, head = data.keys, data.mask, len(row) - 1, row_of(first, h)
    _write_steps(h, steps)
    for m in range(n + 1):
        row[m] = 0.0
    for t in range(keys.edges[ARC], keys.edges[ARC + 1]):
        _add_row(int(keys.head[head, t]), modifiers[t, 1:], steps[1:], w, mask, row[1:])
    # A token counts for all modifiers beyond it, seen from h, if no token closer to h has the same value.
    for t in range(keys.edges[BETWEEN], keys.edges[BETWEEN + 1]):
        for node in range(1, n):
            key, beyond = int(keys.head[head, t] + keys.other[first + node, t]), node + 1
            if node > h and nearest[0, node] <= h:
                _add_row(key, modifiers[t, beyond:], steps[beyond:], w, mask, row[beyond:])
            elif node < h and nearest[1, node] >= h:
                _add_row(key, modifiers[t, 1:node], steps[1:node], w, mask, row[1:node])


@kernel
def _node_labels(data: TreeData, w: FloatVector, first: int, n: int, slots: IntVector, nodes: FloatMatrix) -> None:
    """Label scores by one token and a direction: as a modifier in row 6 · node + direction, as a head 3 rows below."""
    for row in range(6 * (n + 1)):
        nodes[row] = 0.0
        group = LABEL_MODIFIER if row % 6 < 3 else LABEL_HEAD
        add_rows(w, slots[: token_slots(data, first, row // 6, row % 3, group, slots)], nodes[row])


@kernel
def _add_labels(
    data: TreeData, w: FloatVector, first: int, h: int, m: int, nodes: FloatMatrix, slots: IntVector, row: FloatVector
) -> None:
    """Add the scores of all labels of an arc to a row; `slots` is scratch."""
    step = step_of(h, m)
    modifier, head = 6 * m + direction_of(step), 6 * h + 3 + direction_of(step)
    count = group_slots(data, LABEL, row_of(first, h), first + m, 0, step, slots, 0)
    for label in range(len(row)):
        row[label] += nodes[modifier, label] + nodes[head, label]
    add_rows(w, slots[:count], row)


@kernel
def _write_siblings(
    keys: TreeKeys, w: FloatVector, mask: int, first: int, modifiers: LongMatrix, scores: FloatMatrix
) -> None:
    """Write scores[h, s, m] of all modifiers m of h whose next sibling towards h is s; s = h stands for none."""
    n = len(scores) - 1
    whatever_head, steps = np.empty((2, n + 1)), np.empty(n + 1, dtype=np.int64)
    for s in range(n + 1):
        _write_steps(s, steps)
        # Row 0: m is the first modifier of its head s. Row 1: m has the sibling s.
        for row, other in zip(whatever_head, (0, first + s)):  # noqa: B905 — Numba knows no `strict`
            row[:] = 0.0
            for t in range(keys.edges[SIBLING], keys.sibling_head):
                _add_row(int(keys.other[other, t]), modifiers[t, 1:], steps[1:], w, mask, row[1:])
        for h in range(n + 1) if s > 0 else range(1):
            row, other = scores[h, s], 0 if s == h else first + s
            low, high = 1 if s <= h else s + 1, n + 1 if s >= h else s
            row[low:high] = whatever_head[0 if s == h else 1, low:high]
            for t in range(keys.sibling_head, keys.edges[SIBLING + 1]):
                key = int(keys.head[row_of(first, h), t] + keys.other[other, t])
                _add_row(key, modifiers[t, low:high], steps[low:high], w, mask, row[low:high])


@kernel
def _write_grandparents(keys: TreeKeys, w: FloatVector, mask: int, first: int, n: int, scores: FloatMatrix) -> None:
    """Write scores[h, m, g] of all chains of words h and m with a grandparent g outside of them."""
    begin, with_head, end = keys.edges[GRANDPARENT], keys.grandparent_head, keys.edges[GRANDPARENT + 1]
    turns, whatever_head = np.empty(n + 1, dtype=np.int64), np.empty(n + 1)
    others = _by_template(keys.other, first, n, begin, end)
    for m in range(1, n + 1):
        for head_after in (False, True):
            whatever_head[:] = 0.0
            for g in range(n + 1):
                turns[g] = turn_of(g, head_after, m)
            for t in range(begin, with_head):
                _add_row(int(keys.modifier[first + m, t]), others[t - begin], turns, w, mask, whatever_head)
            for h in range(m + 1, n + 1) if head_after else range(1, m):
                low, high, row = min(h, m), max(h, m) + 1, scores[h, m]
                row[:low], row[high:] = whatever_head[:low], whatever_head[high:]
                for t in range(with_head, end):
                    key, keys_of_g = int(keys.head[first + h, t] + keys.modifier[first + m, t]), others[t - begin]
                    _add_row(key, keys_of_g[:low], turns[:low], w, mask, row[:low])
                    _add_row(key, keys_of_g[high:], turns[high:], w, mask, row[high:])


@kernel
def add_scores(
    data: TreeData,
    w: FloatVector,
    batch: IntVector,
    scores: Scores,
    gold: IntVector,
    costs: FloatVector,
    scales: FloatVector,
    labels: IntVector,
) -> None:
    """Add the scores of a batch to its costs, which `structures.dependencies` has written; triples have no costs.

    If `labels` is not empty, only the best label of each arc is kept: its number in `labels`, its score with costs in
    `scores`, whose old contents are ignored. This is faster than storing the scores of all labels.
    """
    keys, folded, n_labels, longest = data.keys, len(labels) > 0, data.n_labels, longest_of(scores.sizes)
    nodes, (slots, _) = np.empty((6 * (longest + 1), n_labels)), slot_room(data, 0)
    arcs, row, steps = np.empty(longest + 1), np.empty(n_labels), np.empty(longest + 1, dtype=np.int64)
    has_between, read = keys.edges[BETWEEN] < keys.edges[BETWEEN + 1], 0
    for k in range(len(batch)):
        first, n, own = data.indptr[batch[k]], scores.sizes[k], scores.own[scores.starts[k] :]
        size = n + 1
        modifiers = _by_template(keys.modifier, first, n, 0, keys.edges[SIBLING + 1])
        # Without templates on tokens between, there is no column of keys to compare tokens by.
        nearest = _same_values(keys, first, n if has_between else 0)
        _node_labels(data, w, first, n, slots, nodes)
        for h in range(size):
            _arcs_from(data, w, first, h, modifiers, nearest, steps[:size], arcs[:size])
            # Labels come after all arcs from h, in the order in which they are stored: n_labels numbers for each m.
            for m in range(1, size):
                arc = h * size + m
                if h == m:
                    own[arc] = 0.0 if folded else own[arc]
                    continue
                if not folded:
                    kept = own[arc * n_labels : (arc + 1) * n_labels]
                    for label in range(n_labels):
                        kept[label] += arcs[m]
                    _add_labels(data, w, first, h, m, nodes, slots, kept)
                    continue
                cost_row(gold[first + m - 1] if scales[k] != 0.0 else -1, h, costs, scales[k], row)
                _add_labels(data, w, first, h, m, nodes, slots, row)
                best = highest(row)
                labels[read + arc], own[arc] = best, arcs[m] + row[best]
        read += size * size
        own = own[size * size * (1 if folded else n_labels) :]
        if data.n_triples > 0:
            _write_siblings(keys, w, data.mask, first, modifiers, own[: size**3].reshape(size, size, size))
        if data.n_triples > 1:
            _write_grandparents(keys, w, data.mask, first, n, own[size**3 : 2 * size**3].reshape(size, size, size))


@kernel
def gather(data: TreeData, batch: IntVector, parts: Parts) -> Rows:
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
                group = SIBLING if number < at_siblings + size**3 else GRANDPARENT
                count = triple_slots(data, group, first, h, middle, end, slots)
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
                    add_single(slots[: triple_slots(data, SIBLING, first, h, s, m, slots)], value, sink)
            for g in range(size if data.n_triples > 1 and h > 0 and h != m else 0):
                value = own[size**3 + (h * size + m) * size + g]
                if (g < min(h, m) or g > max(h, m)) and abs(value) > NEGLIGIBLE:
                    add_single(slots[: triple_slots(data, GRANDPARENT, first, h, m, g, slots)], value, sink)


@kernel
def visit(data: TreeData, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
    """Add the features of all arcs with all labels, and of all triples."""
    longest = longest_of(counts.sizes)
    (slots, tokens), nodes = slot_room(data, longest), np.empty((6 * (longest + 1), data.n_labels))
    for k in range(len(batch)):
        first, n, own = data.indptr[batch[k]], counts.sizes[k], counts.own[counts.starts[k] :]
        _add_arcs(data, first, n, own, slots, tokens, nodes, sink)
        if data.n_triples > 0:
            _add_triples(data, first, n, own[(n + 1) ** 2 * data.n_labels :], slots, sink)
        flush(sink, data.n_labels, psi, k)
