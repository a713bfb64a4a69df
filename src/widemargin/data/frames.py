"""Data frames with a row per token, of pandas, polars or anything else with named columns, and back.

Neither library is needed: a frame is asked for its columns by name (``frame["word"]``), and a column for its values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import isnan
from typing import Any

import numpy as np

from widemargin._types import LongVector
from widemargin.errors import DataError
from widemargin.text.columns import split
from widemargin.text.spans import Span, bio


@dataclass(frozen=True)
class FrameSequences:
    """The sequences of a frame.

    `X` has a list of tokens for every sequence, `y` a list of labels, or it is None. A label that the frame lacks is
    None: it is unknown. `rows` are the numbers of the frame's rows, sequence by sequence.
    """

    X: list[list[Any]]
    y: list[list[Any]] | None
    rows: LongVector

    def column(self, outputs: Sequence[Sequence[Any]]) -> list[Any]:
        """Something for every token, such as predicted labels or spans, in the order of the rows of the frame.

        >>> frame = {"doc": [1, 2, 1], "word": ["to", "or", "be"]}
        >>> from_frame(frame, sequence="doc").column([["A", "B"], ["C"]])
        ['A', 'C', 'B']
        """
        if len(outputs) != len(self.X):
            raise DataError(f"the frame has {len(self.X)} sequences, but there are {len(outputs)} outputs")
        if all(hasattr(each, "start") and hasattr(each, "type") for output in outputs for each in output):
            both = zip(outputs, self.X, strict=True)
            outputs = [bio([Span(*span[:3]) for span in output], len(tokens)) for output, tokens in both]
        for i, (tokens, output) in enumerate(zip(self.X, outputs, strict=True)):
            if len(output) != len(tokens):
                raise DataError(f"sequence {i} has {len(tokens)} tokens, but {len(output)} outputs")
        found: list[Any] = [None] * len(self.rows)
        for row, value in zip(self.rows.tolist(), chain.from_iterable(outputs), strict=True):
            found[row] = value
        return found


def from_frame(
    frame: Any,
    *,
    sequence: str | Sequence[str],
    token: str = "word",
    label: str | None = None,
    columns: Sequence[str] = (),
) -> FrameSequences:
    """The sequences of a long-format frame, which has a row per token.

    Parameters
    ----------
    frame : a data frame, or a dict of columns
    sequence : the column (or columns) that tell which sequence a row belongs to. The rows of a sequence need not be
        together; their order is that of its tokens. Sequences are in the order of their first rows.
    token : the column of tokens
    label : the column of labels; None for new data
    columns : further columns; a token is then a dict, which templates or ready-made features can use

    Examples
    --------
    >>> frame = {"sentence": [1, 1, 2], "word": ["in", "Rome", "Oslo"], "tag": ["O", "B-city", "B-city"]}
    >>> data = from_frame(frame, sequence="sentence", label="tag")
    >>> data.X, data.y
    ([['in', 'Rome'], ['Oslo']], [['O', 'B-city'], ['B-city']])
    """
    names = [sequence] if isinstance(sequence, str) else list(sequence)
    if not names:
        raise DataError("sequence names no column; name the one that tells which sequence a row belongs to")
    *keys, tokens = (_complete(frame, name) for name in [*names, token])
    more = {name: _values(frame, name) for name in columns}
    rows, indptr = _group(list(zip(*keys, strict=True)))
    if more:
        cells: list[Any] = [
            {token: str(word)} | {name: values[row] for name, values in more.items()} for row, word in enumerate(tokens)
        ]
    else:
        cells = list(map(str, tokens))
    y = None
    if label is not None:
        labels = [None if _is_missing(value) else value for value in _values(frame, label)]
        y = split([labels[row] for row in rows.tolist()], indptr)
    return FrameSequences(split([cells[row] for row in rows.tolist()], indptr), y, rows)


def _values(frame: Any, name: str) -> list[Any]:
    """A column of the frame as plain values."""
    names = list(getattr(frame, "columns", frame))
    if name not in names:
        raise DataError(f"the frame has no column {name!r}; it has {', '.join(map(repr, names))}")
    column = frame[name]
    for method in ("to_list", "tolist"):
        if hasattr(column, method):
            found: list[Any] = getattr(column, method)()
            return found
    return list(column)


def _group(keys: Sequence[Any]) -> tuple[LongVector, LongVector]:
    """The numbers of the rows, sequence by sequence, and where each sequence begins."""
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)
    rows: LongVector = np.argsort(codes, kind="stable")
    return rows, np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(number)))]).astype(np.int64)


def _complete(frame: Any, name: str) -> list[Any]:
    """A column in which no value may be missing."""
    values = _values(frame, name)
    for row, value in enumerate(values):
        if _is_missing(value):
            raise DataError(f"row {row} of the frame has no value in the column {name!r}")
    return values


def _is_missing(value: Any) -> bool:
    """Whether this stands for a missing value: None, nan, or one of pandas' own, which do not support comparison."""
    not_a_number = isinstance(value, float) and isnan(value)
    return value is None or not_a_number or type(value).__name__ in ("NAType", "NaTType")
