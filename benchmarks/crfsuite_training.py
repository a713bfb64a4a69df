"""`widemargin.crfsuite.Trainer` against python-crfsuite's, called in the same way on the same features.

    python benchmarks/crfsuite_training.py [--corpora wnut17 …] [--algorithms lbfgs …] [--runs 3] [--most N]

| column | |
| --- | --- |
| append, train | seconds of all calls of `append`, and of `train`, ours / the peer's |
| to its loss | seconds of our `train` until its loss is that of the peer's last iteration, to 10⁻⁴, for lbfgs |
| iterations, loss | as both print them at the end |
| dev | accuracy on development data, of both |

Runs alternate in one process, and the table shows medians; the first run of ours, which compiles, is left out. The peer
has one thread, ours as many as there are cores. Mistake-driven algorithms and l2sgd make `--passes` passes.
"""

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import peer
import pycrfsuite
from likelihood import CORPORA, Data, load

import widemargin.crfsuite as ours

LBFGS = [{"c1": 0.0, "c2": 1.0}, {"c1": 0.1, "c2": 0.1}, {"c1": 1.0, "c2": 1e-3}]
OTHERS = ("ap", "pa", "arow", "l2sgd")
TOLERANCE = 1e-4


class Timed:
    """One run of a trainer."""

    def __init__(self, side: Any, algorithm: str, params: dict[str, Any], X: Any, data: Data, path: Path) -> None:
        self.reached: list[tuple[float, float]] = []
        run = self

        class Noting(side.Trainer):  # type: ignore[misc, name-defined]
            def message(self, message: str) -> None:
                super().message(message)
                if message.startswith("Seconds required for this iteration"):
                    run.reached.append((perf_counter() - run.begin, self.logparser.last_iteration["loss"]))

        trainer = Noting(algorithm, params, verbose=False)
        begin = perf_counter()
        for items, labels in zip(X, data.y, strict=True):
            trainer.append(items, labels)
        self.append, self.begin = perf_counter() - begin, perf_counter()
        trainer.train(str(path))
        self.train = perf_counter() - self.begin
        self.path = path

    @property
    def loss(self) -> float:
        """The loss of the last iteration."""
        return self.reached[-1][1]

    def until(self, loss: float) -> float:
        """Seconds until the loss was reached; infinite if it never was."""
        return next((at for at, value in self.reached if value <= loss * (1 + TOLERANCE)), float("inf"))

    def accuracy(self, X: Any, y: Any) -> float:
        """The share of right labels."""
        tagger = ours.Tagger()
        tagger.open(str(self.path))
        pairs = [pair for items, gold in zip(X, y, strict=True) for pair in zip(tagger.tag(items), gold, strict=True)]
        return sum(one == other for one, other in pairs) / len(pairs)


def compare(name: str, algorithm: str, params: dict[str, Any], data: Data, runs: int) -> None:
    X, X_dev = ([list(peer.features(words)) for words in part] for part in (data.X, data.X_dev))
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "ours", Path(folder) / "peer"
        Timed(ours, algorithm, {**params, "max_iterations": 2}, X, data, paths[0])
        pairs = [
            tuple(
                Timed(side, algorithm, params, X, data, at) for side, at in zip((ours, pycrfsuite), paths, strict=True)
            )
            for _ in range(runs)
        ]
        one, other = pairs[-1]
        dev = [each.accuracy(X_dev, data.y_dev) for each in (one, other)]
    append, train = ([median(getattr(pair[k], what) for pair in pairs) for k in (0, 1)] for what in ("append", "train"))
    until = median(pair[0].until(pair[1].loss) for pair in pairs)
    shown = f"{until:.2f} ({train[1] / until:.1f}×)" if algorithm == "lbfgs" else "–"
    print(
        f"| {name} | {algorithm} {params} | {append[0]:.2f} / {append[1]:.2f} | {train[0]:.2f} / {train[1]:.2f} "
        f"({train[1] / train[0]:.1f}×) | {shown} | {len(one.reached)} / {len(other.reached)} "
        f"| {one.loss:.4f} / {other.loss:.4f} | {dev[0]:.4f} / {dev[1]:.4f} |",
        flush=True,
    )


def main() -> None:
    default = os.environ.get("WIDEMARGIN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="*", default=["us50-addresses", "wnut17", "ncbi-disease"], choices=CORPORA)
    parser.add_argument("--algorithms", nargs="*", default=["lbfgs", *OTHERS])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--most", type=int, help="train on this many sequences only")
    parser.add_argument("--data", type=Path, default=default)
    given = parser.parse_args()
    print("| corpus | | append, s | train, s | to its loss, s | iterations | loss | dev |\n" + "| --- " * 8 + "|")
    for name in given.corpora:
        data = load(given.data / name, CORPORA[name], given.most)
        for algorithm in given.algorithms:
            for params in LBFGS if algorithm == "lbfgs" else [{"max_iterations": given.passes}]:
                compare(name, algorithm, params, data, given.runs)


if __name__ == "__main__":
    main()
