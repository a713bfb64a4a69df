"""Trained models: what all of them can do, and their files.

A model predicts, is saved and loaded. It imports neither training code nor scikit-learn, so that predicting from the
command line starts fast. Each task's model is in its ``model.py``; estimators wrap it. Reading, writing, evaluating,
drawing and explaining are up to the task's reporter (`tasks.files.Reporter`), which is imported when it is needed.
"""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.header import Fields, Place, flag, many, mapping, number, optional, plain, record, text, whole
from widemargin.core.model_file import ModelFile, read_model, write_model
from widemargin.core.solution import SOLUTION, Solution
from widemargin.core.sparse import Rows
from widemargin.core.stored import Stored
from widemargin.errors import ModelFileError, WidemarginError
from widemargin.tasks import kinds, reporter_of
from widemargin.tasks.calibration import CALIBRATION, Calibration

if TYPE_CHECKING:
    from widemargin.core.online import Online
    from widemargin.files.raw import Source
    from widemargin.report.evaluation import Evaluation
    from widemargin.report.explain import Explanation, Question
    from widemargin.tasks.files import Reporter


SIZES = (
    *("sequences", "sentences", "tokens", "examples", "queries", "topics", "documents", "items", "mentions", "width"),
    *("graphs", "nodes"),
)

DATA = record(
    {},
    {
        **dict.fromkeys(("label", "format", "unknown", "alternatives", "encoding"), text()),
        "columns": many(text()),
        "widths": mapping(whole(at_least=0)),
        **dict.fromkeys(SIZES, whole(at_least=0)),
        **dict.fromkeys(("several", "keep_functions", "detected"), flag()),
    },
)
"""Facts about the training data in the header of a model file."""

SUMMARY = record(
    {},
    {
        "parameters": mapping(plain()),
        "C": optional(number(finite=False)),
        **dict.fromkeys(("solver", "objective", "metric"), text()),
        "data": DATA,
        "solution": SOLUTION,
        **dict.fromkeys(("unreachable", "unknown"), mapping(whole(at_least=0))),
        **dict.fromkeys(("cut_short", "examples"), whole(at_least=0)),
        "trained_by": text(),
    },
)
"""The record of training in the header of a model file."""


class Corpus(NamedTuple):
    """A file as a task takes it: inputs, gold outputs (None unless asked for), and facts about it.

    A model keeps `about` of its training data, so that similar files need no options. `size` holds counts by name, such
    as ``{"sequences": 10, "tokens": 120}``. Predictions are written into the `document`.
    """

    X: Any
    y: Any
    about: dict[str, Any]
    size: dict[str, int]
    document: Any


@contextmanager
def counted_within(source: str, first: int) -> Iterator[None]:
    """Add the line where a piece begins to errors about it, since they count sequences within the piece."""
    try:
        yield
    except WidemarginError as error:
        if first == 0 or str(error).startswith(f"{source}, line "):
            raise
        raise type(error)(f"{source}, from line {first + 1} on: {error}") from error


class Tally(NamedTuple):
    """The counts of an evaluation on some data, and its seconds by stage; both can be added."""

    counts: Counter[Any]
    seconds: dict[str, float]

    def merged(self, other: "Tally") -> "Tally":
        """The tally of both pieces of data."""
        return Tally(self.counts + other.counts, dict(Counter(self.seconds) + Counter(other.seconds)))


class Piece(NamedTuple):
    """A piece of a file, and the number of lines before it."""

    corpus: Corpus
    source: str = ""
    first: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing to predict."""
        return not any(self.corpus.size.values())


class Reading(NamedTuple):
    """The user's choices for reading a file; None means unspecified.

    `tags` are ``"predicted"`` or ``"given"``. `split` says whether plain `text` is split at more than blanks.
    """

    label: str | None = None
    format: str | None = None
    columns: Sequence[str] | None = None
    text: bool = False
    unknown: str | None = None
    alternatives: str | None = None
    tags: str | None = None
    split: bool | None = None


@dataclass
class Model(ABC):
    """A trained model: labels here, features and weights in the subclasses.

    `summary` records the training: parameters, objective, gap, why it stopped, and facts about the data. `calibration`
    turns margins into probabilities; it is None until the model is calibrated.

    Some models offer more: alternatives, confidence and constraints (`tasks.answers.Answers`).
    """

    kind: ClassVar[str]
    """The name of this kind in model files."""
    predicts: ClassVar[str]
    """Its outputs in words, for messages."""
    fields: ClassVar[Fields]
    """The fields of its header, beside those that all models have."""
    perhaps: ClassVar[Fields] = {}
    """The fields that its header may have."""

    labels: list[Any]
    summary: dict[str, Any] = field(default_factory=dict, kw_only=True)
    calibration: Calibration | None = field(default=None, kw_only=True)
    online: "Online | None" = field(default=None, kw_only=True, repr=False, compare=False)
    """The state from which training by pieces continues; None if there are only weights to continue from."""

    @abstractmethod
    def predict(self, X: Any, n_threads: int = 1) -> Any:
        """The best output for every input."""

    # Beyond prediction, by the reporter of the task.

    @property
    def reporter(self) -> "Reporter":
        """What reads and writes files for the model, evaluates it and explains it: made by its task."""
        return reporter_of(self.kind)(self)

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> "Evaluation":
        """How well the predictions for `X` agree with `y`."""
        return self.reporter.evaluate(X, y, n_threads, **options)

    def tally(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Tally | None:
        """The counts behind `evaluate`, for `tallied`; None if the evaluation needs all data at once."""
        return self.reporter.tally(X, y, n_threads, **options)

    def tallied(self, tally: Tally) -> "Evaluation":
        """The evaluation that follows from a tally."""
        return self.reporter.tallied(tally)

    def read(self, path: "Source", reading: Reading, *, gold: bool) -> Corpus:
        """A file as this model takes it, with its gold outputs or without."""
        return self.reporter.read(path, reading, gold=gold)

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The outputs as a picture: an SVG file or a web page, or lines for a terminal."""
        return self.reporter.draw(corpus, outputs, terminal=terminal)

    def explain(self, X: Any, question: "Question") -> "Explanation":
        """Explain the prediction for the only input of `X`."""
        return self.reporter.explain(X, question)

    # About itself.

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """The numbers of labels, of features of each kind, and of weights."""

    @property
    @abstractmethod
    def w(self) -> FloatVector:
        """All weights as one vector."""

    @property
    def templates(self) -> Mapping[str, Sequence[str]]:
        """The feature templates, in groups; the only group may have no name."""
        return {}

    @property
    def about(self) -> Mapping[str, Any]:
        """Facts about the training data; empty if the model was trained from Python."""
        data: Mapping[str, Any] = self.summary.get("data", {})
        return data

    @property
    def solution(self) -> Solution:
        """The course of training, and the final weights."""
        if "solution" not in self.summary:
            raise WidemarginError("the model does not tell how it was trained")
        return Solution.from_summary(self.w, self.summary["solution"])

    @property
    def course(self) -> Solution | None:
        """The course of training without weights, which a loaded model is slow to assemble; None if unknown."""
        found = self.summary.get("solution")
        return None if found is None else Solution.from_summary(np.empty(0), found)

    # Its file.

    def compact(self) -> Self:
        """The same model without features whose weights are all zero; itself if features cannot be left out."""
        return self

    @abstractmethod
    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Everything but labels and summary, as a JSON header and arrays."""

    @classmethod
    @abstractmethod
    def _restore(cls, stored: Stored) -> Self:
        """The inverse of `_description`; the header has the `fields`, and tensors are checked as they are taken."""

    def described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """The whole model as a JSON header and arrays, without features whose weights are all zero.

        A model that goes on learning keeps them: its solver may hold state for them.
        """
        header, tensors = (self.compact() if self.online is None else self)._description()
        about = {"structure": self.kind, "labels": self.labels, **header, "summary": self.summary}
        if self.calibration is not None:
            about["calibration"] = self.calibration.described()
            if self.calibration.beta is not None:
                about["beta"] = self.calibration.beta
        if self.online is not None:
            about["online"], arrays = self.online.describe()
            tensors = tensors | {f"online.{name}": array for name, array in arrays.items()}
        return about, tensors

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, without features whose weights are all zero."""
        write_model(path, *self.described())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file that `save` wrote."""
        return cls.from_file(read_model(path), os.fspath(path))

    @classmethod
    def from_file(cls, file: ModelFile, name: str) -> Self:
        """The model in a file that has been read."""
        return cls.from_stored(Stored(Place(f"the model {name}"), *file))

    @classmethod
    def from_stored(cls, stored: Stored) -> Self:
        """The inverse of `described`."""
        header = stored.checked({"structure": text()})
        if header["structure"] != cls.kind:
            raise stored.place.error(f"predicts {header['structure']!r:.60}, not {cls.predicts}")
        calibrated = {"calibration": CALIBRATION, "beta": number(at_least=0)}
        stored.checked({**cls.fields, "summary": SUMMARY}, {**cls.perhaps, **calibrated})
        model = stored.build(cls._restore, stored)
        if "calibration" in header:
            model.calibration = Calibration.restored(header["calibration"], header.get("beta"))
        if "online" in header:
            from widemargin.core.online import Online  # seldom needed

            model.online = Online.restore(stored.within("online"), model.sizes["weights"])
        return model


class VectorModel(Model):
    """A model whose weights are one vector."""

    weights: FloatVector

    @property
    def w(self) -> FloatVector:
        """All weights."""
        return self.weights


def load_model(path: str | os.PathLike[str]) -> Any:
    """The trained model of any kind in a file, also in another program's file if a task can read it."""
    found = foreign_model(path)
    return model_in(read_model(path), os.fspath(path)) if found is None else found


def foreign_model(source: str | os.PathLike[str] | bytes) -> Any:
    """The trained model in another program's file, given by its path or its bytes; None if it is no such file."""
    beginning = source[:9] if isinstance(source, bytes) else _beginning(source)
    if beginning[8:] == b"{":
        return None  # our own format: no need to import every task
    readers = (reader for _, kind in kinds() for reader in kind.foreign.items())
    read = next((each for magic, each in readers if beginning.startswith(magic)), None)
    return None if read is None else read(source)


def written_by(path: str | os.PathLike[str]) -> Any:
    """The program that wrote our own model file; None for the files of others."""
    return read_model(path).header.get("written_by") if _beginning(path)[8:] == b"{" else None


def _beginning(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file; empty if it cannot be read, which its reader then reports."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(9)
    except (OSError, ValueError):
        return b""


def model_in(file: ModelFile, name: str) -> Any:
    """The trained model in a file that has been read."""
    structure = Stored(Place(f"the model {name}"), *file).checked({"structure": text()})["structure"]
    for known, kind in kinds():
        if known == structure:
            return kind.model().from_file(file, name)
    raise ModelFileError(
        f"the model {name} predicts {structure!r:.60}, which is none of {', '.join(known for known, _ in kinds())}"
    )


def selected_rows(rows: Rows, used: AnyArray) -> Rows:
    """The `used` rows; all others must be empty."""
    return rows._replace(indptr=np.concatenate([[0], np.cumsum(np.diff(rows.indptr)[used])]).astype(np.int64))
