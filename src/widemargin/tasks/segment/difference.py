"""How segmentations differ from gold: errors, and feature differences written token by token.

Features of tokens in the same role, of spans and of pairs of labels are written only where gold and output disagree,
so that an output close to gold costs little whatever the length of the sequence.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.sparse import Draft, Rows, coalesce, new_table, with_room
from widemargin.tasks.segment.scores import SegmentData, segment_error
from widemargin.tasks.segment.weights import BEGIN, END, ROLES


class Layout(NamedTuple):
    """How many labels there are, and where the parts of the weight vector begin."""

    n_labels: int
    segment: int
    length: int
    transition: int
    begin: int
    end: int


@kernel
def _in_role(codes: IntVector, t: int, role: int) -> int:
    """The label of token t, −1 if it is not in that role."""
    if role == BEGIN and not codes[t] & 1:
        return -1
    if role == END and t < len(codes) - 1 and not codes[t + 1] & 1:
        return -1
    return codes[t] >> 1


@kernel
def _room(data: SegmentData, first: int, gold: IntVector, codes: IntVector) -> int:
    """At least as many entries as will be written for these codes."""
    room = 0
    for t in range(len(codes)):
        for role in range(ROLES):
            if _in_role(gold, t, role) != _in_role(codes, t, role):
                room += 2 * (data.features.indptr[first + t + 1] - data.features.indptr[first + t])
        room += 4
    if len(data.segment_features.indptr) > 1:
        for segmentation in (gold, codes):
            t = first
            for u in range(first, first + len(codes)):
                if _in_role(segmentation, u - first, END) >= 0:
                    span = data.spans[t] + u - t
                    room += data.segment_features.indptr[span + 1] - data.segment_features.indptr[span]
                    t = u + 1
    return room + 2


@kernel
def _push(draft: Draft, write: int, offset: int, plus: int, minus: int, value: float) -> int:
    """Append `value` at `plus` and −`value` at `minus` (−1: nowhere) unless they are equal; return the new end."""
    if plus != minus and plus >= 0:
        draft.indices[write], draft.values[write] = offset + plus, value
        write += 1
    if plus != minus and minus >= 0:
        draft.indices[write], draft.values[write] = offset + minus, -value
        write += 1
    return write


@kernel
def _push_features(
    draft: Draft, write: int, rows: Rows, row: int, width: int, offset: int, plus: int, minus: int
) -> int:
    """As `_push`, for every feature of a row and times its value."""
    if plus != minus:
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            value = rows.values[k] if len(rows.values) > 0 else 1.0
            write = _push(draft, write, offset + rows.indices[k] * width, plus, minus, value)
    return write


@kernel
def _push_token(
    draft: Draft, write: int, data: SegmentData, layout: Layout, first: int, t: int, gold: IntVector, codes: IntVector
) -> int:
    """Append the features of token t in its roles, and the transition into it where a segment begins."""
    L = layout.n_labels
    for role in range(ROLES):
        plus, minus = _in_role(gold, t, role), _in_role(codes, t, role)
        write = _push_features(draft, write, data.features, first + t, ROLES * L, role * L, plus, minus)
    offset, plus, minus = layout.begin, _in_role(gold, t, BEGIN), _in_role(codes, t, BEGIN)
    if t > 0:
        offset = layout.transition
        plus += (gold[t - 1] >> 1) * L if plus >= 0 else 0
        minus += (codes[t - 1] >> 1) * L if minus >= 0 else 0
    return _push(draft, write, offset, plus, minus, 1.0)


@kernel
def _push_span(
    draft: Draft, write: int, data: SegmentData, layout: Layout, t: int, d: int, plus: int, minus: int
) -> int:
    """Append what belongs to the span of d + 1 tokens from t on as a whole."""
    L = layout.n_labels
    if len(data.segment_features.indptr) > 1:
        span = data.spans[t] + d
        write = _push_features(draft, write, data.segment_features, span, L, layout.segment, plus, minus)
    return _push(draft, write, layout.length + d * L, plus, minus, 1.0)


@kernel
def append_difference(
    draft: Draft, end: int, data: SegmentData, layout: Layout, i: int, codes: IntVector
) -> tuple[Draft, int, float]:
    """Append ψ of a segmentation of example i to a draft that ends at `end`; return it, its new end and the error."""
    first, n = data.indptr[i], len(codes)
    gold = data.gold[first : first + n]
    none = -1
    draft = with_room(draft, end, _room(data, first, gold, codes))
    error = missed = 0.0
    write, right_start, start = end, 0, 0
    for t in range(n):
        if gold[t] & 1:
            right_start = t
        if codes[t] & 1:
            start, missed = t, 0.0
        missed += data.missed[first + t]
        write = _push_token(draft, write, data, layout, first, t, gold, codes)
        right, found = _in_role(gold, t, END), _in_role(codes, t, END)
        if not (right >= 0 and found >= 0 and right_start == start):
            if right >= 0:
                write = _push_span(draft, write, data, layout, first + right_start, t - right_start, right, none)
            right = none
        if found >= 0:
            error += segment_error(data, first + start, t - start, found, missed)
            write = _push_span(draft, write, data, layout, first + start, t - start, right, found)
    if n > 0:
        write = _push(draft, write, layout.end, gold[n - 1] >> 1, codes[n - 1] >> 1, 1.0)
    return draft, coalesce(draft.indices, draft.values, end, write, end, draft.table), error


@kernel
def difference(
    data: SegmentData, layout: Layout, batch: IntVector, starts: LongVector, codes: IntVector
) -> tuple[FloatVector, Rows]:
    """Errors and feature differences of segmentations laid end to end."""
    errors, indptr = np.zeros(len(batch)), np.zeros(len(batch) + 1, dtype=np.int64)
    # The table grows only with the longest row, since it is cleared after each.
    room = 64 * len(batch)
    draft = Draft(np.empty(room, dtype=np.int32), np.empty(room), new_table(64))
    for position in range(len(batch)):
        draft, indptr[position + 1], errors[position] = append_difference(
            draft, indptr[position], data, layout, batch[position], codes[starts[position] : starts[position + 1]]
        )
    end = indptr[len(batch)]
    return errors, Rows(indptr, draft.indices[:end], draft.values[:end])
