"""Exact decoding of a graph with few loops: nodes are eliminated one after the other (Koller & Friedman 2009, ch. 9).

    score(y) = Σ_v θ_v(y_v) + Σ_uv θ_uv(y_u, y_v)
    m_v(y_S) = max over y_v of the sum of all that is left and reads y_v;   S: the nodes that this reads besides v

A message m_v takes the place of node v and is read by whichever node of S is eliminated next. In a forest S has one
node. In general the work grows with the size of the largest table, and that depends on the order: the next node is the
one whose neighbours lack the fewest edges among them (min-fill). With log Σ exp instead of max, messages sum over all
outputs; going back through the nodes in reverse gives the best output, a sample, max-marginals or marginals.

Scores and messages stand in one vector, `values`: the scores of the graph's parts, then the message of each step. So a
message is read like any other table, by a base and a stride for each node.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import combinations
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongMatrix, LongVector

MOST_CELLS = 1 << 18
"""How many numbers all messages of a graph may have together: two megabytes, and some milliseconds."""


class Elimination(NamedTuple):
    """In which order the nodes of a graph are eliminated, and which tables each step reads.

    Step k eliminates the node `nodes[k]`, which has `widths[k]` labels. Its message depends on its scope, the nodes
    scope[scopes[k]:scopes[k + 1]] with `sizes` labels, and stands at messages[k] … messages[k + 1] − 1, the labels of
    the scope's last node side by side. It reads the tables tables[k] … tables[k + 1] − 1: table f has the entry
    values[bases[f] + y · strides[f] + Σ_s y_s · steps[…]], where `steps` has the scope's nodes in order.
    """

    nodes: LongVector
    widths: LongVector
    scopes: LongVector
    scope: LongVector
    sizes: LongVector
    tables: LongVector
    bases: LongVector
    strides: LongVector
    steps: LongVector
    messages: LongVector


def elimination(
    widths: LongVector, ends: LongMatrix, at_node: LongVector, at_edge: LongVector, n_parts: int, most: int = MOST_CELLS
) -> Elimination | None:
    """How to eliminate the nodes of this graph; None if their messages need more than `most` numbers.

    Nodes have `widths` labels, and edges join the two `ends`. The scores of a node's labels begin at `at_node`, those
    of the pairs of an edge at `at_edge`.
    """
    found = _order(widths.tolist(), ends.tolist(), most)
    if found is None:
        return None
    order, scopes = found
    labels, step_of = widths.tolist(), {v: k for k, v in enumerate(order)}
    tables: list[list[tuple[int, dict[int, int]]]] = [[(int(at_node[v]), {v: 1})] for v in order]
    for e, (u, v) in enumerate(ends.tolist()):
        tables[min(step_of[u], step_of[v])].append((int(at_edge[e]), {u: labels[v], v: 1}))
    messages = [n_parts]
    for scope in scopes:
        cells, strides = 1, {}
        for u in reversed(scope):
            strides[u] = cells
            cells *= labels[u]
        if scope:
            tables[min(step_of[u] for u in scope)].append((messages[-1], strides))
        messages.append(messages[-1] + cells)
    read = [
        (base, strides, v, scope)
        for v, scope, each in zip(order, scopes, tables, strict=True)
        for base, strides in each
    ]
    return Elimination(
        _vector(order),
        widths[order].astype(np.int64),
        _ends_of(scopes),
        _vector([u for scope in scopes for u in scope]),
        _vector([labels[u] for scope in scopes for u in scope]),
        _ends_of(tables),
        _vector([base for base, _, _, _ in read]),
        _vector([strides[v] for _, strides, v, _ in read]),
        _vector([strides.get(u, 0) for _, strides, _, scope in read for u in scope]),
        _vector(messages),
    )


def _vector(numbers: Sequence[int]) -> LongVector:
    return np.array(numbers, dtype=np.int64)


def _ends_of(lists: Sequence[Sequence[object]]) -> LongVector:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _order(labels: list[int], ends: list[list[int]], most: int) -> tuple[list[int], list[list[int]]] | None:
    """The nodes in the order of elimination with their scopes, or None if the messages would be too large."""
    near: list[set[int]] = [set() for _ in labels]
    for u, v in ends:
        near[u].add(v)
        near[v].add(u)

    def missing(v: int) -> int:
        return sum(u not in near[w] for u, w in combinations(near[v], 2))

    keys = [(missing(v), len(near[v]), v) for v in range(len(labels))]
    heap, order, scopes, cells = sorted(keys), [], [], 0
    while heap:
        key = heappop(heap)
        v = key[-1]
        if keys[v] != key:  # an older one
            continue
        size = 1
        for u in near[v]:
            size *= labels[u]
        cells += size
        if cells > most or size * labels[v] > most:
            return None
        order.append(v)
        scopes.append(sorted(near[v]))
        keys[v] = (-1, -1, v)
        changed = set(near[v])
        for u, w in combinations(near[v], 2):
            if u not in near[w]:
                changed |= near[u] & near[w]
                near[u].add(w)
                near[w].add(u)
        for u in near[v]:
            near[u].discard(v)
        for u in changed - {v}:
            if keys[u][0] >= 0 and (key := (missing(u), len(near[u]), u)) != keys[u]:
                keys[u] = key
                heappush(heap, key)
    return order, scopes


@kernel
def _advance(plan: Elimination, k: int, at: int, labels: LongVector, places: LongVector) -> None:
    """Go to the next labels of the scope of step k, as an odometer does, and to the entries that belong to them."""
    first, n_scope, n_tables = plan.scopes[k], plan.scopes[k + 1] - plan.scopes[k], plan.tables[k + 1] - plan.tables[k]
    for s in range(n_scope - 1, -1, -1):
        labels[s] += 1
        for f in range(n_tables):
            places[f] += plan.steps[at + f * n_scope + s]
        if labels[s] < plan.sizes[first + s]:
            return
        for f in range(n_tables):
            places[f] -= plan.steps[at + f * n_scope + s] * labels[s]
        labels[s] = 0


@kernel
def _scores_of(plan: Elimination, k: int, places: LongVector, values: FloatVector, out: FloatVector) -> float:
    """The scores of all labels of the node of step k, into `out`; return the best."""
    width, first = plan.widths[k], plan.tables[k]
    for label in range(width):
        out[label] = 0.0
    for f in range(plan.tables[k + 1] - first):
        place, stride = places[f], plan.strides[first + f]
        for label in range(width):
            out[label] += values[place + label * stride]
    best = -np.inf
    for label in range(width):
        best = max(best, out[label])
    return best


@kernel
def _room(plan: Elimination) -> tuple[LongVector, LongVector, FloatVector]:
    """Room for the labels of a scope, the places in its tables, and the scores of a node."""
    scope = tables = width = 0
    for k in range(len(plan.nodes)):
        scope = max(scope, plan.scopes[k + 1] - plan.scopes[k])
        tables = max(tables, plan.tables[k + 1] - plan.tables[k])
        width = max(width, plan.widths[k])
    return np.zeros(scope, dtype=np.int64), np.empty(tables, dtype=np.int64), np.empty(width)


@kernel
def eliminate(plan: Elimination, values: FloatVector, summing: bool) -> float:
    """Write all messages behind the scores; return the best score of all outputs, or log Σ exp of them if `summing`."""
    labels, places, scores = _room(plan)
    total, at = 0.0, 0
    for k in range(len(plan.nodes)):
        first, n_tables = plan.tables[k], plan.tables[k + 1] - plan.tables[k]
        places[:n_tables] = plan.bases[first : first + n_tables]
        for cell in range(plan.messages[k], plan.messages[k + 1]):
            best = _scores_of(plan, k, places, values, scores)
            if summing and best > -np.inf:
                mass = 0.0
                for label in range(plan.widths[k]):
                    mass += np.exp(scores[label] - best)
                best += np.log(mass)
            values[cell] = best
            _advance(plan, k, at, labels, places)
        n_scope = plan.scopes[k + 1] - plan.scopes[k]
        if n_scope == 0:
            total += values[plan.messages[k]]
        at += n_tables * n_scope
    return total


@kernel
def read_back(plan: Elimination, values: FloatVector, uniforms: FloatVector, out: FloatVector) -> None:
    """The best labels of all nodes; or, with `uniforms` and messages that are sums, a sample by one for each node."""
    _, _, scores = _room(plan)
    at = len(plan.steps)
    for k in range(len(plan.nodes) - 1, -1, -1):
        first, n_tables = plan.tables[k], plan.tables[k + 1] - plan.tables[k]
        begin, n_scope = plan.scopes[k], plan.scopes[k + 1] - plan.scopes[k]
        at -= n_tables * n_scope
        places = plan.bases[first : first + n_tables].copy()
        for f in range(n_tables):
            for s in range(n_scope):
                places[f] += plan.steps[at + f * n_scope + s] * int(out[plan.scope[begin + s]])
        best = _scores_of(plan, k, places, values, scores)
        chosen, width = 0, plan.widths[k]
        if len(uniforms) == 0:
            while chosen < width - 1 and scores[chosen] < best:
                chosen += 1
        else:
            mass = 0.0
            for label in range(width):
                scores[label] = np.exp(scores[label] - best)
                mass += scores[label]
            left = uniforms[k] * mass - scores[0]
            while chosen < width - 1 and left >= 0.0:
                chosen += 1
                left -= scores[chosen]
        out[plan.nodes[k]] = chosen


@kernel
def marginals(plan: Elimination, values: FloatVector, total: float, summing: bool, out: FloatVector) -> None:
    """The probability of each part, or the score of the best output that has it; messages need room in `out`, too.

    Going back, out[m] of a message is the same for the labels of its scope: probability or best score.
    """
    labels, places, scores = _room(plan)
    out[:] = 0.0 if summing else -np.inf
    at = len(plan.steps)
    for k in range(len(plan.nodes) - 1, -1, -1):
        first, n_tables = plan.tables[k], plan.tables[k + 1] - plan.tables[k]
        n_scope = plan.scopes[k + 1] - plan.scopes[k]
        at -= n_tables * n_scope
        if n_scope == 0:
            out[plan.messages[k]] = 1.0 if summing else total
        places[:n_tables] = plan.bases[first : first + n_tables]
        for cell in range(plan.messages[k], plan.messages[k + 1]):
            message, outside = values[cell], out[cell]
            if message > -np.inf and outside > (0.0 if summing else -np.inf):
                _scores_of(plan, k, places, values, scores)
                for label in range(plan.widths[k]):
                    inside = scores[label] - message
                    found = np.exp(inside) * outside if summing else inside + outside
                    for f in range(n_tables):
                        place = places[f] + label * plan.strides[first + f]
                        out[place] = out[place] + found if summing else max(out[place], found)
            _advance(plan, k, at, labels, places)
