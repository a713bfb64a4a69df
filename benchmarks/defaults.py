"""Default training against python-crfsuite's defaults on six corpora: seconds from the file to the model, dev scores.

    python benchmarks/defaults.py [--corpora ewt …] [--who ours ap lbfgs] [--runs 3] [--peer-runs 1]
                                  [--data DIR] [--out bench/defaults.json]

Both sides read the same files and use the same 20 templates; the peer builds them as Python strings, as its users do,
and runs its defaults: 100 iterations of the averaged perceptron (`ap`), and L-BFGS until it converges (`lbfgs`). Ours
is `SequenceTagger()` without any option. Each run is a process of its own, and the runs of the three take turns. Scores
are those of development data: F1 of spans, or the accuracy of tags for EWT. jnlpba and the citations have no
development file, so every tenth sequence of the training file is held out. Test files are not read.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import peer

HERE = Path(__file__).resolve()
HELD_OUT = 10


class Corpus(NamedTuple):
    """The files of a corpus and the column to learn; without a development file, a part of the training file is it."""

    train: str
    dev: str | None = None
    label: str = "label"


CORPORA = {
    "ewt": Corpus("ud-english-ewt/train.conllu", "ud-english-ewt/dev.conllu", "xpos"),
    "bc2gm": Corpus("bc2gm/train.tsv", "bc2gm/dev.tsv"),
    "jnlpba": Corpus("jnlpba/train.tsv"),
    "ncbi-disease": Corpus("ncbi-disease/train.tsv", "ncbi-disease/dev.tsv"),
    "wnut17": Corpus("wnut17/train.conll", "wnut17/dev.conll"),
    "citations": Corpus("anystyle-citations/core.xml"),
}
WHO = ("ours", "ap", "lbfgs")
Sequences = list[tuple[list[str], list[str]]]


def sequences(path: Path, label: str) -> Sequences:
    """The words and labels of a file in any format."""
    from widemargin.files.formats import read

    columns = read(path).columns
    label = label if label in columns else columns.names[-1]
    return list(zip(columns.sequences("word"), columns.sequences(label), strict=True))


def prepare(data: Path, corpus: Corpus, scratch: Path) -> None:
    """Write train.tsv and dev.tsv, with a word and a label a line, for both sides to read."""
    train = sequences(data / corpus.train, corpus.label)
    if corpus.dev is not None:
        dev = sequences(data / corpus.dev, corpus.label)
    else:
        train, dev = [each for k, each in enumerate(train) if k % HELD_OUT], train[::HELD_OUT]
    for name, part in (("train.tsv", train), ("dev.tsv", dev)):
        blocks = ["".join(f"{word}\t{label}\n" for word, label in zip(*both, strict=True)) for both in part]
        (scratch / name).write_text("\n".join(blocks), encoding="utf-8")


def pairs(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """The words and labels of a prepared file, read in plain Python."""
    blocks = path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    return [[word for word, _ in block] for block in rows], [[label for _, label in block] for block in rows]


def role_ours(scratch: Path) -> dict[str, Any]:
    """`SequenceTagger()` on the file, saved."""
    from widemargin import SequenceTagger
    from widemargin.files.formats import read

    columns = read(scratch / "train.tsv").columns
    tagger = SequenceTagger().fit(columns.only("word"), columns[columns.names[-1]])
    tagger.save(scratch / "model.wm")
    solution = tagger.solution_
    return {"epochs": solution.epoch, "oracle_calls": solution.oracle_calls, "gap": solution.gap}


def role_peer(algorithm: str, scratch: Path) -> dict[str, Any]:
    """The peer with its defaults, features built and handed over sentence by sentence."""
    words, labels = pairs(scratch / "train.tsv")
    peer.train(algorithm, map(list, map(peer.features, words)), labels, scratch / f"model.{algorithm}", {})
    return {}


def predicted(who: str, scratch: Path, words: list[list[str]]) -> list[list[str]]:
    """The labels that a trained model gives the words."""
    if who == "ours":
        from widemargin.tasks.tag.model import Tagger

        return Tagger.load(scratch / "model.wm").predict(words)
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(scratch / f"model.{who}"))
    return [tagger.tag(list(peer.features(sentence))) for sentence in words]


def dev_score(who: str, scratch: Path) -> float:
    """F1 of spans on the development data, or accuracy where labels are not spans."""
    from widemargin.metrics import accuracy, span_scores
    from widemargin.text.spans import is_bio

    words, gold = pairs(scratch / "dev.tsv")
    found = predicted(who, scratch, words)
    if is_bio(sorted({label for labels in gold for label in labels})):
        return span_scores(gold, found).micro.f1
    return accuracy(gold, found)


def call(who: str, scratch: Path) -> dict[str, Any]:
    """One run in a process of its own; `wall` and `cpu` are the whole life of that process."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(
        [sys.executable, str(HERE), "--role", who, "--scratch", str(scratch)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    wall, after = perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{who} failed:\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, "dev": dev_score(who, scratch), **json.loads(done.stdout)}


def measure(name: str, scratch: Path, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """All runs on a corpus, in turns."""
    prepare(options.data, CORPORA[name], scratch)
    if "ours" in options.who:
        call("ours", scratch)  # compiles
    runs: dict[str, list[dict[str, Any]]] = {who: [] for who in options.who}
    for k in range(max(options.runs, options.peer_runs)):
        for who in options.who:
            if k < (options.runs if who == "ours" else options.peer_runs):
                runs[who].append(call(who, scratch))
                spelt = {key: round(value, 4) for key, value in runs[who][-1].items()}
                print(f"  {name} {who}: {json.dumps(spelt)}", flush=True)
    return runs


def lines(results: dict[str, dict[str, list[dict[str, Any]]]]) -> list[str]:
    """The results as a table in Markdown: medians of the seconds, and dev scores in %."""
    cells = [["corpus", *(f"{who}, s / dev" for who in WHO), "times as fast", "dev at least theirs"]]
    cells.append(["---"] * len(cells[0]))
    for name, runs in results.items():
        wall = {who: median(run["wall"] for run in each) for who, each in runs.items() if each}
        dev = {who: each[-1]["dev"] for who, each in runs.items() if each}
        row = [f"{wall[who]:.1f} / {100 * dev[who]:.2f}" if who in wall else "–" for who in WHO]
        peers = [who for who in wall if who != "ours"]
        faster = ", ".join(f"{wall[who] / wall['ours']:.1f}" for who in peers) if "ours" in wall else ""
        good = "ours" in dev and all(dev["ours"] >= dev[who] for who in peers)
        cells.append([name, *row, faster, "✓" if good else "✗"])
    return ["| " + " | ".join(row) + " |" for row in cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--who", nargs="+", choices=WHO, default=WHO)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-runs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bench/defaults.json"))
    parser.add_argument("--role", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        role = role_ours if options.role == "ours" else partial(role_peer, options.role)
        print(json.dumps(role(options.scratch)))
        return
    if not options.data.is_dir():
        raise SystemExit(f"there are no corpora at {options.data}; set WIDEMARGIN_DATA")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in options.corpora:
        with tempfile.TemporaryDirectory() as folder:
            results[name] = measure(name, Path(folder), options)
        options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print("\n".join(lines(results)))


if __name__ == "__main__":
    main()
