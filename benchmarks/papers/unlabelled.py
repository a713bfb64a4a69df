"""Unlabelled projective dependency parsing with gold tags, first order, with hashed features: a task as in `chains`."""

from pathlib import Path
from typing import Any

import numpy as np
from chains import Task, agreement, model, scorer
from experiment import Bench

from widemargin._types import FloatVector
from widemargin.files.formats import read
from widemargin.tasks.parse import ParserParameters
from widemargin.tasks.parse.dependencies import DependencyRows, arc_lists, arcs
from widemargin.tasks.parse.estimator import compile_trees
from widemargin.tasks.plan import Plan
from widemargin.tasks.training import Data
from widemargin.text.columns import Column, Columns

NAME = "ewt"


def parsing(bench: Bench, sentences: int, tested: int) -> Task:
    """UD English EWT, of which the first sentences of each file are used."""

    def parameters(**more: Any) -> ParserParameters:
        return ParserParameters(tags="given", label_templates=(), dev_metric="uas", n_jobs=1, **more)

    train = part(bench, "train", sentences)
    X_test, y_test = test = part(bench, "test", tested)
    compiled = compile_trees(parameters(), Data(*train, dev=test))

    def counted(w: FloatVector) -> FloatVector:
        trees = arc_lists(y_test, X_test.indptr), model(compiled, w).predict(X_test, 1)
        return agreement(*([list(enumerate(arc.head for arc in tree)) for tree in each] for each in trees))

    return Task(
        NAME,
        compiled,
        X_test.n_sequences,
        problem=lambda solver, C, **more: Plan.of(parameters(solver=solver, C=C, **more)).problem(compiled.examples),
        dev=lambda: scorer(compile_trees(parameters(), Data(*train, dev=part(bench, "dev", tested)))),
        test=scorer(compiled),
        counted=counted,
    )


def part(bench: Bench, which: str, sentences: int) -> tuple[Columns, DependencyRows]:
    """The first sentences of a file, and their trees without labels."""
    return unlabelled(bench.data / "ud-english-ewt" / f"{which}.conllu", sentences)


def unlabelled(path: Path, sentences: int | None = None) -> tuple[Columns, DependencyRows]:
    """The first sentences of a treebank, or all, and their trees without labels."""
    columns = read(path).columns
    if sentences is not None:
        columns = columns.part(0, min(sentences, columns.n_sequences))
    heads = arcs(columns).heads
    return columns, DependencyRows(heads, Column(np.zeros(len(heads), dtype=np.int32), ["_"]))
