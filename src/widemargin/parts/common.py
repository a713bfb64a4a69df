"""The weights that all parts have in common; driver and parts compute them alike, so only changes of w are sent."""

import numpy as np

from widemargin._types import ByteVector, FloatVector, IntVector
from widemargin.parts.messages import Change

MOST = np.iinfo(np.uint8).max  # parts beyond this number are not counted


class Count:
    """How many parts have changed each weight in a round."""

    def __init__(self, n_weights: int) -> None:
        self._of_all = np.zeros(n_weights, dtype=np.uint8)

    def add(self, indices: IntVector) -> None:
        """One more part has changed these weights."""
        counts = self._of_all[indices]
        self._of_all[indices] = counts + (counts < MOST)

    @property
    def indices(self) -> IntVector:
        """The weights that any part has changed."""
        return np.flatnonzero(self._of_all).astype(np.int32)

    @property
    def values(self) -> ByteVector:
        """How many parts have changed each of these."""
        return self._of_all[self.indices]


class Common:
    """w = Σ αa, and z, from which rounds start: w itself, or weights that follow it (`consensus`)."""

    def __init__(self, w: FloatVector, z: FloatVector | None = None) -> None:
        self.w, self.z = w, w if z is None else z

    def add(self, change: Change) -> None:
        """Change w, and let z be w."""
        change.added(self.w)
        self.z = self.w

    def follow(self, change: Change, count: ByteVector, sigma: float) -> None:
        """Change w, as `count` parts wanted it for each weight; then z ← (w + Δw + ρz) / (1 + ρ), ρ = n / σ."""
        if self.z is self.w:
            self.z = self.w.copy()
        w, z = self.w, self.z
        change.added(w)
        changed = change.indices
        rho = count / sigma
        followed = (w[changed] + change.values + rho * z[changed]) / (1.0 + rho)
        others = np.flatnonzero(w != z).astype(np.int32)
        z[others] += (w[others] - z[others]) / (1.0 + 1.0 / sigma)
        z[changed] = followed
