"""Figure 3 of Yu & Joachims (2009), rounds of CCCP against C, and what rebased cuts and loose rounds are worth.

The problems are those of the three tasks: motifs in yeast-ars, coreference in gum-open, precision@5 in lightgbm-rank,
with the hinge and the paper's beginnings: at random, chains of mentions, and a regression. Ways of one C begin with the
same completions. Local optima differ, so what is compared is the effort to get to the same objective: the higher one of
both runs, plus 0.1 %.

- *bundle*: the algorithm of the authors' program, cold rounds solved to the end by the proximal bundle method;
- *cold rounds*: the default solver, but every round starts with nothing and is solved to the end;
- *rebased*: the default solver, each round starting from the cuts of the last, and ending early.

Oracle calls and seconds include certificates; seconds include completing as well, and no compilation. A run ends after
`STOP.seconds`; one that has not reached the objective by then counts with what it had spent, so ratios are then too
small.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from experiment import SEED, Bench

from widemargin import Problem, Solution, Stop
from widemargin.core.latent import fit_latent
from widemargin.core.rounds import Rounds
from widemargin.solvers import SOLVERS
from widemargin.tasks import task
from widemargin.tasks.base import Reading
from widemargin.tasks.training import Data

NAMES = {"motif": "yeast-ars/train.tsv", "cluster": "gum-open/dev.conllu", "rank": "lightgbm-rank/train.svmlight"}
PARAMETERS: dict[str, dict[str, Any]] = {
    "motif": {"length": 11},
    "cluster": {},
    "rank": {"measure": "precision", "k": 5, "relevant_from": 2},
}
VALUES = {"motif": (0.001, 0.01, 0.1, 1.0), "cluster": (1e-5, 1e-4, 1e-3, 1e-2), "rank": (0.001, 0.01, 0.1, 1.0)}
INIT = {"motif": "random", "cluster": "rule", "rank": "rule"}
STOP = Stop(epochs=1000, gap=0.01, seconds=15.0)
MOST, N_SEEDS, TOLERANCE = 100, 5, 1.001
AUTHORS, COLD, OURS = "bundle", "cold rounds", "rebased"
WAYS: dict[str, tuple[str, Rounds]] = {
    AUTHORS: ("bundle", Rounds(rebase=False, loose=False, most=MOST)),
    COLD: ("auto", Rounds(rebase=False, loose=False, most=MOST)),
    OURS: ("auto", Rounds(most=MOST)),
}


def latent_examples(name: str, data: Path) -> Any:
    """The latent examples of a task's training file, as its command reads it."""
    chosen = task(name)
    files = chosen.load_files()
    corpus = files.read(str(data / NAMES[name]), Reading(), {}, gold=True)
    kind = chosen.kinds[files.kind(list(chosen.kinds), corpus)]
    parameters = kind.parameters(**PARAMETERS[name])
    return kind.compile(parameters, Data(corpus.X, corpus.y)).examples


def first_at(solution: Solution, objective: float) -> tuple[int, float]:
    """Oracle calls and seconds at the end of the first round that reaches an objective."""
    for row in solution.rounds:
        if row.objective is not None and row.objective <= objective:
            return row.oracle_calls, row.seconds
    return solution.oracle_calls, solution.seconds


def times(ours: Solution, theirs: Solution) -> dict[str, float]:
    """How many times as many oracle calls and seconds as ours the others take to the same objective."""
    ends = [float(each.primal or 0.0) for each in (ours, theirs) if each.stopped != "seconds"]
    target = TOLERANCE * max(ends, default=0.0)
    (calls, seconds), (their_calls, their_seconds) = first_at(ours, target), first_at(theirs, target)
    return {"calls": their_calls / max(calls, 1), "seconds": their_seconds / max(seconds, 1e-9)}


def rounds(name: str, bench: Bench) -> dict[str, Any]:
    """For every C the rounds of each way and what rebasing is worth, and the objectives of several beginnings."""
    examples = latent_examples(name, bench.data)
    stop = bench.size(STOP, replace(STOP, seconds=1.0))

    def solved(
        C: float, way: str, stop: Stop = stop, init: str = INIT[name], seed: int = SEED, **more: Any
    ) -> Solution:
        solver, given = WAYS[way]
        problem = Problem(examples, C=C, loss="hinge", n_threads=1)
        return fit_latent(problem, SOLVERS[solver], stop=stop, rounds=replace(given, **more), init=init, seed=seed)

    for way in WAYS:
        solved(VALUES[name][0], way, Stop(epochs=3), most=2)  # compiles
    rows = []
    for C in bench.size(VALUES[name], VALUES[name][1:3]):
        found = {way: solved(C, way) for way in WAYS}
        shown = {
            way: {"rounds": len(each.rounds), "over": each.stopped != "seconds", "objective": each.primal}
            for way, each in found.items()
        }
        rows.append({"C": C, "ways": shown, "times": {way: times(found[OURS], found[way]) for way in (AUTHORS, COLD)}})
        bench.tell(f"C {C:g}: " + ", ".join(f"{way} {each['rounds']} rounds" for way, each in shown.items()))
    C = VALUES[name][1]
    seeds = [solved(C, OURS, init="random", seed=seed).primal for seed in range(bench.size(N_SEEDS, 2))]
    return {"rows": rows, "C": C, "rule": solved(C, OURS, init="rule").primal, "random": seeds}
