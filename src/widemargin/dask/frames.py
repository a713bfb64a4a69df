"""Dask frames: a row per token with a column that tells which sequence it belongs to, or a row per example.

A sequence may begin in one partition and end in another; it then belongs to the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from distributed import Client, Future

from widemargin.dask.cluster import results
from widemargin.data.frames import FrameSequences, from_frame
from widemargin.errors import DataError
from widemargin.tasks.training import Data

UNLISTED = (
    "Dask turns lists in frames into texts; make the frame under dask.config.set({'dataframe.convert-string': False})"
)


@dataclass(frozen=True)
class Frame:
    """A Dask frame, and what its columns mean.

    Parameters
    ----------
    frame : the frame
    sequence : the column or columns that tell which sequence a row, a token, belongs to; rows of a sequence must follow
        each other. None if a row is a whole example.
    token : the column of tokens; or of examples, which are lists of tokens
    label : the column of gold labels, or of gold outputs
    columns : further columns of tokens, as in `widemargin.data.from_frame`; if rows are examples, they are features:
        columns of numbers instead of `token`
    weight : the column of the examples' weights, if rows are examples
    """

    frame: Any
    sequence: str | Sequence[str] | None = None
    token: str | None = None
    label: str = "y"
    columns: Sequence[str] = ()
    weight: str | None = None

    @property
    def keys(self) -> list[str]:
        """The columns that tell sequences apart."""
        return [] if self.sequence is None else [self.sequence] if isinstance(self.sequence, str) else [*self.sequence]

    @property
    def inputs(self) -> list[str]:
        """The columns of inputs."""
        if self.sequence is None:
            return list(self.columns) or [self.token or "X"]
        return [*self.keys, self.token or "word", *self.columns]

    def pieces(self, client: Client, *, gold: bool = True) -> list[Future[Any]]:
        """A future of the `Data` of each partition; without gold outputs, of the `FrameSequences` of tokens."""
        wanted = [*self.inputs, *([self.label] if gold else []), *([self.weight] if gold and self.weight else [])]
        have = list(self.frame.columns)
        for name in wanted:
            if name not in have:
                raise DataError(f"the frame has no column {name!r}; it has {', '.join(map(repr, have))}")
        partitions = client.compute(list(self.frame.to_delayed()))
        if self.sequence is not None:
            tables = [client.submit(as_lists, each, wanted, pure=False) for each in partitions]
            partitions = whole_sequences(client, tables, self.keys)
        about = Frame(None, self.sequence, self.token, self.label, self.columns, self.weight)
        return [client.submit(data_of, about, each, gold=gold, pure=False) for each in partitions]


def data_of(about: Frame, partition: Any, *, gold: bool) -> Data | FrameSequences:
    """The inputs of a partition, with gold outputs and weights; or sequences, to which labels can be given."""
    if about.sequence is not None:
        token, label = about.token or "word", about.label if gold else None
        found = from_frame(partition, sequence=about.sequence, token=token, label=label, columns=about.columns)
        return Data(found.X, found.y) if gold else found
    X = partition[list(about.columns)].to_numpy() if about.columns else _outputs(partition, about.inputs[0])
    weight = partition[about.weight].to_numpy() if gold and about.weight else None
    y = _outputs(partition, about.label) if gold else None
    return Data(X, np.array(y) if gold and about.columns else y, weight)


def _outputs(partition: Any, name: str) -> list[Any]:
    values = [each.tolist() if isinstance(each, np.ndarray) else each for each in partition[name].tolist()]
    if values and isinstance(values[0], str) and values[0].startswith(("[", "(")) and values[0].endswith(("]", ")")):
        raise DataError(f"the column {name!r} holds texts such as {values[0]!r:.40}, not lists; {UNLISTED}")
    return values


class Ends(NamedTuple):
    """The sequences that the first and the last row of a partition belong to; `alone`: there is no other."""

    first: Any
    last: Any
    alone: bool


def as_lists(partition: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of a partition."""
    return {name: partition[name].tolist() for name in names}


def whole_sequences(client: Client, tables: list[Future[Any]], keys: Sequence[str]) -> list[Future[Any]]:
    """The partitions, each with the rest of its last sequence, and without that of the last one before."""
    ends: list[Ends | None] = results(
        client,
        lambda workers: [client.submit(ends_of, each, keys, workers=workers, pure=False) for each in tables],
    )
    joined, running = [], None  # the sequence that the partitions so far end with
    for k, each in enumerate(ends):
        if each is None:
            continue
        if each.alone and each.first == running:
            continue  # all of it went to an earlier partition
        rest = []
        for following, table in zip(ends[k + 1 :], tables[k + 1 :], strict=True):
            if following is None:
                continue
            if following.first == each.last:
                rest.append(table)
            if following.first != each.last or not following.alone:
                break
        joined.append(client.submit(cut, tables[k], keys, running, each.last, *rest, pure=False))
        running = each.last
    return joined


def ends_of(table: Mapping[str, list[Any]], keys: Sequence[str]) -> Ends | None:
    """The ends of a table; None if it has no rows."""
    rows = _rows(table, keys)
    return Ends(rows[0], rows[-1], len(set(rows)) == 1) if rows else None


def cut(table: Mapping[str, list[Any]], keys: Sequence[str], before: Any, last: Any, *rest: Any) -> dict[str, Any]:
    """A table without its first rows of the sequence `before`, plus the first rows of `rest` that belong to `last`."""
    rows = _rows(table, keys)
    begin = next((k for k, key in enumerate(rows) if key != before), len(rows))
    found = {name: column[begin:] for name, column in table.items()}
    for other in rest:
        rows = _rows(other, keys)
        end = next((k for k, key in enumerate(rows) if key != last), len(rows))
        found = {name: column + other[name][:end] for name, column in found.items()}
    return found


def _rows(table: Mapping[str, list[Any]], keys: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name] for name in keys), strict=True))
