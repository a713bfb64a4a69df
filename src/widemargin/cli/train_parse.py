"""`widemargin train parse`: parsers of dependencies."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from widemargin.cli.documents import Corpus, read_corpus, read_like
from widemargin.cli.parsed import size
from widemargin.cli.resources import read_role_templates
from widemargin.cli.training import Plan, train_and_report
from widemargin.columns import Columns
from widemargin.data.dependencies import Dependencies, arcs
from widemargin.training.parsing import ParserSettings

TEMPLATES = ("arc_templates", "label_templates", "sibling_templates")
GOLD = ("head", "deprel", "deps", "phead", "pdeprel")
"""Columns that features may not read."""


def run(*, order: str, file_format: str | None, columns: Sequence[str] | None, **options: Any) -> int | None:
    """Train a parser of dependencies."""
    plan, parameters = Plan.of(options)
    given = {name: parameters.pop(name) for name in TEMPLATES}
    plan.check(list(given.values()))
    begin = perf_counter()
    templates: dict[str, Any] = {name: read_role_templates(value) for name, value in given.items()}
    settings = ParserSettings(order=int(order), **templates, **parameters)
    corpus = read_corpus(plan.train_file, file_format=file_format, names=columns)
    train = _pair(corpus)
    dev = None if plan.dev_file is None else _pair(read_like(corpus, plan.dev_file, file_format, columns))
    return train_and_report(
        settings,
        plan,
        train,
        dev,
        size=size,
        data={
            "format": corpus.file_format,
            "columns": list(corpus.document.columns.columns),
            **size(train[0]),
        },
        metric=lambda _: settings.dev_metric,
        begin=begin,
    )


def _pair(corpus: Corpus) -> tuple[Columns, Dependencies]:
    """What there is to learn from, and the trees to be learnt."""
    X = corpus.document.columns
    return X.only(*(name for name in X.columns if name not in GOLD)), arcs(corpus.document)
