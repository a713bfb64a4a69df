"""`train`: from parameters and data to a model, on a Dask cluster.

What all parts share is a survey of all data, made on the workers and merged in a tree. Parsers that tag by themselves
have their taggers learnt first, by the same rounds over parts.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import uuid4

from distributed import Client, Future

from widemargin.core.examples import count_unreachable
from widemargin.core.loop import fit, name_run
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback
from widemargin.dask import answering, worker
from widemargin.dask.answering import check_ordinary
from widemargin.dask.carrier import DaskCarrier, forget
from widemargin.dask.cluster import check_versions, is_shared, results
from widemargin.dask.data import pieces_of
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.parts import ROUNDS, Rounds, rounds_of
from widemargin.parts.problem import PartedProblem
from widemargin.parts.team import Journal, Team
from widemargin.report.progress import Aside, Progress
from widemargin.tasks import Kind, kind_of
from widemargin.tasks.carried import kind_of_taggers
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.plan import Plan
from widemargin.tasks.stacking import QUICK, TagColumns, TaggedBy, TagsOf, run_name, tagger_parameters
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled, model_of

RUN_FILE = "run.wm"
Ways: TypeAlias = Rounds | Literal["oracle"]
"""How workers share a run: in rounds over parts, or by answering the solver's questions."""


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
    rounds: Ways = "consensus",
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
    rounds : how the parts of a dual solver's run agree: "consensus" or "cocoa"; others are averaged. With "oracle"
        the solver runs in this process, and workers only answer with cuts: for decoders that take long. The result is
        that of one machine, whatever the number of parts.
    patience : a part that takes this many times as long as most others is made on another worker, too
    """
    which, name, kind = kind_of(parameters)
    plain = plain_parameters(kind, parameters)
    _check(kind, plain, resume=resume, checkpoint=checkpoint)
    known = [*ROUNDS, "oracle"]
    if rounds not in known:
        raise WidemarginError(f"rounds must be one of {', '.join(known)}, not {rounds!r}")
    by_oracle, made = True, check_ordinary
    if rounds != "oracle":
        by_oracle, made = False, partial(rounds_of, local_epochs=local_epochs, rounds=rounds)
    made(Plan.of(plain).solver)  # refuses solvers that cannot, before anything is read
    check_versions(client)
    pieces = dict(enumerate(pieces_of(client, which, name, data, parts, in_order=by_oracle)))
    kept = tempfile.TemporaryDirectory(prefix="widemargin-") if checkpoint is None else nullcontext(checkpoint)
    shown = Shown(plain, "epoch" if by_oracle else "round")
    with kept as folder, shown.progress:
        runs = Runs(
            client, Path(folder), checkpoint is not None, resume, checkpoint_seconds, made, patience, shown, by_oracle
        )
        found = survey_pieces(client, kind, plain, pieces)
        view = tagged_view(runs, kind, plain, found)
        return runs.train(kind, plain, found, view, dev, callbacks)


class Surveyed(NamedTuple):
    """The pieces that have examples, with their numbers, the survey of all of them, and the workers that made it.

    `run` is the name of the run, and `view` how it sees the pieces.
    """

    pieces: dict[int, Any]
    survey: Survey
    where: list[str]
    run: str
    view: worker.View | None


class Shown:
    """Shows the runs of a training, if `verbose` is set; `now` are the parts of the present run."""

    def __init__(self, parameters: Any, unit: str) -> None:
        self.progress = Progress(tol=parameters.tol, enabled=bool(parameters.verbose), more=self._more, unit=unit)
        self.aside = Aside(self.progress)  # for models that the main run needs, such as taggers
        self.now: tuple[Team | answering.Team, DaskCarrier | answering.Team] | None = None

    def _more(self) -> str:
        """Bytes moved, the work of each worker, and the number of rebuilt parts."""
        if self.now is None:
            return ""
        team, carrier = self.now
        faults = f"{team.rebuilt} rebuilt" if team.rebuilt else ""
        figures = [f"{_spelt(team.sent + team.received)} moved", carrier.doing, faults]
        return "  ".join(each for each in figures if each)


def _spelt(n_bytes: int) -> str:
    """A number of bytes for people.

    >>> _spelt(1234), _spelt(56_000_000)
    ('1.23 kB', '56 MB')
    """
    size, unit = float(n_bytes), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.3g} {unit}"


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
    by_oracle: bool = False

    def train(
        self,
        kind: Kind,
        parameters: Any,
        found: Surveyed,
        view: worker.View | None = None,
        dev: Any = None,
        callbacks: Sequence[Callback] = (),
        within: str = "",
    ) -> Trained:
        """A model of this kind, learnt from the pieces as the view shows them; files are kept `within` a folder."""
        plan = Plan.of(parameters)
        folder = self.folder / within
        folder.mkdir(parents=True, exist_ok=True)
        drafts = found.run if found.view is view else ""
        shared = worker.Shared(kind, parameters, found.survey, view, drafts, list(found.pieces))
        pieces = list(found.pieces.values())
        team: Team | answering.Team
        carrier: DaskCarrier | answering.Team
        if self.by_oracle:
            carrier = team = answering.Team(self.client, shared, pieces, found.where)
        else:
            carrier = DaskCarrier(self.client, found.run, worker.own_piece, shared, pieces, self.patience, found.where)
            journal = Journal(folder, shared=is_shared(self.client, folder), seconds=self.checkpoint_seconds)
            team = Team(carrier, journal)
        options: dict[str, Any] = {"checkpoint": folder / RUN_FILE, "resume": self.resume} if self.keeps else {}
        try:
            compiled, about = compile_here(self.client, kind, parameters, found, dev, view)
            self.shown.now = team, carrier
            problem: Problem | PartedProblem
            if isinstance(team, answering.Team):
                problem = answering.remote_problem(team, plan, compiled.examples, lambda: None)
            else:
                team.start(lambda: None)
                problem = PartedProblem(team, plan.objective, plan.C, plan.loss, plan.penalty, plan.l1)
            if not problem.example_weight.any():
                raise DataError("no example has anything to learn from")
            solution = fit(
                problem,
                self.made(plan.solver),
                stop=plan.stop,
                score=compiled.score,
                callbacks=[self.shown.aside if within else self.shown.progress, *callbacks],
                seed=plan.seed,
                checkpoint_seconds=self.checkpoint_seconds,
                **options,
            )
        finally:
            self.shown.now = None
            carrier.close()
        solution = replace(solution, cuts=None, slacks=None, state=None)
        model = model_of(compiled, plan, solution, problem.n_counted)
        model.summary |= {"data": about} if about else {}
        unreachable = (
            Counter(count_unreachable(problem.examples))
            if isinstance(team, answering.Team)
            else sum((Counter(each.unreachable) for each in team.about.values()), Counter[str]())
        )
        model.summary |= {"unreachable": dict(unreachable)} if unreachable else {}
        return Trained(model, solution, len(pieces), team.sent, team.received, team.rebuilt)


def tagged_view(runs: Runs, kind: Kind, parameters: Any, found: Surveyed) -> worker.View | None:
    """The sentences with predicted tags, as a parser shall see them; None if it learns no tags."""
    learnt: TagColumns | None = kind.tags
    wanted = [] if learnt is None else learnt.wanted(parameters, found.survey)
    if learnt is None or not wanted:
        return None
    folds: list[int | None] = [None, *range(parameters.tag_folds)]
    taggers: dict[str, list[Any]] = {name: [] for name in wanted}
    for name in wanted:
        for fold in folds:
            view = TagsOf(learnt.read, name, fold, parameters.tag_folds)
            taggers[name].append(_tagger(runs, parameters, found, view))
    name_run("the parser", [runs.shown.aside])
    whole = {name: each[0] for name, each in taggers.items()}
    return TaggedBy(learnt.read, whole, {name: each[1:] for name, each in taggers.items()})


def _tagger(runs: Runs, parameters: Any, found: Surveyed, view: TagsOf) -> Any:
    """A tagger; if the run is resumed, the one that was kept."""
    kind = kind_of_taggers()
    where = view.name if view.fold is None else f"{view.name}-{view.fold + 1}"
    kept = Path(runs.folder) / f"tagger-{where}.wm"
    if runs.resume and kept.exists():
        return kind.model().load(kept)
    name_run(run_name(f"a tagger for {view.name}", view.fold, view.n_folds), [runs.shown.aside])
    own = tagger_parameters(parameters, **({} if view.fold is None else QUICK))
    seen = survey_pieces(runs.client, kind, own, found.pieces, view)
    model, solution, *_ = runs.train(kind, own, seen, view, within=f"tagger-{where}")
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt  # there is no parser yet that could be kept
    if runs.keeps:
        model.save(kept)
    return model


def plain_parameters(kind: Kind, parameters: Any) -> Any:
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


def survey_pieces(
    client: Client, kind: Kind, parameters: Any, pieces: dict[int, Any], view: worker.View | None = None
) -> Surveyed:
    """Survey the pieces on the workers, in a tree."""
    run = uuid4().hex[:8]

    def submit(workers: list[str] | None) -> list[Future[Any]]:
        # Pieces travel with their tasks: Dask then repeats these by itself when a worker dies.
        attempt = uuid4().hex[:8]
        options = {"workers": workers, "pure": False}
        found = [
            client.submit(worker.survey, kind, parameters, piece, k, view, run, key=f"survey-{k}-{attempt}", **options)
            for k, piece in pieces.items()
        ]
        there = [client.submit(worker.where, each, **options) for each in found]
        return [*there, _reduce(found, partial(client.submit, worker.merge, **options))]

    try:
        *there, (survey, _) = results(client, submit)
    except BaseException:
        forget(client, run)
        raise
    if survey is None:
        raise DataError("there are no examples to learn from")
    kept = {k: piece for (k, piece), each in zip(pieces.items(), there, strict=True) if each}
    return Surveyed(kept, survey, [each for each in there if each], run, view)


def compile_here(
    client: Client, kind: Kind, parameters: Any, found: Surveyed, dev: Any, view: worker.View | None
) -> tuple[Compiled[Any], dict[str, Any]]:
    """Compile the first example, to make a model from, and the development data; with facts about the first file."""
    first = next(iter(found.pieces.values()))
    (sample, about), *_ = results(
        client, lambda workers: [client.submit(worker.sample, first, workers=workers, pure=False)]
    )
    if view is not None:
        sample = view(sample)
    return kind.compile(parameters, sample._replace(dev=dev), survey=found.survey), about


def _reduce(futures: list[Future[Any]], merge: Callable[..., Future[Any]]) -> Future[Any]:
    """One future from many, neighbours first."""
    while len(futures) > 1:
        pairs = [futures[k : k + 2] for k in range(0, len(futures), 2)]
        futures = [pair[0] if len(pair) == 1 else merge(*pair) for pair in pairs]
    return futures[0]
