"""Training data in pieces, one for each part: lists, files that workers read, or Dask's own collections."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from distributed import Client

from widemargin._types import LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.tasks import Task
from widemargin.tasks.base import Reading
from widemargin.tasks.training import Data
from widemargin.text.columns import Column, Columns

FRAME = ("X", "y", "sample_weight")


@dataclass(frozen=True)
class Files:
    """Files that workers read themselves, by patterns such as ``"corpus/*.conllu"``: a part for each file.

    `reading` says how, as on the command line: ``Reading(label="upos")``.
    """

    patterns: str | Sequence[str]
    reading: Reading = field(default_factory=Reading)

    def paths(self) -> list[str]:
        """The files, in order."""
        given = [self.patterns] if isinstance(self.patterns, str) else list(self.patterns)
        found = [path for pattern in given for path in sorted(glob.glob(pattern))]
        if not found:
            raise DataError(f"no file is named like {', '.join(map(repr, given))}")
        return found


@dataclass(frozen=True)
class OneFile:
    """A file of a task."""

    task: Task
    path: str
    reading: Reading

    def read(self) -> Data:
        """Its inputs and gold outputs."""
        corpus = self.task.load_files().read(self.path, self.reading, {}, gold=True)
        return Data(corpus.X, corpus.y)


def pieces_of(client: Client, task: Task, data: Any, n_parts: int | None) -> list[Any]:
    """A piece for each part: `Data`, a file, or a future of a partition of a Dask collection."""
    if isinstance(data, Files):
        return [OneFile(task, path, data.reading) for path in data.paths()]
    if hasattr(data, "to_delayed"):
        return list(client.compute(list(np.ravel(data.to_delayed()))))
    given = as_data(data)
    n = n_inputs(given.X)
    n_parts = min(n_parts or n_workers(client), max(n, 1))
    # Every n_parts-th example: parts that are alike need fewer rounds, and corpora are often sorted by source.
    return [taken(given, np.arange(k, n, n_parts)) for k in range(n_parts)]


def as_data(piece: Any) -> Data:
    """A piece as inputs, gold outputs and weights."""
    if isinstance(piece, Data):
        return piece
    if isinstance(piece, OneFile):
        return piece.read()
    if hasattr(piece, "columns") and hasattr(piece, "to_numpy"):
        missing = [name for name in FRAME[:2] if name not in piece.columns]
        if missing:
            raise DataError(f"a frame must have the columns X and y; {missing[0]!r} is missing")
        weight = piece[FRAME[2]].to_numpy() if FRAME[2] in piece.columns else None
        return Data(piece["X"].tolist(), piece["y"].tolist(), weight)
    if isinstance(piece, tuple) and len(piece) in (2, 3) and hasattr(piece[0], "__len__"):
        return Data(*piece)
    pairs = list(piece)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise DataError("a partition must hold pairs (input, gold output)")
    return Data([x for x, _ in pairs], [y for _, y in pairs])


def n_inputs(X: Any) -> int:
    """How many inputs there are."""
    if isinstance(X, Columns):
        return X.n_sequences
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def taken(data: Data, numbers: LongVector) -> Data:
    """The examples with these numbers."""
    return Data(_taken(data.X, numbers), _labels(data, numbers), _taken(data.sample_weight, numbers))


def _labels(data: Data, numbers: LongVector) -> Any:
    X, y = data.X, data.y
    return Column(y.codes[tokens(X, numbers)], y.values, y.notation) if isinstance(y, Column) else _taken(y, numbers)


def _taken(given: Any, numbers: LongVector) -> Any:
    if given is None:
        return None
    if isinstance(given, Columns):
        here = tokens(given, numbers)
        cut = {name: Column(given[name].codes[here], given[name].values) for name in given.names}
        return Columns(cut, boundaries(np.diff(given.indptr)[numbers]), given.source)
    return given[numbers] if hasattr(given, "shape") else [given[k] for k in numbers.tolist()]


def tokens(X: Columns, numbers: LongVector) -> LongVector:
    """The tokens of the sequences with these numbers."""
    ends = [np.arange(X.indptr[k], X.indptr[k + 1]) for k in numbers.tolist()]
    return np.concatenate(ends) if ends else np.empty(0, dtype=np.int64)


def n_workers(client: Client) -> int:
    """How many workers the cluster has; waits for the first."""
    client.wait_for_workers(1)
    return len(client.scheduler_info(n_workers=-1)["workers"])
