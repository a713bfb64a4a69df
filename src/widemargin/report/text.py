"""Text and numbers for people to read: which characters can be shown, and how many cells of a terminal they take.

A file may hold anything, also commands to a terminal. So every text that is printed or drawn passes
through `printable`, and JSON through `json_text`. Files that are written for programs keep all characters as they are.
"""

import json
import math
import re
from typing import Any

# Control characters, ends of lines, changes of direction, lone surrogates, and what is no character at all.
UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
BOXES, PLAIN = "─│╭╰├┬┴┼└", "-|++++++`"


def printable(text: str) -> str:
    r"""The text as one line, with every character escaped that XML forbids or that would upset a terminal.

    >>> print(printable("\x1b[31mred\n"))
    \x1b[31mred\n
    """
    if text.isprintable():
        return text
    return UNSHOWABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def json_text(value: Any, *, only_ascii: bool = False, indent: int | None = None) -> str:
    r"""JSON that programs read as what it was, and that no terminal takes for a command.

    >>> print(json_text("\x9b31mred"))
    "\u009b31mred"
    """
    lines = json.dumps(value, ensure_ascii=only_ascii, indent=indent).split("\n")
    return "\n".join(UNSHOWABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in lines)


def cells(text: str) -> int:
    r"""How many cells of a terminal the text takes: East Asian characters take two, accents none.

    >>> cells("word"), cells("言葉"), cells("e\u0301")
    (4, 4, 1)
    """
    from rich.cells import cell_len  # not needed by those who draw nothing

    return cell_len(text)


def pad(text: str, width: int) -> str:
    """The text with blanks to its right, so that it fills `width` cells."""
    return text + " " * (width - cells(text))


def encodable(line: str, encoding: str | None) -> str:
    """The line as this encoding can show it, if need be with boxes drawn in ASCII.

    >>> encodable("├─ NP", "ascii")
    '+- NP'
    """
    encoding = encoding or "ascii"
    try:
        BOXES.encode(encoding)
    except UnicodeEncodeError:
        line = line.translate(str.maketrans(BOXES, PLAIN))
    return line.encode(encoding, "replace").decode(encoding)


MARK, UNKNOWN = "★", "–"  # the best of a column; a cell without a value


def share(value: float) -> str:
    """A share in per cent.

    >>> share(0.94126)
    '94.13 %'
    """
    return f"{100 * value:.2f} %"


def brief(value: float) -> str:
    """A number with three significant digits, or all digits before the point; whole numbers stay as they are.

    >>> brief(0.0012345), brief(12.345), brief(12345.6), brief(0.0), brief(7)
    ('0.00123', '12.3', '12,346', '0', '7')
    """
    digits = 2 - math.floor(math.log10(abs(value))) if value and not isinstance(value, int) else 0
    return f"{value:,.{max(digits, 0)}f}"


def finite(value: Any) -> Any:
    """The same value with None for every number that JSON lacks, at any depth."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
