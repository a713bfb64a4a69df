"""How a task reads its files."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from widemargin.errors import WidemarginError
from widemargin.files.document import Document, label_column
from widemargin.files.formats import FORMATS, guess, parse
from widemargin.files.pieces import Cut, every_line
from widemargin.files.raw import RawText, Source
from widemargin.tasks.base import Corpus, Reading
from widemargin.text.columns import Columns


class Files(ABC):
    """How a task reads its files."""

    @abstractmethod
    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """A file as the task takes it.

        Parameters
        ----------
        path, reading : which file, and how
        about : facts about similar files, those of the training data
        gold : whether to read gold outputs, which must then be there
        own : the task's own options
        """

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Turn the values of options into training parameters; drop options that are not parameters."""
        return given

    def kind(self, kinds: Sequence[str], corpus: Corpus) -> str:
        """The kind of model to learn from a file: the only one, unless a task with several says otherwise."""
        return kinds[0]


class Opened(NamedTuple):
    """A document of tokens, and the format that it was read as."""

    document: Document
    format: str


def open_tokens(
    path: Source, reading: Reading, about: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]] | None = None
) -> Opened:
    """Read a document of tokens: as the user says, else as the model remembers, else as the file looks.

    `options` holds extra arguments for the readers of some formats.
    """
    raw = RawText.load(path)
    if reading.text:
        return Opened(_as_columns(raw), "conll")
    chosen = reading.format or guess(raw)
    names = reading.columns
    if names is None and chosen == about.get("format") == "conll":
        before: Sequence[str] = about.get("columns") or []
        # A file without labels lacks one column.
        names = before if raw.judged("is like", lambda: len(before) - _width(raw) in (0, 1)) else None
    return Opened(parse(raw, chosen, names, **(options or {}).get(chosen, {})), chosen)


def cut_tokens(head: RawText, reading: Reading) -> Cut | None:
    """How to cut a file that `open_tokens` reads into pieces."""
    return every_line if reading.text else FORMATS[reading.format or guess(head)].cut


def gold_column(document: Document, wanted: str | None, before: str | None = None) -> str:
    """The column of labels, which must exist: the wanted one, else the one `before`, else the format's own."""
    if wanted is None and before is not None and before in document.columns:
        wanted = before
    return label_column(document, wanted)


def size_of(X: Columns, sequences: str) -> dict[str, int]:
    """The numbers of sequences and tokens; `sequences` is the task's name for the former."""
    return {sequences: X.n_sequences, "tokens": X.n_tokens}


def known_columns(X: Columns, names: Sequence[str]) -> Columns:
    """Make these columns now instead of on first use, so that a missing one is an error at once; return `X`."""
    for name in names:
        X[name]
    return X


def sequence_alone(corpus: Corpus, number: int, what: str, columns: Sequence[str]) -> Corpus:
    """One sequence of a file alone, counted from 1, with these columns; `what` is what the task calls it."""
    X = corpus.X
    if not 1 <= number <= X.n_sequences:
        raise WidemarginError(f"there is no {what} {number} in {X.source}, which has {X.n_sequences}")
    return corpus._replace(X=X.only(*dict.fromkeys(["word", *columns])).alone(number - 1), y=None)


def _as_columns(raw: RawText) -> Document:
    """Plain text, one sequence per line, as a one-column document to which labels can be appended."""
    tokens = "".join("\n".join(line.split()) + "\n\n" for line in raw.lines if line.strip())
    return parse(replace(raw, lines=tokens.split("\n"), has_byte_order_mark=False), "conll")


def _width(raw: RawText) -> int:
    """The number of columns in the first line."""
    first = next((line for line in raw.lines if line.strip(" \t\r")), "")
    return len(first.split("\t")) if "\t" in first else len(first.split())
