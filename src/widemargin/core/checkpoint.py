"""Checkpoints: a training run between two epochs, saved in a file, from which it continues as if never stopped.

The file holds everything that the rest of the run depends on: the solver's state, the random generator, the trace, the
best weights so far, calls and seconds. So the resumed run equals the uninterrupted one bit for bit. An epoch cut short
by Ctrl-C or a time limit is not saved: the file holds the last complete epoch, and the next one is repeated.

The format is that of model files (`core.model_file`): arrays and JSON, never a pickle. The file names the problem and
the solver that it belongs to, with digests of the examples and their weights, because cuts of other data prove nothing
about these. It also holds a digest of its own contents, which reveals damage.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.certificate import BestWeights
from widemargin.core.contents import CHANGED, EXAMPLES, facts, listed_digest
from widemargin.core.header import Place, many, mapping, number, optional, plain, record, row, text, whole
from widemargin.core.model_file import read_model, write_model
from widemargin.core.oracle import Clock
from widemargin.core.packing import Arrays, misfit, pack, unpack
from widemargin.core.penalty import formula
from widemargin.core.problem import Trainable
from widemargin.core.solution import EPOCH, Epoch
from widemargin.core.solver import Solver
from widemargin.core.stored import Stored
from widemargin.errors import ModelFileError, WidemarginError

if TYPE_CHECKING:
    from widemargin.core.loop import Run

STRUCTURE = "checkpoint"
VERSION = 2

MOMENT = {
    "rng": record({"bit_generator": text()}),
    "trace": many(row(*(EPOCH[name] for name in Epoch._fields))),
    "best_score": optional(number(finite=False)),
    "best_epoch": whole(at_least=0),
    "waited": whole(at_least=0),
    "bound": number(finite=False),
    "calls": whole(at_least=0),
    "seconds": number(),
}
"""The fields of a `Moment` that do not depend on the solver."""


@dataclass(slots=True)
class Moment:
    """A run between two epochs.

    `trace` holds its rows as lists, `rng` the state of the random generator, `slacks` the slacks that the oracle last
    saw, `average` the average of the weights so far, and `waited` the number of epochs without a better score. `found`
    are the exact slacks at the state's weights, if a full pass was made there. `outer` is a dataclass that the caller
    needs to resume the run, or None.
    """

    state: Any
    rng: dict[str, Any] = field(default_factory=dict)
    trace: list[Any] = field(default_factory=list)
    best_score: float | None = None
    best_epoch: int = 0
    best_w: FloatVector | None = None
    average: FloatVector | None = None
    waited: int = 0
    slacks: FloatVector | None = None
    bound: float = -np.inf
    calls: int = 0
    seconds: float = 0.0
    found: FloatVector | None = None
    outer: Any = None

    @classmethod
    def of(cls, run: "Run") -> "Moment":
        """The present moment of a run."""
        keeper, certifier = run.keeper, run.certifier
        score, epoch, w = keeper.best or (None, 0, None)
        return cls(
            run.state,
            json.loads(json.dumps(run.rng.bit_generator.state, default=lambda array: array.tolist())),
            [list(row) for row in run.trace],
            score,
            epoch,
            w,
            keeper.average,
            keeper.waited,
            run.problem.slacks,
            certifier.bound,
            run.clock.calls,
            run.clock.seconds,
            certifier.slacks_at(run.solver.weights(run.state)),
        )

    def take_to(self, run: "Run") -> None:
        """Set a run to this moment, except for its random generator."""
        keeper, certifier = run.keeper, run.certifier
        run.state, run.trace, certifier.bound = self.state, [Epoch(*row) for row in self.trace], self.bound
        if self.slacks is not None:
            run.problem.slacks = self.slacks
        if self.best_score is not None and self.best_w is not None:
            keeper.best = BestWeights(self.best_score, self.best_epoch, self.best_w)
        keeper.average, keeper.waited = self.average, self.waited
        run.clock = Clock(run.problem.meter, self.seconds, self.calls)
        if self.found is not None:
            certifier.slacks, certifier.place = self.found, run.solver.weights(run.state)

    def check(self, place: Place, n_weights: int, n_blocks: int) -> None:
        """Raise an error about the first field with an impossible value."""
        for name, wanted in MOMENT.items():
            wanted(getattr(self, name), place.at(name))
        sizes = {"best_w": n_weights, "average": n_weights, "slacks": n_blocks, "found": n_blocks}
        for name, size in sizes.items():
            vector = getattr(self, name)
            is_one = isinstance(vector, np.ndarray) and vector.shape == (size,) and vector.dtype == np.float64
            if vector is not None and not is_one:
                raise place.at(name).wrong(vector, f"a vector of {size} numbers")
        check_generator(self.rng, place.at("rng"))


class Checkpoint:
    """The checkpoint file of one run.

    Parameters
    ----------
    path : path of the file
    problem, solver : those of the run; a file that belongs to another run is refused
    seconds : how long to wait between two writes
    outer : a dataclass that the caller needs to resume the run
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: Trainable,
        solver: Solver,
        seconds: float = 30.0,
        outer: Any = None,
    ) -> None:
        if not seconds >= 0:
            raise WidemarginError(f"checkpoint_seconds must be a number of at least 0, not {seconds!r}")
        self.path, self.seconds, self.problem = os.fspath(path), seconds, problem
        self.about = fingerprint(problem, solver) | {EXAMPLES: listed_digest(problem.examples)}
        self.outer = outer
        self._written = perf_counter()
        self._pending: tuple[Any, Arrays] | None = None

    def note(self, run: "Run") -> None:
        """Keep a copy of this moment between two epochs; write it if the last write was long enough ago."""
        arrays: Arrays = {}
        moment = Moment.of(run)
        moment.outer = self.outer
        self._pending = pack(moment, "run", arrays), arrays
        if perf_counter() - self._written >= self.seconds:
            self.write()

    def write(self) -> None:
        """Write the last noted moment, unless the file already holds it."""
        if self._pending is not None:
            content, arrays = self._pending
            header = {"structure": STRUCTURE, "version": VERSION, "about": self.about}
            write_packed(self.path, header, content, arrays)
            self._pending, self._written = None, perf_counter()

    def resume(self, run: "Run") -> bool:
        """Set `run` to the moment in the file; False if there is no file."""
        moment = self.read(run.solver.start(run.problem))
        if moment is None:
            return False
        try:
            run.rng.bit_generator.state = moment.rng
        except ValueError:
            kind = moment.rng["bit_generator"]
            raise WidemarginError(f"the checkpoint {self.path} needs a generator of the kind {kind}") from None
        moment.take_to(run)
        return True

    def read(self, state: Any) -> Moment | None:
        """The moment in the file, its state written into the fresh `state`; None if there is no file."""
        stored = _read_checkpoint(self.path)
        if stored is None:
            return None
        about = stored.header["about"]
        for name, value in self.about.items():
            if about.get(name) != value:
                other = f"{about.get(name)!s:.200}, not {value}" + (f"; {CHANGED}" if name == EXAMPLES else "")
                raise WidemarginError(f"the checkpoint {self.path} belongs to another run: its {name} is {other}")
        place, fresh = stored.place.at("run"), Moment(state, outer=self.outer)
        moment: Moment = unpack(stored.header["content"], fresh, stored.tensors, place, self.problem)
        moment.check(place, self.problem.n_weights, self.problem.n_blocks)
        complaint = state.flaw(self.problem) if hasattr(state, "flaw") else ""
        if complaint:
            raise misfit(place.at("state"), complaint)
        return moment


def check_generator(rng: dict[str, Any], place: Place) -> None:
    """Raise an error if this is no state of its kind of random generator; unknown kinds are not checked."""
    kind = getattr(np.random, rng["bit_generator"], None)
    if isinstance(kind, type) and issubclass(kind, np.random.BitGenerator):
        try:
            kind().state = rng
        except (KeyError, TypeError, ValueError, OverflowError):  # the generator is the only judge of its states
            raise place.wrong(rng, f"a state of {kind.__name__}") from None


def read_outer(path: str | os.PathLike[str], outer: Any) -> bool:
    """Fill the dataclass `outer` from the `outer` of the file; False if there is no file."""
    stored = _read_checkpoint(os.fspath(path))
    if stored is None:
        return False
    moment = stored.header["content"].get("fields")
    if not isinstance(moment, dict) or "outer" not in moment:
        raise stored.place.missing()
    unpack(moment["outer"], outer, stored.tensors, stored.place.at("outer"))
    return True


def _read_checkpoint(path: str) -> Stored | None:
    """The contents of the file, checked to be an undamaged checkpoint of this version; None if there is no file."""
    if not Path(path).exists():
        return None
    stored = Stored(Place(f"the checkpoint {path}"), *read_model(path))
    if stored.checked({"structure": text()})["structure"] != STRUCTURE:
        raise ModelFileError(f"{path} is a model, not a checkpoint; give another name to the checkpoint")
    if stored.header.get("version") != VERSION:
        raise ModelFileError(f"the checkpoint {path} was written by {stored.header.get('written_by')}; start afresh")
    check_packed(stored)
    return stored


def write_packed(path: str | os.PathLike[str], header: Mapping[str, Any], content: Any, arrays: Arrays) -> None:
    """Write what `packing.pack` returned, with a digest that reveals damage."""
    write_model(path, {**header, "content": content, "digest": digest(content, arrays)}, arrays)


def check_packed(stored: Stored) -> None:
    """Raise unless the file is as `write_packed` wrote it."""
    header = stored.checked({"about": mapping(plain()), "digest": text(), "content": record({})})
    if header["digest"] != digest(header["content"], stored.tensors):
        raise stored.place.damaged("its contents do not match its digest")


def fingerprint(problem: Trainable, solver: Solver) -> dict[str, Any]:
    """The properties that a run must share with the checkpoint it resumes from, except the contents of the examples."""
    penalty = formula(problem.penalty, problem.l1)
    return facts(problem) | {"C": problem.C, "penalty": penalty, "solver": repr(solver)}


def digest(content: Any, arrays: Mapping[str, AnyArray]) -> str:
    """A digest of what `packing.pack` returned, which reveals damaged files."""
    found = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        found.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode("utf-8", "surrogatepass"))
        found.update(np.ascontiguousarray(arrays[name]).ravel().data)
    return found.hexdigest()
