"""`widemargin train classify`: classifiers, from svmlight files."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from widemargin.cli.resources import read_costs
from widemargin.cli.training import check_plan, train_and_report
from widemargin.data.raw import RawText
from widemargin.data.svmlight import SvmlightData, parse
from widemargin.problem import Loss, Penalty
from widemargin.training import ClassifierSettings, MultilabelSettings


def run(
    *,
    train_file: str,
    dev_file: str | None,
    out: str,
    multilabel: bool,
    pairwise: bool,
    intercept: bool,
    balanced: bool,
    costs: str | None,
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
    jobs: int,
    seed: int,
    checkpoint: str | None,
    resume: bool,
    curves: str | None,
    as_json: bool,
    quiet: bool,
) -> int | None:
    """Train a classifier: of sets of labels where the data have several labels anywhere, or as the user says."""
    check_plan(C, dev_file, out, checkpoint, resume, curves, inputs=[train_file, dev_file, costs])
    begin = perf_counter()
    train = parse(RawText.load(train_file))
    dev = None if dev_file is None else parse(RawText.load(dev_file))
    several = multilabel or any(len(labels) > 1 for labels in train.labels)
    shared: dict[str, Any] = {
        "fit_intercept": intercept,
        "costs": read_costs(costs),
        "solver": solver,
        "C": C[0],
        "objective": objective,
        "loss": loss,
        "penalty": penalty,
        "cut_memory": memory,
        "max_epochs": epochs,
        "tol": tol,
        "patience": patience,
        "max_seconds": seconds,
        "n_jobs": jobs,
        "random_state": seed,
        "verbose": not quiet,
    }
    settings: ClassifierSettings | MultilabelSettings
    if several:
        settings = MultilabelSettings(pairwise=pairwise, **shared)
    else:
        settings = ClassifierSettings(class_weight="balanced" if balanced else None, **shared)

    def pair(data: SvmlightData) -> tuple[Any, Any]:
        return data.matrix(train.width), data.labels if several else data.classes()

    return train_and_report(
        settings,
        pair(train),
        None if dev is None else pair(dev),
        size=lambda X: {"examples": X.shape[0]},
        data={"format": "svmlight", "examples": len(train.labels)},
        metric=lambda _: "f1" if several else "accuracy",
        begin=begin,
        out=out,
        solver=solver,
        C=C,
        checkpoint=checkpoint,
        resume=resume,
        curves=curves,
        as_json=as_json,
        quiet=quiet,
    )
