"""The driver's side of several parts: it knows the round of each part, and rebuilds lost ones.

A part is a function of its data, of the orders and of how the rounds were settled. So a lost part is made anew from its
data, or from the file that it was last saved to, and repeats the rounds since then: the result is the same, bit for
bit, as if it had never been lost. The rounds are kept in a `Journal`.

A rebuilt part proves by its `Mark` that it equals the lost one. If its data have changed meanwhile, training stops. If
it computes differently, for example on another kind of processor, its α no longer add up to its share of the driver's
w. It is then one of the `strangers`, and the round ends at the sum of the actual α (`PartedProblem.end_of_held`).

A folder that workers can reach, too, holds parts and rounds. A folder that only the driver can reach holds only rounds,
and lost parts repeat all of them. Without a folder rounds are kept in memory. Three generations of saved parts are
kept, with the rounds since the oldest. If the driver dies between saving the parts and its own checkpoint, that
checkpoint is older than the last generation, but not older than the first.
"""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from widemargin.core import header
from widemargin.core.examples import count_unreachable
from widemargin.core.model_file import read_model, write_model
from widemargin.core.stored import Stored
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.parts.messages import Call, Change, Held, Mark, Missing, Order, Outcome, Past, Report, Save, n_bytes
from widemargin.parts.part import Part

LOG = logging.getLogger(__name__)
MOST_REBUILDS = 20  # for one task: workers that die this often would keep dying
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


class About(NamedTuple):
    """Facts about a part: its mark, the number of examples that count, Σ c_i, the number of weights, exactness.

    `exact` says whether its oracle is. `unreachable` counts gold outputs that decoding can never return, by reason.
    """

    mark: Mark
    n_examples: int
    weight: float
    n_weights: int
    exact: bool
    unreachable: dict[str, int]

    @classmethod
    def of(cls, part: Part) -> "About":
        """The facts about a part."""
        problem = part.problem
        unreachable = count_unreachable(problem.examples)
        weight, exact = float(problem.c.sum()), problem.exact
        return cls(part.mark, problem.n_counted, weight, problem.n_weights, exact, unreachable)


class Carrier(Protocol):
    """Carries calls to parts, wherever they are."""

    n_parts: int

    def ask(self, calls: Mapping[int, Call], watch: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """The parts' replies, in the order of the parts; `watch` is called now and then, and may raise."""

    def rebuild(self, pasts: Mapping[int, Past], watch: Callable[[], None]) -> Iterator[tuple[int, About]]:
        """Make these parts anew and let them repeat their past; yields facts about each."""


class LocalCarrier:
    """Parts in this process, each made by one of `makers`, for tests and for counting rounds and bytes."""

    def __init__(self, makers: Sequence[Callable[[], Part]]) -> None:
        self.makers, self.n_parts = makers, len(makers)
        self.parts: dict[int, Part] = {}

    def ask(self, calls: Mapping[int, Call], watch: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """The replies of the parts."""
        for k, call in calls.items():
            watch()
            yield k, call.on(self.parts.get(k))

    def rebuild(self, pasts: Mapping[int, Past], watch: Callable[[], None]) -> Iterator[tuple[int, About]]:
        """Make parts anew."""
        for k, past in pasts.items():
            watch()
            self.parts[k] = self.makers[k]()
            self.parts[k].repeat(past)
            yield k, About.of(self.parts[k])


class Generation(NamedTuple):
    """The files of parts that were saved after this many rounds, by part number."""

    rounds: int
    paths: dict[int, str]

    def remove(self) -> None:
        """Delete the files."""
        for path in self.paths.values():
            Path(path).unlink(missing_ok=True)


class PastRound(NamedTuple):
    """A round as it was ordered and settled, and the marks of all parts after it."""

    order: Order
    settled: Outcome
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
        self._rounds: dict[int, PastRound] = {}
        self._generations: list[Generation] = []
        self._last = perf_counter()
        if self.folder is not None:
            self._find()

    def append(self, order: Order, settled: Outcome, marks: Sequence[Mark], number: int) -> None:
        """Keep round `number`; generations after it belong to an aborted run and are removed."""
        while self._generations and self._generations[-1].rounds > number:
            self._generations.pop().remove()
        if self.folder is None:
            self._rounds[number] = PastRound(order, settled, tuple(marks))
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

    def note_saved(self, rounds: int, paths: Sequence[str]) -> None:
        """Note that all parts were saved; remove older generations, and rounds before the oldest one kept."""
        self._generations.append(Generation(rounds, dict(enumerate(paths))))
        self._last = perf_counter()
        while len(self._generations) > GENERATIONS:
            self._generations.pop(0).remove()
            for number in range(self._generations[0].rounds):
                self._path(number).unlink(missing_ok=True)

    def _round(self, number: int) -> PastRound:
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
        return PastRound(order, Outcome(change, found["step"], pulls), tuple(Mark(*each) for each in found["marks"]))

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


class Team:
    """All parts of a run.

    Parameters
    ----------
    carrier : carries calls to the parts
    journal : keeps the rounds; by default in memory

    `sent` and `received` count the bytes of changes of w; `rebuilt` counts parts that had been lost.
    """

    def __init__(self, carrier: Carrier, journal: Journal | None = None) -> None:
        self.carrier, self.journal = carrier, journal or Journal()
        self.n_parts = carrier.n_parts
        self.rounds, self.sent, self.received, self.rebuilt = 0, 0, 0, 0
        self.last: Outcome | None = None
        self._behind: set[int] = set()  # parts that do not yet know the end of the last round
        self.about: dict[int, About] = {}
        self.strangers: set[int] = set()  # parts whose α do not add up to their share of the driver's w
        self._paths: dict[int, str] = {}  # the path in each part's mark once the round is settled

    def start(self, watch: Callable[[], None], rounds: int = 0) -> None:
        """Make all parts and bring them to this round of the journal."""
        self.rounds, self._behind, self.last = rounds, set(), None
        self._rebuild(range(self.n_parts), watch)

    def settle(self, order: Order, settled: Outcome) -> None:
        """End a round; parts learn of it with their next tasks."""
        marks = [self.about[k].mark._replace(path=self._paths[k]) for k in range(self.n_parts)]
        self.journal.append(order, settled, marks, self.rounds)
        self.strangers.clear()
        self.rounds += 1
        self.last, self._behind = settled, set(range(self.n_parts))

    def ask(self, task: Any, watch: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """The replies of all parts to a task, in the order of the parts; lost parts are rebuilt on the way."""
        replies: dict[int, Any] = {}
        waiting, following, rebuilds = list(range(self.n_parts)), 0, 0
        while waiting:
            calls = {k: Call(self.rounds, self.last if k in self._behind else None, task) for k in waiting}
            self.sent += sum(map(n_bytes, calls.values()))
            lost: list[int] = []
            for k, reply in self.carrier.ask(calls, watch):
                if isinstance(reply, Missing):
                    lost.append(k)
                    continue
                self._behind.discard(k)
                self.received += n_bytes(reply)
                if isinstance(reply, Report | Held):
                    self._paths[k] = reply.path
                replies[k] = reply
                while following in replies:
                    yield following, replies.pop(following)
                    following += 1
            if lost:
                rebuilds += 1
                if rebuilds > MOST_REBUILDS:
                    raise WidemarginError(f"part {lost[0]} was lost {rebuilds} times during one task; training stops")
                self.rebuilt += len(lost)
                self._rebuild(lost, watch)
            waiting = lost

    def _rebuild(self, parts: Iterable[int], watch: Callable[[], None]) -> None:
        pasts = {k: self.journal.past(k, self.rounds) for k in parts}
        known = {k: each.mark for k, each in self.about.items()}
        if self.rounds:
            known |= dict(enumerate(self.journal.marks(self.rounds)))
        for k, about in self.carrier.rebuild(pasts, watch):
            self._compare(k, about.mark, known.get(k, about.mark))
            self.about[k] = about
            self._behind.discard(k)

    def _compare(self, k: int, found: Mark, known: Mark) -> None:
        """Refuse a part whose data have changed; make one with other α a stranger."""
        if found.contents != known.contents:
            raise DataError(
                f"part {k} of the data is not what it was when this run began: its examples, their weights or the "
                "settings have changed since; start afresh"
            )
        if found.path != known.path:
            LOG.warning("part %d was rebuilt where results differ, perhaps on another kind of processor", k)
            self.strangers.add(k)
        else:
            self.strangers.discard(k)

    def save(self, watch: Callable[[], None]) -> None:
        """Save all parts if they can reach the journal's folder and the last save is long enough ago."""
        if self.journal.is_due():
            paths = [path for _, path in self.ask(self.journal.saving(), watch)]
            self.journal.note_saved(self.rounds, paths)
