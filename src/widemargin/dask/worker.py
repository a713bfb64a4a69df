"""The worker's side: parts are kept in the process, by run and number, and do what calls ask for.

A part that is not there, or at another round, replies that it is missing. So Dask may run a task again, or on another
worker, and no harm is done.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin._version import __version__
from widemargin.parts.messages import Call, Missing, Past, Settled
from widemargin.parts.part import Part
from widemargin.parts.team import About

Make = Callable[[Any, Any, int], Part]


class Host:
    """A part in this process, and the lock that one task at a time holds."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.part: Part | None = None


_HOSTS: dict[tuple[str, int], Host] = {}
_TOLD: dict[str, tuple[int, Settled]] = {}  # the number of rounds of each run, and the end of the last one
_NEWS = threading.Condition()  # guards _TOLD, and wakes tasks that wait for it
_GATE = threading.Lock()
LONGEST_WAIT = 60.0  # seconds for news of the last round, which may come after the task that needs it


def _host(run: str, number: int) -> Host:
    with _GATE:
        return _HOSTS.setdefault((run, number), Host())


def tell(run: str, rounds: int, settled: Settled) -> None:
    """Store the end of the last of `rounds` rounds, for all parts of the run in this process."""
    with _NEWS:
        if _told(run)[0] < rounds:
            _TOLD[run] = rounds, settled
        _NEWS.notify_all()


def _told(run: str) -> tuple[int, Settled | None]:
    return _TOLD.get(run, (-1, None))


def perform(run: str, number: int, call: Call, told: bool) -> Any:
    """The reply of a part; if `told`, the end of the last round arrives separately, by `tell`."""
    host = _host(run, number)
    with host.lock:
        if host.part is None:
            return Missing()
        if told and host.part.rounds == call.rounds - 1:
            with _NEWS:
                _NEWS.wait_for(lambda: _told(run)[0] >= call.rounds, LONGEST_WAIT)
                rounds, settled = _told(run)
            call = replace(call, settled=settled if rounds == call.rounds else None)
        return call.on(host.part)


def rebuild(run: str, number: int, make: Make, shared: Any, piece: Any, past: Past) -> About:
    """Make the part anew and let it repeat its past, unless it is already there at the right round."""
    host = _host(run, number)
    with host.lock:
        if host.part is None or host.part.rounds != past.begin + len(past.rounds):
            host.part = None  # its memory is needed
            fresh = make(shared, piece, number)
            fresh.repeat(past)
            host.part = fresh
        return About.of(host.part)


async def forget(run: str) -> None:
    """Free the parts of a run; a coroutine, since Dask waits for the answer to anything else."""
    with _GATE:
        for key in [key for key in _HOSTS if key[0] == run]:
            del _HOSTS[key]
        _TOLD.pop(run, None)


def versions() -> dict[str, str]:
    """The versions that results depend on."""
    import platform
    from importlib.metadata import version

    python = ".".join(platform.python_version_tuple()[:2])
    return {"widemargin": __version__, "numpy": np.__version__, "numba": version("numba"), "python": python}
