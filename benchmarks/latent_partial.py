"""Training on labels that are known in part, UD English EWT, XPOS: what is lost when labels are removed at random?

    python benchmarks/latent_partial.py [--data DIR] [--quick] [--out bench/latent_partial.json]

For each share of removed labels, with the same seed for all:

- latent: they are unknown, and the tagger fills them in as it learns (CCCP);
- complete sentences: only sentences that have all their labels;
- most frequent: the most frequent label stands in for the removed ones.

All labels together are the ceiling. C of each is chosen on the development data; the test data are used once, for it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from widemargin.core.solution import Solution
from widemargin.files.formats import read
from widemargin.metrics import accuracy
from widemargin.tasks.tag.compile import compile_tags
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.parameters import TaggerParameters
from widemargin.tasks.training import Data, train

SHARES = (0.1, 0.3, 0.5, 0.8)
VALUES = (0.05, 0.2)
SENTENCES = 4000
Sequences = list[list[Any]]


def sentences(path: Path, most: int | None = None) -> tuple[Sequences, Sequences]:
    """Words and tags."""
    columns = read(path).columns
    return columns.sequences("word")[:most], columns.sequences("xpos")[:most]


def removed(y: Sequences, share: float) -> Sequences:
    """The labels with this share of them replaced by None."""
    rng = np.random.default_rng(0)
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


def measure(X: Sequences, y: Sequences, C: float, n_jobs: int) -> tuple[Tagger, Solution, float]:
    """A trained tagger, its solution, and the seconds of training."""
    begin = perf_counter()
    tagger, solution = train(compile_tags, TaggerParameters(C=C, n_jobs=n_jobs), Data(X, y))
    return tagger, solution, perf_counter() - begin


def run(
    data: Path,
    *,
    n_sentences: int | None = SENTENCES,
    shares: Sequence[float] = SHARES,
    values: Sequence[float] = VALUES,
    n_jobs: int = 1,
) -> list[dict[str, Any]]:
    """A row for every share and way; prints them as they come."""
    X, y = sentences(data / "train.conllu", n_sentences)
    dev, test = sentences(data / "dev.conllu"), sentences(data / "test.conllu")
    measure(X[:50], removed(y[:50], 0.5), 0.1, n_jobs)  # compiles the kernels
    print(f"{len(X):,} sentences, {sum(map(len, X)):,} tokens; token accuracy in per cent\n")
    print(f"{'removed':>8} {'way':<20} {'sentences':>9} {'C':>5} {'dev':>6} {'test':>6} {'rounds':>6} {'seconds':>8}")
    rows = []
    for share in (0.0, *shares):
        known = removed(y, share) if share else y
        for way, changed in WAYS.items() if share else [("all labels", WAYS["latent"])]:
            taken = changed(X, known)
            found = {C: measure(*taken, C, n_jobs) for C in values}
            scores = {C: accuracy(dev[1], tagger.predict(dev[0])) for C, (tagger, *_) in found.items()}
            C = max(scores, key=scores.__getitem__)
            tagger, solution, seconds = found[C]
            rows.append(
                {
                    "removed": share,
                    "way": way,
                    "sentences": len(taken[0]),
                    "C": C,
                    "dev": scores[C],
                    "test": accuracy(test[1], tagger.predict(test[0])),
                    "rounds": len(solution.rounds),
                    "seconds": seconds,
                }
            )
            print(_spelt(rows[-1]), flush=True)
    return rows


def _spelt(row: dict[str, Any]) -> str:
    scores = f"{100 * row['dev']:>6.2f} {100 * row['test']:>6.2f}"
    what = f"{100 * row['removed']:>7.0f}% {row['way']:<20} {row['sentences']:>9,} {row['C']:>5g}"
    return f"{what} {scores} {row['rounds']:>6} {row['seconds']:>8.1f}"


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the corpora")
    parser.add_argument("--quick", action="store_true", help="few sentences and one C, to see that it runs")
    parser.add_argument("--all", action="store_true", help="all 12,544 sentences")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where to write the rows as JSON")
    given = parser.parse_args()
    size = {"n_sentences": 300, "shares": (0.5,), "values": (0.1,)} if given.quick else {}
    rows = run(given.data / "ud-english-ewt", n_jobs=given.jobs, **size | ({"n_sentences": None} if given.all else {}))
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
