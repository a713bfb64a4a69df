"""The driver's side of several parts: it knows how far each has come, and rebuilds those that are lost.

A part is a function of its data, of the rounds that were ordered and of how they were settled. So a part that is lost
is made anew from its data, or from the file that it was last saved to, and repeats the rounds since then: the result is
the same, bit for bit, as if nothing had happened. The rounds are kept in a `Journal`.

A part proves by its `Mark` that it is the one that it replaces. If its data have changed meanwhile, training stops. If
it computes differently, as on another kind of processor, it has other α than those that the driver's w is the sum of:
it is then among the `strangers`, and the round ends at what all parts hold (`cocoa.held_by_all`).
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from widemargin.core.examples import count_unreachable
from widemargin.errors import DataError, WidemarginError
from widemargin.parts.journal import Journal
from widemargin.parts.messages import Call, Held, Mark, Missing, Order, Past, Report, Settled, n_bytes
from widemargin.parts.part import Part

LOG = logging.getLogger(__name__)
MOST_REBUILDS = 20  # of one part for one task: workers that die this often would go on to do so


class About(NamedTuple):
    """Facts about a part: its mark, its examples that count, Σ c_i, the weights, and whether its oracle is exact.

    `unreachable` counts its gold outputs that decoding can never return, by reason.
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
        """Make these parts anew, and let them repeat their past."""


class LocalCarrier:
    """Parts in this process, each made by one of `makers`: to count rounds and bytes, and for tests."""

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


class Team:
    """All parts of a run.

    Parameters
    ----------
    carrier : carries calls to the parts
    journal : keeps the rounds; by default one that forgets them with this object

    `sent` and `received` count the bytes of changes of w; `rebuilt` counts parts that had been lost.
    """

    def __init__(self, carrier: Carrier, journal: Journal | None = None) -> None:
        self.carrier, self.journal = carrier, journal or Journal()
        self.n_parts = carrier.n_parts
        self.rounds, self.sent, self.received, self.rebuilt = 0, 0, 0, 0
        self.last: Settled | None = None
        self._behind: set[int] = set()  # parts that do not know yet how the last round ended
        self.about: dict[int, About] = {}
        self.strangers: set[int] = set()  # parts whose α are not those that the driver knows of
        self._paths: dict[int, str] = {}  # where each part will be once the round is settled

    def start(self, watch: Callable[[], None], rounds: int = 0) -> None:
        """Make all parts, as they are after this many rounds of the journal."""
        self.rounds, self._behind, self.last = rounds, set(), None
        self._rebuild(range(self.n_parts), watch)

    def settle(self, order: Order, settled: Settled) -> None:
        """A round has ended; parts are told with their next tasks."""
        marks = [self.about[k].mark._replace(path=self._paths[k]) for k in range(self.n_parts)]
        self.journal.append(order, settled, marks, self.rounds)
        self.strangers.clear()
        self.rounds += 1
        self.last, self._behind = settled, set(range(self.n_parts))

    def ask(self, task: Any, watch: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """The replies of all parts to a task, in their order; parts that are lost are rebuilt on the way."""
        replies: dict[int, Any] = {}
        waiting, following, rebuilds = list(range(self.n_parts)), 0, 0
        while waiting:
            calls = {k: Call(self.rounds, self.last if k in self._behind else None, task) for k in waiting}
            self.sent += sum(call.n_bytes for call in calls.values())
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
        """Refuse a part whose data have changed, and note one that has come to other α."""
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
        """Save all parts if the journal has a folder that they can reach, and the last time is long enough ago."""
        if self.journal.is_due():
            paths = [path for _, path in self.ask(self.journal.saving(), watch)]
            self.journal.saved(self.rounds, paths)
