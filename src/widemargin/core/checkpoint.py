"""Checkpoints: a training run between two epochs, saved in a file, from which it continues as if never stopped.

The file holds everything that the rest of the run depends on: the solver's state, the random generator, the trace, the
best weights so far, calls and seconds. So the resumed run equals the uninterrupted one bit for bit. An epoch cut short
by Ctrl-C or a time limit is not saved: the file holds the last complete epoch, and the next one is repeated.

The format is that of model files (`core.model_file`): arrays and JSON, never a pickle. The file names the problem and
the solver that it belongs to. It also holds a digest of its own contents, since kernels trust what they are given.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.cut_store import CutStore
from widemargin.core.model_file import read_model, write_model
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.errors import ModelFileError, UnsupportedError, WidemarginError

STRUCTURE = "checkpoint"
VERSION = 1

Arrays = dict[str, AnyArray]


@dataclass(slots=True)
class Moment:
    """A run between two epochs.

    `trace` holds its rows as lists, `rng` the state of the random generator, `slacks` the slacks the oracle last saw,
    `average` that of the weights so far, and `waited` the epochs that tried the patience.
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


class Checkpoint:
    """The checkpoint file of one run.

    Parameters
    ----------
    path : path of the file
    problem, solver : those of the run; a file that belongs to another run is refused
    seconds : how long to wait between two writes
    """

    def __init__(self, path: str | os.PathLike[str], problem: Problem, solver: Solver, seconds: float = 30.0) -> None:
        if not seconds >= 0:
            raise WidemarginError(f"checkpoint_seconds must be a number of at least 0, not {seconds!r}")
        self.path, self.seconds = os.fspath(path), seconds
        self.about = fingerprint(problem, solver)
        self._written = perf_counter()
        self._pending: tuple[Any, Arrays] | None = None

    def note(self, moment: Moment) -> None:
        """Keep a copy of this moment; write it if the last write was long enough ago."""
        arrays: Arrays = {}
        self._pending = pack(moment, "run", arrays), arrays
        if perf_counter() - self._written >= self.seconds:
            self.write()

    def write(self) -> None:
        """Write the last moment noted, unless it is written already."""
        if self._pending is not None:
            content, arrays = self._pending
            header = {"structure": STRUCTURE, "version": VERSION, "about": self.about, "content": content}
            write_model(self.path, header | {"digest": _digest(content, arrays)}, arrays)
            self._pending, self._written = None, perf_counter()

    def read(self, state: Any) -> Moment | None:
        """The moment in the file, its state written into the fresh `state`; None if there is no file."""
        if not Path(self.path).exists():
            return None
        header, arrays = read_model(self.path)
        if header.get("structure") != STRUCTURE:
            raise ModelFileError(f"{self.path} is a model, not a checkpoint; give another name to the checkpoint")
        if header.get("version") != VERSION:
            raise ModelFileError(f"the checkpoint {self.path} was written by {header.get('written_by')}; start afresh")
        about = header.get("about")
        if not isinstance(about, dict) or header.get("digest") != _digest(header.get("content"), arrays):
            raise ModelFileError(f"the checkpoint {self.path} is damaged: its contents do not match its digest")
        for name, value in self.about.items():
            if about.get(name) != value:
                raise WidemarginError(
                    f"the checkpoint {self.path} belongs to another run: its {name} is {about.get(name)}, not {value}"
                )
        try:
            moment: Moment = unpack(header["content"], Moment(state), arrays)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise ModelFileError(
                f"the checkpoint {self.path} does not fit this version of widemargin; start afresh"
            ) from None
        return moment


def fingerprint(problem: Problem, solver: Solver) -> dict[str, Any]:
    """The properties that a run must share with the checkpoint it resumes from."""
    return {
        "number of blocks": problem.n_blocks,
        "number of weights": problem.n_weights,
        "C": problem.C,
        "loss": problem.loss,
        "penalty": problem.penalty,
        "objective": repr(problem.objective),
        "solver": repr(solver),
        "digest of the sample weights": hashlib.blake2b(problem.example_weight.tobytes(), digest_size=8).hexdigest(),
    }


def pack(value: Any, name: str, arrays: Arrays) -> Any:
    """`value` as JSON, with copies of its arrays in `arrays`: dataclasses of arrays, cuts and plain values."""
    if isinstance(value, np.ndarray):
        arrays[name] = value.copy()
        return {"array": name}
    if isinstance(value, CutStore):
        contents = value.contents()
        arrays.update({f"{name}.{part}": array for part, array in contents.items()})
        return {"cuts": {part: f"{name}.{part}" for part in contents}}
    if is_dataclass(value):
        parts = {each.name: pack(getattr(value, each.name), f"{name}.{each.name}", arrays) for each in fields(value)}
        return {"fields": parts}
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str | list | dict):
        return {"value": value}
    raise UnsupportedError(f"a checkpoint cannot hold {name}, a {type(value).__name__}")


def unpack(packed: Any, template: Any, arrays: Mapping[str, AnyArray]) -> Any:
    """The value given to `pack`; dataclasses and cuts are filled into those of `template`, which has the same form."""
    ((kind, content),) = packed.items()
    if kind == "array":
        return arrays[content].copy()
    if kind == "cuts":
        template.restore({part: arrays[name] for part, name in content.items()})
        return template
    if kind == "fields":
        if [each.name for each in fields(template)] != list(content):
            raise ValueError("the fields differ")
        for name, part in content.items():
            setattr(template, name, unpack(part, getattr(template, name), arrays))
        return template
    return content


def _digest(content: Any, arrays: Mapping[str, AnyArray]) -> str:
    digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).ravel().data)
    return digest.hexdigest()
