"""Training on labels that are known in part, UD English EWT, XPOS: what is lost when labels are removed at random?

For each share of removed labels, with the same seed for all:

- latent: they are unknown, and the tagger fills them in as it learns (CCCP);
- complete sentences: only sentences that have all their labels;
- most frequent: the most frequent label stands in for the removed ones.

All labels together are the ceiling. C of each is chosen on the development data; the test data are used once, for it.
"""

from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from experiment import SEED, Bench

from widemargin.files.formats import read
from widemargin.metrics import accuracy
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data, train

SHARES = (0.0, 0.1, 0.5, 0.8)
VALUES = (0.05, 0.2)
SENTENCES = 2000
Sequences = list[list[Any]]


def sentences(path: Path, most: int | None = None) -> tuple[Sequences, Sequences]:
    """Words and tags."""
    columns = read(path).columns
    return columns.sequences("word")[:most], columns.sequences("xpos")[:most]


def removed(y: Sequences, share: float) -> Sequences:
    """The labels with this share of them replaced by None."""
    rng = np.random.default_rng(SEED)
    return [[None if rng.random() < share else label for label in labels] for labels in y]


def complete_sentences(X: Sequences, y: Sequences) -> tuple[Sequences, Sequences]:
    """Those without a removed label."""
    kept = [i for i, labels in enumerate(y) if None not in labels]
    return [X[i] for i in kept], [y[i] for i in kept]


def most_frequent(X: Sequences, y: Sequences) -> tuple[Sequences, Sequences]:
    """The most frequent label in place of removed ones."""
    label = Counter(label for labels in y for label in labels if label is not None).most_common(1)[0][0]
    return X, [[label if each is None else each for each in labels] for labels in y]


WAYS = {"latent": lambda X, y: (X, y), "complete sentences": complete_sentences, "most frequent": most_frequent}


def partial_labels(share: float, bench: Bench) -> dict[str, Any]:
    """All ways with a share of labels removed; only one if none is."""
    folder = bench.data / "ud-english-ewt"
    X, y = sentences(folder / "train.conllu", bench.size(SENTENCES, 200))
    dev, test = (sentences(folder / f"{part}.conllu", bench.size(None, 200)) for part in ("dev", "test"))
    known, found = removed(y, share), {}
    for way, changed in WAYS.items() if share else [("latent", WAYS["latent"])]:
        taken = changed(X, known)
        tried = []
        for C in bench.size(VALUES, VALUES[:1]):
            begin = perf_counter()
            tagger, solution = train(compile_tags, TaggerParameters(C=C, n_jobs=1), Data(*taken))
            seconds = perf_counter() - begin
            facts = {"C": C, "dev": accuracy(dev[1], tagger.predict(dev[0])), "rounds": len(solution.rounds)}
            tried.append((facts | {"seconds": seconds}, tagger))
        best, tagger = max(tried, key=lambda each: each[0]["dev"])
        found[way] = best | {"sentences": len(taken[0]), "test": accuracy(test[1], tagger.predict(test[0]))}
        bench.tell(f"{way}: {100 * best['dev']:.2f} % on dev")
    return found
