"""What trained models have in common: a file to be kept in, and how to come back from it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntVector
from widemargin.answers.base import Answers
from widemargin.answers.calibration import Calibration
from widemargin.errors import ModelFileError
from widemargin.model import ModelFile, read_model, vector, write_model
from widemargin.sparse import Rows

Arrays = Mapping[str, AnyArray]


@dataclass
class Predictor(ABC):
    """A trained model: labels, and by subclasses features and weights.

    `summary` is what training had to say of itself: settings, objective, gap, why it stopped, … `calibration` makes
    its confidence a probability, once there has been one.
    """

    structure: ClassVar[str]
    """What model files call its structure."""
    predicts: ClassVar[str]
    """What it predicts, in words."""

    labels: list[Any]
    summary: dict[str, Any] = field(default_factory=dict, kw_only=True)
    calibration: Calibration | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """How many labels, features of each kind, and weights there are."""

    @property
    @abstractmethod
    def w(self) -> FloatVector:
        """All weights as one vector."""

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
        about = {"structure": self.structure, "labels": self.labels, **header, "summary": self.summary}
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
        if header.get("structure") != cls.structure:
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


@dataclass
class TokenPredictor(Answers[Any], Predictor):
    """A trained model whose outputs are a code per token, sequences end to end."""

    extractor: Any

    @property
    @abstractmethod
    def code_names(self) -> list[str]:
        """What each code is called in a column of labels."""

    @property
    @abstractmethod
    def columns_read(self) -> list[str]:
        """The columns of tokens that the features look at."""

    def spelt(self, codes: IntVector) -> list[str]:
        """Codes as a column of labels."""
        names = self.code_names
        return [names[code] for code in codes.tolist()]


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
