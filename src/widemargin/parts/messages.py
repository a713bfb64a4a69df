"""Messages between the driver and the parts: the driver orders a round, parts report on it, the driver settles it.

A call carries a task and, if the part does not know it yet, the result of the last round. Only the non-zeros of a
change of w are sent, 12 bytes each: driver and parts compute the weights that they share (`Common`) in the same way.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import ByteVector, FloatVector, IntVector
from widemargin.core.contents import contents_digest

if TYPE_CHECKING:
    from widemargin.core.evidence import Evidence
    from widemargin.parts.part import DualPart, Part


class Change(NamedTuple):
    """The non-zeros of a change of w."""

    indices: IntVector
    values: FloatVector

    @classmethod
    def between(cls, before: FloatVector, after: FloatVector) -> "Change":
        """The change that leads from one vector to another."""
        indices = np.flatnonzero(after != before).astype(np.int32)
        return cls(indices, after[indices] - before[indices])

    @classmethod
    def of(cls, change: FloatVector, indices: IntVector | None = None) -> "Change":
        """A dense change; its non-zeros are at these indices."""
        if indices is None:
            indices = np.flatnonzero(change).astype(np.int32)
        return cls(indices, change[indices])

    def add_to(self, w: FloatVector, share: float = 1.0) -> None:
        """Add a share of this change to `w`, in place."""
        w[self.indices] += share * self.values

    def to(self, w: FloatVector) -> FloatVector:
        """A copy of `w` with this change; `w` itself if the change is empty."""
        if not len(self.indices):
            return w
        w = w.copy()
        self.add_to(w)
        return w


NOTHING = Change(np.empty(0, dtype=np.int32), np.empty(0))


class Outcome(NamedTuple):
    """The end of a round: w changes by `change`, and parts keep the share `step` of the step of their α.

    In consensus rounds, `pulls` says how many parts have changed each of these weights.
    """

    change: Change
    step: float = 1.0
    pulls: ByteVector | None = None


LARGEST_SEED = 2**62


class Order(NamedTuple):
    """The order to make a round: σ′, the local epochs, the momentum β, and the seed of everything random.

    If `whole`, the whole step will be kept, so the part need not remember where it began.
    """

    sigma: float
    epochs: int
    momentum: float
    seed: int
    whole: bool = False

    def on(self, part: "Part") -> "Report":
        """Make the round."""
        return part.round(self)


class Mark(NamedTuple):
    """Two digests that identify a part: of its data and settings, and of all its reports in settled rounds."""

    contents: str
    path: str = ""

    def after(self, *reported: Any) -> str:
        """The `path` after another round with this report."""
        found = contents_digest(self.path, *reported)
        assert found is not None
        return found


class Report(NamedTuple):
    """The effect of a round on a part: the change of w that it proposes, and its share of D along the step.

    The linear term Σ bα goes from `linear` to `linear_after`; the mass term ½ Σ ridge A² is mass₀ + t mass₁ + t² mass₂
    after a share t of the step. For mixed solvers `mean` is the change from w to the average of the part's iterates.
    `loss` is Σ c_i ℓ(ξ_i) as the round's own oracle calls saw it, and `path` that of the part's `Mark` once the round
    is settled.
    """

    change: Change
    linear: float
    linear_after: float
    mass: tuple[float, float, float]
    loss: float | None
    calls: int
    seconds: float
    path: str
    mean: Change | None = None


class Hold(NamedTuple):
    """The task to send the evidence after a round; the part makes the round first if it has not."""

    order: Order

    def on(self, part: "DualPart") -> "Held":
        """The evidence."""
        return part.hold(self.order)


class Held(NamedTuple):
    """The evidence in the α of a part; its s is the part's share of w. `path` is as in `Report`."""

    sums: "SparseEvidence"
    path: str


class Seen(NamedTuple):
    """Σ c_i ℓ(ξ_i) of a part at the weights of a `Look`, the oracle calls and their seconds.

    `sums` are the evidence for a bound; `misjudgement` comes from the part's problem.
    """

    loss: float
    calls: int
    seconds: float
    misjudgement: str = ""
    sums: "SparseEvidence | None" = None


class SparseEvidence(NamedTuple):
    """The evidence of a part, with s as a sparse vector."""

    linear: float
    quadratic: float
    s: Change
    most: float
    off: float

    @classmethod
    def of(cls, evidence: "Evidence") -> "SparseEvidence":
        """The evidence to send."""
        return cls(**evidence._asdict() | {"s": Change.of(evidence.s)})


class Look(NamedTuple):
    """The task to make a full pass of the oracle at the common w plus `change`; with evidence if `proves`."""

    change: Change
    proves: bool

    def on(self, part: "Part") -> Seen:
        """Make the pass."""
        return part.look(self)


class Save(NamedTuple):
    """The task to write the part after its last settled round to a file in this folder."""

    folder: str

    def on(self, part: "Part") -> str:
        """Write the file; return its path."""
        path = f"{self.folder}/part-{part.number:04}-{part.rounds:06}.wm"
        part.save(path)
        return path


class Missing(NamedTuple):
    """The reply if a part does not exist or is at another round: it must be rebuilt."""

    rounds: int = -1


@dataclass(frozen=True, slots=True)  # no tuple: Dask would look for futures in it
class Past:
    """The history of a part: the file that it was saved to after `begin` rounds, and the rounds since."""

    begin: int = 0
    path: str | None = None
    rounds: tuple[tuple[Order, Outcome], ...] = ()


@dataclass(frozen=True, slots=True)  # no tuple: Dask would look for futures in it
class Call:
    """A task for a part at `rounds` settled rounds; if `settled` is given, this call may settle the last of them."""

    rounds: int
    settled: Outcome | None
    task: Any

    def on(self, part: "Part | None") -> Any:
        """Do the task, or reply that the part is missing. Doing it twice does no harm."""
        behind = self.settled is not None and part is not None and part.rounds == self.rounds - 1
        if part is None or not (behind or part.rounds == self.rounds):
            return Missing(-1 if part is None else part.rounds)
        if behind and self.settled is not None:
            part.settle(self.settled)
        return self.task.on(part)


def n_bytes(message: Any) -> int:
    """The bytes of the arrays in a call, in a reply or in a part of one: its changes of w."""
    if isinstance(message, Call):
        message = message.settled, message.task
    if isinstance(message, np.ndarray):
        return message.nbytes
    return sum(map(n_bytes, message)) if isinstance(message, tuple) else 0


MOST = np.iinfo(np.uint8).max  # parts beyond this number are not counted


class Pulls:
    """How many parts have changed each weight in a round."""

    def __init__(self, n_weights: int) -> None:
        self._of_all = np.zeros(n_weights, dtype=np.uint8)

    def add(self, indices: IntVector) -> None:
        """One more part has changed these weights."""
        counts = self._of_all[indices]
        self._of_all[indices] = counts + (counts < MOST)

    def counts(self) -> tuple[IntVector, ByteVector]:
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
        change.add_to(self.w)
        self.z = self.u = self.w

    def follow(self, change: Change, pulls: ByteVector, before: Change, sigma: float, momentum: float) -> None:
        """Change w and let z follow; `pulls` parts changed each weight, and `before` is the previous change."""
        if self.z is self.w:
            self.z, self.u = self.w.copy(), self.w.copy()
        change.add_to(self.w)
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
        # Where no part has moved a weight, ρ is that of one part, and z still drifts towards w.
        mean = z[j] + (delta - momentum * delta_before) / rho
        ahead = mean + momentum * (mean - u[j])
        z[j] = (rho * ahead + w[j] + momentum * delta) / (1.0 + rho)
        u[j] = mean
