"""The cluster itself: whether it is there, whether its workers fit together, and what they answer."""

import asyncio
import concurrent.futures
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.comm.core import CommClosedError

from widemargin.dask import worker
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
LARGE = "1 TiB"  # pieces of lists, and the past of a part that is rebuilt, travel with their tasks


@contextmanager
def plainly() -> Iterator[None]:
    """Errors of the library that come from workers are raised here, without the way that they came."""
    try:
        yield
    except WidemarginError as error:
        raise type(error)(*error.args) from None  # another one: this one would keep its way


@contextmanager
def large_messages() -> Iterator[None]:
    """No warnings about large messages."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
        yield


def held(client: Client, thing: Any, name: str) -> Future[Any]:
    """Something for the workers, in a task that returns it.

    Dask repeats a task whose result is lost with its worker. What was scattered would be lost for ever, and a task that
    prefers a worker which is gone may wait for ever.
    """
    with large_messages():
        return client.submit(itself, thing, key=name, pure=False)


def itself(thing: Any) -> Any:
    """The thing itself."""
    return thing


def result(client: Client, future: Future[Any]) -> Any:
    """Wait for a future and return its result; an error of the library is raised as if it had happened here."""
    with plainly():
        try:
            return future.result()
        except LOST:
            check_connected(client)
            raise WidemarginError(
                "workers die again and again when they are given a part of the data; look at their logs and memory"
            ) from None


def check_connected(client: Client) -> None:
    """Raise unless the client is connected to its scheduler."""
    if client.status != "running":
        raise WidemarginError(GONE)


def addresses(client: Client) -> list[str]:
    """The workers that are there."""
    check_connected(client)
    try:
        return sorted(client.scheduler_info(n_workers=-1)["workers"])
    except (OSError, *LOST):
        raise WidemarginError(GONE) from None


def n_workers(client: Client) -> int:
    """How many workers the cluster has; waits for the first."""
    check_connected(client)
    if not addresses(client):
        client.wait_for_workers(1)
    return len(addresses(client))


def check_versions(client: Client) -> None:
    """Refuse workers whose versions differ from the driver's: they would compute something else."""
    n_workers(client)
    own = worker.versions()
    try:
        found = on_all(client, worker.versions)
    except ModuleNotFoundError as error:
        raise WidemarginError(f"a worker cannot import {error.name}: install widemargin there, too") from None
    for address, theirs in sorted(found.items()):
        for name, version in own.items():
            if theirs.get(name) != version:
                raise WidemarginError(
                    f"the worker {address} has {name} {theirs.get(name)}, but this process has {version}; "
                    "install the same version everywhere"
                )


def on_all(client: Client, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run a function on every worker and return the results by address; if a worker dies meanwhile, try again."""
    for _ in range(5):
        try:
            found: dict[str, Any] = client.run(function, *arguments)
        except LOST:
            check_connected(client)
            sleep(1.0)
        else:
            return found
    raise WidemarginError("workers die as soon as they are asked for anything; look at their logs")


def is_shared(client: Client, folder: Any) -> bool:
    """Whether all workers can reach the folder."""
    token = Path(folder) / f"{uuid4().hex}.token"
    token.touch()
    try:
        found = on_all(client, os.path.exists, os.fspath(token))
    finally:
        token.unlink()
    return bool(found) and all(found.values())
