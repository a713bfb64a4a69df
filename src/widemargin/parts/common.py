"""The weights that all parts share; driver and parts compute them in the same way, so only changes of w are sent."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import ByteVector, FloatVector, IntVector
from widemargin.parts.messages import Change

MOST = np.iinfo(np.uint8).max  # parts beyond this number are not counted


class Pulls:
    """How many parts have changed each weight in a round."""

    def __init__(self, n_weights: int) -> None:
        self._of_all = np.zeros(n_weights, dtype=np.uint8)

    def add(self, indices: IntVector) -> None:
        """One more part has changed these weights."""
        counts = self._of_all[indices]
        self._of_all[indices] = counts + (counts < MOST)

    def found(self) -> tuple[IntVector, ByteVector]:
        """The weights that any part has changed, and how many parts have changed each of them."""
        indices = np.flatnonzero(self._of_all).astype(np.int32)
        return indices, self._of_all[indices]


class Common:
    """w = Σ αa, and z, where rounds start: w itself, or weights that follow it (`consensus`).

    In consensus rounds, u is the mean ū of the results of those parts that changed a weight; z if none did.
    """

    def __init__(self, w: FloatVector, z: FloatVector | None = None, u: FloatVector | None = None) -> None:
        self.w, self.z, self.u = w, w if z is None else z, w if u is None else u

    def add(self, change: Change) -> None:
        """Change w, and set z to w."""
        change.added(self.w)
        self.z = self.u = self.w

    def follow(self, change: Change, pulls: ByteVector, before: Change, sigma: float, momentum: float) -> None:
        """Change w and let z follow; `pulls` parts changed each weight, and `before` is the previous change."""
        if self.z is self.w:
            self.z, self.u = self.w.copy(), self.w.copy()
        change.added(self.w)
        _follow(self.w, self.z, self.u, change, pulls, before, sigma, momentum)


@kernel
def _follow(
    w: FloatVector,
    z: FloatVector,
    u: FloatVector,
    change: Change,
    pulls: ByteVector,
    before: Change,
    sigma: float,
    momentum: float,
) -> None:
    """The equations of `consensus`, for each weight by itself."""
    # One pass merges both changes, since their indices ascend: k and last are the next entries of each.
    k = last = 0
    for j in range(len(w)):
        rho, delta, delta_before = 1.0 / sigma, 0.0, 0.0
        if k < len(change.indices) and change.indices[k] == j:
            rho, delta = pulls[k] / sigma, change.values[k]
            k += 1
        if last < len(before.indices) and before.indices[last] == j:
            delta_before = before.values[last]
            last += 1
        mean = z[j] + (delta - momentum * delta_before) / rho
        ahead = mean + momentum * (mean - u[j])
        z[j] = (rho * ahead + w[j] + momentum * delta) / (1.0 + rho)
        u[j] = mean
