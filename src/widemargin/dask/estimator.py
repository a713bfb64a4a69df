"""Estimators on a cluster: every estimator of the library with another `fit` and `predict`, made by one function."""

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from distributed import Client, get_client

from widemargin import tasks
from widemargin.core.solution import Solution
from widemargin.core.stop import Callback
from widemargin.dask.data import is_distributed
from widemargin.dask.prediction import Broadcast, evaluate, predict
from widemargin.dask.training import Trained, Ways, train
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.training import Data

if TYPE_CHECKING:
    from widemargin.tasks.estimator import Estimator

PREFIX = "Dask"


class DaskEstimator:
    """What an estimator does on a cluster.

    `client` is the client of the cluster; by default the one that Dask knows. `trained_` says what training moved.
    """

    _client: Client | None = None
    _options: dict[str, Any]
    _sent: Broadcast | None = None
    _local: "type[Estimator[Any]]"
    trained_: Trained

    @property
    def client(self) -> Client:
        """The client of the cluster."""
        if self._client is not None:
            return self._client
        try:
            return get_client()
        except ValueError:
            raise WidemarginError("there is no Dask client; make one, Client(…), or set the attribute client") from None

    @client.setter
    def client(self, client: Client | None) -> None:
        self._client = client

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        *,
        parts: int | None = None,
        checkpoint_seconds: float = 30.0,
        local_epochs: int = 1,
        rounds: Ways = "consensus",
        patience: float = 10.0,
        **more: Any,
    ) -> Self:
        """Train on the cluster.

        Parameters
        ----------
        X, y, sample_weight : as in `fit` without a cluster, or as Dask collections; without `y`, `X` is a Dask bag of
            pairs, a `Frame`, `Files` or a pattern of names of files. See `widemargin.dask.train`.
        dev, callbacks, checkpoint, resume : as in `fit` without a cluster, but `checkpoint` is a folder
        parts, checkpoint_seconds, local_epochs, rounds, patience : see `widemargin.dask.train`
        more : what `fit` takes besides without a cluster, such as `group`
        """
        self._options = {
            "parts": parts,
            "checkpoint_seconds": checkpoint_seconds,
            "local_epochs": local_epochs,
            "rounds": rounds,
            "patience": patience,
        }
        local: Any = super()
        try:
            if not is_distributed(X):
                fitted: Self = local.fit(X, y, sample_weight, dev, callbacks, checkpoint, resume, **more)
                return fitted
            data = X if y is None else (X, y, sample_weight)
            return local._wrap(*self._train_on(data, dev, callbacks, checkpoint=checkpoint, resume=resume))
        finally:
            del self._options

    def fit_stream(self, *_: Any, **__: Any) -> Self:
        """Refuse: `fit` takes names and patterns of files, which the workers read."""
        raise UnsupportedError("on a cluster, fit itself takes names and patterns of files, which the workers read")

    def _train(self, data: Data, callbacks: Sequence[Callback], **options: Any) -> tuple[Any, Solution]:
        """A model trained on lists, and its solution."""
        return self._train_on((data.X, data.y, data.sample_weight), data.dev, callbacks, **options)

    def _train_on(self, data: Any, dev: Any, callbacks: Sequence[Callback], **options: Any) -> tuple[Any, Solution]:
        parameters: Any = self
        self.trained_ = train(self.client, parameters, data, dev=dev, callbacks=callbacks, **options, **self._options)
        return self.trained_.model, self.trained_.solution

    def predict(self, X: Any, **options: Any) -> Any:
        """The best output for every input, found on the workers; with `options`, in this process.

        Outputs are as without a cluster; for a Dask bag, another one with the same partitions; for a `Frame` of tokens,
        a list with a label per row.
        """
        if options:
            return self.to_local().predict(X, **options)
        return predict(self.client, self._broadcast(), X)

    def evaluate(self, X: Any, y: Any = None, **options: Any) -> Evaluation:
        """How well the model does on data in any form that `fit` takes: the figures of ``widemargin evaluate``."""
        return evaluate(self.client, self._broadcast(), X if y is None else (X, y), **options)

    def to_local(self) -> Any:
        """The same estimator without a cluster."""
        local = self._local(**self.get_params(deep=False))  # type: ignore[attr-defined]
        return local._wrap(self.model_, self.solution_) if hasattr(self, "model_") else local  # type: ignore[attr-defined]

    def _broadcast(self) -> Broadcast:
        """The model, which is sent to the workers at most once."""
        self._check_fitted()  # type: ignore[attr-defined]
        if self._sent is None or self._sent.client is not self.client or self._sent.model is not self.model_:  # type: ignore[attr-defined]
            self._sent = Broadcast(self.client, self.to_local())
        return self._sent

    def __sklearn_clone__(self) -> Self:
        from sklearn.base import clone  # slow to import

        other = type(self)(**{name: clone(each, safe=False) for name, each in self.get_params(deep=False).items()})  # type: ignore[attr-defined]
        other._client = self._client
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the client and what it has sent, which no other process can use."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_client", "_sent")}


@cache
def estimator_named(name: str) -> Any:
    """The Dask version of the estimator `name`; None if the library has no such estimator."""
    kind = tasks.estimator_named(name)
    if kind is None:
        return None
    local = kind.estimator()
    text = f"{name} on a Dask cluster (`widemargin.dask`); parameters are those of `{name}`."
    members = {"_local": local, "__doc__": text, "__module__": "widemargin.dask", "__qualname__": PREFIX + name}
    return type(PREFIX + name, (DaskEstimator, local), members)
