"""A corpus from a file: its columns, and enough of the file to write it back with a column replaced."""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from widemargin.core.atomic import replacing
from widemargin.errors import DataError
from widemargin.files.raw import RawText
from widemargin.text.columns import Columns


@dataclass(frozen=True)
class Document(ABC):
    """Columns of tokens and the file they came from.

    `label` names the column that holds the labels unless the user says otherwise; a file made for prediction may lack
    it.
    """

    raw: RawText
    columns: Columns
    label: str

    def __post_init__(self) -> None:
        if self.columns.n_tokens == 0 and self.raw.first == 0:
            raise DataError(f"{self.raw.source} holds no tokens")

    def text(self, replaced: Mapping[str, Sequence[str]] | None = None) -> str:
        """The file's text with some columns replaced, or appended if the format allows it, and the rest unchanged.

        Parameters
        ----------
        replaced : for each column to replace its new values: one string per token, all sequences end to end
        """
        lines = self.raw.lines
        for name, values in (replaced or {}).items():
            if len(values) != self.columns.n_tokens:
                raise DataError(
                    f"{self.raw.source} has {self.columns.n_tokens} tokens, but {len(values)} values were given for "
                    f"its column {name!r}"
                )
            lines = self._with_column(lines, name, values)
        return self.raw.text(lines)

    def write(
        self, target: str | os.PathLike[str] | TextIO, replaced: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Write `text(replaced)` to a path, atomically, to `-` for the standard output, or to an open text file."""
        write_text(target, self.text(replaced))

    def place(self, sequence: int, token: int) -> str:
        """The place of a token, for messages; both numbers count from 0."""
        return f"{self.raw.source}, sequence {sequence + 1}, token {token + 1}"

    @abstractmethod
    def _with_column(self, lines: Sequence[str], name: str, values: Sequence[str]) -> list[str]:
        """Replace the column `name` in `lines`: those of the file, in which other columns may already be replaced."""


def label_column(document: Document, wanted: str | None = None) -> str:
    """The name of the column that holds the labels.

    Parameters
    ----------
    document : the corpus
    wanted : a column's name, or its number counting from 1; None for the format's own label column

    Raises
    ------
    DataError
        If the document has no such column; the message lists those it has.
    """
    names = document.columns.names
    name = document.label if wanted is None else wanted
    if name in document.columns:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return names[int(name) - 1]
    raise DataError(
        f"{document.raw.source} has no label column {name!r}; its columns, numbered from 1, are "
        f"{', '.join(map(repr, names))}"
    )


@contextmanager
def text_writer(target: str) -> Iterator[Callable[[str], object]]:
    """A function that writes text to a path, which appears when all is written, or directly to `-`, standard output."""
    if target == "-":
        yield _write_to_standard_output
    else:
        with replacing(target) as stream:
            yield stream.write


def write_text(target: str | os.PathLike[str] | TextIO, text: str) -> None:
    """Write to a path, atomically, to `-` for the standard output, or to an open text file."""
    if target == "-":
        _write_to_standard_output(text)
    elif isinstance(target, str | os.PathLike):
        with replacing(target) as stream:
            stream.write(text)
    else:
        target.write(text)


def _write_to_standard_output(text: str) -> None:
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        # As bytes, since the terminal's encoding and newline translation are not the file's. In pieces, since with an
        # unbuffered Python a disk that fills up takes only a part of the text, and fails at the next write.
        rest = memoryview(text.encode())
        while rest:
            rest = rest[sys.stdout.buffer.write(rest) :]
    else:
        sys.stdout.write(text)
    sys.stdout.flush()
