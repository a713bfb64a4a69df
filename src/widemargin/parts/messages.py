"""Messages between the driver and the parts: the driver orders a round, parts report on it, the driver settles it.

A call carries a task and, if the part does not know it yet, the result of the last round. Only the non-zeros of a
change of w are sent, 12 bytes each.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
    def of(cls, change: FloatVector, indices: IntVector) -> "Change":
        """A dense change whose non-zeros are at these indices."""
        return cls(indices, change[indices])

    @property
    def n_bytes(self) -> int:
        """The number of bytes to send."""
        return int(self.indices.nbytes + self.values.nbytes)

    def added(self, w: FloatVector, share: float = 1.0) -> None:
        """Add a share of this change to `w`, in place."""
        w[self.indices] += share * self.values

    def to(self, w: FloatVector) -> FloatVector:
        """A copy of `w` with this change; `w` itself if the change is empty."""
        if not len(self.indices):
            return w
        w = w.copy()
        self.added(w)
        return w


NOTHING = Change(np.empty(0, dtype=np.int32), np.empty(0))


class Settled(NamedTuple):
    """The end of a round: w changes by `change`, and parts keep the share `step` of the step of their α.

    In consensus rounds, `pulls` says how many parts have changed each of these weights.
    """

    change: Change
    step: float = 1.0
    pulls: ByteVector | None = None

    @property
    def n_bytes(self) -> int:
        """The number of bytes to send."""
        return self.change.n_bytes + (0 if self.pulls is None else self.pulls.nbytes)


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

    sums: "Sums"
    path: str


class Seen(NamedTuple):
    """Σ c_i ℓ(ξ_i) of a part at the weights of a `Look`, the oracle calls and their seconds.

    `sums` are the evidence for a bound; `misjudgement` comes from the part's problem.
    """

    loss: float
    calls: int
    seconds: float
    misjudgement: str = ""
    sums: "Sums | None" = None


class Sums(NamedTuple):
    """The evidence of a part, with s as a sparse vector."""

    linear: float
    quadratic: float
    s: Change
    most: float
    off: float

    @classmethod
    def of(cls, evidence: "Evidence") -> "Sums":
        """The evidence to send."""
        return cls(**evidence._asdict() | {"s": Change.between(np.zeros(len(evidence.s)), evidence.s)})


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


@dataclass(frozen=True, slots=True)
class Past:
    """The history of a part: the file that it was saved to after `begin` rounds, and the rounds since."""

    begin: int = 0
    path: str | None = None
    rounds: tuple[tuple[Order, Settled], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A task for a part at `rounds` settled rounds; if `settled` is given, this call may settle the last of them."""

    rounds: int
    settled: Settled | None
    task: Any

    def on(self, part: "Part | None") -> Any:
        """Do the task, or reply that the part is missing. Doing it twice does no harm."""
        behind = self.settled is not None and part is not None and part.rounds == self.rounds - 1
        if part is None or not (behind or part.rounds == self.rounds):
            return Missing(-1 if part is None else part.rounds)
        if behind and self.settled is not None:
            part.settle(self.settled)
        return self.task.on(part)

    @property
    def n_bytes(self) -> int:
        """The bytes of the changes of w in this call."""
        asked = self.task.change.n_bytes if isinstance(self.task, Look) else 0
        return asked + (0 if self.settled is None else self.settled.n_bytes)


def n_bytes(reply: Any) -> int:
    """The bytes of the changes in a reply."""
    if isinstance(reply, Report):
        return reply.change.n_bytes + (0 if reply.mean is None else reply.mean.n_bytes)
    if isinstance(reply, Held | Seen) and reply.sums is not None:
        return reply.sums.s.n_bytes
    return 0
