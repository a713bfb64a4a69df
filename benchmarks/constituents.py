"""Constituents by objective: F1 on development data, training time and oracle calls, on a part of genia-treebank.

    python benchmarks/constituents.py [--runs margin likelihood …] [--train 1000] [--dev 400] [--words 30] [--epochs 8]
                                      [--jobs 1] [--out bench]

The first `--train` training sentences and `--dev` development sentences of at most `--words` words are taken. Every run
is trained with each of its values of C. The weights of its best epoch on the development data are kept, and F1 is
reported on the same data: the test data are not read. Seconds are those that the processor was busy with training and
with scoring the development data after each epoch, after everything is compiled.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from widemargin import ConstituencyParser
from widemargin.files.brackets import columns_of
from widemargin.files.formats import read
from widemargin.tasks.bracket.metrics import bracket_scores

HERE = Path(__file__).resolve()
ADAGRAD = "adagrad(batch_size=16)"
RUNS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "margin, dcd": ({"solver": "dcd"}, (0.01, 0.03)),
    "margin, adagrad": ({"solver": ADAGRAD}, (0.01, 0.1)),
    "likelihood, adagrad": ({"solver": ADAGRAD, "objective": "likelihood"}, (0.1, 1.0)),
    "softmax-margin, adagrad": ({"solver": ADAGRAD, "objective": "softmax-margin"}, (0.1, 1.0)),
    "positions, dcd": ({"solver": "dcd", "objective": "positions"}, (0.003, 0.01)),
    "margin, productions, dcd": ({"solver": "dcd", "error": "productions"}, (0.01, 0.03)),
    "mira": ({"solver": "mira"}, (0.01,)),
    "mira, k = 5": ({"solver": "mira(k=5)"}, (0.01,)),
}
"""Settings, and values of C to choose among."""


def load(part: str, n: int, words: int) -> tuple[Any, Any]:
    folder = Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))
    trees = read(folder / "genia-treebank" / f"{part}.ptb").trees
    trees = [tree for tree in trees if len(tree.words()) <= words][:n]
    return columns_of(trees), trees


def parser(epochs: int, jobs: int, **settings: Any) -> ConstituencyParser:
    return ConstituencyParser(max_epochs=epochs, tol=None, hash_bits=22, n_jobs=jobs, **settings)


def run(name: str, C: float, epochs: int, jobs: int, train: Any, dev: Any) -> dict[str, Any]:
    begin = time.process_time()
    fitted = parser(epochs, jobs, C=C, **RUNS[name][0]).fit(*train, dev=dev)
    seconds, solution = time.process_time() - begin, fitted.solution_
    scores = bracket_scores(dev[1], fitted.predict(dev[0]))
    return {
        "run": name,
        "C": C,
        "f1": scores.micro.f1,
        "exact": scores.exact,
        "seconds": seconds,
        "epochs": len(solution.trace),
        "oracle_calls": solution.oracle_calls,
    }


def warm(names: list[str], train: Any, jobs: int) -> None:
    """Compile everything on a few sentences."""
    trees = train[1][:20]
    for name in names:
        parser(1, jobs, **RUNS[name][0]).fit(columns_of(trees), trees, dev=(columns_of(trees), trees))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", nargs="+", default=list(RUNS), choices=list(RUNS), metavar="RUN")
    options.add_argument("--train", type=int, default=1000)
    options.add_argument("--dev", type=int, default=400)
    options.add_argument("--words", type=int, default=30)
    options.add_argument("--epochs", type=int, default=8)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path("bench"))
    chosen = options.parse_args()
    train = load("train", chosen.train, chosen.words)
    dev = load("dev", chosen.dev, chosen.words)
    warm(chosen.runs, train, chosen.jobs)
    rows, begin = [], time.perf_counter()
    for name in chosen.runs:
        for C in RUNS[name][1]:
            rows.append(run(name, C, chosen.epochs, chosen.jobs, train, dev))
            print(f"{time.perf_counter() - begin:6.0f} s  {json.dumps(rows[-1])}", flush=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "constituents.json").write_text(json.dumps(rows, indent=1))
    print("| run | C | F1 | exact | seconds | oracle calls |", "|" + "---|" * 6, sep="\n")
    for name in chosen.runs:
        best = max((row for row in rows if row["run"] == name), key=lambda row: row["f1"])
        print(
            f"| {name} | {best['C']:g} | {100 * best['f1']:.2f} | {100 * best['exact']:.1f} % | {best['seconds']:.0f} "
            f"| {best['oracle_calls']:,} |"
        )


if __name__ == "__main__":
    main()
