"""Output that commands share: tables, JSON."""

import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from widemargin.report.text import MARK, UNKNOWN, finite, json_text, printable

WIDTH_OF_FILES = 200
LEAST_ROOM = 20  # narrower than this, wrapping makes nothing clearer


class Printer:
    """Prints results for people on standard output: in colour on a terminal, as plain lines into a file or pipe.

    Texts may come from any file, so markup and control characters in them have no effect.
    """

    def __init__(self, *, enabled: bool = True) -> None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal without arrows is no reason to fail
        width = None if sys.stdout.isatty() else WIDTH_OF_FILES
        self.console = Console(width=width, highlight=False, markup=False, emoji=False, quiet=not enabled)

    def line(self, text: str | Text = "") -> None:
        """Print one line, never wrapped."""
        self.console.print(_safe(text), soft_wrap=True)

    def prose(self, text: str) -> None:
        """Print sentences, wrapped to the width of the terminal."""
        self.console.print(_safe(text))

    def heading(self, text: str) -> None:
        """Print a heading after an empty line."""
        self.line()
        self.line(Text(text, style="bold"))

    def facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Print names and values, one pair per line."""
        pairs = [(printable(name), printable(value)) for name, value in facts]
        width = max((len(name) for name, _ in pairs), default=0)
        room = self.console.width - width - 2
        for name, value in pairs:
            # On a terminal, long values continue in their own column; in a file, a fact is a line.
            wraps = sys.stdout.isatty() and room >= LEAST_ROOM
            first, *others = _wrap(value, room) if wraps else [value]
            self.line(Text.assemble((name.ljust(width), "cyan"), "  ", first))
            for more in others:
                self.line(" " * (width + 2) + more)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Print a table; columns that hold only numbers are aligned to the right."""
        cells = list(rows)
        table = Table(box=None, pad_edge=False, header_style="cyan", padding=(0, 2, 0, 0))
        for number, name in enumerate(header):
            numeric = bool(cells) and all(_is_number(str(row[number])) for row in cells)
            table.add_column(_safe(name), justify="right" if numeric else "left", overflow="fold")
        for row in cells:
            table.add_row(*map(_safe, row))
        self.console.print(table)


def _safe(text: str | Text) -> Text:
    """The text with characters that cannot be shown escaped."""
    if isinstance(text, str):
        return Text(printable(text))
    safe = text.copy()
    safe.plain = printable(text.plain)
    return safe


def _wrap(value: str, room: int) -> list[str]:
    """Lines of a width; a number stays with its per cent sign."""
    lines = wrap(value.replace(" %", "\xa0%"), room, break_on_hyphens=False)
    return [line.replace("\xa0%", " %") for line in lines] or [""]


def _is_number(cell: str) -> bool:
    return cell == UNKNOWN or cell.lstrip(f"+−{MARK} ").replace(",", "").replace(".", "").removesuffix(" %").isdecimal()


def print_json(value: Any) -> None:
    """Print one indented JSON object; NaN and infinities, which JSON lacks, become null."""
    plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    sys.stdout.write(json_text(finite(value), only_ascii=plain, indent=2) + "\n")


def with_sign(weight: float) -> str:
    """A weight with its sign.

    >>> with_sign(1.23456), with_sign(-2)
    ('+1.235', '−2.000')
    """
    return f"{weight:+.3f}".replace("-", "−")


def file_size(path: str) -> str:
    """The size of a file in a suitable unit."""
    return spelt_size(Path(path).stat().st_size)


def spelt_size(size: float) -> str:
    """A number of bytes in a suitable unit.

    >>> spelt_size(812_345_678)
    '812 MB'
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
