"""Training data as arrays on disk: the part that all tasks share (`tasks.out_of_core`).

A kind of model that can learn out of core has a class of `Arrays`. Pieces of the data are appended with features and
labels numbered as they come; when all data are there, they are numbered as `fit` would have numbered them.

    FeatureFiles    rows of any extractor's features, and the features' names
    MatrixFile      rows of a matrix, whose columns have their numbers already
    LabelFile       gold labels
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from widemargin._types import AnyArray, ByteVector, IntVector, LongVector
from widemargin.core.mapped import SHARE, Pages, RowsFile, VectorFile
from widemargin.core.sparse import Matrix, Rows, boundaries
from widemargin.core.stored import Stored, packed_strings
from widemargin.errors import DataError
from widemargin.tasks.training import Compiled, Data
from widemargin.text.alphabet import Alphabet
from widemargin.text.extractor import Extractor, counts_of, new_numbers
from widemargin.text.labels import check_kinds, places_of
from widemargin.text.matrices import Scales, as_matrix

PARTLY_KNOWN = "labels that are unknown, or known in part only, need all data in memory; leave out such sequences"
GROUPS = ("features", "transition_features")
"""The names of the files of rows: those of positions, and those of transitions."""


class Facts(NamedTuple):
    """Everything about arrays that is not in their files: JSON and tensors."""

    header: dict[str, Any]
    tensors: dict[str, AnyArray]


class Arrays(ABC):
    """Writes pieces of the data to files of a folder, and makes examples of them."""

    settings: ClassVar[tuple[str, ...]] = ()
    """The parameters that the files depend on."""

    def __init__(self, parameters: Any, folder: Path) -> None:
        self.parameters, self.folder = parameters, folder

    @abstractmethod
    def add(self, data: Data) -> None:
        """Write a piece."""

    @abstractmethod
    def settle(self) -> Facts:
        """Number labels and features as if all data had come at once; nothing can be added after this."""

    @staticmethod
    @abstractmethod
    def compiled(parameters: Any, stored: Stored, pages: Pages, data: Data) -> Compiled[Any]:
        """The written arrays as examples; only the pages that training touches are in memory."""


class FeatureFiles:
    """Appends the features of pieces to files."""

    def __init__(self, extractor: Extractor, folder: Path) -> None:
        self.extractor, self.folder, self.rows = extractor, folder, list[RowsFile]()
        self.known = [KnownFeatures(folder, name) for name, _ in zip(GROUPS, extractor.alphabets, strict=False)]

    def add(self, X: Any) -> LongVector:
        """Write the features of a piece; return where its sequences begin."""
        features, spell = self.extractor.extend(X)
        self.rows = self.rows or [RowsFile(self.folder, name) for name, _ in zip(GROUPS, features.groups, strict=False)]
        for file, rows in zip(self.rows, features.groups, strict=True):
            file.append(rows)
        alphabets = self.extractor.alphabets
        counted = zip(self.known, alphabets, features.groups, strict=False)
        new = [known.count(alphabet, rows) for known, alphabet, rows in counted]
        names = spell(new) if new else []
        for known, alphabet in zip(self.known, new, strict=True):
            known.name(names[: alphabet.size])
            names = names[alphabet.size :]
        return features.indptr

    def settle(self) -> dict[str, AnyArray]:
        """Renumber everything that was written; return the names of features, packed."""
        orders = self.extractor.settle([known.counts for known in self.known])
        for file, known, order in zip(self.rows, self.known, orders, strict=False):
            numbers = new_numbers(order, len(known.counts))
            if len(order) < len(numbers) or (order[1:] < order[:-1]).any():
                file.renumber(numbers)
        for file in self.rows:
            file.drop_ones()
        if not orders:
            return {}
        names = [known.names(order) for known, order in zip(self.known, orders, strict=True)]
        text, lengths = (np.concatenate(each) for each in zip(*names, strict=True))
        return {"names.text": text, "names.lengths": lengths}


class KnownFeatures:
    """The count of each feature of an alphabet, and its name, which is on disk."""

    def __init__(self, folder: Path, name: str) -> None:
        self.text, self.lengths = (
            VectorFile(folder / f"{name}.text", np.uint8),
            VectorFile(folder / f"{name}.lengths", np.int64),
        )
        self.counts: LongVector = np.empty(0, dtype=np.int64)

    def count(self, alphabet: Alphabet, rows: Rows) -> Alphabet:
        """Count the features of a piece; return those that are new."""
        before, counts = len(self.counts), counts_of(rows, alphabet.size)
        counts[:before] += self.counts
        self.counts = counts
        return Alphabet(alphabet.keys()[before:])

    def name(self, names: list[str]) -> None:
        """Write the names of new features, in the order of their numbers."""
        packed = packed_strings("", names)
        self.text.append(packed[".text"])
        self.lengths.append(packed[".lengths"])

    def names(self, order: LongVector) -> tuple[ByteVector, LongVector]:
        """The names of these features, as packed strings; their files are removed."""
        text, lengths = (each.part(0, each.size) for each in (self.text, self.lengths))
        begin, sizes = boundaries(lengths)[:-1][order], lengths[order]
        ends, out = boundaries(sizes), np.empty(int(sizes.sum()), dtype=np.uint8)
        for first in range(0, len(order), SHARE // 16):
            last = min(first + SHARE // 16, len(order))
            here = np.arange(ends[first], ends[last])
            out[here] = text[here + np.repeat(begin[first:last] - ends[first:last], sizes[first:last])]
        for each in (self.text, self.lengths):
            each.path.unlink()
        return out, sizes


class MatrixFile:
    """Rows of a matrix, as wide as its widest piece."""

    def __init__(self, folder: Path, name: str = "features") -> None:
        self.rows, self.scales = RowsFile(folder, name), Scales()
        self.width: int | None = None

    def read(self, X: Any, *, of_file: bool | None = None) -> Matrix:
        """A piece as a matrix; only rows of a file, whose width nobody knows, may be narrower than the others."""
        of_file = isinstance(X, Matrix) if of_file is None else of_file
        if isinstance(X, list) and X and hasattr(X[0], "tocsr"):
            from scipy import sparse  # slow to import, and seldom needed

            X = sparse.vstack(X, format="csr")
        matrix = as_matrix(X)
        if not of_file and self.width not in (None, matrix.width):
            raise DataError(f"a part of X has {matrix.width} columns, but another has {self.width}")
        self.width = max(self.width or 0, matrix.width)
        self.scales.add(matrix.rows)
        return matrix


class LabelFile:
    """Gold labels, numbered as they come, and their counts; a code is `marks` times a label's number plus a mark."""

    def __init__(self, folder: Path, name: str = "gold", marks: int = 1) -> None:
        self.file, self.marks = VectorFile(folder / name, np.int32), marks
        self.counts: Counter[Any] = Counter()

    @property
    def size(self) -> int:
        """How many codes have been written."""
        return self.file.size

    def add(self, labels: Sequence[Any], codes: IntVector, counts: Mapping[Any, int]) -> None:
        """Write the codes of a piece, whose labels are numbered by their places in `labels`."""
        self.counts.update(counts)
        check_kinds(self.counts)
        self.file.append(self._renumbered(places_of(labels, list(self.counts)), codes))

    def settle(self, labels: Sequence[Any]) -> None:
        """Number the labels by their places in this list."""
        numbers = self.places(labels)
        for first, part in self.file.parts():
            self.file.put(first, self._renumbered(numbers, part))

    def places(self, labels: Sequence[Any]) -> IntVector:
        """The place in a list of each label in the order of their numbers so far."""
        return places_of(list(self.counts), labels)

    def _renumbered(self, numbers: IntVector, codes: IntVector) -> IntVector:
        return numbers[codes // self.marks] * self.marks + codes % self.marks


class Boundaries:
    """Where the examples of all pieces begin."""

    def __init__(self, folder: Path, name: str = "indptr") -> None:
        self.file, self.end = VectorFile(folder / name, np.int64), 0
        self.file.append(np.zeros(1, dtype=np.int64))

    def add(self, indptr: LongVector) -> None:
        """Write where the examples of a piece begin within the piece, and where the last one ends."""
        self.file.append(indptr[1:] + self.end)
        self.end += int(indptr[-1])
