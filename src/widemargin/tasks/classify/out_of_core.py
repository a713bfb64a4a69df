"""Classifiers for data larger than memory: rows and their labels are written to arrays on disk, piece by piece.

`fit` sorts examples and merges equal ones, so that their order does not matter. Here each piece is a sorted run, and
the runs are merged when all data are there: an external merge sort.
"""

from collections import Counter
from collections.abc import Iterator
from heapq import merge
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntMatrix, IntVector
from widemargin.core.header import many, whole
from widemargin.core.mapped import Pages, RowsFile, VectorFile
from widemargin.core.sparse import Matrix, Rows, boundaries, with_values
from widemargin.core.stored import Stored
from widemargin.errors import DataError
from widemargin.tasks.arrays import Arrays, Boundaries, Facts, LabelFile, MatrixFile
from widemargin.tasks.classify import ClassifierParameters, MultilabelParameters
from widemargin.tasks.classify.compile import (
    MIXED,
    assemble_classes,
    assemble_sets,
    check_lengths,
    class_numbers,
    label_lists,
    merge_equal_examples,
)
from widemargin.tasks.classify.model import Classifier, LinearModel, MultilabelModel
from widemargin.tasks.training import Compiled, Data
from widemargin.text.labels import label_weights

AT_ONCE = 1 << 16
"""How many rows are in memory while runs are merged."""
NOTHING = "there is no example to learn from"
FIELDS = {"labels": LinearModel.fields["labels"], "width": whole(at_least=0)}
"""The fields of the header beside the arrays."""


class ClassArrays(Arrays):
    """Rows, each with its class and the number of examples that are equal to it."""

    def __init__(self, parameters: ClassifierParameters, folder: Path) -> None:
        super().__init__(parameters, folder)
        self.matrix, self.ends = MatrixFile(folder, "runs"), [0]
        self.labels, self.counts = LabelFile(folder, "runs.gold"), VectorFile(folder / "runs.counts", np.float64)

    def add(self, data: Data) -> None:
        """Write a piece as a sorted run."""
        X, y = self.matrix.read(data.X), np.asarray(data.y)
        labels, numbers = class_numbers(y)
        check_lengths(X.rows, numbers)
        X, y, counts = merge_equal_examples(X._replace(rows=with_values(X.rows)), y, None)
        self.matrix.rows.append(X.rows)
        of_labels = dict(zip(labels, np.bincount(numbers).tolist(), strict=True))
        self.labels.add(labels, class_numbers(y, labels)[1], of_labels)
        self.counts.append(counts)
        self.ends.append(self.labels.size)

    def settle(self) -> Facts:
        """Merge the runs."""
        if not self.labels.counts:
            raise DataError(NOTHING)
        labels = sorted(self.labels.counts)
        self.labels.settle(labels)
        rows, gold = RowsFile(self.folder, "features"), VectorFile(self.folder / "gold", np.int32)
        counts = VectorFile(self.folder / "counts", np.float64)
        distinct = self._distinct()
        while share := list(islice(distinct, AT_ONCE)):
            indices, values, numbers, of_share = zip(*share, strict=True)
            indptr = boundaries(len(each) // 4 for each in indices)
            found = np.frombuffer(b"".join(indices), np.int32), np.frombuffer(b"".join(values), np.float64)
            rows.append(Rows(indptr, *found))
            gold.append(np.array(numbers))
            counts.append(np.array(of_share))
        rows.drop_ones()
        for path in self.folder.glob("runs.*"):
            path.unlink()
        self.matrix.scales.warn()
        of_labels = [self.labels.counts[label] for label in labels]
        return Facts({"labels": labels, "counts": of_labels, "width": self.matrix.width}, {})

    def _distinct(self) -> Iterator[tuple[bytes, bytes, int, float]]:
        """Each distinct example and its count, in the order of `merge_equal_examples`."""
        runs = [self._run(*each) for each in pairwise(self.ends)]
        for key, group in groupby(merge(*runs), lambda example: example[:3]):
            yield *key, sum(count for *_, count in group)

    def _run(self, first: int, last: int) -> Iterator[tuple[bytes, bytes, int, float]]:
        """The examples of a run: columns and values of a row as bytes, its class and its count."""
        rows, step = self.matrix.rows, max(AT_ONCE // len(self.ends), 64)
        for begin in range(first, last, step):
            end = min(begin + step, last)
            ends = rows.indptr.part(begin, end + 1)
            indices, values = (file.part(int(ends[0]), int(ends[-1])) for file in (rows.indices, rows.values))
            places = pairwise((ends - ends[0]).tolist())
            facts = (file.part(begin, end).tolist() for file in (self.labels.file, self.counts))
            for (a, b), number, count in zip(places, *facts, strict=True):
                yield indices[a:b].tobytes(), values[a:b].tobytes(), number, count

    @staticmethod
    def compiled(parameters: ClassifierParameters, stored: Stored, pages: Pages, data: Data) -> Compiled[Classifier]:
        """The written arrays as examples."""
        header = stored.checked({**FIELDS, "counts": many(whole(at_least=1), at_least=len(stored.header["labels"]))})
        labels, X, gold = (
            header["labels"],
            Matrix(pages.rows("features"), header["width"]),
            pages.vector("gold", np.int32),
        )
        counts = pages.vector("counts", np.float64)
        weight = counts
        if parameters.class_weight is not None:
            of_class = label_weights(parameters.class_weight, labels, np.array(header["counts"], dtype=np.float64))
            weight = _sums_of_equal(of_class[gold], counts.astype(np.int64))
        return assemble_classes(parameters, labels, X, gold, data.dev, weight, pages)


def _sums_of_equal(weights: FloatVector, counts: IntVector) -> FloatVector:
    """The sum of `counts[k]` times the same weight, rounded as `merge_equal_examples` rounds it."""
    found = [
        np.add.reduceat(np.repeat(weights[at], counts[at]), boundaries(counts[at])[:-1])
        for at in (slice(first, first + AT_ONCE) for first in range(0, len(weights), AT_ONCE))
    ]
    return np.concatenate(found)


class SetArrays(Arrays):
    """Rows, each with a set of labels."""

    def __init__(self, parameters: MultilabelParameters, folder: Path) -> None:
        super().__init__(parameters, folder)
        self.matrix, self.sets = MatrixFile(folder), Boundaries(folder, "sets.indptr")
        self.labels, self.sizes = LabelFile(folder, "sets.gold"), set[int]()

    def add(self, data: Data) -> None:
        """Write a piece; whether its lists hold labels or indicators may be clear only in the end."""
        X, lists = self.matrix.read(data.X), label_lists(data.y)
        check_lengths(X.rows, np.empty(len(lists)))
        self.matrix.rows.append(X.rows)
        counts = Counter(label for each in lists for label in each)
        number = {label: k for k, label in enumerate(counts)}
        codes = np.array([number[label] for each in lists for label in each], dtype=np.int32)
        self.labels.add(list(counts), codes, counts)
        self.sets.add(boundaries(map(len, lists)))
        self.sizes.update(map(len, lists))

    def settle(self) -> Facts:
        """Write a row of indicators for each example."""
        found, file = list(self.labels.counts), VectorFile(self.folder / "gold", np.int32)
        if len(self.sizes) == 1 and set(found) <= {0, 1}:  # as `indicators` decides
            labels: list[Any] = list(range(*self.sizes))
            for _, part in self.labels.file.parts():
                file.append(np.array(found, dtype=np.int32)[part])
        else:
            if {type(label) for label in found} not in ({str}, {int}):
                raise DataError(MIXED)
            labels = sorted(found)
            numbers = self.labels.places(labels)
            for share in self._shares(len(labels), numbers):
                file.append(share.ravel())
        self.matrix.rows.drop_ones()
        for path in self.folder.glob("sets.*"):
            path.unlink()
        self.matrix.scales.warn()
        return Facts({"labels": labels, "width": self.matrix.width}, {})

    def _shares(self, n_labels: int, numbers: IntVector) -> Iterator[IntMatrix]:
        """Indicators of all examples, a share at a time; `numbers` has the column of each label."""
        indptr, step = self.sets.file, max(AT_ONCE // n_labels, 1)
        for first in range(0, indptr.size - 1, step):
            ends = indptr.part(first, min(first + step + 1, indptr.size))
            columns = numbers[self.labels.file.part(int(ends[0]), int(ends[-1]))]
            share: IntMatrix = np.zeros((len(ends) - 1, n_labels), dtype=np.int32)
            share[np.repeat(np.arange(len(share)), np.diff(ends)), columns] = 1
            yield share

    @staticmethod
    def compiled(
        parameters: MultilabelParameters, stored: Stored, pages: Pages, data: Data
    ) -> Compiled[MultilabelModel]:
        """The written arrays as examples."""
        header = stored.checked(FIELDS)
        X, gold = Matrix(pages.rows("features"), header["width"]), pages.vector("gold", np.int32)
        return assemble_sets(
            parameters, header["labels"], X, gold.reshape(-1, len(header["labels"])), data.dev, None, pages
        )
