"""A file in pieces, so that memory does not grow with the file and answers need not wait for its end.

A piece is a `RawText` of whole *units*: sentences, examples or documents, depending on the format. Regular files are
read in pieces of about `SIZE` bytes. From a pipe or a terminal, a piece is all that has arrived, as soon as one unit is
complete. So a program that writes a sentence and waits gets its answer, and one that writes fast gets large pieces.

The texts of all pieces, end to end, are the text of the file. The last piece may hold no unit: only the text after the
last unit, or nothing. Facts about a whole file (`RawText.judge_once`), such as the number of columns, come from the
first piece.
"""

import os
import select
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

from widemargin.errors import DataError
from widemargin.files.raw import BYTE_ORDER_MARK, RawText, decode_text, name_of, standard_input

SIZE = 1 << 21
COMMENTS = ("#", ";")  # in any format; a token that looks like a comment does not reveal the format either

Cut: TypeAlias = Callable[[Sequence[str]], int]
"""A function that returns how many of the first lines are whole units; 0 if not even one unit is complete."""


def pieces(source: str, choose: Callable[[RawText], Cut | None]) -> Iterator[RawText]:
    """The pieces of a path, or of `-` for the standard input; the whole file at once if it cannot be cut.

    Parameters
    ----------
    source : the file
    choose : how to cut it, judged by its beginning, in which at least one line is neither blank nor a comment
    """
    name = name_of(source)
    try:
        with _open(source) as stream:
            yield from _pieces(_Lines(stream, name), choose)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}") from error


def every_line(lines: Sequence[str]) -> int:
    """Every line that is not blank is a unit."""
    return len(lines) if any(map(str.strip, lines)) else 0


def up_to(lines: Sequence[str], is_end: Callable[[str], bool], is_unit: Callable[[str], bool]) -> int:
    """The number of lines up to the last end of a unit; 0 if no line before it belongs to a unit."""
    end = next((k for k in range(len(lines), 0, -1) if is_end(lines[k - 1])), 0)
    return end if any(map(is_unit, islice(lines, end))) else 0


def _pieces(read: "_Lines", choose: Callable[[RawText], Cut | None]) -> Iterator[RawText]:
    while not (read.ended or any(line.strip() and not line.startswith(COMMENTS) for line in read.lines)):
        read.more()
    cut = choose(read.piece(len(read.lines))) if not read.ended else None
    if cut is None:
        while not read.ended:
            read.more()
        # With the whole file at hand, facts that were judged by its beginning are judged again.
        yield replace(read.rest(), judgements={})
        return
    while not read.ended:
        end = cut(read.lines)
        if end:
            yield read.taken(end)
        read.more(longer=not end)
    yield read.rest()


class _Lines:
    """The lines of an open file that have been read and not yet taken."""

    def __init__(self, stream: Any, name: str) -> None:
        self.stream, self.name, self.judgements = stream, name, dict[str, Any]()
        self.lines: list[str] = []
        self.first, self.ended, self.size = 0, False, SIZE
        self.unfinished, self.offset, self.marked = (
            b"",
            0,
            False,
        )  # the last line, where it begins, a byte order mark
        self.waits = _waits(stream)

    def more(self, *, longer: bool = False) -> None:
        """Read on; with `longer`, more at once, since the lines so far hold no whole unit."""
        self.size = 2 * self.size if longer else SIZE
        data = self.unfinished + self._read()
        end = len(data) if self.ended else data.rfind(b"\n") + 1
        text = decode_text(data[:end], self.name, line=self.first + len(self.lines), offset=self.offset)
        if self.offset == 0 and text.startswith(BYTE_ORDER_MARK):
            self.marked, text = True, text.removeprefix(BYTE_ORDER_MARK)
        self.unfinished, self.offset = data[end:], self.offset + end
        self.lines += text.split("\n") if self.ended else text.split("\n")[:-1]

    def piece(self, end: int, *, is_last: bool = False) -> RawText:
        """The first lines."""
        lines = self.lines[:end] if is_last else [*self.lines[:end], ""]
        marked = self.marked and self.first == 0
        return RawText(self.name, lines, marked, self.first, is_last, self.judgements)

    def taken(self, end: int) -> RawText:
        """The first lines, which are removed."""
        piece = self.piece(end)
        self.lines, self.first = self.lines[end:], self.first + end
        return piece

    def rest(self) -> RawText:
        """All lines of a file that has ended."""
        return self.piece(len(self.lines), is_last=True)

    def _read(self) -> bytes:
        if not self.waits:
            data: bytes = self.stream.read(self.size)
            self.ended = len(data) < self.size
            return data
        parts = [self.stream.read1(self.size)]
        while parts[-1] and sum(map(len, parts)) < self.size and self._more_has_arrived():
            parts.append(self.stream.read1(self.size))
        self.ended = not parts[-1]
        return b"".join(parts)

    def _more_has_arrived(self) -> bool:
        return os.name == "posix" and bool(select.select([self.stream], [], [], 0)[0])


def _open(source: str) -> Any:
    return open(source, "rb") if source != "-" else nullcontext(standard_input())


def _waits(stream: Any) -> bool:
    """Whether a stream may have to wait for its writer: pipes and terminals do, files do not."""
    try:
        return not stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and hasattr(stream, "read1")
    except (OSError, AttributeError, ValueError):
        return False  # not a stream of the operating system
