"""A text file as it was read, before it is interpreted.

Lines are cut at line feeds only: `str.splitlines` would also cut at form feeds and Unicode separators, which occur
inside tokens. A carriage return stays at the end of its line, and joining the lines gives the file back byte for byte.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias, TypeVar, Union

from widemargin.errors import DataError

T = TypeVar("T")
Source: TypeAlias = Union[str, os.PathLike[str], TextIO, BinaryIO, "RawText"]

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class RawText:
    """The lines of a file, without their line feeds, and the name that error messages give the file.

    It may be a piece of a file (`files.pieces`): `first` lines of the file come before it, and `is_last` says that none
    come after it. All pieces of a file share `judgements`.
    """

    source: str
    lines: list[str]
    has_byte_order_mark: bool = False
    first: int = 0
    is_last: bool = True
    judgements: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, text: str, source: str = "input") -> "RawText":
        """Cut `text` into lines."""
        return cls(source, text.removeprefix(BYTE_ORDER_MARK).split("\n"), text.startswith(BYTE_ORDER_MARK))

    @classmethod
    def load(cls, source: Source, encoding: str = "utf-8") -> "RawText":
        """Read a path, `-` for the standard input, or an open file; a `RawText` is returned as it is."""
        if isinstance(source, RawText):
            return source
        name = name_of(source)
        try:
            content = _content(source)
        except OSError as error:
            raise DataError(f"{name} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise DataError(f"{name} is not {error.encoding}: {error.reason}") from error
        return cls.of(content if isinstance(content, str) else decode_text(content, name, encoding), name)

    def text(self, lines: Sequence[str]) -> str:
        """Join `lines`, which replace this file's lines, into the text of a file."""
        return BYTE_ORDER_MARK * self.has_byte_order_mark + "\n".join(lines)

    def fault(self, index: int, complaint: str) -> DataError:
        """An error about the line at `index`, which counts from 0; the message counts from 1."""
        return DataError(f"{self.source}, line {self.first + index + 1}: {complaint}")

    def judge_once(self, what: str, judge: Callable[[], T]) -> T:
        """A fact about the whole file, such as its number of columns, judged by the first piece."""
        if what not in self.judgements:
            self.judgements[what] = judge()
        found: T = self.judgements[what]
        return found


def shorten(text: str, width: int = 60) -> str:
    """Cut `text` to a length that fits in an error message.

    >>> shorten("a line that goes on and on", 15)
    'a line that go…'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def name_of(source: Source) -> str:
    """The name of a file in error messages."""
    if isinstance(source, str | os.PathLike):
        return "standard input" if source == "-" else os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "input"


def standard_input() -> Any:
    """The standard input as bytes, if possible: the terminal's encoding and newline translation are not the file's."""
    return getattr(sys.stdin, "buffer", sys.stdin)


def _content(source: str | os.PathLike[str] | TextIO | BinaryIO) -> str | bytes:
    if source == "-":
        source = standard_input()
    return Path(source).read_bytes() if isinstance(source, str | os.PathLike) else source.read()


def decode_text(content: bytes, name: str, encoding: str = "utf-8", *, line: int = 0, offset: int = 0) -> str:
    """Decode bytes that begin at this line and offset of the file `name`, both counted from 0."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {line}: byte 0x{content[error.start]:02x} at offset {offset + error.start} is not "
            f"{encoding.upper()}"
        ) from error
    except UnicodeError as error:
        raise DataError(f"{name} is not {encoding}: {error}") from error
