"""How segmentations differ from gold: errors, and feature differences written token by token.

Features of tokens in the same role, of spans and of pairs of labels are written only where gold and output disagree,
so that an output close to gold costs little whatever the length of the sequence.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.sparse import Rows, coalesce, new_table
from widemargin.structures.segment_scores import SegmentData, missed_at
from widemargin.structures.segment_weights import BEGIN, END, INSIDE, ROLES


class Layout(NamedTuple):
    """How many labels there are, and where the parts of the weight vector begin."""

    n_labels: int
    segment: int
    length: int
    transition: int
    begin: int
    end: int


class Draft(NamedTuple):
    """Entries that are being written, with room for more, and a table to coalesce them with."""

    indices: IntVector
    values: FloatVector
    table: IntVector


@kernel
def new_draft(room: int) -> Draft:
    """A draft with room for so many entries, to begin with."""
    return Draft(np.empty(room, dtype=np.int32), np.empty(room), new_table(room))


@kernel
def _with_room(draft: Draft, used: int, wanted: int) -> Draft:
    """The draft with room for `wanted` entries more than those `used`."""
    if used + wanted <= len(draft.indices):
        return draft
    size = 2 * (used + wanted)
    indices, values = np.empty(size, dtype=np.int32), np.empty(size)
    for k in range(used):
        indices[k], values[k] = draft.indices[k], draft.values[k]
    return Draft(indices, values, draft.table)


@kernel
def _push(draft: Draft, write: int, offset: int, plus: int, minus: int) -> tuple[Draft, int]:
    """Append 1 at `plus` and −1 at `minus`, unless they are equal, or −1 for none; return where the entries end."""
    if plus == minus:
        return draft, write
    draft = _with_room(draft, write, 2)
    if plus >= 0:
        draft.indices[write], draft.values[write] = offset + plus, 1.0
        write += 1
    if minus >= 0:
        draft.indices[write], draft.values[write] = offset + minus, -1.0
        write += 1
    return draft, write


@kernel
def _push_features(
    draft: Draft, write: int, rows: Rows, row: int, width: int, offset: int, plus: int, minus: int
) -> tuple[Draft, int]:
    """As `_push`, for every feature of a row and times its value."""
    if plus == minus:
        return draft, write
    begin, end = rows.indptr[row], rows.indptr[row + 1]
    draft = _with_room(draft, write, 2 * (end - begin))
    for k in range(begin, end):
        value, at = rows.values[k] if len(rows.values) > 0 else 1.0, offset + rows.indices[k] * width
        if plus >= 0:
            draft.indices[write], draft.values[write] = at + plus, value
            write += 1
        if minus >= 0:
            draft.indices[write], draft.values[write] = at + minus, -value
            write += 1
    return draft, write


@kernel
def _push_span(
    draft: Draft, write: int, data: SegmentData, layout: Layout, t: int, d: int, plus: int, minus: int
) -> tuple[Draft, int]:
    """Append what belongs to the span of d + 1 tokens from t on as a whole."""
    if len(data.segment_features.indptr) > 1:
        draft, write = _push_features(
            draft, write, data.segment_features, data.spans[t] + d, layout.n_labels, layout.segment, plus, minus
        )
    return _push(draft, write, layout.length + d * layout.n_labels, plus, minus)


@kernel
def ends(codes: IntVector, t: int) -> bool:
    """Whether a segment ends at t."""
    return t == len(codes) - 1 or codes[t + 1] & 1 == 1


@kernel
def _push_token(
    draft: Draft, write: int, data: SegmentData, layout: Layout, t: int, gold: IntVector, codes: IntVector, row: int
) -> tuple[Draft, int]:
    """Append the features of token t, which are those of the given row, in its roles, and the transition into it."""
    L, plus, minus = layout.n_labels, gold[t] >> 1, codes[t] >> 1
    width, begins, others = ROLES * L, gold[t] & 1, codes[t] & 1
    draft, write = _push_features(draft, write, data.features, row, width, INSIDE * L, plus, minus)
    draft, write = _push_features(
        draft, write, data.features, row, width, BEGIN * L, plus if begins else -1, minus if others else -1
    )
    draft, write = _push_features(
        draft, write, data.features, row, width, END * L, plus if ends(gold, t) else -1, minus if ends(codes, t) else -1
    )
    if t == 0:
        return _push(draft, write, layout.begin, plus, minus)
    return _push(
        draft,
        write,
        layout.transition,
        (gold[t - 1] >> 1) * L + plus if begins else -1,
        (codes[t - 1] >> 1) * L + minus if others else -1,
    )


@kernel
def append_difference(
    draft: Draft, end: int, data: SegmentData, layout: Layout, i: int, codes: IntVector
) -> tuple[Draft, int, float]:
    """Append ψ of a segmentation of example i to a draft that ends at `end`; return its new end and the error, too."""
    first, n = data.indptr[i], len(codes)
    gold = data.gold[first : first + n]
    error = missed = 0.0
    write, gold_start, start = end, 0, 0
    for t in range(n):
        if gold[t] & 1:
            gold_start = t
        if codes[t] & 1:
            start, missed = t, 0.0
        missed += missed_at(data, first + t)
        draft, write = _push_token(draft, write, data, layout, t, gold, codes, first + t)
        right, found = gold[t] >> 1, codes[t] >> 1
        if ends(gold, t) and ends(codes, t) and gold_start == start:
            draft, write = _push_span(draft, write, data, layout, first + start, t - start, right, found)
            error += data.confusion[right, found]
        else:
            if ends(gold, t):
                draft, write = _push_span(draft, write, data, layout, first + gold_start, t - gold_start, right, -1)
            if ends(codes, t):
                draft, write = _push_span(draft, write, data, layout, first + start, t - start, -1, found)
                error += data.precision[found] + missed
    if n > 0:
        draft, write = _push(draft, write, layout.end, gold[n - 1] >> 1, codes[n - 1] >> 1)
    if len(draft.table) < 2 * (write - end):
        draft = Draft(draft.indices, draft.values, new_table(write - end))
    return draft, coalesce(draft.indices, draft.values, end, write, end, draft.table), error


@kernel
def difference(
    data: SegmentData, layout: Layout, batch: IntVector, starts: LongVector, codes: IntVector
) -> tuple[FloatVector, Rows]:
    """Errors and feature differences of segmentations laid end to end."""
    errors, indptr = np.zeros(len(batch)), np.zeros(len(batch) + 1, dtype=np.int64)
    draft = new_draft(64 * len(batch))
    for position in range(len(batch)):
        draft, indptr[position + 1], errors[position] = append_difference(
            draft, indptr[position], data, layout, batch[position], codes[starts[position] : starts[position + 1]]
        )
    end = indptr[len(batch)]
    return errors, Rows(indptr, draft.indices[:end], draft.values[:end])
