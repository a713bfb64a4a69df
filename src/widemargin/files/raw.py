"""A text file as it was read, before it is interpreted.

Lines are cut at line feeds only: `str.splitlines` would also cut at form feeds and Unicode separators, which occur
inside tokens. A carriage return stays at the end of its line, and joining the lines gives the file back byte for byte.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO, TypeAlias

from widemargin.errors import DataError

Source: TypeAlias = str | os.PathLike[str] | TextIO | BinaryIO

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class RawText:
    """The lines of a file, without their line feeds, and the name that error messages give the file."""

    source: str
    lines: list[str]
    has_byte_order_mark: bool = False

    @classmethod
    def of(cls, text: str, source: str = "input") -> "RawText":
        """Cut `text` into lines."""
        return cls(source, text.removeprefix(BYTE_ORDER_MARK).split("\n"), text.startswith(BYTE_ORDER_MARK))

    @classmethod
    def load(cls, source: Source, encoding: str = "utf-8") -> "RawText":
        """Read a path, `-` for the standard input, or an open file."""
        name = _name(source)
        try:
            content = _content(source)
        except OSError as error:
            raise DataError(f"{name} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise DataError(f"{name} is not {error.encoding}: {error.reason}") from error
        return cls.of(content if isinstance(content, str) else _decoded(content, name, encoding), name)

    def text(self, lines: Sequence[str]) -> str:
        """Join `lines`, which replace this file's lines, into the text of a file."""
        return BYTE_ORDER_MARK * self.has_byte_order_mark + "\n".join(lines)

    def fault(self, index: int, complaint: str) -> DataError:
        """An error about the line at `index`, which counts from 0; the message counts from 1."""
        return DataError(f"{self.source}, line {index + 1}: {complaint}")


def shortened(text: str, width: int = 60) -> str:
    """Cut `text` to a length that fits in an error message.

    >>> shortened("a line that goes on and on", 15)
    'a line that go…'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def _name(source: Source) -> str:
    if isinstance(source, str | os.PathLike):
        return "standard input" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "input"


def _content(source: Source) -> str | bytes:
    if source == "-":
        # As bytes where possible: the terminal's encoding and newline translation are not the file's.
        source = getattr(sys.stdin, "buffer", sys.stdin)
    return Path(source).read_bytes() if isinstance(source, str | os.PathLike) else source.read()


def _decoded(content: bytes, name: str, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {line}: byte 0x{content[error.start]:02x} at offset {error.start} is not {encoding.upper()}"
        ) from error
    except UnicodeError as error:
        raise DataError(f"{name} is not {encoding}: {error}") from error
