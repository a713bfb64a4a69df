"""File formats, and how one is chosen. `FORMATS` is the only list of their names."""

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from widemargin.errors import DataError
from widemargin.files.raw import RawText, Source

if TYPE_CHECKING:
    from widemargin.files.document import Document
    from widemargin.files.pieces import Cut


class Format(NamedTuple):
    """A format: its module, its file suffixes, and whether its files hold sequences of tokens.

    The module has a function `parse`, and is imported when a file is read. If its files can be read in pieces
    (`files.pieces`), it has a function `cut`, too.
    """

    module: str
    suffixes: tuple[str, ...]
    has_tokens: bool = True
    in_pieces: bool = True

    def parse(self, raw: RawText, **options: Any) -> Any:
        """Read a file."""
        return import_module(self.module).parse(raw, **options)

    @property
    def cut(self) -> "Cut | None":
        """How to cut its files into pieces; None if it cannot be done."""
        found: Cut | None = import_module(self.module).cut if self.in_pieces else None
        return found


FORMATS = {
    "conll": Format("widemargin.files.conll", (".tsv", ".conll", ".txt", ".bio", ".iob")),
    "conllu": Format("widemargin.files.conllu", (".conllu",)),
    "conllx": Format("widemargin.files.conllx", (".conllx",)),
    "brackets": Format("widemargin.files.brackets", (".ptb", ".mrg", ".brackets")),
    "jsonl": Format("widemargin.files.jsonlines", (".jsonl", ".ndjson")),
    "xml": Format("widemargin.files.xml", (".xml",), in_pieces=False),
    "svmlight": Format("widemargin.files.svmlight", (".svm", ".svmlight", ".libsvm"), has_tokens=False),
    "fasta": Format("widemargin.files.fasta", (".fa", ".fasta", ".fna", ".faa"), has_tokens=False),
    "sequences": Format("widemargin.files.sequences", (".seq",), has_tokens=False),
}


def read(source: Source, *, format: str | None = None, names: Sequence[str] | None = None) -> "Document":  # noqa: A002 — its name
    """Read a corpus of tokens.

    Parameters
    ----------
    source : a path, `-` for the standard input, or an open file. Bytes are decoded as UTF-8.
    format : one of `FORMATS`; None to go by the file's suffix and its first line
    names : what to call the columns of a `conll` file, in order; the last is the label column, which the file may lack

    Raises
    ------
    DataError
        If the file cannot be read or is malformed; the message names the file, the line and what is wrong there.
    """
    raw = RawText.load(source)
    return parse(raw, guess(raw) if format is None else format, names)


def parse(raw: RawText, chosen: str, names: Sequence[str] | None = None, **options: Any) -> "Document":
    """The corpus of tokens in a loaded file; `options` go to the format's own reader."""
    if chosen not in FORMATS:
        raise DataError(f"the format {chosen!r} is unknown; choose one of {', '.join(FORMATS)}")
    if not FORMATS[chosen].has_tokens:
        raise DataError(f"{raw.source} cannot be read as {chosen}: this needs sequences of tokens")
    if names is not None and chosen != "conll":
        raise DataError(f"{raw.source} is read as {chosen}, where columns have names already; leave out --columns")
    if names is not None:
        options["names"] = names
    document: Document = FORMATS[chosen].parse(raw, **options)
    return document


def guess(raw: RawText) -> str:
    """The format suggested by the file's suffix or, if that leaves a choice, by its first line.

    >>> guess(RawText.of('{"tokens": ["a"]}'))
    'jsonl'
    """
    return raw.judge_once("format", lambda: _guess(raw))


def _guess(raw: RawText) -> str:
    from widemargin.files import brackets, conllu, xml

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
