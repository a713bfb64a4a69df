"""How training time grows with the data: jnlpba, from an eighth of the sentences to all of them.

    python benchmarks/growth.py [--corpus jnlpba] [--gap 0.01] [--runs 3] [--data DIR] [--out bench/growth.json]
    python benchmarks/growth.py --warm [--corpus wnut17] [--data DIR] [--out bench/growth.json]

Taggers are trained with default settings but for the gap, on the first 1/8, 1/4, 1/2 and all of the sentences in a
random order, in turns. The table shows the median seconds until the gap is proven, epochs and oracle calls, and the
seconds against those of an eighth times the size: 1 is linear growth.

With `--warm`, a default tagger learns from 98 % and from 75 % of the sentences, and then, with `warm_start`, from all
of them. The table shows the oracle calls of the second fit, certificate included, against those of a cold one.
"""

import argparse
import json
import os
from pathlib import Path
from statistics import median
from typing import Any

import defaults
import numpy as np

from widemargin import SequenceTagger
from widemargin.core.loop import Stop, fit
from widemargin.solvers import SOLVERS
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

HERE = Path(__file__).resolve()
SIZES = (1, 2, 4, 8)


def examples_of(sequences: defaults.Sequences) -> Any:
    """The sequences, compiled."""
    words, labels = (list(each) for each in zip(*sequences, strict=True))
    return compile_tags(TaggerParameters(), Data(words, labels)).examples


def train(examples: Any, gap: float) -> dict[str, Any]:
    """Seconds, epochs and oracle calls until the gap is proven."""
    solution = fit(Plan.of(TaggerParameters()).problem(examples), SOLVERS["auto"], stop=Stop(epochs=500, gap=gap))
    assert solution.stopped == "gap", f"stopped by {solution.stopped}"
    return {"seconds": solution.seconds, "epochs": len(solution.trace), "oracle_calls": solution.oracle_calls}


def go_on(sequences: defaults.Sequences) -> dict[str, Any]:
    """Oracle calls, objective and gap of a cold fit on all sequences, and of warm ones after a part of them."""

    def figures(tagger: SequenceTagger) -> dict[str, Any]:
        solution = tagger.solution_
        assert solution.certified
        return {"oracle_calls": solution.oracle_calls, "objective": solution.primal, "bound": solution.dual}

    X, y = (list(each) for each in zip(*sequences, strict=True))
    found = {"cold": figures(SequenceTagger().fit(X, y))}
    print("| sentences before | oracle calls | against a cold fit | objective | bound |")
    print("| --- | --- | --- | --- | --- |")
    for share in (0.0, 0.98, 0.75):
        if share:
            n = int(share * len(X))
            found[f"{share:.0%}"] = figures(SequenceTagger(warm_start=True).fit(X[:n], y[:n]).fit(X, y))
        last = list(found.values())[-1]
        calls, ratio = last["oracle_calls"], last["oracle_calls"] / found["cold"]["oracle_calls"]
        print(f"| {share:.0%} | {calls:,} | {ratio:.2f} | {last['objective']:.2f} | {last['bound']:.2f} |", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--corpus", choices=defaults.CORPORA, default="jnlpba")
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--warm", action="store_true", help="go on from a part of the data instead")
    parser.add_argument("--out", type=Path, default=Path("bench/growth.json"))
    options = parser.parse_args()
    if not options.data.is_dir():
        raise SystemExit(f"there are no corpora at {options.data}; set WIDEMARGIN_DATA")
    corpus = defaults.CORPORA[options.corpus]
    sequences = defaults.sequences(options.data / corpus.train, corpus.label)
    order = np.random.default_rng(0).permutation(len(sequences)).tolist()
    if options.warm:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        found = go_on([sequences[k] for k in order])
        options.out.write_text(json.dumps({"warm": found}, indent=1), encoding="utf-8")
        return
    parts = {size: examples_of([sequences[k] for k in order[: len(order) * size // SIZES[-1]]]) for size in SIZES}
    train(parts[1], options.gap)  # compiles
    runs: dict[int, list[dict[str, Any]]] = {size: [] for size in SIZES}
    for _ in range(options.runs):
        for size, examples in parts.items():
            runs[size].append(train(examples, options.gap))
            print(f"  {examples.n_examples} sentences: {json.dumps(runs[size][-1])}", flush=True)
    seconds = {size: median(run["seconds"] for run in each) for size, each in runs.items()}
    print(f"| sentences | seconds to {options.gap:.1%} | epochs | oracle calls | against linear (≤ 1.2) |")
    print("| --- | --- | --- | --- | --- |")
    for size, each in runs.items():
        last, growth = each[-1], seconds[size] / (size * seconds[1])
        counts = f"{last['epochs']} | {last['oracle_calls']:,}"
        print(f"| {parts[size].n_examples:,} | {seconds[size]:.2f} | {counts} | {growth:.2f} |")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"runs": runs, "seconds": seconds}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
