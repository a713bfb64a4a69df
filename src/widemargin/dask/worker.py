"""The workers' side: they survey their pieces of the data, make parts from them, and do what calls ask of the parts.

Parts are kept in the process, by run and number. A part that is not there, or at another round, replies that it is
missing. So Dask may run a task again, or on another worker, and no harm is done.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker

from widemargin.core.examples import Latent
from widemargin.core.problem import Problem
from widemargin.core.solver import Solver
from widemargin.dask.data import OneFile, as_data, n_inputs, take
from widemargin.errors import WidemarginError
from widemargin.parts import part_of
from widemargin.parts.messages import Call, Missing, Outcome, Past
from widemargin.parts.part import Part
from widemargin.parts.team import About
from widemargin.tasks import Kind
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.plan import Plan
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Data

Make = Callable[[Any, Any, int], Part]
View = Callable[[Data], Data]
"""Turns a piece of the data into the data that a run learns from, such as trees into tags (`tasks.stacking`)."""


@dataclass(frozen=True)
class Shared:
    """The same for all parts: the kind of model, its parameters, the survey of all data, and the run's view of them.

    `drafts` is the run in which the pieces with these `numbers` were surveyed in the same view, if any.
    """

    kind: Kind
    parameters: Parameters
    survey: Survey
    view: View | None = None
    drafts: str = ""
    numbers: Sequence[int] = ()


@contextmanager
def about(piece: Any, number: int) -> Iterator[None]:
    """Add the name of a piece's file, or its number, to errors about it."""
    try:
        yield
    except WidemarginError as error:
        where = piece.path if isinstance(piece, OneFile) else f"part {number} of the data"
        if where in str(error):
            raise
        raise type(error)(f"{where}: {error}") from None


def viewed_data(piece: Any, number: int, view: View | None) -> Data:
    """The data of a piece, as the view shows them."""
    with about(piece, number):
        data = as_data(piece)
        return data if view is None or not n_inputs(data.X) else view(data)


class Surveyed(NamedTuple):
    """The survey of some pieces, None if they have no examples, and the address of the worker that made it."""

    survey: Survey | None
    where: str = ""


def survey(
    kind: Kind, parameters: Parameters, piece: Any, number: int, view: View | None = None, run: str = ""
) -> Surveyed:
    """The survey of a piece; what it has drafted stays here, for the part that is made of the piece."""
    data = viewed_data(piece, number, view)
    if not n_inputs(data.X):
        return Surveyed(None)
    with about(piece, number):
        found: Survey = kind.survey(parameters, data)
    if found.drafted is not None:
        with _GATE:
            _DRAFTS[run, number] = found.drafted, data.sample_weight
    return Surveyed(replace(found, drafted=None), get_worker().address)


def where(found: Surveyed) -> str:
    """The worker that has surveyed a piece; none if the piece has no examples."""
    return found.where


def merge(one: Surveyed, two: Surveyed) -> Surveyed:
    """The survey of two pieces, one after the other."""
    if one.survey is None or two.survey is None:
        return two if one.survey is None else one
    return Surveyed(one.survey.merged(two.survey))


def sample(piece: Any) -> tuple[Data, dict[str, Any]]:
    """The first example of a piece, from which the driver can make a model, and facts about its file."""
    if isinstance(piece, OneFile):
        corpus = piece.read()
        return take(Data(corpus.X, corpus.y), np.zeros(1, dtype=np.int64)), corpus.about
    return take(as_data(piece), np.zeros(1, dtype=np.int64)), {}


def own_piece(shared: Shared, piece: Any, number: int) -> Part:
    """A part that compiles its own piece."""
    problem, solver = own_problem(shared, piece, number)
    return part_of(problem, solver, number)


def own_problem(shared: Shared, piece: Any, number: int) -> tuple[Problem, Solver]:
    """The problem of a piece, and the solver: of what its survey has drafted if that was here, else of the data."""
    found = shared.survey
    key = shared.drafts, shared.numbers[number] if shared.drafts else number
    with _GATE:
        drafted, sample_weight = _DRAFTS.pop(key, (None, None))
    if drafted is None:
        data = viewed_data(piece, number, shared.view)
    else:
        data, found = Data(None, None, sample_weight), replace(found, drafted=drafted)
    with about(piece, number):
        compiled = shared.kind.compile(shared.parameters, data, survey=found)
        if isinstance(compiled.examples, Latent):
            refuse_latent(type(compiled.examples).__name__)
        plan = plan_on_this_worker(shared.parameters)
        return plan.problem(compiled.examples, compiled.sample_weight), plan.solver


def plan_on_this_worker(parameters: Parameters) -> Plan:
    """The plan with as many threads as the worker has, unless the user wants fewer."""
    threads = int(get_worker().state.nthreads)
    wanted = parameters.n_jobs
    return Plan.of(replace(parameters, n_jobs=threads if wanted is None or wanted < 1 else min(wanted, threads)))


class Host:
    """A part in this process, and the lock that one task at a time holds."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.part: Part | None = None


_HOSTS: dict[tuple[str, int], Host] = {}
_DRAFTS: dict[tuple[str, int], tuple[Any, Any]] = {}  # what surveys have drafted, and sample weights, by run and piece
_TOLD: dict[str, tuple[int, Outcome]] = {}  # the number of rounds of each run, and the end of the last one
_NEWS = threading.Condition()  # guards _TOLD, and wakes tasks that wait for it
_GATE = threading.Lock()
LONGEST_WAIT = 60.0  # seconds for news of the last round, which may come after the task that needs it


def _host(run: str, number: int) -> Host:
    with _GATE:
        return _HOSTS.setdefault((run, number), Host())


def tell(run: str, rounds: int, settled: Outcome) -> None:
    """Store the end of the last of `rounds` rounds, for all parts of the run in this process."""
    with _NEWS:
        if _news(run)[0] < rounds:
            _TOLD[run] = rounds, settled
        _NEWS.notify_all()


def _news(run: str) -> tuple[int, Outcome | None]:
    return _TOLD.get(run, (-1, None))


def perform(run: str, number: int, call: Call, told: bool) -> Any:
    """The reply of a part; if `told`, the end of the last round arrives separately, by `tell`."""
    host = _host(run, number)
    with host.lock:
        if host.part is None:
            return Missing()
        if told and host.part.rounds == call.rounds - 1:
            with _NEWS:
                _NEWS.wait_for(lambda: _news(run)[0] >= call.rounds, LONGEST_WAIT)
                rounds, settled = _news(run)
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
        held: dict[tuple[str, int], Any]
        for held in (_HOSTS, _DRAFTS):
            for key in [key for key in held if key[0] == run]:
                del held[key]
        _TOLD.pop(run, None)
