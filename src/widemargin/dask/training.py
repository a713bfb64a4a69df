"""`train`: from parameters and data to a model, on a Dask cluster."""

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple
from uuid import uuid4

import dask
from distributed import Client, Future

from widemargin.core.loop import fit
from widemargin.core.solution import Solution
from widemargin.core.stop import Callback
from widemargin.dask import makers, worker
from widemargin.dask.carrier import LARGE, LOST, DaskCarrier
from widemargin.dask.data import as_data, n_workers, pieces_of
from widemargin.errors import WidemarginError
from widemargin.parts.choice import rounds_of
from widemargin.parts.journal import Journal
from widemargin.parts.problem import PartedProblem
from widemargin.parts.team import Team
from widemargin.report.progress import Progress
from widemargin.tasks import TASKS, Kind, Task, task
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled, Data, chosen, loss_of, model_of, solver_of, stop_of

RUN_FILE = "run.wm"


class Trained(NamedTuple):
    """A model, its solution, the bytes of changes of w that were sent to and received from the parts, and faults.

    `rebuilt` counts parts that had been lost with their workers and were rebuilt.
    """

    model: Any
    solution: Solution
    n_parts: int
    sent: int
    received: int
    rebuilt: int


def train(
    client: Client,
    parameters: Parameters,
    data: Any,
    *,
    parts: int | None = None,
    dev: tuple[Any, Any] | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    local_epochs: int = 1,
    patience: float = 10.0,
) -> Trained:
    """Train on a cluster; the result depends on the number of parts, and not on workers, their order or their deaths.

    Parameters
    ----------
    client : the client of the cluster
    parameters : an estimator, or the parameters of a task; `max_epochs` counts rounds
    data : (X, y) or (X, y, sample_weight) as lists; `Files` that workers read; or a Dask bag of pairs (x, y), or a Dask
        frame with the columns X and y, whose partitions are the parts
    parts : how many parts lists are split into; None: as many as there are workers
    dev : development data (X, y), scored in this process after every round
    callbacks : informed as training proceeds; an epoch is a round
    checkpoint : a folder that saves the run as it proceeds; if workers can reach it, too, parts save themselves there
    resume : continue from the checkpoint, if it exists, exactly as its run would have continued
    checkpoint_seconds : how long to wait between two times that the run is saved
    local_epochs : epochs of the solver on each part in a round
    patience : a part that takes so many times as long as most others moves to another worker
    """
    check_versions(client)
    which, kind = kind_of(parameters)
    plain = plainly(kind, parameters)
    rounds = rounds_of(solver_of(plain), local_epochs)  # refuses solvers that cannot, before anything is read
    _, objective, C = chosen(plain)
    run = uuid4().hex[:12]
    if not kind.survey:
        compiled, carrier = _compiled_here(client, run, kind, plain, as_data(data)._replace(dev=dev), parts, patience)
    else:
        pieces = pieces_of(client, which, data, parts)
        compiled, carrier = _compiled_there(client, run, kind, plain, pieces, dev, patience)
    folder = tempfile.TemporaryDirectory(prefix="widemargin-") if checkpoint is None else nullcontext(checkpoint)
    with folder as path:
        Path(path).mkdir(parents=True, exist_ok=True)
        journal = Journal(path, shared=_is_shared(client, path), seconds=checkpoint_seconds)
        team = Team(carrier, journal)
        options: dict[str, Any] = {} if checkpoint is None else {"checkpoint": Path(path) / RUN_FILE, "resume": resume}
        try:
            team.start(lambda: None)
            problem = PartedProblem.of(team, objective, C, loss_of(plain), plain.penalty, plain.l1)
            more = partial(_traffic, team, carrier)
            with Progress(tol=plain.tol, enabled=bool(plain.verbose), more=more) as progress:
                solution = fit(
                    problem,
                    rounds,
                    stop=stop_of(plain),
                    score=compiled.score,
                    callbacks=[progress, *callbacks],
                    seed=plain.random_state,
                    checkpoint_seconds=checkpoint_seconds,
                    **options,
                )
        finally:
            carrier.close()
    solution = replace(solution, cuts=None, slacks=None)
    model = model_of(compiled, plain, solution)
    return Trained(model, solution, team.n_parts, team.sent, team.received, team.rebuilt)


def _traffic(team: Team, carrier: DaskCarrier) -> str:
    """Bytes moved, and what the workers do."""
    return f"{(team.sent + team.received) / 1e6:.3g} MB moved  {carrier.doing}"


def kind_of(parameters: Any) -> tuple[Task, Kind]:
    """The task and the kind of model that parameters, or an estimator, belong to."""
    for name in TASKS:
        each = task(name)
        for kind in each.kinds.values():
            if isinstance(parameters, kind.load("parameters")):
                return each, kind
    raise WidemarginError(f"these are no parameters of a task: {parameters!r:.60}")


def plainly(kind: Kind, parameters: Any) -> Any:
    """The parameters alone, without a model that an estimator may hold."""
    plain = kind.load("parameters")
    return plain(**{each.name: getattr(parameters, each.name) for each in fields(plain) if each.init})


def check_versions(client: Client) -> None:
    """Refuse workers whose versions differ from the driver's: they would compute something else."""
    n_workers(client)
    own = worker.versions()
    try:
        found = _on_all(client, worker.versions)
    except ModuleNotFoundError as error:
        raise WidemarginError(f"a worker cannot import {error.name}: install widemargin there, too") from None
    for address, theirs in sorted(found.items()):
        for name, version in own.items():
            if theirs.get(name) != version:
                raise WidemarginError(
                    f"the worker {address} has {name} {theirs.get(name)}, but this process has {version}; "
                    "install the same version everywhere"
                )


def _compiled_here(
    client: Client, run: str, kind: Kind, parameters: Any, data: Data, parts: int | None, patience: float
) -> tuple[Compiled[Any], DaskCarrier]:
    """Compile all data in this process; the workers get all examples, and each part its share of them."""
    compiled = kind.load("compile")(parameters, data)
    makers.check_examples(compiled.examples)
    n_parts = min(parts or n_workers(client), compiled.examples.n_examples)
    whole = makers.Whole(compiled.examples, compiled.sample_weight, parameters, n_parts)
    return compiled, DaskCarrier(client, run, makers.own_share, whole, [None] * n_parts, patience)


def _compiled_there(
    client: Client, run: str, kind: Kind, parameters: Any, pieces: list[Any], dev: Any, patience: float
) -> tuple[Compiled[Any], DaskCarrier]:
    """Survey the pieces on the workers, in a tree; each part will compile its own."""
    # Pieces travel with their tasks: Dask then repeats these by itself when a worker dies.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
        surveys = [client.submit(makers.survey, kind, parameters, piece, pure=False) for piece in pieces]
        survey: Survey = _reduced(client, surveys, makers.merged).result()
        sample: Data = client.submit(makers.first_example, pieces[0], pure=False).result()
    compiled = kind.load("compile")(parameters, sample._replace(dev=dev), survey=survey)
    shared = makers.Shared(kind, parameters, survey)
    return compiled, DaskCarrier(client, run, makers.own_piece, shared, pieces, patience)


def _reduced(client: Client, futures: list[Future[Any]], function: Callable[..., Any]) -> Future[Any]:
    """One future from many, neighbours first."""
    while len(futures) > 1:
        pairs = [futures[k : k + 2] for k in range(0, len(futures), 2)]
        futures = [pair[0] if len(pair) == 1 else client.submit(function, *pair, pure=False) for pair in pairs]
    return futures[0]


def _on_all(client: Client, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """What a function returns on every worker; asked again if one dies meanwhile."""
    for _ in range(5):
        try:
            found: dict[str, Any] = client.run(function, *arguments)
        except LOST:
            sleep(1.0)
        else:
            return found
    raise WidemarginError("workers die as soon as they are asked for anything; look at their logs")


def _is_shared(client: Client, folder: Any) -> bool:
    """Whether all workers can reach the folder."""
    token = Path(folder) / f"{uuid4().hex}.token"
    token.touch()
    try:
        found = _on_all(client, os.path.exists, os.fspath(token))
    finally:
        token.unlink()
    return bool(found) and all(found.values())
