"""`widemargin train bracket`: parsers of constituents."""

from time import perf_counter
from typing import Any

from widemargin.cli.parsed import read_brackets, size
from widemargin.cli.resources import read_role_templates
from widemargin.cli.training import Plan, train_and_report
from widemargin.columns import Columns
from widemargin.data.raw import RawText
from widemargin.training.bracketing import BracketerSettings
from widemargin.trees import Tree


def run(*, templates: str | None, keep_functions: bool, **options: Any) -> int | None:
    """Train a parser of constituents."""
    plan, parameters = Plan.of(options)
    plan.check([templates])
    begin = perf_counter()
    settings = BracketerSettings(templates=read_role_templates(templates), **parameters)
    data = {"format": "brackets", "keep_functions": keep_functions}

    def pair(path: str) -> tuple[Columns, list[Tree]]:
        document = read_brackets(RawText.load(path), data)
        return document.columns, document.trees

    train = pair(plan.train_file)
    return train_and_report(
        settings,
        plan,
        train,
        None if plan.dev_file is None else pair(plan.dev_file),
        size=size,
        data=data | size(train[0]),
        metric=lambda _: settings.dev_metric,
        begin=begin,
    )
