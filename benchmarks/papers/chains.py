"""Corpora of taggers for the papers, and what the taggers are worth on them.

Every corpus has the tagger's own 20 templates, words, shapes, prefixes and suffixes, and weights for pairs of labels:
the features of SVM-HMM that both papers use.
"""

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, Literal, NamedTuple

import numpy as np
from experiment import Bench

from widemargin._types import FloatVector
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.files.formats import read
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Compiled, Data
from widemargin.text.columns import Column, Columns
from widemargin.text.spans import spans
from widemargin.text.trees import Tree


class Corpus(NamedTuple):
    """A folder of files, how their names end, and which of their columns holds the labels, the last unless given."""

    folder: str
    suffix: str
    label: str = ""


CORPORA = {
    "wnut17": Corpus("wnut17", "conll"),
    "ncbi-disease": Corpus("ncbi-disease", "tsv"),
    "bc2gm": Corpus("bc2gm", "tsv"),
    "jnlpba": Corpus("jnlpba", "tsv"),
    "ewt": Corpus("ud-english-ewt", "conllu", "xpos"),
    "genia": Corpus("genia-treebank", "ptb"),
}


class Task(NamedTuple):
    """Training examples, test data, and scores on them as functions of the weights.

    `problem` takes the solver's name, C, and more parameters of training; `dev` reads the development data. `counted`
    has a row for each test sentence: how many tokens, spans or arcs are right, how many were predicted and how many
    there are.
    """

    name: str
    compiled: Compiled[Any]
    n_test: int
    problem: Callable[..., Problem]
    dev: Callable[[], Score]
    test: Score
    counted: Callable[[FloatVector], FloatVector]

    def size(self) -> dict[str, Any]:
        """The data in numbers."""
        examples: Any = self.compiled.examples
        return {
            "corpus": self.name,
            "metric": self.compiled.metric,
            "sentences": examples.n_examples,
            "test sentences": self.n_test,
            "labels": len(self.compiled.labels),
            "weights": examples.n_weights,
        }


def tagging(bench: Bench, name: str, sentences: int, tested: int, metric: Literal["auto", "accuracy"] = "auto") -> Task:
    """A corpus, of which the first sentences of each file are used."""
    X, y = part(bench, name, "train", sentences)
    X_test, y_test = test = part(bench, name, "test", tested)
    parameters = partial(TaggerParameters, dev_metric=metric, n_jobs=1)
    compiled = compile_tags(parameters(), Data(X, y, dev=test))

    def counted(w: FloatVector) -> FloatVector:
        gold = Columns({"label": y_test}, X_test.indptr).sequences("label")
        unit = spans if compiled.metric == "f1" else lambda labels: list(enumerate(labels))
        return agreement(map(unit, gold), map(unit, model(compiled, w).predict(X_test, 1)))

    return Task(
        name,
        compiled,
        X_test.n_sequences,
        problem=lambda solver, C, **more: Plan.of(parameters(solver=solver, C=C, **more)).problem(compiled.examples),
        dev=lambda: scorer(compile_tags(parameters(), Data(X, y, dev=part(bench, name, "dev", tested)))),
        test=scorer(compiled),
        counted=counted,
    )


def scorer(compiled: Compiled[Any]) -> Score:
    """The score on the data that were given as development data."""
    assert compiled.score is not None
    return compiled.score


def part(bench: Bench, name: str, which: str, sentences: int) -> tuple[Columns, Column]:
    """Words and labels of the first sentences of a file."""
    corpus = CORPORA[name]
    document: Any = read(bench.data / corpus.folder / f"{which}.{corpus.suffix}")
    columns = document.columns
    if corpus.suffix == "ptb":
        labels = Column.of([label for tree in document.trees for label in chunks(tree)])
        columns = Columns({"word": columns["word"], "label": labels}, columns.indptr)
    label = corpus.label or columns.names[-1]
    columns = columns.part(0, min(sentences, columns.n_sequences))
    return columns.only("word"), columns[label]


def chunks(tree: Tree) -> list[str]:
    """Chunks of a tree as BIO labels: neighbouring words right below one constituent; those of a clause have none.

    >>> chunks(Tree.parse("(S (NP (NP (DT the) (NN dog)) (PP (IN of) (NP (NN war)))) (VP (VBZ barks)) (. .))"))
    ['B-NP', 'I-NP', 'B-PP', 'B-NP', 'B-VP', 'O']
    """
    if tree.word is not None:
        return ["O"]
    labels: list[str] = []
    for words, children in groupby(tree.children, lambda child: isinstance(child, Tree) and child.word is not None):
        if words and not tree.label.startswith("S"):
            labels += [f"{'I' if k else 'B'}-{tree.label}" for k, _ in enumerate(children)]
        else:
            labels += [label for child in children if isinstance(child, Tree) for label in chunks(child)]
    return labels


def model(compiled: Compiled[Any], w: FloatVector) -> Any:
    """The model with these weights."""
    return compiled.model(Solution(w, (), None, None, None, False, "epochs", 0, 0, 0.0), {})


def agreement(gold: Any, predicted: Any) -> FloatVector:
    """A row for each sentence: parts that are right, parts predicted, parts of the gold output."""
    rows = [(len(set(g) & set(p)), len(p), len(g)) for g, p in zip(gold, predicted, strict=True)]
    return np.array(rows, dtype=np.float64)
