"""`widemargin train parse`: parsers of dependencies."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from widemargin.cli.documents import Corpus, read_corpus, read_like
from widemargin.cli.parsed import size
from widemargin.cli.resources import templates_text
from widemargin.cli.training import Plan, train_and_report
from widemargin.columns import Columns
from widemargin.data.dependencies import arc_lists, arcs
from widemargin.training.parsing import ParserSettings
from widemargin.trees import Arc


def run(
    *, templates: str | None, order: str, file_format: str | None, columns: Sequence[str] | None, **options: Any
) -> int | None:
    """Train a parser of dependencies."""
    plan, parameters = Plan.of(options)
    plan.check([templates])
    begin = perf_counter()
    chosen = None if templates is None else templates_text(templates)
    settings = ParserSettings(templates=chosen, order=int(order), **parameters)
    train = read_corpus(plan.train_file, file_format=file_format, names=columns)
    dev = None if plan.dev_file is None else _pair(read_like(train, plan.dev_file, file_format, columns))
    X = train.document.columns
    return train_and_report(
        settings,
        plan,
        _pair(train),
        dev,
        size=size,
        data={"format": train.file_format, "columns": list(X.columns), **size(X)},
        metric=lambda _: settings.dev_metric,
        begin=begin,
    )


def _pair(corpus: Corpus) -> tuple[Columns, list[list[Arc]]]:
    X = corpus.document.columns
    return X, arc_lists(arcs(corpus.document), X.indptr)
