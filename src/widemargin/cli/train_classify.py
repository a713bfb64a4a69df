"""`widemargin train classify`: classifiers, from svmlight files."""

from time import perf_counter
from typing import Any

from widemargin.cli.resources import read_costs
from widemargin.cli.training import Plan, train_and_report
from widemargin.data.raw import RawText
from widemargin.data.svmlight import SvmlightData, parse
from widemargin.training import ClassifierSettings, MultilabelSettings


def run(
    *, multilabel: bool, pairwise: bool, intercept: bool, balanced: bool, costs: str | None, **options: Any
) -> int | None:
    """Train a classifier: of sets of labels where the data have several labels anywhere, or as the user says."""
    plan, parameters = Plan.of(options)
    plan.check([costs])
    begin = perf_counter()
    train = parse(RawText.load(plan.train_file))
    dev = None if plan.dev_file is None else parse(RawText.load(plan.dev_file))
    several = multilabel or any(len(labels) > 1 for labels in train.labels)
    shared = {"fit_intercept": intercept, "costs": read_costs(costs), **parameters}
    settings: ClassifierSettings | MultilabelSettings
    if several:
        settings = MultilabelSettings(pairwise=pairwise, **shared)
    else:
        settings = ClassifierSettings(class_weight="balanced" if balanced else None, **shared)

    def pair(data: SvmlightData) -> tuple[Any, Any]:
        return data.matrix(train.width), data.labels if several else data.classes()

    return train_and_report(
        settings,
        plan,
        pair(train),
        None if dev is None else pair(dev),
        size=lambda X: {"examples": X.shape[0]},
        data={"format": "svmlight", "examples": len(train.labels)},
        metric=lambda _: "f1" if several else "accuracy",
        begin=begin,
    )
