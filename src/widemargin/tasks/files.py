"""How a task reads its files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any, NamedTuple

from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.files.document import Document, label_column
from widemargin.files.formats import FORMATS, guess, parse
from widemargin.files.pieces import Cut, every_line
from widemargin.files.raw import RawText, Source, shortened
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Reading
from widemargin.text.columns import Columns

NOT_DESCRIPTIONS = ("id", "head", "deprel", "deps", "misc", "phead", "pdeprel")
"""Columns of treebanks that number tokens, hold trees, or hold notes."""


class Likeness(IntEnum):
    """How likely a file belongs to a task."""

    NONE = 0
    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3


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

    def pieces(self, path: str, reading: Reading, about: Mapping[str, Any]) -> Iterator[Corpus]:
        """A file with its gold outputs, piece by piece, for training on more data than fit into memory."""
        raise UnsupportedError(f"{path} holds data of a task that reads its files at once; leave out --out-of-core")

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Turn the values of options into training parameters; drop options that are not parameters."""
        return given

    def kind(self, kinds: Sequence[str], corpus: Corpus) -> str:
        """The kind of model to learn from a file: the only one, unless a task with several says otherwise."""
        return kinds[0]

    def predicted(self, path: str, reading: Reading, gold: Corpus, **own: Any) -> Corpus:
        """A file of predictions for the inputs of `gold`."""
        return self.read(path, reading, gold.about, gold=True, **own)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """How likely a file is one of this task's."""
        return Likeness.NONE

    def check_aligned(self, gold: Corpus, predicted: Corpus) -> None:
        """Raise unless two files are about the same inputs; without other evidence, compare their sizes."""
        for what, count in gold.size.items():
            if predicted.size[what] != count:
                raise DataError(f"there are {predicted.size[what]} {what}, but {count} in the gold file")

    @abstractmethod
    def compared(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """How well the outputs in two files about the same inputs agree."""


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
        return Opened(_as_columns(raw, _split_words if reading.split else str.split), "conll")
    chosen = reading.format or guess(raw)
    names = reading.columns
    if names is None and chosen == about.get("format") == "conll":
        before: Sequence[str] = about.get("columns") or []
        # A file without labels lacks one column.
        names = before if raw.judged("is like", lambda: len(before) - _width(raw) in (0, 1)) else None
    return Opened(parse(raw, chosen, names, **(options or {}).get(chosen, {})), chosen)


def check_plain_text(reading: Reading) -> None:
    """Raise if --text comes with options of other formats, or --split comes without --text."""
    if reading.text and reading != Reading(text=True, tags=reading.tags, split=reading.split):
        raise WidemarginError("--text is a format of its own; leave out --format, --columns and --label")
    if reading.split is not None and not reading.text:
        raise WidemarginError("--split is about plain text; give --text, too")


def cut_tokens(head: RawText, reading: Reading) -> Cut | None:
    """How to cut a file that `open_tokens` reads into pieces."""
    return every_line if reading.text else FORMATS[reading.format or guess(head)].cut


def gold_column(document: Document, wanted: str | None, before: str | None = None) -> str:
    """The column of labels, which must exist: the wanted one, else the one `before`, else the format's own."""
    if wanted is None and before is not None and before in document.columns:
        wanted = before
    return label_column(document, wanted)


def check_same_words(gold: Document, predicted: Document) -> None:
    """Raise an error that names the first place where two files have different words."""
    wanted, found = (document.columns.sequences("word") for document in (gold, predicted))
    for i, (right, words) in enumerate(zip(wanted, found, strict=False)):
        if right == words:
            continue
        for t, (one, other) in enumerate(zip(right, words, strict=False)):
            if one != other:
                raise DataError(
                    f"{predicted.place(i, t)}: the word is {shortened(other)!r}, but {shortened(one)!r} in "
                    f"{gold.place(i, t)}"
                )
        raise DataError(
            f"{predicted.place(i, 0)}: there are {len(words)} tokens, but {len(right)} in {gold.place(i, 0)}"
        )
    if len(wanted) != len(found):
        raise DataError(
            f"{predicted.raw.source} has {len(found)} sequences of tokens, but {gold.raw.source} has {len(wanted)}"
        )


def size_of(X: Columns, sequences: str) -> dict[str, int]:
    """The numbers of sequences and tokens; `sequences` is the task's name for the former."""
    return {sequences: X.n_sequences, "tokens": X.n_tokens}


def known_columns(X: Columns, names: Sequence[str]) -> Columns:
    """Make these columns now instead of on first use, so that a missing column raises at once; return `X`."""
    for name in names:
        X[name]
    return X


def unused_columns(corpus: Corpus, read: Sequence[str]) -> list[str]:
    """The columns that are not `read`, except labels, `NOT_DESCRIPTIONS`, and columns with a single value."""
    X: Columns = corpus.X
    known = [X[name] for name in (*read, *([corpus.about["label"]] if "label" in corpus.about else [])) if name in X]
    return [
        name
        for name in X.names
        if name not in NOT_DESCRIPTIONS and not any(X[name] is each for each in known) and len(X[name].values) > 1
    ]


def sequence_alone(corpus: Corpus, number: int, what: str, columns: Sequence[str]) -> Corpus:
    """One sequence of a file, counted from 1, with these columns; `what` is the task's word for it."""
    X = corpus.X
    if not 1 <= number <= X.n_sequences:
        raise WidemarginError(f"there is no {what} {number} in {X.source}, which has {X.n_sequences}")
    return corpus._replace(X=X.only(*dict.fromkeys(["word", *columns])).alone(number - 1), y=None)


def _split_words(line: str) -> list[str]:
    from widemargin.text.words import split_words  # only raw text needs it

    return split_words(line)


def _as_columns(raw: RawText, split: Callable[[str], Sequence[str]]) -> Document:
    """Plain text, one sequence per line, as a one-column document to which labels can be appended."""
    tokens = "".join("\n".join(split(line)) + "\n\n" for line in raw.lines if line.strip())
    return parse(replace(raw, lines=tokens.split("\n"), has_byte_order_mark=False), "conll")


def _width(raw: RawText) -> int:
    """The number of columns in the first line."""
    first = next((line for line in raw.lines if line.strip(" \t\r")), "")
    return len(first.split("\t")) if "\t" in first else len(first.split())
