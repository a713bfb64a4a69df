"""Constituents by objective: F1 on development data, training time and oracle calls, on a part of genia-treebank.

    python benchmarks/constituents.py [--runs "margin, dcd" …] [--train 1000] [--dev 300] [--words 25] [--epochs 6]
                                      [--jobs 1] [--quick] [--out bench]

The first `--train` training sentences and `--dev` development sentences of at most `--words` words are taken. Every run
is trained with each of its values of C, and the weights of its best epoch on the development data are kept. F1 is that
on the same data: the test data are not read. Parsers with probabilities are also scored by their trees of minimum risk.
Seconds are those that the processor was busy with training and with scoring the development data after each epoch,
after everything is compiled. `--quick` takes 100 training and 50 development sentences, and 2 epochs. The speed on the
whole treebank is measured by `trees.py --parts brackets`.
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
    return ConstituencyParser(max_epochs=epochs, tol=None, hash_bits=22, n_jobs=jobs, tags="given", **settings)


def run(name: str, C: float, epochs: int, jobs: int, train: Any, dev: Any) -> dict[str, Any]:
    begin = time.process_time()
    fitted = parser(epochs, jobs, C=C, **RUNS[name][0]).fit(*train, dev=dev)
    seconds, solution = time.process_time() - begin, fitted.solution_
    scores = bracket_scores(dev[1], fitted.predict(dev[0]))
    found = {
        "run": name,
        "C": C,
        "f1": scores.micro.f1,
        "exact": scores.exact,
        "seconds": seconds,
        "epochs": len(solution.trace),
        "oracle_calls": solution.oracle_calls,
    }
    if "objective" in RUNS[name][0] and RUNS[name][0]["objective"] != "positions":
        found["f1_minimum_risk"] = bracket_scores(dev[1], fitted.predict_minimum_risk(dev[0])).micro.f1
    return found


def warm(names: list[str], train: Any, jobs: int) -> None:
    """Compile everything on a few sentences."""
    trees = train[1][:20]
    for name in names:
        parser(1, jobs, **RUNS[name][0]).fit(columns_of(trees), trees, dev=(columns_of(trees), trees))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", nargs="+", default=list(RUNS), choices=list(RUNS), metavar="RUN")
    options.add_argument("--train", type=int, default=1000)
    options.add_argument("--dev", type=int, default=300)
    options.add_argument("--words", type=int, default=25)
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path("bench"))
    options.add_argument("--quick", action="store_true")
    chosen = options.parse_args()
    if chosen.quick:
        chosen.train, chosen.dev, chosen.epochs = 100, 50, 2
    train = load("train", chosen.train, chosen.words)
    dev = load("dev", chosen.dev, chosen.words)
    warm(chosen.runs, train, chosen.jobs)
    rows, begin = [], time.perf_counter()
    for name in chosen.runs:
        for C in RUNS[name][1]:
            rows.append(run(name, C, chosen.epochs, chosen.jobs, train, dev))
            print(f"{time.perf_counter() - begin:6.0f} s  {json.dumps(rows[-1])}", flush=True)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "constituents.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print("| run | C | F1 | F1, minimum risk | exact | seconds | oracle calls |", "|" + "---|" * 7, sep="\n")
    for name in chosen.runs:
        best = max((row for row in rows if row["run"] == name), key=lambda row: row["f1"])
        risk = f"{100 * best['f1_minimum_risk']:.2f}" if "f1_minimum_risk" in best else ""
        print(
            f"| {name} | {best['C']:g} | {100 * best['f1']:.2f} | {risk} | {100 * best['exact']:.1f} % "
            f"| {best['seconds']:.0f} | {best['oracle_calls']:,} |"
        )


if __name__ == "__main__":
    main()
