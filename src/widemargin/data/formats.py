"""The formats of token-labelled corpora, and how one is chosen."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from widemargin.data import brackets, conll, conllu, conllx, jsonlines, xml
from widemargin.data.document import Document
from widemargin.data.raw import RawText, Source
from widemargin.errors import DataError


@dataclass(frozen=True, slots=True)
class Format:
    """How to read a format, and the suffixes that files of it have."""

    parse: Callable[[RawText], Document]
    suffixes: tuple[str, ...]


FORMATS = {
    "conll": Format(conll.parse, (".tsv", ".conll", ".txt", ".bio", ".iob")),
    "conllu": Format(conllu.parse, (".conllu",)),
    "conllx": Format(conllx.parse, (".conllx",)),
    "brackets": Format(brackets.parse, (".ptb", ".mrg", ".brackets")),
    "jsonl": Format(jsonlines.parse, (".jsonl", ".ndjson")),
    "xml": Format(xml.parse, (".xml",)),
}


def read(source: Source, *, format: str | None = None, names: Sequence[str] | None = None) -> Document:  # noqa: A002 — its name
    """Read a corpus.

    Parameters
    ----------
    source
        A path, `-` for the standard input, or an open file. Bytes are decoded as UTF-8.
    format
        One of `FORMATS`; None to go by the file's suffix and its first line.
    names
        What to call the columns of a `conll` file, in order; the last is the label column, which the file may lack.

    Raises
    ------
    DataError
        If the file cannot be read or is malformed; the message names the file, the line and what is wrong there.
    """
    raw = RawText.load(source)
    chosen = guess(raw) if format is None else format
    if chosen not in FORMATS:
        raise DataError(f"the format {chosen!r} is unknown; choose one of {', '.join(FORMATS)}")
    if names is None:
        return FORMATS[chosen].parse(raw)
    if chosen != "conll":
        raise DataError(f"{raw.source} is read as {chosen}, where columns have names already")
    return conll.parse(raw, names)


def guess(raw: RawText) -> str:
    """The format that the suffix or, where it leaves a choice, the first line of the file speaks for.

    >>> guess(RawText.of('{"tokens": ["a"]}'))
    'jsonl'
    """
    suffix = PurePath(raw.source).suffix.lower()
    by_suffix = next((name for name, format_ in FORMATS.items() if suffix in format_.suffixes), None)
    if by_suffix not in ("conll", None):
        return by_suffix
    first = next((line for line in raw.lines if line.strip() and not line.startswith("#")), "")
    if conllu.is_conllu(first):
        return "conllu"
    if by_suffix is None and re.match(r'\s*\{\s*("|$)', first):
        return "jsonl"
    if by_suffix is None and brackets.is_bracketed(first):
        return "brackets"
    if by_suffix is None and xml.is_xml(raw):
        return "xml"
    return "conll"
