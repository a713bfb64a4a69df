"""Trained models: what every one of them can be asked, and the file that it is kept in.

A model needs neither training nor scikit-learn, so that a command line that only predicts starts fast. A task's model
is in its file ``model.py``; estimators wrap it.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.model_file import ModelFile, read_model, vector, write_model
from widemargin.core.solution import Solution
from widemargin.core.sparse import Rows
from widemargin.errors import ModelFileError, UnsupportedError
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Question
from widemargin.tasks import kinds
from widemargin.tasks.calibration import Calibration
from widemargin.tasks.strongest import Part

Arrays = Mapping[str, AnyArray]


class Corpus(NamedTuple):
    """A file as a task takes it: inputs, gold outputs (None where they are not asked for), and what else there is.

    `about` is what a model remembers of its training data, so that files like them need no options. `size` counts what
    there is, by what it is called. `document` is what predictions are written into.
    """

    X: Any
    y: Any
    about: dict[str, Any]
    size: dict[str, int]
    document: Any


class Reading(NamedTuple):
    """How the user wants a file to be read; None where nothing is said."""

    label: str | None = None
    format: str | None = None
    columns: Sequence[str] | None = None
    text: bool = False


@dataclass
class Model(ABC):
    """A trained model: labels, and by subclasses features and weights.

    `summary` tells how it was trained: parameters, objective, gap, why it stopped, and under `data` what it was trained
    on. `calibration`, once there is one, turns margins into probabilities.

    Besides what is declared here, a model may offer `tasks.answers.Answers`: alternatives, confidence, constraints.
    """

    kind: ClassVar[str]
    """What model files call this kind of model."""
    predicts: ClassVar[str]
    """What it predicts, in words."""
    counts: ClassVar[str]
    """What its speed is counted in: one of the sizes of a corpus."""
    draws: ClassVar[bool] = False
    explains: ClassVar[bool] = False
    """Whether it can draw outputs, and explain them."""
    evaluation_options: ClassVar[frozenset[str]] = frozenset()
    """The options that `evaluate` takes."""

    labels: list[Any]
    summary: dict[str, Any] = field(default_factory=dict, kw_only=True)
    calibration: Calibration | None = field(default=None, kw_only=True)

    # What it is asked with data at hand.

    @abstractmethod
    def predict(self, X: Any, n_threads: int = 1) -> Any:
        """The best output for every input."""

    @abstractmethod
    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well the predictions for `X` agree with `y`."""

    # What it is asked with files at hand.

    @abstractmethod
    def read(self, path: str, reading: Reading, *, gold: bool) -> Corpus:
        """A file as this model takes it, with its gold outputs or without."""

    @abstractmethod
    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The text of a file with these outputs in it."""

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The outputs as a picture: an SVG file, or lines for a terminal."""
        raise UnsupportedError(f"the model predicts {self.predicts}; only trees can be drawn")

    def warm_up(self) -> None:  # noqa: B027 — nothing is right where nothing is compiled
        """Predict as little as possible, so that loading compiled kernels counts as no work."""

    # What it has learnt.

    @abstractmethod
    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest weights by what they are for, as far as they concern the labels with these numbers."""

    def alone(self, corpus: Corpus, sentence: int) -> Corpus:
        """One input of a file alone, counted from 1."""
        raise UnsupportedError(f"the model predicts {self.predicts}; --explain is for parsers")

    def explain(self, X: Any, question: Question) -> Explanation:
        """Why it predicts what it predicts for the only input of `X`."""
        raise UnsupportedError(f"the model predicts {self.predicts}; --explain is for parsers")

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """How many labels, features of each kind, and weights there are."""

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
        """What is known of the training data; nothing if it was trained from Python."""
        data = self.summary.get("data") if isinstance(self.summary, dict) else None
        return data if isinstance(data, dict) else {}

    @property
    def solution(self) -> Solution:
        """How training went, with the weights it ended with."""
        return Solution.restored(self.w, self.summary["solution"])

    # Its file.

    @abstractmethod
    def compacted(self) -> Self:
        """The same model without the features that have no weight at all."""

    @abstractmethod
    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """All but labels and summary, as JSON and arrays."""

    @classmethod
    @abstractmethod
    def _restored(cls, header: Mapping[str, Any], tensors: Arrays) -> Self:
        """The model of such a file; a LookupError, TypeError, ValueError or AttributeError says that it is damaged."""

    @abstractmethod
    def _is_sound(self) -> bool:
        """Whether all parts fit together and every index is within bounds: kernels do not check."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, without the features that have no weight."""
        header, tensors = self.compacted()._described()
        about = {"structure": self.kind, "labels": self.labels, **header, "summary": self.summary}
        if self.calibration is not None:
            about["calibration"] = self.calibration.described()
        write_model(path, about, tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file that `save` wrote."""
        return cls.from_file(read_model(path), os.fspath(path))

    @classmethod
    def from_file(cls, file: ModelFile, name: str) -> Self:
        """The model in a file that has been read."""
        header, tensors = file
        if header.get("structure") != cls.kind:
            raise ModelFileError(f"the model {name} predicts {header.get('structure')!r}, not {cls.predicts}")
        try:
            model = cls._restored(header, tensors)
            if "calibration" in header:
                model.calibration = Calibration.restored(header["calibration"])
            sound = model._is_sound()
        except (LookupError, TypeError, ValueError, AttributeError):
            sound = False
        if not sound:
            raise ModelFileError(f"the model {name} is damaged: its parts do not fit together")
        return model


def load_model(path: str | os.PathLike[str]) -> Any:
    """The trained model in a file, of whatever kind."""
    return model_in(read_model(path), os.fspath(path))


def model_in(file: ModelFile, name: str) -> Any:
    """The trained model in a file that has been read."""
    structure = file.header.get("structure")
    for known, kind in kinds():
        if known == structure:
            return kind.load("model").from_file(file, name)
    raise ModelFileError(
        f"the model {name} predicts {structure!r}, which is none of {', '.join(known for known, _ in kinds())}"
    )


def packed_rows(name: str, rows: Rows) -> dict[str, AnyArray]:
    """Sparse rows as tensors."""
    return {f"{name}.{part}": array for part, array in rows._asdict().items()}


def stored_rows(name: str, tensors: Arrays) -> Rows:
    """The sparse rows that `packed_rows` packed."""
    return Rows(
        vector(tensors, f"{name}.indptr", np.int64),
        vector(tensors, f"{name}.indices", np.int32),
        vector(tensors, f"{name}.values", np.float64),
    )


def are_rows(rows: Rows, n_rows: int, width: int) -> bool:
    """Whether these are as many rows, with indices below `width`."""
    indptr, indices, values = rows
    return bool(
        len(indptr) == n_rows + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(values)
        and (np.diff(indptr) >= 0).all()
        and (len(indices) == 0 or 0 <= indices.min() <= indices.max() < width)
    )


def are_numbers(part: AnyArray, shape: tuple[int, ...]) -> bool:
    """Whether this is an array of weights of the given shape."""
    return part.shape == shape and part.dtype == np.float64


def selected_rows(rows: Rows, used: AnyArray) -> Rows:
    """The `used` rows, where all others are empty."""
    return rows._replace(indptr=np.concatenate([[0], np.cumsum(np.diff(rows.indptr)[used])]).astype(np.int64))
