"""`train`: from parameters and data to a model, on a Dask cluster."""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from distributed import Client

from widemargin.core.loop import fit
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback
from widemargin.dask import makers
from widemargin.dask.carrier import DaskCarrier
from widemargin.dask.cluster import check_versions, is_shared
from widemargin.dask.compiling import Surveyed, compiled_here, surveyed
from widemargin.dask.data import pieces_of
from widemargin.dask.progress import Shown
from widemargin.dask.tags import tagged_view
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.parts.choice import Rounds, rounds_of
from widemargin.parts.journal import Journal
from widemargin.parts.problem import PartedProblem
from widemargin.parts.team import Team
from widemargin.tasks import Kind, kind_of
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.plan import Plan
from widemargin.tasks.training import model_of

RUN_FILE = "run.wm"


class Trained(NamedTuple):
    """A model, its solution, the number of parts, and the bytes of changes of w that were sent and received.

    `rebuilt` counts parts that were lost with their workers and rebuilt.
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
    rounds: Rounds = "consensus",
    patience: float = 10.0,
) -> Trained:
    """Train on a cluster; the result depends on the number of parts, but not on the workers, their order or failures.

    Parameters
    ----------
    client : the client of the cluster
    parameters : an estimator, or the parameters of a task; `max_epochs` counts rounds
    data : (X, y) or (X, y, sample_weight), as lists or as Dask collections with the same partitions; a Dask bag of
        pairs (x, y); a `Frame`, or a Dask frame with the columns X and y; `Files`, or a pattern of their names. Each
        partition or file is a part.
    parts : how many parts lists are split into; None: as many as there are workers
    dev : development data (X, y), scored in this process after every round
    callbacks : informed as training proceeds; an epoch is a round
    checkpoint : a folder that saves the run as it proceeds; if workers can reach it, too, parts save themselves there
    resume : continue from the checkpoint, if it exists, exactly as its run would have continued
    checkpoint_seconds : how long to wait between two times that the run is saved
    local_epochs : epochs of the solver on each part in a round
    rounds : how the parts of a dual solver's run agree: "consensus" or "cocoa"; others are averaged
    patience : a part that takes this many times as long as most others is made on another worker, too
    """
    which, name, kind = kind_of(parameters)
    plain = plainly(kind, parameters)
    _check(kind, plain, resume=resume, checkpoint=checkpoint)
    made = partial(rounds_of, local_epochs=local_epochs, rounds=rounds)
    made(Plan.of(plain).solver)  # refuses solvers that cannot, before anything is read
    check_versions(client)
    pieces = dict(enumerate(pieces_of(client, which, name, data, parts)))
    with _folder(checkpoint) as folder, Shown(plain) as shown:
        runs = Runs(client, folder, checkpoint is not None, resume, checkpoint_seconds, made, patience, shown)
        found = surveyed(client, kind, plain, pieces)
        view = tagged_view(runs, kind, plain, found)
        return runs.trained(kind, plain, found, view, dev, callbacks)


@dataclass(frozen=True)
class Runs:
    """Makes runs on a cluster: one for every tagger that the model needs, then one for the model.

    `made` turns a solver into one that runs it in rounds on all parts.
    """

    client: Client
    folder: Path
    keeps: bool
    resume: bool
    checkpoint_seconds: float
    made: Callable[[Solver], Solver]
    patience: float
    shown: Shown

    def trained(
        self,
        kind: Kind,
        parameters: Any,
        found: Surveyed,
        view: makers.View | None = None,
        dev: Any = None,
        callbacks: Sequence[Callback] = (),
        within: str = "",
    ) -> Trained:
        """A model of this kind, learnt from the pieces as the view shows them; files are kept `within` a folder."""
        plan = Plan.of(parameters)
        folder = self.folder / within
        folder.mkdir(parents=True, exist_ok=True)
        compiled, about = compiled_here(self.client, kind, parameters, found, dev, view)
        shared = makers.Shared(kind, parameters, found.survey, view)
        carrier = DaskCarrier(
            self.client, uuid4().hex[:8], makers.own_piece, shared, list(found.pieces.values()), self.patience
        )
        journal = Journal(folder, shared=is_shared(self.client, folder), seconds=self.checkpoint_seconds)
        team = Team(carrier, journal)
        options: dict[str, Any] = {"checkpoint": folder / RUN_FILE, "resume": self.resume} if self.keeps else {}
        try:
            team.start(lambda: None)
            if not sum(each.weight for each in team.about.values()):
                raise DataError("no example has anything to learn from")
            problem = PartedProblem(team, plan.objective, plan.C, plan.loss, plan.penalty, plan.l1)
            with self.shown.of(team, carrier, aside=bool(within)) as progress:
                solution = fit(
                    problem,
                    self.made(plan.solver),
                    stop=plan.stop,
                    score=compiled.score,
                    callbacks=[*progress, *callbacks],
                    seed=plan.seed,
                    checkpoint_seconds=self.checkpoint_seconds,
                    **options,
                )
        finally:
            carrier.close()
        solution = replace(solution, cuts=None, slacks=None)
        model = model_of(compiled, plan, solution, problem.n_counted)
        model.summary |= {"data": about} if about else {}
        model.summary |= _unreachable(team)
        return Trained(model, solution, team.n_parts, team.sent, team.received, team.rebuilt)


def _unreachable(team: Team) -> dict[str, Any]:
    """The part of a model's summary about gold outputs that it can never predict."""
    counts = sum((Counter(each.unreachable) for each in team.about.values()), Counter[str]())
    return {"unreachable": dict(counts)} if counts else {}


@contextmanager
def _folder(checkpoint: str | os.PathLike[str] | None) -> Iterator[Path]:
    """The folder of a run; without a checkpoint one that is removed."""
    kept = tempfile.TemporaryDirectory(prefix="widemargin-") if checkpoint is None else nullcontext(checkpoint)
    with kept as folder:
        yield Path(folder)


def plainly(kind: Kind, parameters: Any) -> Any:
    """The parameters alone, without a model that an estimator may hold."""
    plain = kind.parameters
    return plain(**{each.name: getattr(parameters, each.name) for each in fields(plain) if each.init})


def _check(kind: Kind, parameters: Any, *, resume: bool, checkpoint: Any) -> None:
    """Refuse parameters that do not work on several parts, before anything is read."""
    if not kind.survey:
        name = kind.name
        raise UnsupportedError(
            f"{name} learns latent variables, which are learnt on one machine only; take the {name} without Dask"
        )
    if parameters.warm_start:
        raise UnsupportedError(
            "warm_start continues from the last weights, but parts start from zero; to go on with a run, keep a "
            "checkpoint and say resume=True"
        )
    if resume and checkpoint is None:
        raise WidemarginError("there is nothing to resume from without a checkpoint")
