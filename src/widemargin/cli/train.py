"""`widemargin train`: from labelled data to a model file, for any task."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from math import inf
from typing import Any, NamedTuple

from widemargin._jit import now, seconds_compiling
from widemargin.cli.options import check_target, parameter_fields
from widemargin.cli.output import Printer, file_size, print_json, spelt_size
from widemargin.cli.program import INTERRUPTED, say
from widemargin.cli.signals import SIGNALS
from widemargin.core.examples import OnDisk
from widemargin.core.solution import Epoch, Solution
from widemargin.core.stop import Callback
from widemargin.errors import DataError, WidemarginError
from widemargin.files.given import files_of, read_value
from widemargin.report.curves import check_can_draw, plot_curves
from widemargin.report.record import STOPPED, certificate, dev_score
from widemargin.report.text import share
from widemargin.tasks import Kind, Task, task
from widemargin.tasks.base import SIZES, Corpus, Model, Reading
from widemargin.tasks.out_of_core import Stream, check_able, compile_stream
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.training import Compiled, Data, train, train_path


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of all `train` commands besides training parameters; several values of C make a path."""

    train_file: str
    dev_file: str | None
    out: str
    C: Sequence[float] | None
    checkpoint: str | None
    resume: bool
    curves: str | None
    out_of_core: bool
    cache: str | None
    as_json: bool
    quiet: bool

    @classmethod
    def of(cls, options: dict[str, Any]) -> tuple["TrainOptions", dict[str, Any]]:
        """The options of this class, and all others with the first C."""
        names = [field.name for field in fields(cls)]
        own = cls(**{name: options.pop(name) for name in names})
        return own, {**options, "C": None if own.C is None else own.C[0]}

    @property
    def several(self) -> bool:
        """Whether there is more than one C."""
        return self.C is not None and len(self.C) > 1

    def check(self, inputs: Sequence[str | None]) -> None:
        """Raise an error, before any work, if options conflict or targets cannot be written."""
        targets = [target for target in (self.out, self.curves, self.checkpoint) if target is not None]
        for target in targets:
            check_target(target, inputs=[self.train_file, self.dev_file, *inputs])
            if targets.count(target) > 1:
                raise WidemarginError(f"two results cannot both be written to {target}")
        if self.curves is not None:
            check_can_draw()
        if self.resume and self.checkpoint is None:
            raise WidemarginError("--resume needs --checkpoint FILE to go on from")
        if self.several and self.dev_file is None:
            raise WidemarginError("several values of --C need --dev FILE to choose the best one by")
        if self.several and self.checkpoint is not None:
            raise WidemarginError("--checkpoint keeps one training run; give a single value of --C")


MOST_ROUNDS = 8  # at most this many objectives are printed


class Keep(Callback):
    """Lets signal handlers keep the model once there is one."""

    def on_batch(self, visited: int) -> None:
        """`visited` examples of this epoch are done."""
        if visited:
            SIGNALS.keep = True

    def on_epoch(self, epoch: Epoch) -> None:
        """An epoch is over."""
        SIGNALS.keep = True


class OutOfCore:
    """Data that are read in pieces, and the size of their arrays."""

    def __init__(self, task: Task, path: str, reading: Reading, cache: str | None) -> None:
        for kind in task.kinds.values():
            check_able(kind)
        self.task, self.stream, self.n_bytes = task, Stream(path, reading, cache), 0

    def beginning(self, **own: Any) -> Corpus:
        """The first piece, as a sample of the data; empty for a pipe, which can be read only once."""
        if self.stream.source == "-":
            return Corpus(None, None, own, {}, None)
        first = next(self.stream.pieces(self.task, **own), None)
        if first is None:
            raise DataError(f"{self.stream.source} holds no data")
        about = {name: each for name, each in first.corpus.about.items() if name != "width"}
        return first.corpus._replace(about=about)

    def compile(self, parameters: Parameters, data: Data) -> Compiled[Any]:
        """Compile all data."""
        compiled = compile_stream(parameters, data._replace(X=self.stream, y=None))
        assert isinstance(compiled.examples, OnDisk)
        self.n_bytes = compiled.examples.pages.n_bytes
        return compiled

    def results(self) -> dict[str, Any]:
        """The size and the folder of the arrays, and the peak of resident memory."""
        kept = self.stream.cache is not None
        folder = str(self.stream.cache) if kept else tempfile.gettempdir()
        return {"arrays": {"bytes": self.n_bytes, "folder": folder, "kept": kept}, "peak_memory": _peak_memory()}


class Job(NamedTuple):
    """The kind of model, its parameters, and the data that were read."""

    kind: Kind
    parameters: Parameters
    train: Corpus
    dev: Corpus | None
    pieces: OutOfCore | None = None

    @property
    def data(self) -> Data:
        """The training data."""
        return Data(self.train.X, self.train.y, dev=None if self.dev is None else (self.dev.X, self.dev.y))


def input_files(task: Task, options: Mapping[str, Any]) -> list[str]:
    """The files that options name, besides the data."""
    found = parameter_fields(task).items()
    return [path for name, (_, each) in found for path in files_of(each.metadata["given_as"], options.get(name))]


def read_job(
    task: Task,
    options: dict[str, Any],
    train_file: str,
    dev_file: str | None,
    *,
    quiet: bool,
    outside: Callable[[Reading], OutOfCore] | None = None,
) -> Job:
    """Read all files, and choose the kind of model and its parameters; with `outside`, read only the first piece."""
    reading = Reading(**{name: options.pop(name) for name in task.reads})
    known = parameter_fields(task)
    given = {name: read_value(known[name][1].metadata["given_as"], value) for name, value in options.items()}
    given = {name: value for name, value in given.items() if value is not None or known[name][1].default is None}
    own = {} if task.options is None else {field.name: given[field.name] for field in fields(task.options)}
    files = task.load_files()
    given = files.parameters(given)
    pieces = None if outside is None else outside(reading)
    corpus = files.read(train_file, reading, {}, gold=True, **own) if pieces is None else pieces.beginning(**own)
    dev = None
    if dev_file is not None:
        if "label" in task.reads:
            reading = reading._replace(label=reading.label or corpus.about.get("label"))
        dev = files.read(dev_file, reading, corpus.about, gold=True, **own)
    name = files.kind(list(task.kinds), corpus)
    parameters = task.kinds[name].parameters
    wanted = {field.name for field in fields(parameters)}
    chosen = {name: value for name, value in given.items() if name in wanted}
    return Job(task.kinds[name], parameters(**chosen, verbose=not quiet), corpus, dev, pieces)


def run(name: str, options: dict[str, Any]) -> int | None:
    """Train, save, and report the results."""
    own, options = TrainOptions.of(options)
    chosen = task(name)
    own.check(input_files(chosen, options))
    begin, compiled = now(), seconds_compiling()
    outside = None
    if own.out_of_core or own.cache is not None:
        outside = partial(OutOfCore, chosen, own.train_file, cache=own.cache)
    job = read_job(chosen, options, own.train_file, own.dev_file, quiet=own.quiet, outside=outside)
    read = now()
    compile_ = job.kind.compile if job.pieces is None else job.pieces.compile
    if own.several and own.C is not None:
        path = train_path(compile_, job.parameters, job.data, own.C, [Keep()])
    else:
        path = [train(compile_, job.parameters, job.data, [Keep()], checkpoint=own.checkpoint, resume=own.resume)]
    model, solution = max(path, key=lambda point: _dev_score(point[1]))
    wanted = len(own.C) if own.several and own.C is not None else 1
    interrupted = len(path) < wanted or any(each.stopped == "interrupted" for _, each in path)
    trained = now()
    if job.pieces is None:
        model.summary["data"] = job.train.about | job.train.size
    else:
        found = model.summary["data"]
        size = {what: found[what] for what in SIZES if what in found and what != "width"}
        job = job._replace(train=job.train._replace(about=found, size=size))
    model.save(own.out)
    if own.curves is not None:
        plot_curves({str(job.parameters.solver): solution.trace}, own.curves, title=f"Training of {own.out}")
    results = job.train.size | _results(model, solution)
    if job.dev is not None:
        score = _point(model, solution)["score"]
        results["dev"] = job.dev.size | {"metric": model.summary["metric"], "score": score}
    results |= {
        "label": job.train.about.get("label"),
        "unused_columns": [] if job.train.X is None else model.reporter.unused_columns(job.train),
        "solver": job.parameters.solver,
        "C": model.summary["C"],
        "path": [_point(*point) for point in path],
        "model": own.out,
        "interrupted": interrupted,
        "seconds": {
            "reading": read - begin,
            "compiling": seconds_compiling() - compiled,
            "training": trained - read,
            "writing": now() - trained,
        },
        **({} if job.pieces is None else job.pieces.results()),
    }
    if own.as_json:
        print_json(results)
    else:
        if not own.quiet:
            _mention_unused(results["unused_columns"])
        dev_size = {} if job.dev is None else job.dev.size
        _print(Printer(enabled=not own.quiet), solution, results, job.train.size, dev_size)
    return INTERRUPTED if interrupted else None


def _mention_unused(columns: Sequence[str]) -> None:
    if columns:
        say(f"columns not used: {', '.join(columns)}; name them in --templates")


def _dev_score(solution: Solution) -> float:
    """The best development score, or −∞ without one."""
    score = dev_score(solution)
    return -inf if score is None else score


def _point(model: Model, solution: Solution) -> dict[str, Any]:
    """C, score and gap of one point of the path."""
    return {"C": model.summary["C"], "score": dev_score(solution), "gap": solution.gap}


def _results(model: Model, solution: Solution) -> dict[str, Any]:
    return {
        "labels": len(model.labels),
        "unreachable": model.summary.get("unreachable", {}),
        "unknown": model.summary.get("unknown", {}),
        "remarks": dict(model.reporter.remarks()),
        "features": sum(size for what, size in model.sizes.items() if what.endswith("features")),
        "templates": model.sizes.get("templates"),
        "weights": model.sizes["weights"],
        "stopped": solution.stopped,
        "epochs": len(solution.trace),
        "best_epoch": solution.epoch,
        "oracle_calls": solution.oracle_calls,
        "objective": solution.primal,
        "lower_bound": solution.dual,
        "gap": solution.gap,
        "certified": solution.certified,
        **({"rounds": [row._asdict() for row in solution.rounds]} if solution.rounds else {}),
        **({"restarts": list(solution.restarts)} if solution.restarts else {}),
    }


def _print(
    printer: Printer, solution: Solution, results: dict[str, Any], size: dict[str, int], dev_size: dict[str, int]
) -> None:
    seconds, dev = results["seconds"], results.get("dev")
    facts = [
        ("data", _counts(size)),
        *_labels(results),
        *_unknown(results["unknown"]),
        *_unreachable(results["unreachable"], size),
        *results["remarks"].items(),
        ("features", f"{_features(results)}, {results['weights']:,} weights"),
        (
            "stopped",
            f"{STOPPED[solution.stopped]}, after {len(solution.trace)} epochs and "
            f"{solution.oracle_calls:,} oracle calls",
        ),
        ("certificate", certificate(solution)),
        *_rounds(solution),
    ]
    if dev is not None and dev["score"] is not None:
        kept = f"after epoch {solution.epoch}, whose weights are kept"
        facts.append((f"dev {dev['metric']}", f"{share(dev['score'])} on {_counts(dev_size)}, {kept}"))
    if len(results["path"]) > 1:
        points = (
            f"{point['C']:g} ({share(point['score'])})" for point in results["path"] if point["score"] is not None
        )
        facts.append(("C", f"{results['C']:g}, the best of {', '.join(points)}"))
    facts.append(("model", f"{results['model']} ({file_size(results['model'])})"))
    facts += _arrays(results)
    stages = [f"{stage} {value:.1f}" for stage, value in seconds.items() if value or stage != "compiling"]
    facts.append(("seconds", ", ".join(stages)))
    printer.facts(facts)
    if solution.shortfall is not None:
        printer.line(
            f"Training has not converged: {solution.shortfall}. More epochs, a lower C or another solver may help."
        )
    if results["interrupted"]:
        printer.line("Training was interrupted; the model as it was by then has been saved.")


def _unknown(counts: dict[str, int]) -> Iterator[tuple[str, str]]:
    """The numbers of unknown gold labels, and of sequences without any known one."""
    if counts:
        rest = f"; {counts['sequences']:,} sequences have no known one and are left out" if counts["sequences"] else ""
        yield "unknown", f"{counts['labels']:,} labels are filled in by the model{rest}"


def _labels(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The number of labels; nothing for tasks with fewer than two."""
    if results["labels"] > 1:
        yield "labels", f"{results['labels']:,}" + (f" in the column {results['label']}" if results["label"] else "")


def _rounds(solution: Solution) -> Iterator[tuple[str, str]]:
    """The objectives of rounds and restarts, for models with latent variables."""
    if solution.rounds:
        values = [f"{row.objective:.4g}" for row in solution.rounds if row.objective is not None]
        shown = values if len(values) <= MOST_ROUNDS else [*values[: MOST_ROUNDS - 1], "…", values[-1]]
        yield "rounds", f"{len(solution.rounds)}, with the objectives {', '.join(shown)}"
    if solution.restarts:
        low, high = min(solution.restarts), max(solution.restarts)
        yield "restarts", f"{len(solution.restarts)}, with objectives from {low:.6g} to {high:.6g}; the best is kept"


def _unreachable(reasons: dict[str, int], size: dict[str, int]) -> Iterator[tuple[str, str]]:
    """The numbers of gold outputs that no weights can predict (`core.examples.Unreachable`), by reason."""
    what, total = next(iter(size.items()))
    for reason, count in reasons.items():
        yield "unreachable", f"{count:,} of {total:,} {what} have {reason}, which the decoder cannot produce"


def _features(results: dict[str, Any]) -> str:
    """The number of features; for hashed features, only the number of templates is known."""
    return f"of {results['templates']:,} templates" if results["templates"] else f"{results['features']:,}"


def _counts(size: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in size.items())


def _arrays(results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The results of `OutOfCore.results` as text."""
    if "arrays" in results:
        size, folder, kept = results["arrays"].values()
        yield "arrays", f"{spelt_size(size)} in {folder}, {'kept' if kept else 'removed'}"
    if results.get("peak_memory"):
        yield "memory", f"{spelt_size(results['peak_memory'])} at most, with mapped files"


def _peak_memory() -> int | None:
    """The peak of this process's resident memory in bytes; None if the system does not report it."""
    try:
        with open("/proc/self/status", encoding="ascii") as stream:
            return next(1024 * int(line.split()[1]) for line in stream if line.startswith("VmHWM:"))
    except (OSError, StopIteration, ValueError):
        return None
