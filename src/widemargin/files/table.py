"""Files with one token per line and its attributes in columns: the common part of CoNLL columns and CoNLL-U.

For reading, every token line becomes a row: its fields with a single TAB between them. A column is then one `str.split`
per row, and only for the columns that are used. For writing, a field is replaced inside the line it came from, so
everything else in the line (runs of blanks, a carriage return) stays as it was.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from widemargin.errors import DataError
from widemargin.files.document import Document
from widemargin.files.raw import RawText, shorten
from widemargin.text.columns import Columns, LazyColumns


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """How the fields of a line are separated.

    `skip` matches a field with the separator after it, `field` a field; the characters of `after` may follow the last
    field of a line. A value that `unwritable` matches would not be read back as one field.
    """

    separator: str
    indent: str
    skip: str
    field: str
    after: str
    unwritable: str

    def locate(self, index: int) -> Callable[[str], tuple[int, int]]:
        """A function that finds where the field at `index` of a line begins and ends."""
        match = re.compile(f"{self.indent}(?:{self.skip}){{{index}}}({self.field})").match

        def place(line: str) -> tuple[int, int]:
            # The text after the last field is cut off first: a pattern would look for it after every character.
            found = match(line, 0, len(line.rstrip(self.after)))
            assert found is not None, "the fields of every row were counted when the file was read"
            return found.span(1)

        return place


TABS = FieldLayout(
    separator="\t", indent="", skip=r"[^\t]*\t", field=r"[^\t]*", after="\r", unwritable=r"[\t\r\n\ud800-\udfff]"
)
BLANKS = FieldLayout(
    separator=" ",
    indent=r"[ \t]*",
    skip=r"[^ \t]+[ \t]+",
    field=r"[^ \t]+",
    after=" \t\r",
    unwritable=r"[ \t\r\n\ud800-\udfff]",
)


@dataclass(frozen=True, slots=True)
class TokenRows:
    """The tokens of a file: `fields[t]` holds the TAB-separated fields of token t, from the line at `lines[t]`.

    `breaks` has the number of tokens before each blank line.
    """

    fields: list[str]
    lines: list[int]
    breaks: list[int]


@dataclass(frozen=True)
class TokenTable(Document):
    """A file with one token per line.

    `names` may have one more entry than the `width` columns of the file: a last column that can be appended.
    """

    layout: FieldLayout
    token_lines: list[int]
    names: Sequence[str]
    aliases: Mapping[str, str]
    width: int

    def place(self, sequence: int, token: int) -> str:
        """The line of a token."""
        line = self.token_lines[int(self.columns.indptr[sequence]) + token]
        return f"{self.raw.source}, line {self.raw.first + line + 1}"

    def _with_column(self, lines: Sequence[str], name: str, values: Sequence[str]) -> list[str]:
        index = self._index(name)
        self._check_writable(name, values)
        appends = index == self.width
        locate = self.layout.locate(index - appends)
        written = list(lines)
        for number, value in zip(self.token_lines, values, strict=True):
            line = written[number]
            start, end = locate(line)
            written[number] = f"{line[: end if appends else start]}{self.layout.separator * appends}{value}{line[end:]}"
        return written

    def _index(self, name: str) -> int:
        own_name = self.aliases.get(name, name)
        if own_name not in self.names:
            raise DataError(
                f"{self.raw.source} has no column {name!r} to write; it has {', '.join(map(repr, self.names))}"
            )
        return self.names.index(own_name)

    def _check_writable(self, name: str, values: Sequence[str]) -> None:
        unwritable = re.compile(self.layout.unwritable)
        for number, value in zip(self.token_lines, values, strict=True):
            if not value or unwritable.search(value):
                raise self.raw.fault(
                    number, f"{shorten(value)!r} cannot be written into column {name!r}, because it is not one field"
                )


def table(
    raw: RawText,
    rows: TokenRows,
    *,
    names: Sequence[str],
    aliases: Mapping[str, str],
    label: str,
    width: int,
    layout: FieldLayout,
) -> TokenTable:
    """Make a table of `rows`; raise an error about the first row that does not have `width` fields."""
    separators = [fields.count("\t") for fields in rows.fields]
    if separators.count(width - 1) != len(separators):
        token = next(t for t, count in enumerate(separators) if count != width - 1)
        line = rows.lines[token]
        raise raw.fault(
            line, f"expected {width} columns, found {separators[token] + 1}: {shorten(raw.lines[line].strip())!r}"
        )
    strings = {name: partial(_column, rows.fields, index) for index, name in enumerate(names[:width])}
    indptr = np.unique(np.array([0, *rows.breaks, len(rows.lines)], dtype=np.int64))
    columns = Columns(LazyColumns(strings, aliases), indptr, raw.source)
    return TokenTable(raw, columns, label, layout, rows.lines, names, aliases, width)


def _column(rows: list[str], index: int) -> list[str]:
    return [row.split("\t", index + 1)[index] for row in rows]
