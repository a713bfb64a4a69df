"""The seven panels of Figure 1 of Kummerfeld et al. (2015): data, scores and methods.

| panel | data, sizes at scale 1 | score |
| --- | --- | --- |
| ner | ncbi-disease, 2,000 + 500 sentences | F1 of entities |
| coreference | gum-open, 30 + 12 documents, gold mentions, 50 antecedents each | mean of MUC, B³ and CEAF |
| constituency | genia-treebank, 500 + 150 sentences of at most 20 words, gold tags | F1 of brackets |
| neural | the same | the same |
| projective | ud-english-ewt, 1,200 + 300 sentences of at most 25 words, gold tags | labelled attachment |
| nonprojective | the same | the same |
| summarisation | opinosis, 30 + 15 topics, those with the fewest sentences | ROUGE-2 recall |

Summaries have no likelihood, since it would sum over all of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from kummerfeld_methods import METHODS, Epoch, Method, Setting, linear_run, neural_run

from widemargin.core.sparse import boundaries
from widemargin.files.formats import read
from widemargin.tasks import task as named
from widemargin.tasks.training import Compiled, Data
from widemargin.text.columns import Column, Columns

WITHOUT_SUMS = tuple(name for name in METHODS if name != "likelihood")
NEURAL = ("perceptron", "adagrad-l2", "likelihood")


@dataclass(frozen=True)
class Panel:
    """A panel: `load` reads the data of a folder at a scale, and `run` makes one run on them."""

    title: str
    score: str
    load: Callable[[Path, float], Any]
    C: float
    epochs: int = 15
    methods: tuple[str, ...] = tuple(METHODS)
    run: Callable[[Any, Method, Setting], Iterator[Epoch]] | None = None

    def settings(self, name: str) -> list[Setting]:
        """The grid of a method; rates of the neural parser are its only setting."""
        if self.run is neural_run:
            return [{"eta": rate} for rate in (0.01, 0.03)]
        return METHODS[name].settings(self.C)

    def epochs_of(self, data: Any, method: Method, setting: Setting) -> Iterator[Epoch]:
        """One run."""
        return (self.run or linear_run)(data, method, setting)


def compiled(task: str, train: tuple[Any, Any], dev: tuple[Any, Any], kind: int = 0, **options: Any) -> Compiled[Any]:
    """The data of a task, compiled with its default features."""
    row = list(named(task).kinds.values())[kind]
    found: Compiled[Any] = row.compile(row.parameters(n_jobs=1, **options), Data(*train, dev=dev))
    return found


def chosen(sequence: Any, most: float, longest: int | None = None) -> list[int]:
    """The numbers of the first `most` items that are not too long."""
    numbers = [i for i, item in enumerate(sequence) if longest is None or 0 < len(item) <= longest]
    return numbers[: round(most)]


def kept(columns: Columns, numbers: list[int]) -> Columns:
    """Some of the sentences."""
    texts = {name: columns.sequences(name) for name in columns.names}
    sizes = [len(texts[columns.names[0]][i]) for i in numbers]
    return Columns(
        {name: Column.of(cell for i in numbers for cell in texts[name][i]) for name in texts}, boundaries(sizes)
    )


def entities(folder: Path, scale: float) -> Compiled[Any]:
    def part(name: str, most: float) -> tuple[Any, Any]:
        columns = read(folder / "ncbi-disease" / f"{name}.tsv").columns
        first = kept(columns, chosen(columns.sequences("word"), most))
        return first.only("word"), first[columns.names[-1]]

    return compiled("tag", part("train", 2000 * scale), part("dev", 500 * scale))


def links(folder: Path, scale: float) -> Compiled[Any]:
    from widemargin.tasks.coreference.files import read_texts

    def part(name: str, most: float) -> tuple[Any, Any]:
        corpus = read_texts(str(folder / "gum-open" / f"{name}.conllu"))
        return corpus.X[: round(most)], corpus.y[: round(most)]

    # Entities of one mention are marked, so links must not be as cheap as in the paper, whose corpus has none.
    costs = dict.fromkeys(("false_anaphor", "false_new", "wrong_link"), 1.0)
    return compiled("coreference", part("train", 30 * scale), part("dev", 12), max_antecedents=50, **costs)


def _trees(folder: Path, scale: float) -> Iterator[tuple[Any, Any]]:
    for name, most in (("train", 500 * scale), ("dev", 150 * scale)):
        with (folder / "genia-treebank" / f"{name}.ptb").open("rb") as file:
            # A tree a line, and one of three is short enough; to read all would take longer than an epoch.
            document: Any = read(BytesIO(b"".join(islice(file, round(4 * most)))), format="brackets")
        numbers = chosen([tree.words() for tree in document.trees], most, 20)
        yield kept(document.columns, numbers), [document.trees[i] for i in numbers]


def constituents(folder: Path, scale: float) -> Compiled[Any]:
    return compiled("bracket", *_trees(folder, scale), hash_bits=22, tags="given")


def neural_trees(folder: Path, scale: float) -> tuple[Any, Any]:
    (_, train), (_, dev) = _trees(folder, scale)
    return train, dev


def dependencies(decoder: str) -> Callable[[Path, float], Compiled[Any]]:
    def load(folder: Path, scale: float) -> Compiled[Any]:
        from widemargin.tasks.parse.dependencies import arcs

        parts = []
        for name, most in (("train", 1200 * scale), ("dev", 300 * scale)):
            columns = read(folder / "ud-english-ewt" / f"{name}.conllu").columns
            # Parsers read lemmas, and refuse to do without one where they have learnt that every token has one.
            words, lemmas = columns.sequences("word"), columns.sequences("lemma")
            whole = [[] if "_" in lemma else word for word, lemma in zip(words, lemmas, strict=True)]
            first = kept(columns, chosen(whole, most, 25))
            parts.append((first, arcs(first)))
        return compiled("parse", *parts, decoder=decoder, tags="given")

    return load


def summaries(folder: Path, scale: float) -> Compiled[Any]:
    from widemargin.tasks.summarise.files import read_topics

    corpus = read_topics(str(folder / "opinosis"), about={"encoding": "cp1252"})
    shortest = sorted(range(len(corpus.X)), key=lambda i: corpus.X[i].n_sentences)[: round(45 * scale)]
    dev, train = shortest[::3], [i for k, i in enumerate(shortest) if k % 3]
    parts = [([corpus.X[i] for i in part], [corpus.y[i] for i in part]) for part in (train, dev)]
    return compiled("summarise", parts[0], parts[1], node_limit=2000, time_limit=5.0)


PANELS = {
    "ner": Panel("Named entity recognition", "F1", entities, 0.1),
    "coreference": Panel("Coreference resolution", "CoNLL F1", links, 0.01),
    "constituency": Panel("Constituency parsing", "F1", constituents, 0.01),
    "neural": Panel("Constituency parsing, neural", "F1", neural_trees, 0.01, 10, NEURAL, neural_run),
    "projective": Panel("Dependency parsing, projective", "LAS", dependencies("projective"), 0.01),
    "nonprojective": Panel("Dependency parsing, non-projective", "LAS", dependencies("nonprojective"), 0.01),
    "summarisation": Panel("Summarisation", "ROUGE-2 recall", summaries, 1.0, 10, WITHOUT_SUMS),
}
