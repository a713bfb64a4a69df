"""Word clusters: how fast they are learnt, and what taggers that have few labels gain from them.

    python benchmarks/word_clusters.py [--data DIR] [--quick]

Speed is that of one thread on generated text: every word has one of 40 hidden classes, a class follows another at
random with fixed odds, and words of a class are drawn by Zipf's law. With --data, it is measured on bc2gm and jnlpba as
well. Then taggers learn from the first sentences of UD English EWT (XPOS, accuracy) and bc2gm (genes, F1): without
clusters, with clusters of the same sentences, and with clusters of the text of the whole training file. All other
settings are the defaults, and scores are those of the development data.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np

from widemargin import SequenceTagger
from widemargin.files.document import label_column
from widemargin.files.formats import read
from widemargin.text.word_clusters import BigramCounter, cluster_bigrams, cluster_words, enough_words, in_batches

CLASSES, LENGTH = 40, 20
Sentences = list[list[str]]


def generated(n_words: int, n_tokens: int) -> Sentences:
    """Sentences of words with hidden classes."""
    rng = np.random.default_rng(0)
    odds = np.cumsum(rng.dirichlet(np.full(CLASSES, 0.1), CLASSES), axis=1)
    classes = [0]
    for chance in rng.random(n_tokens - 1):
        classes.append(min(int(np.searchsorted(odds[classes[-1]], chance)), CLASSES - 1))
    ranks = np.exp(rng.random(n_tokens) * np.log(n_words // CLASSES)).astype(int)
    words = [f"w{which}.{rank}" for which, rank in zip(classes, ranks.tolist(), strict=True)]
    return [words[begin : begin + LENGTH] for begin in range(0, n_tokens, LENGTH)]


def speed(name: str, text: Sentences, n_clusters: int, min_count: int) -> None:
    begin, counter = process_time(), BigramCounter()
    for batch in in_batches(text):
        counter.add(batch)
    bigrams = enough_words(counter, n_clusters, min_count)
    counted = process_time()
    n_words = len(cluster_bigrams(bigrams, n_clusters).paths)
    seconds = process_time() - counted
    print(
        f"| {name} | {sum(map(len, text)):,} | {n_words:,} | {n_clusters} | {counted - begin:.2f} | {seconds:.2f} | "
        f"{n_words / seconds:,.0f} |",
        flush=True,
    )


def gains(folder: Path, file_type: str, label: str | None, sizes: list[int], settings: list[tuple[int, int]]) -> None:
    train, dev = (read(folder / f"{part}.{file_type}") for part in ("train", "dev"))
    X, y, X_dev, y_dev = (
        each.columns.sequences(name) for each in (train, dev) for name in ("word", label_column(each, label))
    )
    for n in sizes:

        def score(name: str, text: Sentences | None, n_clusters: int = 0, min_count: int = 0, n: int = n) -> None:
            paths = cluster_words(text, n_clusters, min_count=min_count).paths if text else {}
            clusters = {"brown": paths} if text else {}
            tagger = SequenceTagger(templates="default", clusters=clusters)
            found = tagger.fit(X[:n], y[:n]).score(X_dev, y_dev)
            print(f"| {folder.name} | {n:,} | {name} | {n_clusters} | {min_count} | {100 * found:.2f} |", flush=True)

        score("none", None)
        for n_clusters, min_count in settings:
            score("same sentences", X[:n], n_clusters, min_count)
            score("all sentences", X, n_clusters, min_count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with bc2gm, jnlpba and ud-english-ewt")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    cluster_words([["a", "b"]], 2, min_count=1)  # compiles
    print("| text | tokens | words | clusters | counting, s | clustering, s | words per second |")
    text = generated(4000, 20_000 if options.quick else 200_000)
    for n_clusters in (50,) if options.quick else (100, 500, 1000):
        speed("generated", text, n_clusters, 1)
    if options.data is None:
        return
    for name in ("bc2gm", "jnlpba"):
        for n_clusters in (100, 500, 1000):
            speed(name, read(options.data / name / "train.tsv").columns.sequences("word"), n_clusters, 3)
    print("| data | labelled sentences | clusters of | number | min count | score |")
    settings = [(100, 1), (100, 3), (300, 3)]
    gains(options.data / "ud-english-ewt", "conllu", "xpos", [300, 1000, 4000], settings)
    gains(options.data / "bc2gm", "tsv", None, [300, 1000, 3000], settings)


if __name__ == "__main__":
    main()
