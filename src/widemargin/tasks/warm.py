"""Warm starts: where the next training run begins, if the last one is to be continued.

With the same examples, objective, loss and kind of solver, a dual solver goes on from the cuts that it ended with; α is
scaled if C has changed. Otherwise training begins at the weights of the model before. They are matched by the names of
features and by labels: what is new begins at zero, what is no longer there is dropped. Any beginning is a valid one, so
the certificate holds as it does for a cold start.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import AnyArray, LongVector
from widemargin.core.checkpoint import fingerprint
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.errors import WidemarginError

if TYPE_CHECKING:
    from widemargin.tasks.training import Warm

DEEPEST = 8  # nested objects; deeper ones may refer to themselves


def beginning(warm: "Warm", compiled: Any, digest: str | None) -> dict[str, Any]:
    """What `core.loop.fit` is to begin with: cuts of the same problem, or the weights of the last model, or nothing."""
    if warm.model is None:
        return {}
    if warm.cuts is not None and digest is not None and digest == warm.digest:
        return {"cuts": warm.cuts}
    return {"w": weights_for(compiled, warm.model)}


def weights_for(compiled: Any, model: Any) -> Any:
    """The weights of a trained model as the examples need them."""
    if compiled.carried is not None:
        return compiled.carried(model)
    if list(model.labels) != list(compiled.labels) or len(model.w) != compiled.examples.n_weights:
        raise WidemarginError(
            f"warm_start cannot go on from the last model: it has {len(model.labels)} labels and {len(model.w):,} "
            f"weights, but the new data need {len(compiled.labels)} and {compiled.examples.n_weights:,}, or they have "
            "others; fit a new estimator, or set warm_start=False"
        )
    return np.array(model.w, dtype=np.float64)


def places(new: Sequence[Any], old: Sequence[Any]) -> LongVector:
    """The place of each new name among the old ones; −1 if it is not there.

    >>> places(["b", "c"], ["a", "b"]).tolist()
    [1, -1]
    """
    place = {name: k for k, name in enumerate(old)}
    return np.array([place.get(name, -1) for name in new], dtype=np.int64)


def moved(weights: AnyArray, *axes: LongVector) -> AnyArray:
    """The weights with each axis put in a new order, given by `places`; zero for what has no place.

    >>> moved(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, -1]), np.array([1, 0])).tolist()
    [[4.0, 3.0], [0.0, 0.0]]
    """
    for axis, order in enumerate(axes):
        nothing = np.zeros([1 if k == axis else size for k, size in enumerate(weights.shape)])
        weights = np.take(np.concatenate([weights, nothing], axis=axis), order, axis=axis)
    return weights


def digest_of(problem: Problem, solver: Solver) -> str | None:
    """A digest of all that cuts depend on, C apart; None if the examples hold more than numbers and texts."""
    about = fingerprint(problem, solver) | {"C": None, "solver": type(solver).__name__}
    digest = hashlib.blake2b(repr(about).encode(), digest_size=16)
    return digest.hexdigest() if _update(digest, problem.examples, 0) else None


def _update(digest: Any, value: Any, depth: int) -> bool:
    """Add a value to the digest; False if it is none that can be told from others by its contents."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        digest.update(f"{type(value).__name__} {value!r};".encode("utf-8", "surrogatepass"))
        return True
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest.update(f"{value.dtype} {value.shape};".encode())
        digest.update(np.ascontiguousarray(value).ravel().view(np.uint8).data)
        return True
    parts = None if depth == DEEPEST else _parts(value)
    if parts is None:
        return False
    digest.update(f"{type(value).__name__} {len(parts)};".encode())
    return all(_update(digest, part, depth + 1) for part in parts)


def _parts(value: Any) -> Sequence[Any] | None:
    """The parts of a value; None if that cannot be known, as with functions and objects of the user's."""
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, list | tuple):
        return value
    if not type(value).__module__.startswith("widemargin.") or isinstance(value, type):
        return None
    if is_dataclass(value):
        return [getattr(value, each.name) for each in fields(value)]
    return [part for pair in sorted(vars(value).items()) for part in pair] if hasattr(value, "__dict__") else None
