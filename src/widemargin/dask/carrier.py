"""Dask carries calls to parts, and their replies back.

A part lives on a worker, where its tasks must run. If that worker is gone, the part is lost, and is rebuilt on another
(`parts.team`). So is a part that takes `patience` times as long as most others: a slow worker does not hold up a round
for ever. The result is the same wherever a part is.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from statistics import median
from time import monotonic
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, TimeoutError, wait  # noqa: A004
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.comm.core import CommClosedError

from widemargin.dask import worker
from widemargin.errors import WidemarginError
from widemargin.parts.messages import Call, Missing, Past
from widemargin.parts.team import About

TICK = 0.2  # seconds between two looks at whether training should end
FETCH = 5.0  # seconds that fetching a result may take at first
BETWEEN_LOOKS = 1.0  # seconds between two looks at which workers are there
LEAST_PATIENCE = 60.0  # seconds that any part may take
LOST = (
    KilledWorker,
    CommClosedError,
    FutureCancelledError,
    FuturesCancelledError,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)
MOST_ATTEMPTS = 10  # to rebuild parts on workers that die again
LARGE = "1 TiB"  # changes of w travel with their tasks, however large they are


class DaskCarrier:
    """Parts on the workers of a cluster.

    Parameters
    ----------
    client : the cluster's client
    run : a name that no other run has
    make : makes a part from what all parts share, a piece of the data, and its number
    shared : what all parts share
    pieces : a piece of the data for each part, or a future of one
    patience : how many times as long as most others a part may take
    """

    def __init__(
        self, client: Client, run: str, make: worker.Make, shared: Any, pieces: Sequence[Any], patience: float = 10.0
    ) -> None:
        self.client, self.run, self.make, self.patience = client, run, make, patience
        self.n_parts, self._pieces, self._shared = len(pieces), list(pieces), shared
        self._where: dict[int, str] = {}
        self._shared_future: Future[Any] | None = None
        self._data: dict[int, Future[Any]] = {}
        self._slow: dict[int, str] = {}
        self._calls = 0
        self._name, self._futures = "", dict[int, Future[Any]]()

    def ask(self, calls: Mapping[int, Call], watch: Callable[[], None]) -> Iterator[tuple[int, Any]]:
        """The parts' replies, in the order of the parts."""
        name = type(next(iter(calls.values())).task).__name__.lower()
        tasks = {k: (worker.perform, (self.run, k, call)) for k, call in calls.items()}
        yield from self._run(name, tasks, watch, lost=Missing())

    def rebuild(self, pasts: Mapping[int, Past], watch: Callable[[], None]) -> Iterator[tuple[int, About]]:
        """Make these parts anew, on workers that are there."""
        waiting = dict(pasts)
        for _ in range(MOST_ATTEMPTS):
            if not waiting:
                return
            self._place(waiting)
            try:
                shared, pieces = self._scattered(), {k: self._piece(k) for k in waiting}
            except (*LOST, TimeoutError):
                continue
            tasks = {
                k: (worker.rebuild, (self.run, k, self.make, shared, pieces[k], past)) for k, past in waiting.items()
            }
            for k, about in self._run("rebuild", tasks, watch, lost=None):
                if about is not None:
                    del waiting[k]
                    yield k, about
        if waiting:
            raise WidemarginError(f"part {min(waiting)} could not be rebuilt: its workers were lost again and again")

    @property
    def doing(self) -> str:
        """What each worker does, for people: the parts that it still works on."""
        busy: dict[str, list[int]] = {}
        for k, future in self._futures.items():
            if not future.done():
                busy.setdefault(self._where[k], []).append(k)
        return "; ".join(f"{self._name} {parts} on {address}" for address, parts in sorted(busy.items()))

    def close(self) -> None:
        """Free the parts."""
        self.client.run(worker.forget, self.run, on_error="ignore")

    def _alive(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def _place(self, parts: Mapping[int, Any]) -> None:
        """Choose a worker for each part: the least loaded one, and another than the one that lost it."""
        alive = self._alive()
        if not alive:
            self.client.wait_for_workers(1)
            alive = self._alive()
        load = dict.fromkeys(alive, 0)
        for k, address in self._where.items():
            if address in load and k not in parts:
                load[address] += 1
        for k in parts:
            before = self._slow.pop(k, None)
            self._where[k] = min(alive, key=lambda address: (address == before, load[address], address))
            load[self._where[k]] += 1

    def _scattered(self) -> Future[Any]:
        if self._shared_future is None or self._is_lost(self._shared_future):
            self._shared_future = self.client.scatter(self._shared, broadcast=True, hash=False)
        return self._shared_future

    def _is_lost(self, future: Future[Any]) -> bool:
        """Whether no worker holds what was sent."""
        try:
            return not any(self.client.who_has([future]).values())
        except LOST:
            return True

    def _piece(self, k: int) -> Any:
        """The piece of part k where its worker can have it: a future that is computed, or data that are sent.

        What was sent before may have been lost together with the worker, and Dask would wait for it for ever.
        """
        piece = self._pieces[k]
        if not isinstance(piece, Future):
            self._data[k] = self.client.scatter([piece], workers=[self._where[k]], hash=False)[0]
        return self._data.get(k, piece)

    def _run(
        self,
        name: str,
        tasks: Mapping[int, tuple[Callable[..., Any], tuple[Any, ...]]],
        watch: Callable[[], None],
        lost: Any,
    ) -> Iterator[tuple[int, Any]]:
        """The results of tasks, in the order of the parts; `lost` for those whose workers are gone or too slow."""
        futures: dict[int, Future[Any]] = {}
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
            for k, (function, arguments) in tasks.items():
                self._calls += 1
                key, where = f"{name}-{self.run}-{k}-{self._calls}", [self._where[k]]
                futures[k] = self.client.submit(function, *arguments, key=key, workers=where, pure=False)
        self._name, self._futures = name, futures
        clock = _Clock(futures, self.patience)
        try:
            for k, future in futures.items():
                yield k, self._awaited(k, future, clock, watch, lost)
        finally:
            left = [future for future in futures.values() if not future.done()]
            if left:
                self.client.cancel(left)

    def _awaited(self, k: int, future: Future[Any], clock: "_Clock", watch: Callable[[], None], lost: Any) -> Any:
        """The result of part k; `lost` if its worker is gone, even with a result that was not fetched in time."""
        patience = FETCH
        while True:
            watch()
            try:
                with suppress(TimeoutError):
                    wait(future, timeout=TICK)
                if future.status == "finished":
                    return future.result(timeout=patience)
                if future.done():
                    return future.result()  # raises
            except TimeoutError:
                patience *= 2.0  # it may be large
            except LOST:
                return lost
            if clock.is_time() and self._is_gone(k, clock):
                return lost

    def _is_gone(self, k: int, clock: "_Clock") -> bool:
        """Whether the worker of part k is gone, or far slower than others."""
        alive = self._alive()
        if self._where[k] not in alive:
            return True
        if clock.is_slow() and len(alive) > 1:
            self._slow[k] = self._where[k]
            return True
        return False


class _Clock:
    """How long tasks take, looked at about once a second."""

    def __init__(self, futures: Mapping[int, Future[Any]], patience: float) -> None:
        self.futures, self.patience = futures, patience
        self.begin = self.looked = monotonic()
        self.taken: dict[int, float] = {}

    def is_time(self) -> bool:
        """Whether the last look was long enough ago."""
        now = monotonic()
        if now - self.looked < BETWEEN_LOOKS:
            return False
        self.looked = now
        self.taken |= {k: now - self.begin for k, each in self.futures.items() if k not in self.taken and each.done()}
        return True

    def is_slow(self) -> bool:
        """Whether the tasks that are still running have taken far longer than most others."""
        if 2 * len(self.taken) < len(self.futures):
            return False
        return self.looked - self.begin > max(LEAST_PATIENCE, self.patience * median(self.taken.values()))
