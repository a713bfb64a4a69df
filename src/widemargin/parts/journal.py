"""The rounds of a run and the files of saved parts: enough to rebuild a part or to resume a run.

A folder that workers can reach, too, holds parts and rounds. A folder that only the driver can reach holds only rounds,
and lost parts repeat all of them. Without a folder rounds are kept in memory.

Three generations of saved parts are kept, with the rounds since the oldest. If the driver dies between saving the parts
and its own checkpoint, that checkpoint is older than the last generation, but not older than the first.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from widemargin.core import header
from widemargin.core.model_file import read_model, write_model
from widemargin.core.stored import Stored
from widemargin.errors import ModelFileError
from widemargin.parts.messages import Change, Mark, Order, Past, Save, Settled

GENERATIONS = 3
STRUCTURE = "round"
ROUND = {
    "structure": header.text(),
    "sigma": header.number(),
    "momentum": header.number(at_least=0, at_most=1),
    "whole": header.flag(),
    "epochs": header.whole(at_least=1),
    "seed": header.whole(at_least=0),
    "step": header.number(at_least=0, at_most=1),
    "marks": header.many(header.row(header.text(), header.text())),
}


class Generation(NamedTuple):
    """The files of parts that were saved after this many rounds, by part number."""

    rounds: int
    paths: dict[int, str]

    def remove(self) -> None:
        """Delete the files."""
        for path in self.paths.values():
            Path(path).unlink(missing_ok=True)


class Round(NamedTuple):
    """A round as it was ordered and settled, and the marks of all parts after it."""

    order: Order
    settled: Settled
    marks: tuple[Mark, ...]


class Journal:
    """The rounds of a run.

    Parameters
    ----------
    folder : where to keep them; it must exist
    shared : whether the parts can write to the folder, too
    seconds : how long to wait between two times that parts are saved
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, shared: bool = False, seconds: float = 30.0):
        self.folder, self.shared, self.seconds = None if folder is None else Path(folder), shared, seconds
        self._rounds: dict[int, Round] = {}
        self._generations: list[Generation] = []
        self._last = perf_counter()
        if self.folder is not None:
            self._find()

    def append(self, order: Order, settled: Settled, marks: Sequence[Mark], number: int) -> None:
        """Keep round `number`; generations after it belong to an aborted run and are removed."""
        while self._generations and self._generations[-1].rounds > number:
            self._generations.pop().remove()
        if self.folder is None:
            self._rounds[number] = Round(order, settled, tuple(marks))
        else:
            about = {"structure": STRUCTURE, **order._asdict(), "step": settled.step, "marks": list(map(list, marks))}
            pulls = {} if settled.pulls is None else {"pulls": settled.pulls}
            write_model(self._path(number), about, settled.change._asdict() | pulls)

    def past(self, part: int, rounds: int) -> Past:
        """The past of a part up to this many rounds: its last file, and the rounds since."""
        begin, path = 0, None
        for generation in self._generations:
            if generation.rounds <= rounds and part in generation.paths:
                begin, path = generation.rounds, generation.paths[part]
        return Past(begin, path, tuple(self._round(number)[:2] for number in range(begin, rounds)))

    def marks(self, rounds: int) -> tuple[Mark, ...]:
        """The marks of all parts after this many rounds."""
        return self._round(rounds - 1).marks

    def is_due(self) -> bool:
        """Whether parts should be saved now."""
        return self.shared and self.folder is not None and perf_counter() - self._last >= self.seconds

    def saving(self) -> Save:
        """The task of saving a part."""
        assert self.folder is not None
        return Save(os.fspath(self.folder))

    def saved(self, rounds: int, paths: Sequence[str]) -> None:
        """Note that all parts were saved; remove older generations, and rounds before the oldest one kept."""
        self._generations.append(Generation(rounds, dict(enumerate(paths))))
        self._last = perf_counter()
        while len(self._generations) > GENERATIONS:
            self._generations.pop(0).remove()
            for number in range(self._generations[0].rounds):
                self._path(number).unlink(missing_ok=True)

    def _round(self, number: int) -> Round:
        if self.folder is None:
            return self._rounds[number]
        path = self._path(number)
        stored = Stored(header.Place(f"the round {path}"), *read_model(path))
        found = stored.checked(ROUND)
        if found["structure"] != STRUCTURE:
            raise ModelFileError(f"{path} is not a round of a run")
        indices = stored.vector("indices", np.int32)
        change = Change(indices.copy(), stored.vector("values", np.float64, len(indices)).copy())
        order = Order(*(found[name] for name in Order._fields))
        pulls = stored.vector("pulls", np.uint8, len(indices)).copy() if "pulls" in stored.tensors else None
        return Round(order, Settled(change, found["step"], pulls), tuple(Mark(*each) for each in found["marks"]))

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"round-{number:06}.wm"

    def _find(self) -> None:
        """Find the generations that an earlier run has left."""
        found: dict[int, dict[int, str]] = {}
        assert self.folder is not None
        for path in sorted(self.folder.iterdir()):
            named = re.fullmatch(r"part-(\d+)-(\d+)\.wm", path.name)
            if named:
                found.setdefault(int(named[2]), {})[int(named[1])] = os.fspath(path)
        self._generations = [Generation(rounds, found[rounds]) for rounds in sorted(found)]
