"""Conditional random fields: `crf` against python-crfsuite's `lbfgs`, with the same features.

    python benchmarks/likelihood.py [--corpora wnut17 …] [--runs 3] [--jobs 1] [--quick] [--data DIR] [--out FILE]

The peer minimises −Σ log p + c2 ‖w‖² over the features that occur with a label; c2 is 1 by default. `C` = 1 / (2 c2)
makes that our objective, P = ½‖w‖² + C Σ −log p, up to the factor C; the table shows P / C for both. Ours also has
weights for features and labels that never occur together, and for the first and last label, so its optimum is lower.

| column | |
| --- | --- |
| to its value | seconds until our P is at most that which the peer ends with, reading off the trace |
| fit | seconds until our proven gap is 1 % |
| peer | seconds of `Trainer.train` |
| ratio | peer / to its value |
| end to end | from lists of words to a model, ours with default settings; the peer with features built as strings |
| dev, default | the development scores of these two: F1 of spans if labels are BIO, else accuracy |

Runs alternate in one process, and the table shows medians. The peer has one thread; so have ours, unless `--jobs` says
otherwise.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import peer
import pycrfsuite

from widemargin import SequenceTagger
from widemargin.files.formats import read
from widemargin.metrics import accuracy, span_scores
from widemargin.text.spans import is_bio

HERE = Path(__file__).resolve()
C = 0.5  # 1 / (2 c2)
Sequences = list[list[str]]


class Corpus(NamedTuple):
    """The files and the label column of a corpus; without development data every fifth sequence serves as such."""

    train: str
    dev: str | None
    label: str = "label"


CORPORA = {
    "ncbi-disease": Corpus("train.tsv", "dev.tsv"),
    "wnut17": Corpus("train.conll", "dev.conll"),
    "us50-addresses": Corpus("train.xml", None),
    "anystyle-citations": Corpus("core.xml", None),
    "bc2gm": Corpus("train.tsv", "dev.tsv"),
    "ud-english-ewt": Corpus("train.conllu", "dev.conllu", "xpos"),
}
QUICK = ["us50-addresses", "ncbi-disease", "wnut17"]


class Data(NamedTuple):
    """Words and labels to train on and to score on."""

    X: Sequences
    y: Sequences
    X_dev: Sequences
    y_dev: Sequences


def load(folder: Path, corpus: Corpus, most: int | None) -> Data:
    def sequences(name: str) -> tuple[Sequences, Sequences]:
        columns = read(folder / name).columns
        label = corpus.label if corpus.label in columns else columns.names[-1]
        return [list(each) for each in columns.sequences("word")], [list(each) for each in columns.sequences(label)]

    X, y = sequences(corpus.train)
    if corpus.dev is not None:
        return Data(X[:most], y[:most], *sequences(corpus.dev))
    held = [k % 5 == 0 for k in range(len(X))]
    parts = [[each for each, out in zip(side, held, strict=True) if out == dev] for dev in (0, 1) for side in (X, y)]
    return Data(parts[0][:most], parts[1][:most], *parts[2:])


def score(data: Data, predicted: Sequences) -> float:
    in_spans = is_bio(sorted({label for labels in data.y for label in labels}))
    return span_scores(data.y_dev, predicted).micro.f1 if in_spans else accuracy(data.y_dev, predicted)


def ours_to_the_optimum(data: Data, jobs: int) -> Any:
    return SequenceTagger(solver="crf", C=C, n_jobs=jobs).fit(data.X, data.y).solution_


def ours_by_default(data: Data, jobs: int) -> Callable[[], Sequences]:
    tagger = SequenceTagger(solver="crf", n_jobs=jobs).fit(data.X, data.y)
    return lambda: tagger.predict(data.X_dev)


class Peer(NamedTuple):
    """What a run of the peer has cost and found."""

    seconds: float
    total: float
    value: float
    tag: Callable[[], Sequences]


def run_peer(data: Data, path: Path) -> Peer:
    begin = perf_counter()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for words, labels in zip(data.X, data.y, strict=True):
        trainer.append(list(peer.features(words)), labels)
    ready = perf_counter()
    trainer.train(str(path))
    done = perf_counter()

    def tag() -> Sequences:
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
        return [tagger.tag(list(peer.features(words))) for words in data.X_dev]

    return Peer(done - ready, done - begin, trainer.logparser.last_iteration["loss"], tag)


def measure(data: Data, runs: int, jobs: int, path: Path) -> dict[str, Any]:
    few = Data(*(part[:3] for part in data))
    ours_by_default(few, jobs)()  # loads or compiles the kernels
    rows = []
    for _ in range(runs):
        theirs = run_peer(data, path)
        solution = ours_to_the_optimum(data, jobs)
        reached = [row.seconds for row in solution.trace if row.primal is not None and row.primal / C <= theirs.value]
        begin = perf_counter()
        predict = ours_by_default(data, jobs)
        total = perf_counter() - begin
        rows.append(
            {
                "to": reached[0] if reached else np.inf,
                "fit": solution.seconds,
                "peer": theirs.seconds,
                "ours end": total,
                "peer end": theirs.total,
                "ours value": solution.primal / C,
                "peer value": theirs.value,
            }
        )
    result = {key: median(row[key] for row in rows) for key in rows[0]}
    return result | {"ours dev": score(data, predict()), "peer dev": score(data, theirs.tag())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="threads of ours")
    parser.add_argument("--quick", action="store_true", help="one run on a thousand sequences of three corpora")
    parser.add_argument("--out", type=Path, default=Path("bench/likelihood.json"))
    options = parser.parse_args()
    data = Path(os.environ.get("WIDEMARGIN_DATA", options.data))
    runs, most, names = (1, 1000, QUICK) if options.quick else (options.runs, None, options.corpora)
    measured: dict[str, Any] = {}
    print(
        "| corpus | P / C, ours | peer | to its value | fit | peer | ratio | end to end | peer | dev, default | peer |"
    )
    print("| --- |" + " ---: |" * 10)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if not (data / name).is_dir():
                raise SystemExit(f"the corpus {name} is not at {data}; set WIDEMARGIN_DATA")
            m = measured[name] = measure(
                load(data / name, CORPORA[name], most), runs, options.jobs, Path(folder) / "model"
            )
            values = f"{m['ours value']:.1f} | {m['peer value']:.1f}"
            seconds = f"{m['to']:.2f} | {m['fit']:.2f} | {m['peer']:.2f} | {m['peer'] / m['to']:.1f}×"
            ends = f"{m['ours end']:.2f} | {m['peer end']:.2f} | {m['ours dev']:.4f} | {m['peer dev']:.4f}"
            print(f"| {name} | {values} | {seconds} | {ends} |", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(measured, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
