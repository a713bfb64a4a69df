"""What rebasing cuts, loose rounds and restarts on threads are worth in learning with latent variables.

    python benchmarks/latent_speed.py [--data DIR] [--quick]

The problems are those of the three tasks: motifs in yeast-ars, coreference in gum-open, precision@5 in lightgbm-rank.
Runs with the same seed begin with the same completions. Local optima differ, so what is compared is the effort to get
to the same objective: the higher one of both runs, plus 0.1 %.

- *rebased*: the default solver, each round starting from the cuts of the last; *cold rounds*: the same, but every round
  starts with nothing and is solved to the end;
- *bundle*: the algorithm of the authors' program, cold rounds solved by the proximal bundle method;
- *10 seeds*: restarts on two threads against the mean of single runs.

Oracle calls and seconds include certificates; seconds include completing as well, and no compilation. A run ends after
30 seconds; one that has not reached the objective by then counts with what it had spent, so ratios are then too small.
"""

import argparse
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

from widemargin import Problem, Solution, Stop
from widemargin.core.latent import fit_latent
from widemargin.core.restarts import fit_best
from widemargin.core.rounds import Rounds
from widemargin.solvers import SOLVERS
from widemargin.tasks import task
from widemargin.tasks.base import Reading
from widemargin.tasks.training import Data

HERE = Path(__file__).resolve()
NAMES = {"motif": "yeast-ars/train.tsv", "cluster": "gum-open/dev.conllu", "rank": "lightgbm-rank/train.svmlight"}
PARAMETERS: dict[str, dict[str, Any]] = {
    "motif": {"length": 11},
    "cluster": {},
    "rank": {"measure": "precision", "k": 5, "relevant_from": 2},
}
VALUES = {"motif": (0.03, 0.3), "cluster": (0.001, 0.01), "rank": (0.1, 1.0)}
STOP = Stop(epochs=1000, gap=0.01, seconds=30.0)
LOSSES = {"motif": ("squared_hinge", "hinge"), "cluster": ("hinge",), "rank": ("squared_hinge", "hinge")}
TOLERANCE = 1.001
WAYS: dict[str, tuple[str, Rounds]] = {
    "rebased": ("auto", Rounds()),
    "cold rounds": ("auto", Rounds(rebase=False, loose=False)),
    "bundle": ("bundle", Rounds(rebase=False, loose=False)),
}


def folder() -> Path:
    """Where the corpora are."""
    return Path(os.environ.get("WIDEMARGIN_DATA") or HERE.parents[2] / "shared" / "data")


def latent_examples(name: str, data: Path) -> Any:
    """The latent examples of a task's training file, as its command reads it."""
    chosen = task(name)
    files = chosen.load_files()
    corpus = files.read(str(data / NAMES[name]), Reading(), {}, gold=True)
    kind = chosen.kinds[files.kind(list(chosen.kinds), corpus)]
    parameters = kind.load("parameters")(**PARAMETERS[name])
    return kind.load("compile")(parameters, Data(corpus.X, corpus.y)).examples


def first_at(solution: Solution, objective: float) -> tuple[int, float]:
    """Oracle calls and seconds at the end of the first round that reaches an objective."""
    for row in solution.rounds:
        if row.objective is not None and row.objective <= objective:
            return row.oracle_calls, row.seconds
    return solution.oracle_calls, solution.seconds


def ways(name: str, examples: Any, seeds: range) -> Iterator[dict[str, Any]]:
    """For every C and loss: each way against rebased rounds."""
    for C in VALUES[name]:
        for loss in LOSSES[name]:
            problem = Problem(examples, C=C, loss=loss)
            found: dict[str, list[Solution]] = {way: [] for way in WAYS}
            for seed in seeds:
                for way, (solver, rounds) in WAYS.items():
                    fresh = replace(problem, sample_weight=None)
                    found[way].append(
                        fit_latent(fresh, SOLVERS[solver], stop=STOP, rounds=rounds, init="random", seed=seed)
                    )
            for way in ("cold rounds", "bundle"):
                ratios = []
                for ours, theirs in zip(found["rebased"], found[way], strict=True):
                    ends = [float(each.primal or 0.0) for each in (ours, theirs) if each.stopped != "seconds"]
                    target = TOLERANCE * max(ends, default=0.0)
                    efforts = zip(first_at(ours, target), first_at(theirs, target), strict=True)
                    ratios.append([effort / max(own, 1e-9) for own, effort in efforts])
                yield {
                    "task": name,
                    "C": C,
                    "loss": loss,
                    "against": way,
                    "objective": mean(float(each.primal or 0.0) for each in found["rebased"]),
                    "their objective": mean(float(each.primal or 0.0) for each in found[way]),
                    "rounds": mean(len(each.rounds) for each in found["rebased"]),
                    "oracle calls, times": median(each[0] for each in ratios),
                    "seconds, times": median(each[1] for each in ratios),
                }


def restarts(name: str, examples: Any, n: int) -> dict[str, Any]:
    """`n` restarts on two threads against one run: the mean of `n` single runs with the same seeds, on one thread."""
    C = VALUES[name][0]
    begin = perf_counter()
    for seed in range(n):
        fit_latent(Problem(examples, C=C), SOLVERS["auto"], stop=STOP, init="random", seed=seed)
    single = (perf_counter() - begin) / n
    begin = perf_counter()
    best = fit_best(Problem(examples, C=C, n_threads=2), SOLVERS["auto"], stop=STOP, init="random", n_restarts=n)
    together = perf_counter() - begin
    low, high = min(best.restarts), max(best.restarts)
    return {"task": name, "C": C, "seeds": n, "times one seed": together / single, "best": low, "worst": high}


def run(data: Path, *, quick: bool = False, names: Iterable[str] = NAMES) -> list[dict[str, Any]]:
    """All rows, printed as they come."""
    rows: list[dict[str, Any]] = []
    for name in names:
        examples = latent_examples(name, data)
        problem = Problem(examples, C=VALUES[name][0])
        for solver, rounds in WAYS.values():  # compiles
            for loss in LOSSES[name]:
                fit_latent(
                    replace(problem, loss=loss), SOLVERS[solver], stop=Stop(epochs=3), rounds=replace(rounds, most=2)
                )
        for row in [*ways(name, examples, range(1 if quick else 3)), restarts(name, examples, 4 if quick else 10)]:
            rows.append(row)
            print(
                "  ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
                ),
                flush=True,
            )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=folder(), help="the folder of the corpora")
    parser.add_argument("--quick", action="store_true", help="one seed, four restarts")
    parser.add_argument("tasks", nargs="*", help=f"of {', '.join(NAMES)}; all unless given")
    options = parser.parse_args()
    run(options.data, quick=options.quick, names=options.tasks or NAMES)
