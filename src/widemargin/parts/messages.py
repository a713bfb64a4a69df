"""Messages between the driver and the parts: rounds are ordered, reported, and settled.

A call carries the result of the last round if its part does not know it yet, and a task. Only the non-zeros of a change
of w are sent, 12 bytes each.
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
        """A change that is not zero at these indices alone."""
        return cls(indices, change[indices])

    @property
    def n_bytes(self) -> int:
        """The bytes that it takes to send it."""
        return int(self.indices.nbytes + self.values.nbytes)

    def added(self, w: FloatVector, share: float = 1.0) -> None:
        """Add a share of it to `w`."""
        w[self.indices] += share * self.values

    def to(self, w: FloatVector) -> FloatVector:
        """`w` with it; `w` itself if there is none."""
        if not len(self.indices):
            return w
        w = w.copy()
        self.added(w)
        return w


NOTHING = Change(np.empty(0, dtype=np.int32), np.empty(0))


class Settled(NamedTuple):
    """How a round ended: w changes by `change`, and parts keep this share of the `step` of their α.

    In consensus rounds, `pulls` says how many parts have changed each of these weights.
    """

    change: Change
    step: float = 1.0
    pulls: ByteVector | None = None

    @property
    def n_bytes(self) -> int:
        """The bytes that it takes to send it."""
        return self.change.n_bytes + (0 if self.pulls is None else self.pulls.nbytes)


class Order(NamedTuple):
    """A round to be made: σ′, the local epochs, the momentum β, and the seed of everything random.

    `whole` says that the step will be kept whole, so the part need not remember where it began.
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
    """Two digests that tell parts apart: of what a part is made from, and of all that it reported in settled rounds."""

    contents: str
    path: str = ""

    def after(self, *reported: Any) -> str:
        """The path after another round."""
        found = contents_digest(self.path, *reported)
        assert found is not None
        return found


class Report(NamedTuple):
    """The effect of a round on a part: the change of w that it proposes, and its share of D along the way.

    The linear term Σ bα leads from `linear` to `linear_after`; the mass term ½ Σ ridge A² is
    mass₀ + t mass₁ + t² mass₂ after a share t of the step. `mean` is the change from w to the average of the part's
    iterates, for mixed solvers. `loss` is Σ c_i ℓ(ξ_i) as the round's own oracle calls saw it, and `path` that of the
    part's `Mark` once the round is settled.
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
    """The question what a part holds after a round, which it makes unless it has."""

    order: Order

    def on(self, part: "DualPart") -> "Held":
        """The answer."""
        return part.hold(self.order)


class Held(NamedTuple):
    """The evidence in the α of a part, whose s is its share of w; `path` as in its report."""

    sums: "Sums"
    path: str


class Seen(NamedTuple):
    """Σ c_i ℓ(ξ_i) of a part at the common w, the oracle calls and their seconds.

    `sums` are the evidence for a bound, and `misjudgement` is that of the part's problem.
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
    """A full pass of the oracle at the common w plus `change`; with evidence for a bound if `proves`."""

    change: Change
    proves: bool

    def on(self, part: "Part") -> Seen:
        """Make the pass."""
        return part.look(self)


class Save(NamedTuple):
    """Write the part, as it is after the last settled round, to a file in this folder."""

    folder: str

    def on(self, part: "Part") -> str:
        """Write the file; return its path."""
        path = f"{self.folder}/part-{part.number:04}-{part.rounds:06}.wm"
        part.save(path)
        return path


class Missing(NamedTuple):
    """The reply where a part is not known, or is at another round: it must be rebuilt."""

    rounds: int = -1


@dataclass(frozen=True, slots=True)
class Past:
    """How a part came to where it is: a file that it was saved to after `begin` rounds, and the rounds since."""

    begin: int = 0
    path: str | None = None
    rounds: tuple[tuple[Order, Settled], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A task for a part that has settled `rounds` rounds: the last of them by this call, if `settled` is given."""

    rounds: int
    settled: Settled | None
    task: Any

    def on(self, part: "Part | None") -> Any:
        """Do it, or say that the part is missing. Doing it twice does no harm."""
        behind = self.settled is not None and part is not None and part.rounds == self.rounds - 1
        if part is None or not (behind or part.rounds == self.rounds):
            return Missing(-1 if part is None else part.rounds)
        if behind and self.settled is not None:
            part.settle(self.settled)
        return self.task.on(part)

    @property
    def n_bytes(self) -> int:
        """The bytes of the changes of w in it."""
        asked = self.task.change.n_bytes if isinstance(self.task, Look) else 0
        return asked + (0 if self.settled is None else self.settled.n_bytes)


def n_bytes(reply: Any) -> int:
    """The bytes of the changes in a reply."""
    if isinstance(reply, Report):
        return reply.change.n_bytes + (0 if reply.mean is None else reply.mean.n_bytes)
    if isinstance(reply, Held | Seen) and reply.sums is not None:
        return reply.sums.s.n_bytes
    return 0
