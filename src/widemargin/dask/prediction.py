"""Prediction and evaluation on a cluster: data in pieces, and the model sent to every worker once."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import chain, pairwise
from typing import Any
from uuid import uuid4

import numpy as np
from distributed import Client, Future

from widemargin.dask.cluster import hold, n_workers, results
from widemargin.dask.data import (
    OneFile,
    about_file,
    as_data,
    is_distributed,
    n_inputs,
    pieces_of,
    take,
    values,
)
from widemargin.data.frames import FrameSequences
from widemargin.errors import UnsupportedError
from widemargin.report.evaluation import Evaluation
from widemargin.tasks import TASKS, Task, task
from widemargin.tasks.base import Corpus, Model, Tally
from widemargin.tasks.estimator import joinable
from widemargin.tasks.training import Data

PIECES_A_WORKER = 4  # so that none waits long for the slowest piece


class Broadcast:
    """A model, or a fitted estimator, on every worker of a cluster."""

    def __init__(self, client: Client, predictor: Any) -> None:
        self.client, self.predictor = client, predictor
        self._future: Future[Any] | None = None

    @property
    def model(self) -> Model:
        """The model itself."""
        return _model(self.predictor)

    @property
    def future(self) -> Future[Any]:
        """The model on the workers: sent when it is first asked for; each worker fetches it when it first needs it."""
        if self._future is None:
            self._future = hold(self.client, self.predictor, f"model-{uuid4().hex[:8]}")
        return self._future


def predict(client: Client, model: Any, X: Any) -> Any:
    """The outputs for `X`.

    Parameters
    ----------
    client : the client of the cluster
    model : a model, a fitted estimator, or a `Broadcast` of either, which is sent only once
    X : lists, columns or matrices; a Dask bag, whose outputs are another, found when it is computed; a Dask array or
        frame of features; `Files`; or a `Frame`. The outputs of a `Frame` of tokens are labels in the order of rows.
    """
    sent = _sent(client, model)
    if _is_bag(X):
        return X.map_partitions(outputs, sent.future)
    found = _gather(client, "predict", outputs, _inputs(client, X), sent)
    if found and isinstance(found[0], np.ndarray):
        return np.concatenate(found)
    return joinable(list(chain.from_iterable(found)))


def evaluate(client: Client, model: Any, data: Any, **options: Any) -> Evaluation:
    """How well a model does on data in any form that `train` takes; figures and `options` are those of one machine.

    Workers count what is right in their pieces, and the counts are added. Evaluations that need more than counts are
    made in this process, which then fetches the data.
    """
    sent = _sent(client, model)
    which, kind = _task_of(sent.model)
    pieces = pieces_of(client, which, kind, data, PIECES_A_WORKER * n_workers(client))
    found = [each for each in _gather(client, "evaluate", tally, pieces, sent, options) if each != NOTHING]
    if found and all(isinstance(each, Tally) for each in found):
        return sent.model.tallied(reduce(Tally.merged, found))
    if isinstance(data, tuple) and not any(map(is_distributed, data)):
        return sent.model.evaluate(data[0], data[1], **options)
    given = _gather(client, "gather", data_of, pieces, sent)
    if not all(isinstance(each, list) for data in given for each in data[:2]):
        raise UnsupportedError(
            f"the evaluation of {sent.model.predicts} needs all data at once; read them here, and give them as lists"
        )
    X, y = ([each for data in given for each in data[side]] for side in (0, 1))
    return sent.model.evaluate(X, y, **options)


def _sent(client: Client, model: Any) -> Broadcast:
    return model if isinstance(model, Broadcast) else Broadcast(client, model)


def _is_bag(X: Any) -> bool:
    return hasattr(X, "map_partitions") and not hasattr(X, "columns")


def _task_of(model: Model) -> tuple[Task, str]:
    """The task of a model, and the name of its kind there."""
    return next((each, name) for each in map(task, TASKS) for name in each.kinds if name == model.kind)


def _inputs(client: Client, X: Any) -> list[Any]:
    """Inputs in pieces: futures of partitions, files, or shares of lists."""
    if is_distributed(X):
        return pieces_of(client, None, "", X, gold=False)
    n = n_inputs(X)
    n_pieces = max(1, min(n, PIECES_A_WORKER * n_workers(client)))
    ends = [n * k // n_pieces for k in range(n_pieces + 1)]
    return [take(Data(X, None), np.arange(first, last)) for first, last in pairwise(ends)]


def _gather(
    client: Client, name: str, function: Callable[..., Any], pieces: Sequence[Any], sent: Broadcast, *more: Any
) -> list[Any]:
    """Call a function with the model and each piece, on the workers, and return the results."""

    def submit(workers: list[str] | None) -> list[Future[Any]]:
        run = uuid4().hex[:8]
        model = sent.future if workers is None else hold(client, sent.predictor, f"model-{run}", workers)
        options = {"workers": workers, "pure": False, "retries": 3}
        return [
            client.submit(function, each, model, *more, key=f"{name}-{k}-{run}", **options)
            for k, each in enumerate(pieces)
        ]

    return results(client, submit)


# On the workers.

NOTHING = "nothing"
"""The tally of a piece without examples."""


def outputs(piece: Any, predictor: Any) -> Any:
    """The outputs for a piece; of a table of tokens, one for every row."""
    if isinstance(piece, OneFile):
        return predictor.predict(_read(piece, predictor, gold=False).X)
    if isinstance(piece, FrameSequences):
        return piece.column(predictor.predict(piece.X))
    return predictor.predict(piece.X if isinstance(piece, Data) else values(piece))


def tally(piece: Any, predictor: Any, options: dict[str, Any]) -> Any:
    """The counts that the evaluation of a piece adds up to; None if counts are not enough."""
    data = data_of(piece, predictor)
    if not n_inputs(data.X):
        return NOTHING
    return _model(predictor).tally(data.X, data.y, **options)


def data_of(piece: Any, predictor: Any) -> Data:
    """The inputs and gold outputs of a piece."""
    if isinstance(piece, OneFile):
        corpus = _read(piece, predictor, gold=True)
        return Data(corpus.X, corpus.y)
    return as_data(piece)


def _model(predictor: Any) -> Model:
    found: Model = getattr(predictor, "model_", predictor)
    return found


def _read(file: OneFile, predictor: Any, *, gold: bool) -> Corpus:
    """A file as the model needs it."""
    with about_file(file.path):
        return _model(predictor).read(file.path, file.reading, gold=gold)
