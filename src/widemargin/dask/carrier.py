"""Dask carries calls to parts, and their replies back.

A part lives on a worker, where its tasks must run. If that worker is gone or silent (`cluster`), the part is lost, and
is rebuilt on another (`parts.team`). A part that takes `patience` times as long as usual is rebuilt, too, so that a
slow worker does not hold up a round for ever; the first answer then counts. The result does not depend on where a part
is. No wait for a worker is longer than a `TICK`, since training may have to end.
"""

import concurrent.futures
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import median
from time import monotonic, sleep
from typing import Any, NamedTuple

from distributed import Client, Future

from widemargin.dask import worker
from widemargin.dask.cluster import (
    BETWEEN_LOOKS,
    LOST,
    Fetch,
    addresses,
    check_connected,
    hold,
    large_messages,
    plainly,
    start,
)
from widemargin.errors import WidemarginError
from widemargin.parts.messages import Call, Missing, Order, Past
from widemargin.parts.team import About

TICK = 0.2  # seconds between two looks at whether training should end
FAREWELL = 2.0  # the longest wait, in seconds, for workers to free their parts
LEAST_PATIENCE = 60.0  # seconds that any part may take
MOST_ATTEMPTS = 10  # to rebuild parts on workers that die again
REBUILD = "rebuild"
STAYED = "stayed"  # instead of facts about a part that was rebuilt: the old one answers after all
MOST_NAMED = 4  # with more workers, the progress display does not list them one by one


class Slow(NamedTuple):
    """A task that takes too long, and the worker that it runs on."""

    reply: Fetch
    where: str


class DaskCarrier:
    """Parts on the workers of a cluster.

    Parameters
    ----------
    client : the cluster's client
    run : a name that no other run has
    make : makes a part from what all parts share, a piece of the data, and its number
    shared : what all parts share
    pieces : a piece of the data for each part, or a future of one
    patience : how many times as long as usual a part may take
    near : for each piece the worker that has most of what its part is made of
    """

    def __init__(
        self,
        client: Client,
        run: str,
        make: worker.Make,
        shared: Any,
        pieces: Sequence[Any],
        patience: float = 10.0,
        near: Sequence[str] = (),
    ) -> None:
        self.client, self.run, self.make, self.patience = client, run, make, patience
        self.n_parts, self._pieces, self._shared = len(pieces), list(pieces), shared
        self._near = dict(enumerate(near))
        self._where: dict[int, str] = {}
        self._usual: dict[str, float] = {}  # seconds of a task, by its name
        self._suspects: set[str] = set()  # workers that were too slow, and have not answered since
        self._slow: dict[int, Slow] = {}  # slow tasks whose parts are being rebuilt elsewhere
        self._answered: dict[int, Any] = {}  # replies of slow tasks that came before their part was rebuilt
        self._calls = 0
        self._telling: list[concurrent.futures.Future[Any]] = []
        self._name, self._futures = "", dict[int, Future[Any]]()

    def ask(self, calls: Mapping[int, Call], watch: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """The parts' replies."""
        for k in calls:
            if k in self._answered:
                yield k, self._answered.pop(k)
                calls = {each: call for each, call in calls.items() if each != k}
        if not calls:
            return
        first = next(iter(calls.values()))
        is_round = isinstance(first.task, Order)
        name = "round" if is_round else type(first.task).__name__.lower()
        self._tell(calls)
        tasks = {
            k: (worker.perform, (self.run, k, replace(call, settled=None), call.settled is not None))
            for k, call in calls.items()
        }
        yield from self._run(f"{name}-{first.rounds + is_round}", tasks, watch, lost=Missing())

    def _tell(self, calls: Mapping[int, Call]) -> None:
        """Send each worker the end of the last round, once.

        It does not travel with the tasks, because Dask's client and scheduler keep the last thousand messages about
        tasks. Tasks wait for it on the workers; if it does not arrive, they reply that their part is missing.
        """
        behind = {k: call for k, call in calls.items() if call.settled is not None}
        if behind:
            call = next(iter(behind.values()))
            where = sorted({self._where[k] for k in behind})
            check_connected(self.client)
            telling = self.client.run(
                worker.tell, self.run, call.rounds, call.settled, workers=where, on_error="ignore", asynchronous=True
            )
            self._telling = [*(each for each in self._telling if not each.done()), start(self.client, telling)]

    def rebuild(self, pasts: Mapping[int, Past], watch: Callable[[], None]) -> Iterator[tuple[int, About]]:
        """Make these parts anew, on workers that are there."""
        waiting = dict(pasts)
        for _ in range(MOST_ATTEMPTS):
            if not waiting:
                return
            is_first = not self._where
            alive = self._place(waiting, watch)
            shared = hold(self.client, self._shared, f"shared-{self.run}-{self._calls}", alive)
            tasks = {
                k: (worker.rebuild, (self.run, k, self.make, shared, self._pieces[k], past))
                for k, past in waiting.items()
            }
            rounds = max(past.begin + len(past.rounds) for past in waiting.values())
            for k, about in self._run("compile" if is_first else f"{REBUILD}-{rounds}", tasks, watch, lost=None):
                if about is None:
                    continue
                del waiting[k]
                if about is not STAYED:
                    self._forget_slow(k)
                    yield k, about
        if waiting:
            raise WidemarginError(f"part {min(waiting)} could not be rebuilt: its workers were lost again and again")

    @property
    def doing(self) -> str:
        """A line for the progress display: which parts each worker still works on."""
        busy: dict[str, list[str]] = {}
        for k, future in self._futures.items():
            if not future.done():
                busy.setdefault(self._where[k], []).append(str(k))
        workers = sorted(set(self._where.values()))
        if not busy:
            return f"{self.n_parts} parts on {len(workers)} workers"
        if len(workers) > MOST_NAMED:
            return f"{self._name}: {len(busy)} of {len(workers)} workers busy"
        at_work = [f"worker {n} at {' '.join(busy.get(address, ['rest']))}" for n, address in enumerate(workers)]
        return f"{self._name}: {', '.join(at_work)}"

    def close(self) -> None:
        """Free the parts."""
        for each in self._telling:
            each.cancel()
        for slow in self._slow.values():
            slow.reply.cancel()
        forget(self.client, self.run)

    def _place(self, parts: Mapping[int, Any], watch: Callable[[], None]) -> list[str]:
        """Choose a worker for each part, the least loaded one that is not a suspect if possible; return all workers.

        At first, that is the worker near the part's piece, unless it has its fair share of parts already.
        """
        while not (alive := addresses(self.client)):
            watch()
            sleep(TICK)
        load = dict.fromkeys(alive, 0)
        for k, address in self._where.items():
            if address in load and k not in parts:
                load[address] += 1
        fair, near = -(-self.n_parts // len(alive)), {} if self._where else self._near
        for k, address in near.items():
            if load.get(address, fair) < fair:
                self._where[k] = address
                load[address] += 1
        for k in parts:
            if k in near and k in self._where:
                continue
            self._where[k] = min(alive, key=lambda address: (address in self._suspects, load[address], address))
            load[self._where[k]] += 1
        return alive

    def _run(
        self,
        name: str,
        tasks: Mapping[int, tuple[Callable[..., Any], tuple[Any, ...]]],
        watch: Callable[[], None],
        lost: Any,
    ) -> Iterator[tuple[int, Any]]:
        """The results of tasks, in the order of the parts; `lost` for those whose workers are gone or too slow."""
        futures: dict[int, Future[Any]] = {}
        check_connected(self.client)
        with large_messages():
            for k, (function, arguments) in tasks.items():
                self._calls += 1
                key, where = f"{name}-part-{k}-{self.run}-{self._calls}", [self._where[k]]
                futures[k] = self.client.submit(function, *arguments, key=key, workers=where, pure=False)
        self._name, self._futures = name.partition("-")[0], futures
        clock = _Stopwatch(futures, self.patience, self._usual.get(self._name))
        try:
            for k, future in futures.items():
                yield k, self._wait_for(k, future, clock, watch, lost)
        finally:
            self._usual[self._name] = clock.usual
            kept = {id(slow.reply.future) for slow in self._slow.values()}
            left = [each for each in futures.values() if not each.done() and id(each) not in kept]
            if left:
                with suppress(*LOST):
                    self.client.cancel(left)

    def _wait_for(self, k: int, future: Future[Any], clock: "_Stopwatch", watch: Callable[[], None], lost: Any) -> Any:
        """The result of part k; `lost` if its worker is gone, even if it had a result that was not fetched in time."""
        fetch = Fetch(self.client, future)
        try:
            while True:
                watch()
                try:
                    with plainly():
                        found = fetch.result(timeout=TICK)
                    self._suspects.discard(self._where[k])
                    return found
                except TimeoutError:
                    if future.status == "lost":
                        return lost
                except LOST:
                    addresses(self.client)  # raises if there is no cluster any more
                    return lost
                if self._answers_after_all(k):
                    return STAYED
                if clock.is_time() and self._is_gone(k, future, clock):
                    return lost
        finally:
            fetch.cancel()

    def _is_gone(self, k: int, future: Future[Any], clock: "_Stopwatch") -> bool:
        """Whether the worker of part k is gone or silent, or far slower than others."""
        alive, where = addresses(self.client), self._where[k]
        if where not in alive:
            return True
        if clock.is_slow() and len(alive) > 1:
            if self._name not in (REBUILD, "compile"):
                self._slow[k] = Slow(Fetch(self.client, future), where)
            self._suspects.add(where)
            return True
        return False

    def _answers_after_all(self, k: int) -> bool:
        """Whether a task that was too slow has answered before the same part was rebuilt elsewhere."""
        slow = self._slow.get(k)
        if slow is None:
            return False
        try:
            reply = slow.reply.result(timeout=0.0)
        except (TimeoutError, *LOST):
            return False
        del self._slow[k]
        if isinstance(reply, Missing):
            return False
        self._answered[k], self._where[k] = reply, slow.where
        self._suspects.discard(slow.where)
        return True

    def _forget_slow(self, k: int) -> None:
        """Stop waiting for the slow task of part k, which has been rebuilt elsewhere."""
        slow = self._slow.pop(k, None)
        if slow is not None:
            slow.reply.cancel()
            with suppress(*LOST):
                self.client.cancel([slow.reply.future])


def forget(client: Client, run: str) -> None:
    """Let workers free all that they hold for a run, without waiting long for those that do not answer."""
    if client.status == "running":
        parting = client.run(worker.forget, run, wait=False, on_error="ignore", asynchronous=True)
        with suppress(OSError, *LOST):
            start(client, parting).result(timeout=FAREWELL)


class _Stopwatch:
    """Measures how long tasks take, about once a second; `before` is the usual time in the previous run of tasks."""

    def __init__(self, futures: Mapping[int, Future[Any]], patience: float, before: float | None) -> None:
        self.futures, self.patience, self.before = futures, patience, before
        self.begin = self.looked = monotonic()
        self.taken: dict[int, float] = {}

    def is_time(self) -> bool:
        """Whether the last look was long enough ago."""
        now = monotonic()
        if now - self.looked < BETWEEN_LOOKS:
            return False
        self.looked = now
        self._note(now)
        return True

    def is_slow(self) -> bool:
        """Whether the tasks that are still running have taken far longer than is usual."""
        usual = median(self.taken.values()) if 2 * len(self.taken) >= len(self.futures) else self.before
        return usual is not None and self.looked - self.begin > max(LEAST_PATIENCE, self.patience * usual)

    @property
    def usual(self) -> float:
        """How long a task took this time."""
        self._note(monotonic())
        return median(self.taken.values()) if self.taken else monotonic() - self.begin

    def _note(self, now: float) -> None:
        self.taken |= {k: now - self.begin for k, each in self.futures.items() if k not in self.taken and each.done()}
