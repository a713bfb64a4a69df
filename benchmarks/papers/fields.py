"""Fields of citations and addresses and names of diseases, in random splits, as Sarawagi & Gupta (2008) learn them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from experiment import Bench

from widemargin import Segmenter, SequenceTagger
from widemargin._types import IntVector
from widemargin.core.examples import Differences
from widemargin.core.sparse import Rows
from widemargin.files.formats import read
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.tag.features import ChainExamples
from widemargin.text.spans import bio
from widemargin.text.templates import DEFAULT_TEMPLATES

EDGES = [
    f"transition:{feature}"
    for feature in (
        "lower",
        "lower[-1]",
        "lower[1]",
        "shape",
        "shape[-1]",
        "prefix3",
        "suffix1",
        "suffix1[-1]",
        "suffix3",
    )
]
"""Features on pairs of labels: what couples the labels of neighbours strongly, as the paper's sets have it."""

CITATIONS, ADDRESSES, SENTENCES = 500, 400, 2000
"""As many citations and addresses as the paper has, and fewer sentences."""

CHOICES = (0.001, 0.01, 0.1)
"""Of C: with the last one, nothing is wrong any more in so few training data."""


class Sequences(NamedTuple):
    """Sequences of tokens and their BIO labels."""

    X: list[list[str]]
    y: list[list[str]]

    def only(self, chosen: Sequence[int]) -> "Sequences":
        """These sequences alone."""
        return Sequences([self.X[i] for i in chosen], [self.y[i] for i in chosen])

    def drawn(self, n: int, seed: int) -> "Sequences":
        """So many sequences at random, in random order; all of them if there are fewer."""
        return self.only(np.random.default_rng(seed).permutation(len(self.X))[:n].tolist())


class Split(NamedTuple):
    """What to learn from and what to test on."""

    train: Sequences
    test: Sequences


class Corpus(NamedTuple):
    """The splits to report, and those to choose C by, which hold no test data, and from what."""

    splits: list[Split]
    choice: list[Split]
    choices: tuple[float, ...]


def random_split(data: Sequences, share: float, seed: int) -> Split:
    """A share to learn from, at random, and the rest to test on."""
    mixed = data.drawn(len(data.X), seed)
    n = round(share * len(mixed.X))
    return Split(mixed.only(range(n)), mixed.only(range(n, len(mixed.X))))


def random_splits(data: Sequences, share: float, n: int) -> Corpus:
    """`n` splits; C is chosen by a quarter of the training data of the first ones, of one if they are large."""
    splits = [random_split(data, share, seed) for seed in range(n)]
    first = splits[: 3 if share < 0.5 else 1]
    return Corpus(splits, [random_split(each.train, 0.75, 0) for each in first], CHOICES)


def load(bench: Bench, path: str) -> Sequences:
    """The sequences of a file."""
    columns = read(bench.data / path).columns
    label = "label" if "label" in columns.by_name else columns.names[-1]
    return Sequences(columns.sequences("word"), columns.sequences(label))


def citations(share: float, n: int, bench: Bench) -> Corpus:
    """Citations, in place of Cora."""
    few = load(bench, "anystyle-citations/core.xml").drawn(bench.size(CITATIONS, 60), 0)
    return random_splits(few, share, bench.size(n, 2))


def addresses(n: int, bench: Bench) -> Corpus:
    """US addresses, in place of others."""
    few = load(bench, "us50-addresses/test.xml").drawn(bench.size(ADDRESSES, 80), 0)
    return random_splits(few, 0.25, bench.size(n, 2))


def few_addresses(bench: Bench) -> Corpus:
    """The same set as it comes: 50 to learn from, 687 to test on."""
    train, test = (load(bench, f"us50-addresses/{part}.xml") for part in ("train", "test"))
    return Corpus([Split(train, test)], [random_split(train, 0.75, seed) for seed in range(3)], CHOICES)


def diseases(bench: Bench) -> Corpus:
    """Names of diseases, in place of the CoNLL shared task; the file of development data chooses C."""
    train, dev, test = (load(bench, f"ncbi-disease/{part}.tsv") for part in ("train", "dev", "test"))
    few = train.only(range(bench.size(SENTENCES, 100)))
    return Corpus([Split(few, test)], [Split(few, dev)], (*CHOICES, 1.0))


class Task(NamedTuple):
    """How a set is learnt: settings with an objective, from BIO to what is trained on, from predictions back to BIO."""

    settings: Callable[..., Any]
    target: Callable[[list[list[str]]], Any]
    back: Callable[[Any, list[list[str]]], list[list[str]]]


def fields(y: list[list[str]]) -> list[list[str]]:
    """The field of every token, without B and I."""
    return [[label[2:] or label for label in labels] for labels in y]


def runs(labels: list[str]) -> list[str]:
    """BIO labels where every run of a field is one span."""
    marks = (("I-" if t and labels[t - 1] == field else "B-") + field for t, field in enumerate(labels))
    return ["O" if label[2:] == "O" else label for label in marks]


class WithoutEdges(ChainExamples):
    """Chains whose outputs differ from gold in no pair of labels: no weight of a pair ever becomes other than 0."""

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors and feature differences without the entries of pairs."""
        errors, psi = super().difference(batch, outputs)
        first = self.shape.n_features * self.shape.n_labels
        kept = (psi.indices < first) | (psi.indices >= first + self.shape.n_labels**2)
        before = np.concatenate([[0], np.cumsum(kept)])
        return Differences(errors, Rows(before[psi.indptr], psi.indices[kept], psi.values[kept]))


def compile_without_edges(*given: Any, **options: Any) -> Any:
    """Compile a tagger's data to chains without edges."""
    compiled = compile_tags(*given, **options)
    given = compiled.examples
    examples = WithoutEdges(given.shape, given.indptr, given.features.rows, given.gold, costs=given.costs.costs)
    return replace(compiled, examples=examples)


class EdgelessTagger(SequenceTagger):
    """A tagger that learns nothing of pairs of labels."""

    _compile = staticmethod(compile_without_edges)


def as_segments() -> Task:
    """Segments, with features of whole ones."""
    back = lambda found, X: [bio(s, len(x)) for s, x in zip(found, X, strict=True)]  # noqa: E731
    return Task(partial(Segmenter, n_jobs=1), list, back)


def as_labels(edges: bool = True) -> Task:
    """Fields that fill their sequences: labels without B and I, with features on pairs or none."""
    kind = SequenceTagger if edges else EdgelessTagger
    templates = [*DEFAULT_TEMPLATES, *(EDGES if edges else ())]
    return Task(partial(kind, n_jobs=1, templates=templates), fields, lambda found, X: list(map(runs, found)))


def as_names(edges: bool = True) -> Task:
    """Names within sentences: labels with B and I, and one weight for each pair of labels or none."""
    return Task(partial(SequenceTagger if edges else EdgelessTagger, n_jobs=1), list, lambda found, X: found)
