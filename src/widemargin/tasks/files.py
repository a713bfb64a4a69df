"""How a task reads its files, and reports on its models."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeVar

from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.files.document import Document, label_column
from widemargin.files.formats import FORMATS, guess, parse
from widemargin.files.pieces import Cut, every_line, pieces
from widemargin.files.raw import RawText, Source, shorten
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Question
from widemargin.tasks.answers import AnswerLimits
from widemargin.tasks.base import Corpus, Model, Piece, Reading, Tally, counted_within
from widemargin.tasks.calibration import Calibrated
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.strongest import Part
from widemargin.text.columns import Columns

T = TypeVar("T")

NOT_DESCRIPTIONS = ("id", "head", "deprel", "deps", "misc", "phead", "pdeprel")
"""Columns of treebanks that number tokens, hold trees, or hold notes."""


class Likeness(IntEnum):
    """How likely a file belongs to a task."""

    NONE = 0
    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3


class Reporter(ABC):
    """Reads and writes files for a trained model, evaluates it, draws its outputs and explains it."""

    counts: ClassVar[str] = "examples"
    """The unit of its speed: one of the sizes of a corpus."""
    drawn_as: ClassVar[str] = ".svg"
    """The suffix of files with drawings."""
    asked: ClassVar[tuple[str, ...]] = ()
    """The fields of a `Question` about its outputs: first the part to explain, then what to compare it with."""
    ask_for: ClassVar[str] = ""
    """What to ask for instead of anything else."""
    evaluation_options: ClassVar[frozenset[str]] = frozenset()
    """The options that `evaluate` takes."""
    exports: ClassVar[Mapping[str, str]] = {}
    """Descriptions of other formats that the model can be written in, by the suffix of their files."""
    takes_tags: ClassVar[bool] = False
    """Whether the tags of inputs may be given or predicted."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def draws(self) -> bool:
        """Whether outputs can be drawn."""
        return type(self).draw is not Reporter.draw

    @property
    def explains(self) -> bool:
        """Whether outputs can be explained."""
        return bool(self.asked)

    def _refusal(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"the model predicts {self.model.predicts}{what}")

    # With data at hand.

    @abstractmethod
    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well the predictions for `X` agree with `y`."""

    def tally(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Tally | None:
        """The counts behind `evaluate`, for `tallied`; None if the evaluation needs all data at once."""
        return None

    def tallied(self, tally: Tally) -> Evaluation:
        """The evaluation that follows from a tally."""
        raise UnsupportedError(f"the evaluation of {self.model.predicts} needs all data at once")

    def warm_up(self) -> None:  # noqa: B027 — models without compiled kernels need none
        """Load compiled kernels by a tiny prediction, so that timings do not include it."""

    # With files at hand.

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file as the model takes it, with its gold outputs or without."""
        raise self._refusal("; it is used from Python")

    def check_reading(self, reading: Reading) -> None:
        """Raise if the user's choices do not apply to this kind of model."""
        if reading.tags is not None and not self.takes_tags:
            raise self._refusal("; --tags is about parsers")

    def pieces(self, path: str, reading: Reading) -> Iterator[Piece]:
        """A file for prediction, piece by piece; all at once if it is a folder or cannot be cut."""
        if os.path.isdir(path):
            yield Piece(self.read(path, reading, gold=False))
            return
        for raw in pieces(path, partial(self.cut, reading=reading)):
            with counted_within(raw.source, raw.first):
                corpus = self.read(raw, reading, gold=False)
            yield Piece(corpus, raw.source, raw.first)

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """How to cut a file that begins like this into pieces; None to read it all at once."""
        return None

    def constraints(self, corpus: Corpus, limits: AnswerLimits) -> Constraints | None:
        """The command line's constraints on the inputs of a file, or None."""
        if any(limits):
            raise self._refusal(", to which these constraints do not apply")
        return None

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The text of a file with these outputs in it."""
        raise self._refusal("; it is used from Python")

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The outputs as a picture: an SVG file or a web page (`drawn_as`), or lines for a terminal."""
        raise self._refusal(", which cannot be drawn")

    # About the model.

    @abstractmethod
    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest weights of each part of the model, for the labels with the `chosen` numbers."""

    def numbers_of(self, labels: Sequence[Any]) -> list[int]:
        """The numbers of these labels, or of all labels if none are given."""
        known = [str(label) for label in self.model.labels]
        for label in labels:
            if str(label) not in known:
                raise WidemarginError(f"the model has no label {label!r}; it has {', '.join(map(repr, known))}")
        wanted = set(map(str, labels))
        return [number for number, label in enumerate(known) if not wanted or label in wanted]

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """The corpus reduced to one input; `number` counts from 1."""
        raise self._refusal("; it cannot explain them")

    def explain(self, X: Any, question: Question) -> Explanation:
        """Explain the prediction for the only input of `X`; raise if it has no parts like those in the question."""
        if not self.explains:
            raise self._refusal("; it cannot explain them")
        given = [name for name, value in question._asdict().items() if value is not None]
        if not set(given) <= set(self.asked):
            raise self._refusal(f"; ask for {self.ask_for}")
        if given and self.asked[0] not in given:
            raise WidemarginError(f"--explain compares one part with one other: give a --{self.asked[0]}, too")
        return self.answer(X, question)

    def answer(self, X: Any, question: Question) -> Explanation:
        """The explanation for a question that has only the fields in `asked`; without any, that of all parts."""
        raise NotImplementedError

    def unused_columns(self, corpus: Corpus) -> list[str]:
        """The columns of the training data that no feature looks at, though they hold something."""
        return []

    def remarks(self) -> list[tuple[str, str]]:
        """More facts about the trained model, for people: names and values."""
        return []

    def picture(self) -> list[str]:
        """A picture of the model for a terminal, as lines; empty if there is none."""
        return []

    def export(self, suffix: str) -> bytes:
        """The contents of a file in one of the other formats, `exports`."""
        raise self._refusal("; it cannot be written in other formats")


class SentenceReporter(Reporter):
    """Reports on models of sentences, or of other sequences of tokens, whose features look at columns."""

    sequence: ClassVar[str]
    """The task's word for a sequence of tokens."""

    model: Any

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Cut between two sequences."""
        return cut_tokens(head, reading)

    def unused_columns(self, corpus: Corpus) -> list[str]:
        """All columns but those that features look at, labels, `NOT_DESCRIPTIONS`, and columns with a single value."""
        X: Columns = corpus.X
        known = [X[name] for name in (*self.model.columns_read, corpus.about.get("label")) if name in X]
        others = (name for name in X.names if name not in NOT_DESCRIPTIONS and len(X[name].values) > 1)
        return [name for name in others if not any(X[name] is each for each in known)]

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One sequence of a file, counted from 1, with the columns that features look at."""
        X = corpus.X
        if not 1 <= number <= X.n_sequences:
            raise WidemarginError(f"there is no {self.sequence} {number} in {X.source}, which has {X.n_sequences}")
        columns = dict.fromkeys(["word", *self.model.columns_read])
        return corpus._replace(X=X.only(*columns).alone(number - 1), y=None)


class TallyReporter(Reporter):
    """A reporter whose evaluation follows from counts, which can be added over pieces of a file."""

    @abstractmethod
    def count(self, X: Any, y: Any, n_threads: int, **options: Any) -> Tally:
        """Counts of predictions that agree with `y`, and the time that prediction takes."""

    @abstractmethod
    def score(self, tally: Tally, calibration: Mapping[str, float]) -> Evaluation:
        """The evaluation that follows from counts, and from the errors of a calibration."""

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well predictions agree with `y`, and how long they take."""
        tally, errors, model = self.count(X, y, n_threads, **options), {}, self.model
        if model.calibration is not None and isinstance(model, Calibrated):
            errors = {kind: each.after for kind, each in model.judge_confidence(X, y, n_threads).items()}
        return self.score(tally, errors)

    def tally(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Tally | None:
        """Counts of one piece; calibration needs all data at once."""
        return self.count(X, y, n_threads, **options) if self.model.calibration is None else None

    def tallied(self, tally: Tally) -> Evaluation:
        """The evaluation of all pieces."""
        return self.score(tally, {})


class Files(ABC):
    """How a task reads its files."""

    reporter: ClassVar[type[Reporter]]
    """Reports on the models of the task."""
    only_read: ClassVar[Collection[str]] = ()
    """The task's own options that only reading needs."""

    @abstractmethod
    def read(self, path: Any, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """A file as the task takes it.

        Parameters
        ----------
        path, reading : which file, or which piece of one, and how
        about : facts about similar files, those of the training data
        gold : whether to read gold outputs, which must then be there
        own : the task's own options
        """

    def pieces(self, path: str, reading: Reading, about: Mapping[str, Any], **own: Any) -> Iterator[Piece]:
        """A file with its gold outputs, piece by piece, for training on more data than fit into memory."""
        for raw in pieces(path, partial(self.cut, reading=reading)):
            with counted_within(raw.source, raw.first):
                corpus = self.read(raw, reading, about, gold=True, **own)
            piece = Piece(corpus, raw.source, raw.first)
            if not piece.is_empty:  # the last piece may hold only blank lines
                yield piece

    def cut(self, head: RawText, reading: Reading) -> Cut:
        """How to cut a file that begins like this into pieces; raise if it cannot be done."""
        raise UnsupportedError(f"{head.source} cannot be read in pieces; leave out --out-of-core")

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Turn the values of options into training parameters; drop options that are not parameters."""
        return {name: value for name, value in given.items() if name not in self.only_read}

    def kind(self, kinds: Sequence[str], corpus: Corpus) -> str:
        """The kind of model to learn from a file: the only one, unless a task with several says otherwise."""
        return kinds[0]

    def read_predicted(self, path: str, reading: Reading, gold: Corpus, **own: Any) -> Corpus:
        """A file of predictions for the inputs of `gold`."""
        return self.read(path, reading, gold.about, gold=True, **own)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """How likely a file is one of this task's."""
        return Likeness.NONE

    def check_aligned(self, gold: Corpus, predicted: Corpus) -> None:
        """Raise unless two files are about the same inputs: the same words, else as many of everything."""
        if isinstance(gold.document, Document):
            check_same_words(gold.document, predicted.document)
            return
        for what, count in gold.size.items():
            if predicted.size[what] != count:
                raise DataError(f"there are {predicted.size[what]} {what}, but {count} in the gold file")

    @abstractmethod
    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
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
        names = before if raw.judge_once("is like", lambda: len(before) - _width(raw) in (0, 1)) else None
    return Opened(parse(raw, chosen, names, **(options or {}).get(chosen, {})), chosen)


def check_no_tokens(reading: Reading, inputs: str, formats: Sequence[str], *, labelled: bool = False) -> None:
    """Raise if the user asks for another format than those of the `inputs`, or for columns of tokens, which they lack.

    `labelled` says that a label column may be named nevertheless.
    """
    if reading.format not in (None, *formats):
        raise WidemarginError(f"{inputs} are read from {' or '.join(formats)} files, not {reading.format}")
    if reading.columns is not None or reading.text or (reading.label is not None and not labelled):
        options = "--columns and --text" if labelled else "--label, --columns and --text"
        raise WidemarginError(f"{inputs} have no columns of tokens; leave out {options}")


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
                    f"{predicted.place(i, t)}: the word is {shorten(other)!r}, but {shorten(one)!r} in "
                    f"{gold.place(i, t)}"
                )
        raise DataError(
            f"{predicted.place(i, 0)}: there are {len(words)} tokens, but {len(right)} in {gold.place(i, 0)}"
        )
    if len(wanted) != len(found):
        raise DataError(
            f"{predicted.raw.source} has {len(found)} sequences of tokens, but {gold.raw.source} has {len(wanted)}"
        )


def time_call(stage: str, predict: Callable[..., T], *arguments: Any, **options: Any) -> tuple[T, dict[str, float]]:
    """The result of a call, and its seconds under the name of a `stage`."""
    begin = perf_counter()
    found = predict(*arguments, **options)
    return found, {stage: perf_counter() - begin}


def size_of(X: Columns, sequences: str) -> dict[str, int]:
    """The numbers of sequences and tokens; `sequences` is the task's name for the former."""
    return {sequences: X.n_sequences, "tokens": X.n_tokens}


def known_columns(X: Columns, names: Sequence[str]) -> Columns:
    """Make these columns now instead of on first use, so that a missing column raises at once; return `X`."""
    for name in names:
        X[name]
    return X


def alone_in_list(corpus: Corpus, number: int, what: str) -> Corpus:
    """One input of a list, counted from 1; `what` is the task's word for it."""
    if not 1 <= number <= len(corpus.X):
        raise WidemarginError(f"there is no {what} {number} in a file of {len(corpus.X)}")
    return corpus._replace(X=[corpus.X[number - 1]], y=None)


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
