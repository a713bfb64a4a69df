"""How a task meets files: what its command line is made of, beside the parameters of training."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from widemargin.files.document import Document, label_column
from widemargin.files.formats import guess, parse
from widemargin.files.raw import RawText
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
        about : what is known of files like it: the training data's, or nothing
        gold : whether there must be gold outputs
        own : the task's own options
        """

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """The parameters that the values of options stand for; those of the task's own that are none are taken out."""
        return given

    def kind(self, corpus: Corpus, own: Mapping[str, Any]) -> str:
        """Which kind of model is to be learnt from a file, where the task has several."""
        raise NotImplementedError("a task with several kinds of models chooses one of them")


class Opened(NamedTuple):
    """A document of tokens, and the format that it was read as."""

    document: Document
    format: str


def open_tokens(
    path: str, reading: Reading, about: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]] | None = None
) -> Opened:
    """Read a document of tokens: as the user says, else as the model remembers, else as the file looks.

    `options` are those of the readers of some formats.
    """
    raw = RawText.load(path)
    if reading.text:
        return Opened(_as_columns(raw), "conll")
    chosen = reading.format or guess(raw)
    names = reading.columns
    if names is None and chosen == about.get("format") == "conll":
        before: Sequence[str] = about.get("columns") or []
        # The label may be missing.
        if len(before) - _width(raw) in (0, 1):
            names = before
    return Opened(parse(raw, chosen, names, **(options or {}).get(chosen, {})), chosen)


def gold_column(document: Document, wanted: str | None, before: str | None = None) -> str:
    """The column that holds the labels, which must exist: the wanted one, the one of before, the format's own."""
    if wanted is None and before is not None and before in document.columns:
        wanted = before
    return label_column(document, wanted)


def size_of(X: Columns, sequences: str) -> dict[str, int]:
    """How much there is, sequences being called so."""
    return {sequences: X.n_sequences, "tokens": X.n_tokens}


def known_columns(X: Columns, names: Sequence[str]) -> Columns:
    """The columns, all of these read: they are made on first use, and that one is missing is to be said at once."""
    for name in names:
        X[name]
    return X


def _as_columns(raw: RawText) -> Document:
    """Plain text, a sequence a line, as a document of one column that labels can be appended to."""
    tokens = "\n".join("\n".join(line.split()) + "\n" for line in raw.lines if line.strip())
    return parse(RawText.of(tokens, raw.source), "conll")


def _width(raw: RawText) -> int:
    """How many columns the first line has."""
    first = next((line for line in raw.lines if line.strip(" \t\r")), "")
    return len(first.split("\t")) if "\t" in first else len(first.split())
