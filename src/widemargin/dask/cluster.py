"""The cluster itself: whether it is connected, whether its workers have the same versions, and their results.

A worker that is stopped or hangs may stay connected for minutes. It is *silent*: its heartbeats stop while those of
others go on. A silent worker gets no tasks, and its results are not waited for.
"""

import asyncio
import concurrent.futures
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import dask
import numpy as np
from distributed import Client, Future, KilledWorker, wait
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.comm.core import CommClosedError

from widemargin._version import __version__
from widemargin.errors import WidemarginError

LOST = (
    KilledWorker,
    CommClosedError,
    FutureCancelledError,
    FuturesCancelledError,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)
"""Errors that say that a worker is gone, and nothing about what it was doing."""

GONE = "the scheduler of the Dask cluster is gone, or the client is closed; connect a new Client"
SILENCE = 20.0  # seconds without a heartbeat, which comes every half second, or every six of a thousand workers
BETWEEN_LOOKS = 1.0  # seconds between two looks at which workers are there
LARGE = "1 TiB"  # pieces of lists, and the past of a part that is rebuilt, travel with their tasks


@contextmanager
def plainly() -> Iterator[None]:
    """Raise errors of the library that come from workers without the workers' traceback."""
    try:
        yield
    except WidemarginError as error:
        raise type(error)(*error.args) from None  # a new error, since the old one would keep its traceback


@contextmanager
def large_messages() -> Iterator[None]:
    """Switch off Dask's warnings about large messages."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
        yield


def hold(client: Client, thing: Any, name: str, workers: list[str] | None = None) -> Future[Any]:
    """A value for the workers, as the result of a task.

    Dask repeats a task whose result is lost with its worker. A scattered value would be lost for ever, and a task that
    prefers a lost worker may wait for ever.
    """
    with large_messages():
        return client.submit(itself, thing, key=name, workers=workers, pure=False)


def itself(thing: Any) -> Any:
    """The thing itself."""
    return thing


def start(client: Client, call: Coroutine[Any, Any, Any]) -> "concurrent.futures.Future[Any]":
    """A future of a call of the client, which begins at once; the caller may wait for it with any timeout."""
    return asyncio.run_coroutine_threadsafe(call, client.loop.asyncio_loop)  # type: ignore[union-attr]


class Fetch:
    """The result of a task, for callers that must not wait long at a time."""

    def __init__(self, client: Client, future: Future[Any]) -> None:
        self.client, self.future = client, future
        self._call: concurrent.futures.Future[Any] | None = None

    def result(self, timeout: float) -> Any:
        """The result or error of the task; raises `TimeoutError` if neither is there in time."""
        if self._call is None:
            if not self.future.done():
                with self.client.as_current():  # there may be other clients
                    wait(self.future, timeout=timeout)
            status = self.future.status  # asked for once: it may change at any moment
            if status in ("error", "cancelled"):
                self.future.result()  # raises: only errors can be had without waiting
            if status != "finished":
                raise TimeoutError
            self._call = start(self.client, self.client.gather(self.future, asynchronous=True))
        try:
            return self._call.result(timeout)
        except TimeoutError:
            if self._call.done():  # it may be an error of its own, of a connection
                self._call = None
            raise

    def cancel(self) -> None:
        """Wait no longer."""
        if self._call is not None:
            self._call.cancel()


def results(client: Client, submit: Callable[[list[str] | None], Sequence[Future[Any]]]) -> list[Any]:
    """The results of the tasks that `submit` gives to the workers it is called with; None means any.

    If a worker falls silent meanwhile, all tasks are submitted again to the others. An error of the library is raised
    as if it had happened here.
    """
    while True:
        check_connected(client)
        ignored = silent(client)
        with large_messages():
            futures = submit(addresses(client) if ignored else None)
        pending = [Fetch(client, each) for each in futures]
        try:
            with plainly():
                return [_wait_for(each, partial(_is_any_silent, client, ignored)) for each in pending]
        except _SilentError:
            continue
        except LOST:
            check_connected(client)
            raise WidemarginError(
                "workers die again and again when they are given a part of the data; look at their logs and memory"
            ) from None
        finally:
            for each in pending:
                each.cancel()


class _SilentError(Exception):
    """A worker has fallen silent."""


def _wait_for(pending: "Fetch | concurrent.futures.Future[Any]", is_silent: Callable[[], bool]) -> Any:
    """The result of a task or a call; raises `_SilentError` once `is_silent` holds."""
    while True:
        try:
            return pending.result(timeout=BETWEEN_LOOKS)
        except TimeoutError:
            if is_silent():
                raise _SilentError from None


def check_connected(client: Client) -> None:
    """Raise unless the client is connected to its scheduler."""
    if client.status != "running":
        raise WidemarginError(GONE)


def _silences(client: Client) -> dict[str, bool]:
    """Whether the scheduler has not heard from each worker for `SILENCE` seconds longer than from the last one."""
    check_connected(client)
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, *LOST):
        raise WidemarginError(GONE) from None
    seen = {address: float(each["last_seen"]) for address, each in workers.items()}  # by the scheduler's clock
    return {address: max(seen.values()) - moment > SILENCE for address, moment in seen.items()}


def silent(client: Client) -> set[str]:
    """The addresses of the silent workers."""
    return {address for address, is_silent in _silences(client).items() if is_silent}


def _is_silent(client: Client, address: str) -> bool:
    return address in silent(client)


def _is_any_silent(client: Client, ignored: set[str]) -> bool:
    return bool(silent(client) - ignored)


def addresses(client: Client) -> list[str]:
    """The addresses of the workers that are not silent."""
    return sorted(address for address, is_silent in _silences(client).items() if not is_silent)


def n_workers(client: Client) -> int:
    """How many workers the cluster has; waits for the first."""
    if not addresses(client):
        client.wait_for_workers(1)
    return len(addresses(client))


def check_versions(client: Client) -> None:
    """Refuse workers whose versions differ from the driver's: their results might differ."""
    n_workers(client)
    own = versions()
    try:
        found = on_all(client, versions)
    except ModuleNotFoundError as error:
        raise WidemarginError(f"a worker cannot import {error.name}: install widemargin there, too") from None
    for address, theirs in sorted(found.items()):
        for name, version in own.items():
            if theirs.get(name) != version:
                raise WidemarginError(
                    f"the worker {address} has {name} {theirs.get(name)}, but this process has {version}; "
                    "install the same version everywhere"
                )


def versions() -> dict[str, str]:
    """The versions that results depend on."""
    import platform
    from importlib.metadata import version

    python = ".".join(platform.python_version_tuple()[:2])
    return {"widemargin": __version__, "numpy": np.__version__, "numba": version("numba"), "python": python}


def on_all(client: Client, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run a function on every worker and return the results by address, without workers that die or are silent."""
    n_workers(client)  # waits if there is none: a lost worker may be about to come back
    asked = {
        address: start(client, client.run(function, *arguments, workers=[address], asynchronous=True))
        for address in addresses(client)
    }
    found: dict[str, Any] = {}
    for address, each in asked.items():
        try:
            found |= _wait_for(each, partial(_is_silent, client, address))
        except (_SilentError, OSError, *LOST):
            check_connected(client)
            each.cancel()
    if not found:
        raise WidemarginError("no worker answers; look at their logs")
    return found


def is_shared(client: Client, folder: Any) -> bool:
    """Whether all workers can reach the folder."""
    token = Path(folder) / f"{uuid4().hex}.token"
    token.touch()
    try:
        found = on_all(client, os.path.exists, os.fspath(token))
    finally:
        token.unlink()
    return bool(found) and all(found.values())
