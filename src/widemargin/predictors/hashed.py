"""What models with hashed features have in common: one table of weights, of which files keep what is not zero."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.errors import WidemarginError
from widemargin.features.base import Arrays
from widemargin.features.roles import KEY_BITS
from widemargin.model import vector
from widemargin.predictors.base import Predictor


@dataclass
class HashedPredictor(Predictor):
    """A trained model whose features are hashed by templates."""

    weights: FloatVector = field(kw_only=True)

    @property
    @abstractmethod
    def n_templates(self) -> int:
        """How many templates there are."""

    @property
    def w(self) -> FloatVector:
        """All weights as one vector."""
        return self.weights

    @property
    def sizes(self) -> dict[str, int]:
        """How much of everything there is."""
        return {
            "labels": len(self.labels),
            "templates": self.n_templates,
            "weights": len(self.weights),
            "non-zero weights": int(np.count_nonzero(self.weights)),
        }

    def compacted(self) -> Self:
        """The same model: hashed features stay, whether they are used or not."""
        return self


def checked_bits(hash_bits: Any) -> int:
    """The size of a table as a power of 2, or a complaint about it."""
    if isinstance(hash_bits, bool) or not isinstance(hash_bits, int | np.integer) or not 1 <= hash_bits <= KEY_BITS:
        raise WidemarginError(f"hash_bits must be a whole number from 1 to {KEY_BITS}, not {hash_bits!r}")
    return int(hash_bits)


def packed_weights(weights: FloatVector) -> dict[str, AnyArray]:
    """The weights that are not zero, as tensors."""
    used = np.flatnonzero(weights).astype(np.int32)
    return {"weights.indices": used, "weights.values": weights[used]}


def stored_weights(tensors: Arrays, n_weights: int) -> FloatVector:
    """The weights that `packed_weights` packed; a ValueError if they are not those of so many."""
    used, values = vector(tensors, "weights.indices", np.int32), vector(tensors, "weights.values", np.float64)
    if len(used) != len(values) or (len(used) and not 0 <= used.min() <= used.max() < n_weights):
        raise ValueError("weights that the model has no room for")
    weights = np.zeros(n_weights)
    weights[used] = values
    return weights
