"""What workers do with their pieces of the data: they survey them, and make parts from them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from distributed import get_worker

from widemargin.core.examples import Latent
from widemargin.dask.data import OneFile, as_data, n_inputs, taken
from widemargin.errors import WidemarginError
from widemargin.parts.choice import part_of
from widemargin.parts.part import Part
from widemargin.tasks import Kind
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.plan import Plan
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.training import Data

View = Callable[[Data], Data]
"""Turns a piece of the data into the data that a run learns from, such as trees into tags (`tasks.stacking`)."""


@dataclass(frozen=True)
class Shared:
    """The same for all parts: the kind of model, its parameters, the survey of all data, and the run's view of them."""

    kind: Kind
    parameters: Parameters
    survey: Survey
    view: View | None = None


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


def seen(piece: Any, number: int, view: View | None) -> Data:
    """The data of a piece, as the view shows them."""
    with about(piece, number):
        data = as_data(piece)
        return data if view is None or not n_inputs(data.X) else view(data)


def survey(kind: Kind, parameters: Parameters, piece: Any, number: int, view: View | None = None) -> Survey | None:
    """The survey of a piece; None if it has no examples."""
    data = seen(piece, number, view)
    if not n_inputs(data.X):
        return None
    with about(piece, number):
        return kind.survey(parameters, data)


def exists(found: Survey | None) -> bool:
    """Whether a piece has examples."""
    return found is not None


def merged(one: Survey | None, two: Survey | None) -> Survey | None:
    """The survey of two pieces, one after the other; None if neither has examples."""
    return two if one is None else one if two is None else one.merged(two)


def sample(piece: Any) -> tuple[Data, dict[str, Any]]:
    """The first example of a piece, from which the driver can make a model, and facts about its file."""
    if isinstance(piece, OneFile):
        corpus = piece.read()
        return taken(Data(corpus.X, corpus.y), np.zeros(1, dtype=np.int64)), corpus.about
    return taken(as_data(piece), np.zeros(1, dtype=np.int64)), {}


def own_piece(shared: Shared, piece: Any, number: int) -> Part:
    """A part that compiles its own piece."""
    data = seen(piece, number, shared.view)
    with about(piece, number):
        compiled = shared.kind.compile(shared.parameters, data, survey=shared.survey)
        if isinstance(compiled.examples, Latent):
            refuse_latent(type(compiled.examples).__name__)
        plan = plan_on_this_worker(shared.parameters)
        problem = plan.problem(compiled.examples, compiled.sample_weight)
    return part_of(problem, plan.solver, number)


def plan_on_this_worker(parameters: Parameters) -> Plan:
    """The plan with as many threads as the worker has, unless the user wants fewer."""
    threads = int(get_worker().state.nthreads)
    wanted = parameters.n_jobs
    return Plan.of(replace(parameters, n_jobs=threads if wanted is None or wanted < 1 else min(wanted, threads)))
