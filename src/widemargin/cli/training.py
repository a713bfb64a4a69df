"""What all `widemargin train` commands share: from labelled data to a model file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import inf
from time import perf_counter
from typing import Any

from widemargin.cli.documents import check_target, read_corpus, read_like
from widemargin.cli.output import STOPPED, Printer, certificate, file_size, print_json
from widemargin.cli.program import INTERRUPTED
from widemargin.cli.resources import (
    Pairs,
    check_templates,
    read_clusters,
    read_lexicons,
    read_templates,
)
from widemargin.columns import Columns
from widemargin.errors import WidemarginError
from widemargin.metrics import is_bio
from widemargin.predictors.base import Predictor
from widemargin.report.curves import plot_curves
from widemargin.report.numbers import share
from widemargin.solution import Solution
from widemargin.training import ModelSettings


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The options that all `train` commands have besides the parameters of training; several C make a path."""

    train_file: str
    dev_file: str | None
    out: str
    C: Sequence[float]
    checkpoint: str | None
    resume: bool
    curves: str | None
    as_json: bool
    quiet: bool

    @classmethod
    def of(cls, options: dict[str, Any]) -> tuple["Plan", dict[str, Any]]:
        """The plan, and the rest of the options: parameters of training, among them the first C."""
        names = [field.name for field in fields(cls)]
        plan = cls(**{name: options.pop(name) for name in names})
        return plan, {**options, "C": plan.C[0], "verbose": not plan.quiet}

    def check(self, inputs: Sequence[str | None]) -> None:
        """Complain before any work about options that do not go together, and targets that cannot be written."""
        targets = [target for target in (self.out, self.curves, self.checkpoint) if target is not None]
        for target in targets:
            check_target(target, inputs=[self.train_file, self.dev_file, *inputs])
            if targets.count(target) > 1:
                raise WidemarginError(f"two results cannot both be written to {target}")
        if self.resume and self.checkpoint is None:
            raise WidemarginError("--resume needs --checkpoint FILE to go on from")
        if len(self.C) > 1 and self.dev_file is None:
            raise WidemarginError("several values of --C need --dev FILE to choose the best one by")
        if len(self.C) > 1 and self.checkpoint is not None:
            raise WidemarginError("--checkpoint keeps one training run; give a single value of --C")


def train_model(
    kind: Callable[..., ModelSettings[Any]],
    own: Callable[[], dict[str, Any]],
    own_files: Sequence[str | None],
    *,
    lexicons_need_templates: bool = True,
    label: str | None,
    file_format: str | None,
    columns: Sequence[str] | None,
    templates: str | None,
    lexicons: Pairs,
    clusters: Pairs,
    **options: Any,
) -> int | None:
    """Train a model of tokens and save it, then say what came of it.

    `kind` makes the settings; `own` reads those that only this kind has, from `own_files` among others. Lexicons
    that no template makes use of are refused where they would not be used at all.
    """
    plan, parameters = Plan.of(options)
    plan.check([templates, *own_files, *(path for _, path in (*lexicons, *clusters))])
    begin = perf_counter()
    words, groups = read_lexicons(lexicons), read_clusters(clusters)
    needed = words if templates is None or lexicons_need_templates else ()
    chosen = read_templates(templates, list(needed), groups)
    settings = kind(**own(), templates=chosen, lexicons=words, clusters=groups, **parameters)
    train = read_corpus(plan.train_file, file_format=file_format, names=columns)
    name = train.label(label)
    check_templates(chosen, train.document.columns, name)
    dev = None
    if plan.dev_file is not None:
        dev = read_like(train, plan.dev_file, file_format, columns).labelled(label or name)
    X, y = train.labelled(name)
    data = {"label": name, "format": train.file_format, "columns": list(X.columns), **_size(X)}
    return train_and_report(
        settings,
        plan,
        (X, y),
        dev,
        size=_size,
        data=data,
        metric=lambda model: "f1" if is_bio(model.code_names) else "accuracy",
        begin=begin,
    )


def train_and_report(
    settings: ModelSettings[Any],
    plan: Plan,
    train: tuple[Any, Any],
    dev: tuple[Any, Any] | None,
    *,
    size: Callable[[Any], dict[str, int]],
    data: dict[str, Any],
    metric: Callable[[Any], str],
    begin: float,
) -> int | None:
    """Train, save, and say what came of it.

    `size` counts what there is in X, `data` is what the model is to remember of its data, `metric` names the
    development score of a model; reading has begun at the time `begin`.
    """
    read = perf_counter()
    if len(plan.C) == 1:
        path = [settings.train(*train, dev=dev, checkpoint=plan.checkpoint, resume=plan.resume)]
    else:
        path = settings.train_path(*train, plan.C, dev=dev)
    model, solution = max(path, key=lambda point: _dev_score(point[1]))
    interrupted = any(each.stopped == "interrupted" for _, each in path)
    trained = perf_counter()
    model.summary["data"] = data
    model.save(plan.out)
    if plan.curves is not None:
        plot_curves({str(settings.solver): solution.trace}, plan.curves, title=f"Training of {plan.out}")
    results = size(train[0]) | _results(model, solution)
    if dev is not None:
        results["dev"] = size(dev[0]) | {"metric": metric(model), "score": _point(model, solution)["score"]}
    results |= {
        "label": data.get("label"),
        "solver": settings.solver,
        "C": model.summary["parameters"]["C"],
        "path": [_point(*point) for point in path],
        "model": plan.out,
        "interrupted": interrupted,
        "seconds": {"reading": read - begin, "training": trained - read, "writing": perf_counter() - trained},
    }
    if plan.as_json:
        print_json(results)
    else:
        _print(Printer(enabled=not plan.quiet), solution, results, size(train[0]), {} if dev is None else size(dev[0]))
    return INTERRUPTED if interrupted else None


def _dev_score(solution: Solution) -> float:
    """The best development score; −∞ where there is none."""
    return max((row.score for row in solution.trace if row.score is not None), default=-inf)


def _point(model: Predictor, solution: Solution) -> dict[str, Any]:
    """What there is to say of one C."""
    score = _dev_score(solution)
    return {"C": model.summary["parameters"]["C"], "score": None if score == -inf else score, "gap": solution.gap}


def _size(X: Columns) -> dict[str, int]:
    return {"sequences": X.n_sequences, "tokens": X.n_tokens}


def _results(model: Predictor, solution: Solution) -> dict[str, Any]:
    return {
        "labels": len(model.labels),
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
    }


def _print(
    printer: Printer, solution: Solution, results: dict[str, Any], size: dict[str, int], dev_size: dict[str, int]
) -> None:
    seconds, dev = results["seconds"], results.get("dev")
    facts = [
        ("data", _counted(size)),
        ("labels", f"{results['labels']:,}" + (f" in the column {results['label']}" if results["label"] else "")),
        ("features", f"{_features(results)}, {results['weights']:,} weights"),
        (
            "stopped",
            f"{STOPPED[solution.stopped]}, after {len(solution.trace)} epochs and "
            f"{solution.oracle_calls:,} oracle calls",
        ),
        ("certificate", certificate(solution)),
    ]
    if dev is not None and dev["score"] is not None:
        kept = f"after epoch {solution.epoch}, whose weights are kept"
        facts.append((f"dev {dev['metric']}", f"{share(dev['score'])} on {_counted(dev_size)}, {kept}"))
    if len(results["path"]) > 1:
        points = (
            f"{point['C']:g} ({share(point['score'])})" for point in results["path"] if point["score"] is not None
        )
        facts.append(("C", f"{results['C']:g}, the best of {', '.join(points)}"))
    facts.append(("model", f"{results['model']} ({file_size(results['model'])})"))
    facts.append(("seconds", ", ".join(f"{stage} {value:.1f}" for stage, value in seconds.items())))
    printer.facts(facts)
    if results["interrupted"]:
        printer.line("Training was interrupted; the model as it was by then has been saved.")


def _features(results: dict[str, Any]) -> str:
    """How many there are; of hashed ones it is known only how many templates make them."""
    return f"of {results['templates']:,} templates" if results["templates"] else f"{results['features']:,}"


def _counted(size: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in size.items())
