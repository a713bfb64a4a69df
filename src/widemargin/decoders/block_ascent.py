"""Decoding any graph with a bound: TRW-S, dual block ascent over messages (Kolmogorov 2006).

    score(y) = Σ_v θ_v(y_v) + Σ_uv θ_uv(y_u, y_v)                                        for any messages m
             = Σ_v θ̂_v(y_v) + Σ_uv (θ_uv(y_u, y_v) − m_vu(y_u) − m_uv(y_v)),    θ̂_v = θ_v + Σ_u m_uv

Nodes are visited in their order and back. Node v hands γ_v θ̂_v on to each node ahead of it:

    m_vu(y_u) = max over y_v of γ_v θ̂_v(y_v) − m_uv(y_v) + θ_uv(y_u, y_v),    γ_v = 1 / max(edges ahead, edges behind)

On the way back no term of an edge, with the γ_v θ̂_v that v has handed on, is above 0 then. What is left of the nodes
bounds the score of every output, whenever one stops:

    B = Σ_v (1 − γ_v · edges to earlier nodes) max θ̂_v

Labels are read off on the way forth, each the best next to those before it, and then improved one at a time.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, LongMatrix, LongVector

SWEEPS = 20
"""How often all labels are improved one at a time, at most."""


@kernel
def _pair(edge: int, v: int, label: int, other: int, widths: LongVector, ends: LongMatrix, at_edge: LongVector) -> int:
    """The place of the pair of labels of node v and of the other end."""
    if ends[edge, 0] == v:
        return at_edge[edge] + label * widths[ends[edge, 1]] + other
    return at_edge[edge] + other * widths[v] + label


@kernel
def _total(
    theta: FloatVector, widths: LongVector, ends: LongMatrix, at_node: LongVector, at_edge: LongVector, y: LongVector
) -> float:
    total = 0.0
    for v in range(len(widths)):
        total += theta[at_node[v] + y[v]]
    for e in range(len(ends)):
        total += theta[at_edge[e] + y[ends[e, 0]] * widths[ends[e, 1]] + y[ends[e, 1]]]
    return total


@kernel
def _improve(
    theta: FloatVector,
    widths: LongVector,
    ends: LongMatrix,
    at_node: LongVector,
    at_edge: LongVector,
    edges: LongVector,
    near: LongVector,
    y: LongVector,
    room: FloatVector,
) -> None:
    """Change one label at a time for a better one, until none is (iterated conditional modes)."""
    changed = True
    for _ in range(SWEEPS):
        if not changed:
            return
        changed = False
        for v in range(len(widths)):
            for label in range(widths[v]):
                room[label] = theta[at_node[v] + label]
            for k in range(edges[v], edges[v + 1]):
                e = near[k]
                u = ends[e, 0] + ends[e, 1] - v
                place = _pair(e, v, 0, y[u], widths, ends, at_edge)
                step = widths[ends[e, 1]] if ends[e, 0] == v else 1
                for label in range(widths[v]):
                    room[label] += theta[place + label * step]
            best = y[v]
            for label in range(widths[v]):
                if room[label] > room[best]:
                    best = label
            changed, y[v] = changed or best != y[v], best


@kernel
def ascend(
    theta: FloatVector,
    widths: LongVector,
    ends: LongMatrix,
    at_node: LongVector,
    at_edge: LongVector,
    edges: LongVector,
    near: LongVector,
    rounds: int,
    patience: int,
    out: FloatVector,
) -> tuple[float, float]:
    """Decode into `out`; return the score of these labels, and the bound.

    The edges of node v are near[edges[v]] … near[edges[v + 1] − 1]. It ends after `rounds` there and back, once labels
    and bound agree, or after `patience` rounds that together close less than a hundredth of the gap.
    """
    n, width, total_width = len(widths), 1, 0
    for v in range(n):
        width = max(width, widths[v])
    messages = np.empty((len(ends), 2), dtype=np.int64)  # where the messages to both ends of an edge begin
    for e in range(len(ends)):
        for end in range(2):
            messages[e, end] = total_width
            total_width += widths[ends[e, end]]
    m, hat, room = np.zeros(total_width), np.empty(width), np.empty(width)
    y, best_total, bound = np.zeros(n, dtype=np.int64), -np.inf, np.inf
    behind, last_gap, out[:n] = 0, np.inf, 0.0
    for _ in range(rounds):
        for backward in range(2):
            remaining = 0.0
            for step in range(n):
                v = n - 1 - step if backward else step
                for label in range(widths[v]):
                    hat[label] = theta[at_node[v] + label]
                    room[label] = hat[label]
                ahead = passed = 0
                for k in range(edges[v], edges[v + 1]):
                    e = near[k]
                    end = 0 if ends[e, 0] == v else 1
                    u, at = ends[e, 1 - end], messages[e, end]
                    is_ahead = (u > v) != (backward == 1)
                    if is_ahead:
                        ahead += 1
                    else:
                        passed += 1
                    for label in range(widths[v]):
                        hat[label] += m[at + label]
                    if backward:
                        continue
                    if is_ahead:
                        for label in range(widths[v]):
                            room[label] += m[at + label]
                    else:
                        place, stride = _pair(e, v, 0, y[u], widths, ends, at_edge), widths[ends[e, 1]] if end == 0 else 1
                        for label in range(widths[v]):
                            room[label] += theta[place + label * stride]
                gamma = 1.0 / max(ahead, passed, 1)
                if backward:
                    top = -np.inf
                    for label in range(widths[v]):
                        top = max(top, hat[label])
                    share = 1.0 - gamma * ahead
                    if share > 0.0:
                        remaining += share * top
                else:
                    y[v] = np.argmax(room[: widths[v]])
                for k in range(edges[v], edges[v + 1]):
                    e = near[k]
                    end = 0 if ends[e, 0] == v else 1
                    u = ends[e, 1 - end]
                    if (u > v) != (backward == 1):
                        to, back = messages[e, 1 - end], messages[e, end]
                        for label in range(widths[u]):
                            m[to + label] = -np.inf
                        for label in range(widths[v]):
                            if hat[label] == -np.inf:
                                continue  # no output has it
                            given = gamma * hat[label] - m[back + label]
                            place = _pair(e, v, label, 0, widths, ends, at_edge)
                            stride = 1 if end == 0 else widths[v]
                            for other in range(widths[u]):
                                value = given + theta[place + other * stride]
                                m[to + other] = max(m[to + other], value)
            if backward:
                bound = min(bound, remaining)
            else:
                _improve(theta, widths, ends, at_node, at_edge, edges, near, y, room)
                total = _total(theta, widths, ends, at_node, at_edge, y)
                if total > best_total:
                    best_total = total
                    for v in range(n):
                        out[v] = y[v]
        gap = bound - best_total
        if gap <= 1e-9 * (1.0 + abs(bound)):
            break
        if gap > 0.99 * last_gap:
            behind += 1
            if behind >= patience:
                break
        else:
            behind, last_gap = 0, gap
    return best_total, max(bound, best_total)
