"""Training and prediction on a Dask cluster (extra ``widemargin[distributed]``).

`train` splits the data into parts and trains by rounds over them (`widemargin.parts`); Dask carries the parts to its
workers and their changes of w back. Every estimator has a twin here: `DaskSequenceTagger`, `DaskDependencyParser`, …
"""

from typing import TYPE_CHECKING, Any

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError("widemargin.dask needs Dask: pip install '.[distributed]' in a checkout") from error

from widemargin.dask.data import Files
from widemargin.dask.frames import Frame
from widemargin.dask.prediction import Broadcast, evaluate, predict
from widemargin.dask.training import Trained, train

if TYPE_CHECKING:
    from widemargin.dask.estimator import DaskEstimator as DaskEstimator

PREFIX = "Dask"

__all__ = ["Broadcast", "Files", "Frame", "Trained", "evaluate", "predict", "train"]


def __getattr__(name: str) -> Any:
    if name.startswith(PREFIX):
        from widemargin.dask.estimator import estimator_named

        found = estimator_named(name.removeprefix(PREFIX))
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from widemargin.tasks import estimators

    return sorted([*__all__, *(PREFIX + name for name in estimators())])
