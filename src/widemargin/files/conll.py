"""CoNLL columns: one token per line, TAB- or blank-separated, and a blank line between sequences.

There are no comments: `#` is a token like any other. The columns are called `word`, `column2`, `column3`, … unless they
are given names; the last one is the label, and `label` is a second name for it. For prediction, a file may lack its
label column, to which labels are then appended: it has a single column, or one fewer than the names.

Labels are appended after a TAB if the first line has one or no line has a blank. For a file in pieces, only the first
piece decides this.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from widemargin.errors import DataError
from widemargin.files.pieces import up_to
from widemargin.files.raw import RawText
from widemargin.files.table import BLANKS, TABS, FieldLayout, TokenRows, TokenTable, table

ONE_COLUMN = replace(BLANKS, separator="\t")


def parse(raw: RawText, names: Sequence[str] | None = None) -> TokenTable:
    r"""Read CoNLL columns.

    >>> document = parse(RawText.of("a DT O\nfly NN B\n"))
    >>> document.columns.names, document.columns["label"].strings()
    (['word', 'column2', 'column3'], ['O', 'B'])
    """
    lines, breaks = _tokens(raw)
    tokens = [raw.lines[line].rstrip("\r") for line in lines]
    layout = raw.judge_once("layout", lambda: _layout(tokens))
    if layout is TABS and raw.first and _layout(tokens) is BLANKS:
        layout = ONE_COLUMN
    rows = TokenRows(tokens if layout is TABS else _with_tabs(tokens), lines, breaks)
    width = raw.judge_once("width", lambda: rows.fields[0].count("\t") + 1 if tokens else 1)
    names = _default_names(width) if names is None else _checked_names(names, width, raw)
    aliases = {} if "label" in names else {"label": names[-1]}
    return table(raw, rows, names=names, aliases=aliases, label="label", width=width, layout=layout)


def cut(lines: Sequence[str]) -> int:
    """The lines of whole sequences (`files.pieces`)."""
    return up_to(lines, lambda line: not _is_token(line), _is_token)


def _is_token(line: str) -> bool:
    return bool(line.strip(" \t\r"))


def _tokens(raw: RawText) -> tuple[list[int], list[int]]:
    """The lines that hold tokens, and how many tokens precede each blank line."""
    lines: list[int] = []
    breaks: list[int] = []
    for number, line in enumerate(raw.lines):
        if _is_token(line):
            lines.append(number)
        else:
            breaks.append(len(lines))
    return lines, breaks


def _layout(tokens: list[str]) -> FieldLayout:
    """TABs if the first line has one, or if no line has a blank, so that a column is appended after a TAB."""
    return TABS if not tokens or "\t" in tokens[0] or not any(" " in token for token in tokens) else BLANKS


def _with_tabs(tokens: list[str]) -> list[str]:
    joined = "\n".join(token.strip(" \t\r") for token in tokens)
    return re.sub(r"[ \t]+", "\t", joined).split("\n") if tokens else []


def _default_names(width: int) -> list[str]:
    return ["word", *(f"column{number}" for number in range(2, max(width, 2) + 1))]


def _checked_names(names: Sequence[str], width: int, raw: RawText) -> list[str]:
    if len(set(names)) != len(names):
        raise DataError(f"the column names {', '.join(map(repr, names))} are not distinct")
    if len(names) not in (width, width + 1):
        raise DataError(
            f"{raw.source} has {width} columns, but {len(names)} names were given: {', '.join(map(repr, names))}"
        )
    return [*names, "column2"] if len(names) == 1 else list(names)
