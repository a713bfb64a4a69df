"""How long one prediction takes in a warm process: p50 and p95 in milliseconds, and how many tokens a second a batch.

    python benchmarks/latency.py [--sentences 1500] [--asked 300] [--data DIR] [--out bench/latency.json]

| row | model | one input |
| --- | --- | --- |
| tagger, tokens | XPOS, default templates | a sentence of 10 to 20 tokens |
| tagger, feature strings; dicts | the same features built as strings; those of sklearn-crfsuite's tutorial | the same, features given |
| python-crfsuite | `ap` on these strings | the same, features built in Python, or given |
| segmenter | genes, default templates and segment features | a sentence of 10 to 20 tokens |
| dependency, constituency parser | defaults, gold tags | a sentence of 8 tokens |

Small models are trained on the first sentences of a corpus, saved and loaded. Each is asked about sentences it has never
seen, one by one, after a warm-up with others, and then about the same ones again. The estimator and its model are asked
in turn; the slower of the two medians counts. Batches are all new sentences of 10 to 20 tokens at once, in alternating
runs. Without corpora, generated addresses and sentences take their place.
"""  # noqa: E501

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import peer

from widemargin import ConstituencyParser, DependencyParser, Segmenter, SequenceTagger, load
from widemargin.data.generators import addresses
from widemargin.data.treebanks import treebank
from widemargin.files.formats import read
from widemargin.tasks.parse.dependencies import arc_lists, arcs

HERE = Path(__file__).resolve()
SETTINGS: dict[str, Any] = {"solver": "perceptron", "max_epochs": 3, "tol": None}
REACH = {
    "tagger, tokens": 0.1,
    "tagger, feature strings": 0.1,
    "tagger, dicts": 0.1,
    "segmenter": 0.5,
    "dependency parser, 8 tokens": 1.0,
    "constituency parser, 8 tokens": 2.0,
}
RATIOS = {
    "one thread against python-crfsuite": ("python-crfsuite", "one thread", 8.0),
    "two threads against one": ("one thread", "two threads", 1.7),
}


class Set(NamedTuple):
    """Inputs and gold outputs to train on, and new inputs to ask about."""

    X: Sequence[Any]
    y: Sequence[Any]
    new: Sequence[Any]


def tutorial(words: Sequence[str]) -> list[dict[str, Any]]:
    """The features of sklearn-crfsuite's tutorial, a dict per token."""

    def near(t: int, mark: str) -> dict[str, Any]:
        if not 0 <= t < len(words):
            return {"BOS" if t < 0 else "EOS": True}
        word = words[t]
        return {
            f"{mark}word.lower()": word.lower(),
            f"{mark}word.istitle()": word.istitle(),
            f"{mark}word.isupper()": word.isupper(),
        }

    return [
        {
            "bias": 1.0,
            **near(t, ""),
            "word[-3:]": word[-3:],
            "word[-2:]": word[-2:],
            "word.isdigit()": word.isdigit(),
            **near(t - 1, "-1:"),
            **near(t + 1, "+1:"),
        }
        for t, word in enumerate(words)
    ]


def of_length(inputs: Sequence[Any], least: int, most: int) -> list[Any]:
    return [each for each in inputs if least <= len(each) <= most]


def sets(data: Path, n: int) -> dict[str, Set]:
    """The data of every model; generated if there is no corpus."""
    if (data / "ud-english-ewt").is_dir():
        words, tags = peer.read(data / "ud-english-ewt" / "train.conllu")
        tagging = Set(words[:n], tags[:n], of_length(peer.read(data / "ud-english-ewt" / "test.conllu")[0], 10, 20))
        document = read(data / "ud-english-ewt" / "train.conllu")
        sentences = tokens_of(document.columns, "xpos")
        arcs_of = arc_lists(arcs(document), document.columns.indptr)
        parsing = Set(sentences[:n], arcs_of[:n], of_length(sentences[n:], 8, 8))
    else:
        words, tags = addresses(2 * n)
        tagging = Set(words[:n], tags[:n], of_length(words[n:], 10, 20))
        bank = treebank(4 * n)
        sentences = tokens_of(bank.columns, "pos")
        parsing = Set(sentences[:n], bank.arcs[:n], of_length(sentences[n:], 8, 8))
    if (data / "bc2gm").is_dir():
        genes, new = (read(data / "bc2gm" / f"{part}.tsv") for part in ("train", "test"))
        X, y = genes.columns.sequences("word")[:n], genes.columns.sequences(genes.label)[:n]
        segmenting = Set(X, y, of_length(new.columns.sequences("word"), 10, 20))
    else:
        segmenting = tagging
    if (data / "gum-open").is_dir():
        constituents: Any = read(data / "gum-open" / "train.ptb")
        columns, trees = constituents.columns, constituents.trees
    else:
        columns, trees = treebank(4 * n).columns, treebank(4 * n).trees
    tagged = tokens_of(columns, "pos")
    bracketing = Set(tagged[:n], trees[:n], of_length(tagged[n:], 8, 8))
    return {"tag": tagging, "parse": parsing, "segment": segmenting, "bracket": bracketing}


def tokens_of(columns: Any, tag: str) -> list[list[dict[str, str]]]:
    """Sentences of tokens with the columns ``word`` and ``pos``."""
    pairs = zip(columns.sequences("word"), columns.sequences(tag), strict=True)
    return [[{"word": word, "pos": pos} for word, pos in zip(*pair, strict=True)] for pair in pairs]


def described(data: Set, features: Callable[[Sequence[str]], Any]) -> Set:
    """The same data with features in place of words."""
    X, new = ([list(features(words)) for words in part] for part in (data.X, data.new))
    return Set(X, data.y, new)


def prepared(given: dict[str, Set]) -> dict[str, tuple[Any, Set]]:
    """For each row an estimator, and the data as it takes them."""
    tag = given["tag"]
    return {
        "tagger, tokens": (SequenceTagger(**SETTINGS), tag),
        "tagger, feature strings": (SequenceTagger(**SETTINGS), described(tag, peer.features)),
        "tagger, dicts": (SequenceTagger(**SETTINGS), described(tag, tutorial)),
        "segmenter": (Segmenter(**SETTINGS), given["segment"]),
        "dependency parser, 8 tokens": (DependencyParser(**SETTINGS), given["parse"]),
        "constituency parser, 8 tokens": (ConstituencyParser(tags="given", **SETTINGS), given["bracket"]),
    }


def seconds_each(ask: Callable[[Any], Any], inputs: Sequence[Any]) -> list[float]:
    found = []
    for each in inputs:
        begin = perf_counter()
        ask(each)
        found.append(perf_counter() - begin)
    return found


def measured(askers: Sequence[Callable[[Any], Any]], data: Set, asked: int) -> dict[str, float]:
    """p50 and p95 in ms of inputs asked for the first time and again; of several askers, those of the slowest."""
    for ask in askers:
        seconds_each(ask, data.X[:200])
    rows = []
    # Each asker has inputs of its own, because they share what they remember.
    for k, ask in enumerate(askers):
        mine = data.new[k :: len(askers)][:asked]
        new, again = (np.array(seconds_each(ask, mine)) * 1000 for _ in range(2))
        rows.append({"p50": median(new), "p95": float(np.percentile(new, 95)), "again": median(again)})
    return max(rows, key=lambda row: row["p50"])


def crfsuite(data: Set, scratch: Path) -> Any:
    """The peer's tagger, trained on strings; None if it is not installed."""
    try:
        import pycrfsuite
    except ImportError:
        return None
    peer.train("ap", [list(peer.features(words)) for words in data.X], data.y, scratch / "peer.crfsuite")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(scratch / "peer.crfsuite"))
    return tagger


def throughput(model: Any, theirs: Any, sentences: Sequence[Sequence[str]]) -> dict[str, float]:
    """Medians of alternating runs over all sentences: seconds of one thread, two threads, and the peer."""
    ways: dict[str, Callable[[], Any]] = {
        "one thread": lambda: model.predict(sentences, n_threads=1),
        "two threads": lambda: model.predict(sentences, n_threads=2),
        "python-crfsuite": lambda: [theirs.tag(list(peer.features(words))) for words in sentences],
    }
    if theirs is None:
        del ways["python-crfsuite"]
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(7):
        for name, run in ways.items():
            begin = perf_counter()
            run()
            seconds[name].append(perf_counter() - begin)
    return {name: median(each[1:]) for name, each in seconds.items()}


def report(results: dict[str, dict[str, float]], batch: dict[str, float]) -> None:
    """Print both tables."""
    print("| measured, ms | p50, new | p95 | p50, again | reach | |\n| --- | --- | --- | --- | --- | --- |")
    for name, row in results.items():
        reach = REACH.get(name)
        verdict = "" if reach is None else "✓" if row["p50"] <= reach else "✗"
        figures = " | ".join(f"{row[key]:.3f}" for key in ("p50", "p95", "again"))
        print(f"| {name} | {figures} | {'' if reach is None else f'≤ {reach:g}'} | {verdict} |")
    print("\n| raw tokens → tags | here | reach | |\n| --- | --- | --- | --- |")
    for name, (slow, fast, goal) in RATIOS.items():
        if slow in batch:
            ratio = batch[slow] / batch[fast]
            print(f"| {name} | {ratio:.2f}× | ≥ {goal:g}× | {'✓' if ratio >= goal else '✗'} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parents[2] / "shared" / "data")
    parser.add_argument("--out", type=Path, default=Path("bench/latency.json"))
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--asked", type=int, default=300)
    options = parser.parse_args()
    data = Path(os.environ.get("WIDEMARGIN_DATA", options.data))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch, given = Path(folder), sets(data, options.sentences)
        for name, (estimator, each) in prepared(given).items():
            estimator.fit(each.X, each.y).save(scratch / "model.wm")
            loaded = load(scratch / "model.wm")
            askers = [lambda x, model=model: model.predict([x]) for model in (loaded, loaded.model_)]
            results[name] = measured(askers, each, options.asked)
            if name == "tagger, tokens":
                tagger = loaded.model_
        theirs = crfsuite(given["tag"], scratch)
        if theirs is not None:
            strings = described(given["tag"], peer.features)
            built = measured([lambda words: theirs.tag(list(peer.features(words)))], given["tag"], options.asked)
            results["python-crfsuite, tokens"] = built
            results["python-crfsuite, feature strings"] = measured([theirs.tag], strings, options.asked)
        batch = throughput(tagger, theirs, given["tag"].new)
    report(results, batch)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"ms": results, "batch": batch}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
