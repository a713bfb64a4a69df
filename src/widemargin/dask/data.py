"""Training data in pieces, one for each part: lists, files that workers read, or Dask's own collections."""

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from distributed import Client

from widemargin._types import LongVector
from widemargin.core.sparse import Matrix, take_rows
from widemargin.dask.cluster import n_workers, results
from widemargin.dask.frames import Frame
from widemargin.errors import DataError
from widemargin.tasks import Task
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.training import Data
from widemargin.text.columns import Column


@dataclass(frozen=True)
class Files:
    """Files that workers read themselves, by patterns such as ``"corpus/*.conllu"``: a part for each file.

    `reading` says how, as on the command line: ``Reading(label="upos")``.
    """

    patterns: str | os.PathLike[str] | Sequence[str]
    reading: Reading = field(default_factory=Reading)

    def paths(self, client: Client) -> list[str]:
        """The files, in order; those that only workers can see, if there are none here."""
        single = isinstance(self.patterns, str | os.PathLike)
        given = [os.fspath(self.patterns)] if single else list(self.patterns)  # type: ignore[arg-type]
        found = (
            matching(given)
            or results(client, lambda workers: [client.submit(matching, given, workers=workers, pure=False)])[0]
        )
        if not found:
            raise DataError(f"no file is named like {', '.join(map(repr, given))}, neither here nor on a worker")
        return list(found)


def matching(patterns: Sequence[str]) -> list[str]:
    """The files that are named like this, in order; with their folders, since workers may be in another."""
    return [os.path.abspath(path) for pattern in patterns for path in sorted(glob.glob(pattern))]


@dataclass(frozen=True)
class OneFile:
    """A file of a task; without a task, one that a model reads."""

    task: Task | None
    kind: str
    path: str
    reading: Reading

    def read(self) -> Corpus:
        """Its inputs and gold outputs."""
        assert self.task is not None
        own = {self.kind: True} if len(self.task.kinds) > 1 else {}
        with about_file(self.path):
            found: Corpus = self.task.load_files().read(self.path, self.reading, {}, gold=True, **own)
        return found


@contextmanager
def about_file(path: str) -> Iterator[None]:
    """Errors of the system about a file as errors about data."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def is_distributed(data: Any) -> bool:
    """Whether workers have the data, or read them."""
    return isinstance(data, str | os.PathLike | Files | Frame) or hasattr(data, "to_delayed")


def pieces_of(
    client: Client,
    task: Task | None,
    kind: str,
    data: Any,
    n_parts: int | None = None,
    *,
    gold: bool = True,
    in_order: bool = False,
) -> list[Any]:
    """A piece for each part: `Data`, a file, or a future of a partition of a Dask collection; or of its inputs alone.

    `kind` is the name of the kind of model among those of the `task`. Without a task, files are read by a model. Lists
    are dealt out, one example to each part in turn, unless all pieces together must be `in_order`.
    """
    if isinstance(data, str | os.PathLike):
        data = Files(data)
    if isinstance(data, Files):
        if task is not None and task.files is None:
            raise DataError("this task has no files; give its examples as lists or as a Dask bag")
        return [OneFile(task, kind, path, data.reading) for path in data.paths(client)]
    if isinstance(data, Frame):
        return list(data.pieces(client, gold=gold))
    if hasattr(data, "to_delayed"):
        # A frame without outputs holds features, unless it says that it holds inputs.
        is_frame = hasattr(data, "columns") and (gold or "X" in data.columns)
        return list(Frame(data).pieces(client, gold=gold)) if is_frame else partitions(client, data)
    given = tuple(data)
    if any(hasattr(each, "to_delayed") for each in given):
        return together(client, *given)
    local = Data(*given)
    n = n_inputs(local.X)
    n_parts = min(n_parts or n_workers(client), max(n, 1))
    if in_order:
        return [take(local, numbers) for numbers in np.array_split(np.arange(n), n_parts)]
    # Every n_parts-th example: parts that are alike need fewer rounds, and corpora are often sorted by source.
    return [take(local, np.arange(k, n, n_parts)) for k in range(n_parts)]


def partitions(client: Client, collection: Any) -> list[Any]:
    """Futures of the partitions of a Dask bag, frame or array."""
    delayed = np.array(collection.to_delayed(), dtype=object)
    if delayed.ndim > 1 and delayed.shape[1] > 1:
        raise DataError(f"the array is cut into {delayed.shape[1]} pieces along its columns; rechunk it by rows only")
    return list(client.compute(delayed.ravel().tolist()))


def together(client: Client, X: Any, y: Any, sample_weight: Any = None) -> list[Any]:
    """Pieces from Dask collections of inputs, gold outputs and perhaps weights, which have the same partitions."""
    given = [each for each in (X, y, sample_weight) if each is not None]
    if not all(hasattr(each, "to_delayed") for each in given):
        raise DataError("X, y and sample_weight must all be Dask collections, or none of them")
    found = [partitions(client, each) for each in given]
    if len({len(each) for each in found}) > 1:
        counts = ", ".join(str(len(each)) for each in found)
        raise DataError(f"X, y and sample_weight must have the same partitions; there are {counts}")
    return [client.submit(join, *each, pure=False) for each in zip(*found, strict=True)]


def join(*partitions: Any) -> Data:
    """A piece from a partition each of X, y and weights."""
    data = Data(*map(values, partitions))
    if data.y is not None and n_inputs(data.X) != n_inputs(data.y):
        raise DataError(f"a partition of X has {n_inputs(data.X)} examples, but that of y has {n_inputs(data.y)}")
    return data


def values(partition: Any) -> Any:
    """A partition as lists or arrays."""
    if hasattr(partition, "to_numpy"):
        return partition.to_numpy() if hasattr(partition, "columns") else np.array(partition.tolist())
    return partition if hasattr(partition, "shape") else list(partition)


def as_data(piece: Any) -> Data:
    """A piece as inputs, gold outputs and weights."""
    if isinstance(piece, Data):
        return piece
    if isinstance(piece, OneFile):
        corpus = piece.read()
        return Data(corpus.X, corpus.y)
    pairs = list(piece)
    if not all(isinstance(pair, tuple) and len(pair) in (2, 3) for pair in pairs):
        raise DataError("a partition of a bag must hold pairs (input, gold output), perhaps with a weight")
    if len({len(pair) for pair in pairs}) > 1:
        raise DataError("a partition of a bag must have a weight for all examples or for none")
    X, y, *weights = [list(column) for column in zip(*pairs, strict=True)] if pairs else ([], [])
    return Data(X, y, weights[0] if weights else None)


def n_inputs(X: Any) -> int:
    """How many inputs there are."""
    if hasattr(X, "chosen"):
        return len(X.indptr) - 1
    if isinstance(X, Matrix):
        return len(X.rows.indptr) - 1
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(data: Data, numbers: LongVector) -> Data:
    """The examples with these numbers; gold outputs may be one for each, or in a column for all positions of all."""
    X, y, sample_weight = data.X, data.y, data.sample_weight
    if hasattr(X, "chosen"):
        places = np.concatenate([np.empty(0, np.int64), *(np.arange(*X.indptr[k : k + 2]) for k in numbers.tolist())])
        if hasattr(y, "_fields"):
            y = type(y)(*(_take(each, places) for each in y))
        elif y is not None:
            by_position = isinstance(y, Column) or len(y) == X.indptr[-1] != n_inputs(X)
            y = _take(y, places if by_position else numbers)
        return Data(X.chosen(numbers), y, _take(sample_weight, numbers))
    return Data(_take(X, numbers), _take(y, numbers), _take(sample_weight, numbers))


def _take(given: Any, numbers: LongVector) -> Any:
    if given is None:
        return None
    if isinstance(given, Column):
        return Column(given.codes[numbers], given.values, given.notation)
    if isinstance(given, Matrix):
        return Matrix(take_rows(given.rows, numbers), given.width)
    if hasattr(given, "tocsr"):
        return given.tocsr()[numbers]
    return given[numbers] if hasattr(given, "shape") else [given[k] for k in numbers.tolist()]
