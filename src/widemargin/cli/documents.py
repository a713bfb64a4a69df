"""The files of a command: which format, which names for the columns, which column is the label, and where to write.

A model remembers the label column, format and column names of its training data under the key `data` of its summary, so
that they need not be repeated; a file that has them differently is taken as its own format has it.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from widemargin.columns import Columns
from widemargin.data.conll import parse as parse_conll
from widemargin.data.document import Document, label_column
from widemargin.data.formats import FORMATS, guess
from widemargin.data.jsonlines import LABEL_KEYS, SPANS
from widemargin.data.raw import RawText
from widemargin.errors import DataError, WidemarginError


class Corpus(NamedTuple):
    """A document and the format that it was read as."""

    document: Document
    file_format: str

    def label(self, wanted: str | None, before: str | None = None) -> str:
        """The column that holds the labels, which must exist: the wanted one, the one of before, the format's own."""
        if wanted is None and before is not None and before in self.document.columns.columns:
            wanted = before
        return label_column(self.document, wanted)

    def labelled(self, wanted: str | None) -> tuple[Columns, Any]:
        """All columns, and the labels among them."""
        columns = self.document.columns
        return columns, columns[self.label(wanted)]

    def label_to_write(self, wanted: str | None, data: Mapping[str, Any], structure: str = "chain") -> str:
        """The same for a column that may be yet to be made; `data` are those of the model, as is its structure."""
        columns, before = self.document.columns.columns, data.get("label")
        if wanted is not None:
            return label_column(self.document, wanted) if wanted.isdecimal() and wanted not in columns else wanted
        if structure == "segment" and self.file_format == "jsonl" and self.document.label not in columns:
            return SPANS
        if before is None:
            return self.document.label
        new_key = self.file_format == data.get("format") == "jsonl" and before not in LABEL_KEYS
        return before if before in columns or new_key else self.document.label


def remembered(summary: Any) -> Mapping[str, Any]:
    """What a model's summary tells of its training data; nothing if it was trained from Python."""
    data = summary.get("data") if isinstance(summary, dict) else None
    return data if isinstance(data, dict) else {}


def read_corpus(
    path: str,
    *,
    file_format: str | None,
    names: Sequence[str] | None,
    data: Mapping[str, Any] | None = None,
) -> Corpus:
    """Read a file; `names` come from the user, `data` from the model."""
    raw = RawText.load(path)
    return corpus(raw, file_format or guess(raw), names, data or {})


def corpus(raw: RawText, file_format: str, names: Sequence[str] | None, data: Mapping[str, Any]) -> Corpus:
    """The corpus in a file that has been loaded."""
    if file_format == "svmlight":
        raise DataError(f"{raw.source} cannot be read as svmlight: this needs sequences of tokens")
    if file_format != "conll":
        if names is not None:
            raise DataError(
                f"{raw.source} is read as {file_format}, where columns have names already; leave out --columns"
            )
        return Corpus(FORMATS[file_format].parse(raw), file_format)
    if names is None and data.get("format") == "conll":
        before = data.get("columns") or []
        if len(before) - _width(raw) in (0, 1):
            names = before
    return Corpus(parse_conll(raw, names), file_format)


def read_like(train: Corpus, path: str, file_format: str | None, names: Sequence[str] | None) -> Corpus:
    """Read another file, with the column names of the training data where none are given."""
    data = {"format": train.file_format, "columns": list(train.document.columns.columns)}
    return read_corpus(path, file_format=file_format, names=names, data=data)


def text_corpus(path: str) -> Corpus:
    """Plain text, a sequence a line, as a document of one column that labels can be appended to."""
    raw = RawText.load(path)
    tokens = "\n".join("\n".join(line.split()) + "\n" for line in raw.lines if line.strip())
    return Corpus(parse_conll(RawText.of(tokens, raw.source)), "conll")


def _width(raw: RawText) -> int:
    """How many columns the first line has."""
    first = next((line for line in raw.lines if line.strip(" \t\r")), "")
    return len(first.split("\t")) if "\t" in first else len(first.split())


def check_target(path: str, *, inputs: Iterable[str | None] = ()) -> None:
    """Complain now, instead of after an hour of work, if the file `path` cannot be written or is one of the inputs."""
    target = Path(path)
    if target.is_dir():
        raise WidemarginError(f"{path} is a folder; give the name of a file to write")
    if target.exists() and any(each is not None and _same(target, each) for each in inputs):
        raise WidemarginError(f"{path} is read by this command; give another name to the file to write")
    if target.exists() and not target.is_file():
        return  # a device or a pipe, which no folder has to make room for
    folder = Path(os.path.realpath(path)).parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WidemarginError(f"{path} cannot be written into {folder}: {error.strerror}") from error


def check_folder(path: str, files: Iterable[str], *, inputs: Sequence[str | None] = ()) -> None:
    """The same for `files` in the folder `path`, which need not exist yet."""
    folder = Path(path)
    if folder.is_dir():
        for name in files:
            check_target(str(folder / name), inputs=inputs)
        return
    above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not above.is_dir():
        raise WidemarginError(f"{above} is a file; {path} cannot be made a folder")
    check_target(str(above / folder.name))


def _same(target: Path, other: str) -> bool:
    return os.path.exists(other) and target.samefile(other)
