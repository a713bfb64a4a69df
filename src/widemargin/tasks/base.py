"""Trained models: everything that all of them can do, and their files.

A model imports neither training code nor scikit-learn, so that predicting from the command line starts fast. Each
task's model is in its ``model.py``; estimators wrap it.
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
    """A file as a task takes it: inputs, gold outputs (None unless asked for), and facts about it.

    A model keeps `about` of its training data, so that similar files need no options. `size` holds counts by name, such
    as ``{"sequences": 10, "tokens": 120}``. Predictions are written into the `document`.
    """

    X: Any
    y: Any
    about: dict[str, Any]
    size: dict[str, int]
    document: Any


class Reading(NamedTuple):
    """The user's choices for reading a file; None means unspecified."""

    label: str | None = None
    format: str | None = None
    columns: Sequence[str] | None = None
    text: bool = False


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
    counts: ClassVar[str]
    """The unit of its speed: one of the sizes of a corpus."""
    draws: ClassVar[bool] = False
    explains: ClassVar[bool] = False
    """Whether it can draw outputs, and explain them."""
    evaluation_options: ClassVar[frozenset[str]] = frozenset()
    """The options that `evaluate` takes."""

    labels: list[Any]
    summary: dict[str, Any] = field(default_factory=dict, kw_only=True)
    calibration: Calibration | None = field(default=None, kw_only=True)

    # With data at hand.

    @abstractmethod
    def predict(self, X: Any, n_threads: int = 1) -> Any:
        """The best output for every input."""

    @abstractmethod
    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well the predictions for `X` agree with `y`."""

    # With files at hand.

    @abstractmethod
    def read(self, path: str, reading: Reading, *, gold: bool) -> Corpus:
        """A file as this model takes it, with its gold outputs or without."""

    @abstractmethod
    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The text of a file with these outputs in it."""

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """The outputs as a picture: an SVG file, or lines for a terminal."""
        raise UnsupportedError(f"the model predicts {self.predicts}; only trees can be drawn")

    def warm_up(self) -> None:  # noqa: B027 — models without compiled kernels need none
        """Load compiled kernels by a tiny prediction, so that timings leave this out."""

    # About itself.

    @abstractmethod
    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest weights of each part of the model, for the labels with the `chosen` numbers."""

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """The corpus reduced to one input; `sentence` counts from 1."""
        raise UnsupportedError(f"the model predicts {self.predicts}; it cannot explain them")

    def explain(self, X: Any, question: Question) -> Explanation:
        """Explain the prediction for the only input of `X`."""
        raise UnsupportedError(f"the model predicts {self.predicts}; it cannot explain them")

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
        """Facts about the training data; empty if it was trained from Python."""
        data = self.summary.get("data") if isinstance(self.summary, dict) else None
        return data if isinstance(data, dict) else {}

    @property
    def solution(self) -> Solution:
        """The course of training, and the final weights."""
        return Solution.restored(self.w, self.summary["solution"])

    # Its file.

    @abstractmethod
    def compacted(self) -> Self:
        """The same model without features whose weights are all zero."""

    @abstractmethod
    def _described(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Everything but labels and summary, as a JSON header and arrays."""

    @classmethod
    @abstractmethod
    def _restored(cls, header: Mapping[str, Any], tensors: Arrays) -> Self:
        """The inverse of `_described`; LookupError, TypeError, ValueError or AttributeError mean a damaged file."""

    @abstractmethod
    def _is_sound(self) -> bool:
        """Whether all parts fit together and all indices are in bounds, which kernels do not check."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, without features whose weights are all zero."""
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
    """The trained model in a file, of any kind."""
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
    """Whether these are `n_rows` valid sparse rows with indices below `width`."""
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
    """The `used` rows; all others must be empty."""
    return rows._replace(indptr=np.concatenate([[0], np.cumsum(np.diff(rows.indptr)[used])]).astype(np.int64))
