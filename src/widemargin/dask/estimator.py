"""Estimators on a cluster: every estimator of the library with another `fit` and `predict`, made by one function."""

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from distributed import Client, get_client

from widemargin import tasks
from widemargin.core.stop import Callback
from widemargin.dask.prediction import predict
from widemargin.dask.training import Trained, train

if TYPE_CHECKING:
    from widemargin.tasks.estimator import Estimator

PREFIX = "Dask"


class DaskEstimator:
    """What an estimator does on a cluster.

    `client` is the client of the cluster; by default the one that Dask knows. `trained_` says what training moved.
    """

    _client: Client | None = None
    _local: "type[Estimator[Any]]"
    trained_: Trained

    @property
    def client(self) -> Client:
        """The client of the cluster."""
        return get_client() if self._client is None else self._client

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
        **options: Any,
    ) -> Self:
        """Train on the cluster; `X` may also be `Files`, a Dask bag of pairs, or a Dask frame, without `y`.

        `options` are those of `widemargin.dask.train`: parts, local_epochs, patience and checkpoint_seconds.
        """
        data = X if y is None else (X, y, sample_weight)
        saved = {"checkpoint": checkpoint, "resume": resume}
        trained = train(self.client, self, data, dev=dev, callbacks=callbacks, **saved, **options)  # type: ignore[arg-type]
        self.trained_ = trained
        return self._fitted(trained.model, trained.solution)  # type: ignore[attr-defined]

    def predict(self, X: Any) -> Any:
        """The best output for every input, found on the workers."""
        self._check_fitted()  # type: ignore[attr-defined]
        return predict(self.client, self.model_, X)  # type: ignore[attr-defined]

    def to_local(self) -> Any:
        """The same estimator without a cluster."""
        local = self._local(**self.get_params(deep=False))  # type: ignore[attr-defined]
        return local._fitted(self.model_, self.solution_) if hasattr(self, "model_") else local  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the client, which no other process can use."""
        return {name: value for name, value in self.__dict__.items() if name != "_client"}


@cache
def estimator_named(name: str) -> Any:
    """The estimator `name` of the library on a cluster; None if there is none of this name."""
    kind = tasks.estimator_named(name)
    if kind is None:
        return None
    local = kind.load("estimator")
    text = f"{name} on a Dask cluster (`widemargin.dask`); parameters are those of `{name}`."
    members = {"_local": local, "__doc__": text, "__module__": "widemargin.dask", "__qualname__": PREFIX + name}
    return type(PREFIX + name, (DaskEstimator, local), members)
