"""CoNLL-U: ten TAB-separated columns, comments, and lines that are not tokens (https://universaldependencies.org/format).

Multiword ranges (`3-4`) and empty nodes (`5.1`) stand between the tokens and have no tags of their own. Like comments,
they are not tokens here, and are written back unchanged.
"""

import re
from collections.abc import Sequence

from widemargin.files.pieces import up_to
from widemargin.files.raw import RawText, shorten
from widemargin.files.table import TABS, TokenRows, TokenTable, table

NAMES = ("id", "word", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
ALIASES = {"form": "word", "cpostag": "upos", "postag": "xpos"}

_NOT_A_TOKEN = re.compile(r"[0-9]+[-.][0-9]+\t|#")


def parse(raw: RawText, names: Sequence[str] = NAMES) -> TokenTable:
    """Read CoNLL-U, or a format that differs from it in the `names` of columns."""
    return table(raw, _rows(raw), names=names, aliases=ALIASES, label="xpos", width=len(names), layout=TABS)


def is_conllu(line: str) -> bool:
    """Whether a line that is not a comment looks like CoNLL-U: ten columns, the first of them an integer."""
    return line.count("\t") == len(NAMES) - 1 and re.match(r"[0-9]+(-[0-9]+)?\t", line) is not None


def cut(lines: Sequence[str]) -> int:
    """The lines of whole sentences (`files.pieces`)."""
    return up_to(lines, lambda line: not line.strip(), _is_token)


def _is_token(line: str) -> bool:
    return line.partition("\t")[0].isdecimal()


def _rows(raw: RawText) -> TokenRows:
    fields: list[str] = []
    lines: list[int] = []
    breaks: list[int] = []
    for number, line in enumerate(raw.lines):
        if _is_token(line):
            fields.append(line.rstrip("\r"))
            lines.append(number)
        elif not line.strip():
            breaks.append(len(lines))
        elif not _NOT_A_TOKEN.match(line):
            raise raw.fault(number, f"expected a token, which starts with its number: {shorten(line)!r}")
    return TokenRows(fields, lines, breaks)
