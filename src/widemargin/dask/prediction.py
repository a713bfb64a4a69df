"""Prediction on a cluster: inputs in pieces, and the model sent to every worker once."""

from itertools import chain, pairwise
from typing import Any

from distributed import Client

from widemargin.dask.data import n_inputs, n_workers
from widemargin.tasks.base import Model
from widemargin.text.columns import Columns

PIECES_A_WORKER = 4  # so that none waits long for the slowest piece


def predict(client: Client, model: Model, X: Any) -> Any:
    """The outputs for `X`: a list for lists and columns, a bag for a Dask bag."""
    sent = client.scatter(model, broadcast=True, hash=False)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(_outputs, sent)
    n = n_inputs(X)
    n_pieces = max(1, min(n, PIECES_A_WORKER * n_workers(client)))
    ends = [n * k // n_pieces for k in range(n_pieces + 1)]
    pieces = [_cut(X, first, last) for first, last in pairwise(ends)]
    futures = [client.submit(_outputs, piece, sent, pure=False, retries=3) for piece in pieces]
    return list(chain.from_iterable(client.gather(futures)))


def _cut(X: Any, first: int, last: int) -> Any:
    return X.part(first, last) if isinstance(X, Columns) else X[first:last]


def _outputs(X: Any, model: Model) -> list[Any]:
    return list(model.predict(X if isinstance(X, Columns) or hasattr(X, "__len__") else list(X)))
