"""The record of training in the header of every model file, and the facts about its data."""

from widemargin.core.header import flag, many, mapping, number, optional, plain, record, text, whole
from widemargin.core.solution import SOLUTION

SIZES = (
    *("sequences", "sentences", "tokens", "examples", "queries", "topics", "documents", "items", "mentions", "width"),
    *("graphs", "nodes"),
)

DATA = record(
    {},
    {
        **dict.fromkeys(("label", "format", "unknown", "alternatives", "encoding"), text()),
        "columns": many(text()),
        "widths": mapping(whole(at_least=0)),
        **dict.fromkeys(SIZES, whole(at_least=0)),
        **dict.fromkeys(("several", "keep_functions", "detected"), flag()),
    },
)
"""Facts about the training data in the header of a model file."""

SUMMARY = record(
    {},
    {
        "parameters": mapping(plain()),
        "C": optional(number(finite=False)),
        **dict.fromkeys(("solver", "objective", "metric"), text()),
        "data": DATA,
        "solution": SOLUTION,
        **dict.fromkeys(("unreachable", "unknown"), mapping(whole(at_least=0))),
        **dict.fromkeys(("cut_short", "bounded", "examples"), whole(at_least=0)),
        "trained_by": text(),
    },
)
"""The record of training in the header of a model file."""
