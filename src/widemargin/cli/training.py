"""What `widemargin train tag` and `train segment` share: from a labelled file to a model file."""

from collections.abc import Callable, Sequence
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
from widemargin.predictor import TokenPredictor
from widemargin.problem import Loss, Penalty
from widemargin.report.curves import plot_curves
from widemargin.report.numbers import share
from widemargin.solution import Solution
from widemargin.training import ModelSettings


def train_model(
    kind: Callable[..., ModelSettings[Any]],
    own: Callable[[], dict[str, Any]],
    own_files: Sequence[str | None],
    *,
    lexicons_need_templates: bool = True,
    train_file: str,
    dev_file: str | None,
    out: str,
    label: str | None,
    file_format: str | None,
    columns: Sequence[str] | None,
    templates: str | None,
    lexicons: Pairs,
    clusters: Pairs,
    solver: str,
    C: Sequence[float],
    objective: str | None,
    loss: Loss | None,
    penalty: Penalty,
    memory: float,
    epochs: int,
    tol: float,
    patience: int | None,
    seconds: float | None,
    min_count: int,
    hash_bits: int | None,
    jobs: int,
    seed: int,
    checkpoint: str | None,
    resume: bool,
    curves: str | None,
    as_json: bool,
    quiet: bool,
) -> int | None:
    """Train and save, then say what came of it.

    `kind` makes the settings; `own` reads those that only this kind has, from `own_files` among others. Lexicons
    that no template makes use of are refused where they would not be used at all.
    """
    read_files = [train_file, dev_file, templates, *own_files, *(path for _, path in (*lexicons, *clusters))]
    targets = [target for target in (out, curves, checkpoint) if target is not None]
    for target in targets:
        check_target(target, inputs=read_files)
        if targets.count(target) > 1:
            raise WidemarginError(f"two results cannot both be written to {target}")
    _check_plan(C, dev_file, checkpoint, resume)
    begin = perf_counter()
    words, groups = read_lexicons(lexicons), read_clusters(clusters)
    needed = words if templates is None or lexicons_need_templates else ()
    chosen = read_templates(templates, list(needed), groups)
    settings = kind(
        **own(),
        solver=solver,
        C=C[0],
        objective=objective,
        loss=loss,
        penalty=penalty,
        cut_memory=memory,
        max_epochs=epochs,
        tol=tol,
        patience=patience,
        max_seconds=seconds,
        n_jobs=jobs,
        random_state=seed,
        templates=chosen,
        lexicons=words,
        clusters=groups,
        min_count=min_count,
        hash_bits=hash_bits,
        verbose=not quiet,
    )
    train = read_corpus(train_file, file_format=file_format, names=columns)
    name = train.label(label)
    check_templates(chosen, train.document.columns, name)
    dev = None if dev_file is None else read_like(train, dev_file, file_format, columns).labelled(label or name)
    X, y = train.labelled(name)
    read = perf_counter()
    if len(C) == 1:
        path = [settings.train(X, y, dev=dev, checkpoint=checkpoint, resume=resume)]
    else:
        path = settings.train_path(X, y, C, dev=dev)
    model, solution = max(path, key=lambda point: _dev_score(point[1]))
    interrupted = any(each.stopped == "interrupted" for _, each in path)
    trained = perf_counter()
    model.summary["data"] = {
        "label": name,
        "format": train.file_format,
        "columns": list(X.columns),
        "sequences": X.n_sequences,
        "tokens": X.n_tokens,
    }
    model.save(out)
    if curves is not None:
        plot_curves({solver: solution.trace}, curves, title=f"Training of {out}")
    results = _results(model, solution, X, None if dev is None else dev[0]) | {
        "label": name,
        "solver": solver,
        "C": model.summary["parameters"]["C"],
        "path": [_point(*point) for point in path],
        "model": out,
        "interrupted": interrupted,
        "seconds": {"reading": read - begin, "training": trained - read, "writing": perf_counter() - trained},
    }
    if as_json:
        print_json(results)
    else:
        _print(Printer(enabled=not quiet), solution, results)
    return INTERRUPTED if interrupted else None


def _check_plan(C: Sequence[float], dev_file: str | None, checkpoint: str | None, resume: bool) -> None:
    """Complain before any work about options that do not go together."""
    if resume and checkpoint is None:
        raise WidemarginError("--resume needs --checkpoint FILE to go on from")
    if len(C) > 1 and dev_file is None:
        raise WidemarginError("several values of --C need --dev FILE to choose the best one by")
    if len(C) > 1 and checkpoint is not None:
        raise WidemarginError("--checkpoint keeps one training run; give a single value of --C")


def _dev_score(solution: Solution) -> float:
    """The best development score; −∞ where there is none."""
    return max((row.score for row in solution.trace if row.score is not None), default=-inf)


def _point(model: TokenPredictor, solution: Solution) -> dict[str, Any]:
    """What there is to say of one C."""
    score = _dev_score(solution)
    return {"C": model.summary["parameters"]["C"], "score": None if score == -inf else score, "gap": solution.gap}


def _results(model: TokenPredictor, solution: Solution, X: Columns, dev: Columns | None) -> dict[str, Any]:
    results: dict[str, Any] = {
        "sequences": X.n_sequences,
        "tokens": X.n_tokens,
        "labels": len(model.labels),
        "features": sum(size for what, size in model.sizes.items() if what.endswith("features")),
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
    if dev is not None:
        results["dev"] = {
            "sequences": dev.n_sequences,
            "tokens": dev.n_tokens,
            "metric": "f1" if is_bio(model.code_names) else "accuracy",
            "score": _point(model, solution)["score"],
        }
    return results


def _print(printer: Printer, solution: Solution, results: dict[str, Any]) -> None:
    seconds, dev = results["seconds"], results.get("dev")
    facts = [
        ("data", f"{results['sequences']:,} sequences, {results['tokens']:,} tokens"),
        ("labels", f"{results['labels']:,} in the column {results['label']}"),
        ("features", f"{results['features']:,}, {results['weights']:,} weights"),
        (
            "stopped",
            f"{STOPPED[solution.stopped]}, after {len(solution.trace)} epochs and "
            f"{solution.oracle_calls:,} oracle calls",
        ),
        ("certificate", certificate(solution)),
    ]
    if dev is not None and dev["score"] is not None:
        score = (
            f"{share(dev['score'])} on {dev['tokens']:,} tokens, after epoch {solution.epoch}, whose weights are kept"
        )
        facts.append((f"dev {dev['metric']}", score))
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
