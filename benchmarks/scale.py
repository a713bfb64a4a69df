"""Training on several parts: rounds and bytes to a gap, against one machine, and what that means for a cluster.

    python benchmarks/scale.py [--corpora ewt jnlpba] [--parts 2 4 8 16 32] [--rounds 100] [--sentences N]
    python benchmarks/scale.py --time [--corpora jnlpba]      two Dask workers against one process with one thread
    python benchmarks/scale.py --kill 10                      workers killed at random moments: is anything lost?

Parts are simulated in one process, one after the other: rounds, bytes and gaps are what a cluster would see, and
seconds are not. Methods: *consensus*, the library's default; *cocoa*, accelerated CoCoA+; *plain* CoCoA+ as published
(σ′ = K, no momentum); *averaging* (CoCoA: σ′ = 1, and the best share of the step instead of 1 / K); and *gradients*
(L-BFGS, which sends a gradient of P in every round). Bytes a round are those of one part, both ways. The cost model is

    seconds of a round = work of the slowest part + bytes / bandwidth + latency

with the work and the non-zeros a token that were measured here; it assumes that both grow as the data do, as far as
changes of w are not all of w, and that the driver's link is shared by all parts.
"""

import argparse
import json
import os
import random
import resource
import signal
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import defaults
import numpy as np

from widemargin import Callback, Stop, fit
from widemargin.core.problem import Problem
from widemargin.parts.choice import part_of
from widemargin.parts.cocoa import Cocoa
from widemargin.parts.consensus import Consensus
from widemargin.parts.local import LocalCarrier
from widemargin.parts.part import Part
from widemargin.parts.problem import PartedProblem
from widemargin.parts.team import Team
from widemargin.solvers import LBFGS, SOLVERS
from widemargin.tasks.tag.compile import compile_tags
from widemargin.tasks.tag.parameters import TaggerParameters
from widemargin.tasks.training import Data, problem_of

HERE = Path(__file__).resolve()
SOLVER = SOLVERS["auto"]
METHODS = {
    "consensus": Consensus(local=repr(SOLVER)),
    "cocoa": Cocoa(local=repr(SOLVER)),
    "plain": Cocoa(local=repr(SOLVER), caution=1.0, momentum=0.0),
    "averaging": Cocoa(local=repr(SOLVER), caution=1e-9, momentum=0.0),
}
LINKS = {"1 Gbit/s": 125e6, "10 Gbit/s": 1250e6}
LATENCY = 0.005
BYTES = 12  # of a non-zero


def compiled(folder: Path, name: str, sentences: int | None) -> tuple[Any, int]:
    """The examples of a corpus, and its tokens."""
    corpus = defaults.CORPORA[name]
    sequences = defaults.sequences(folder / corpus.train, corpus.label)[:sentences]
    words, labels = (list(each) for each in zip(*sequences, strict=True))
    return compile_tags(TaggerParameters(), Data(words, labels)).examples, sum(map(len, words))


def share(examples: Any, k: int, n_parts: int) -> Part:
    """Part k: every n_parts-th example."""
    weight = (np.arange(examples.n_examples) % n_parts == k).astype(float)
    return part_of(problem_of(TaggerParameters(n_jobs=1), examples, weight), SOLVER, k)


class Watch(Callback):
    """Notes the first round at which each of some gaps is proven, and the bytes until then."""

    def __init__(self, team: Team) -> None:
        self.team, self.rows = team, list[dict[str, Any]]()

    def on_epoch(self, epoch: Any) -> None:
        """A round is over."""
        moved = (self.team.sent + self.team.received) / self.team.n_parts
        self.rows.append({"round": epoch.epoch, "gap": epoch.gap, "dual": epoch.dual, "bytes_a_part": moved})


def on_parts(examples: Any, method: str, n_parts: int, rounds: int, gap: float) -> dict[str, Any]:
    """Rounds, bytes and the gap of a run on simulated parts."""
    team = Team(LocalCarrier([partial(share, examples, k, n_parts) for k in range(n_parts)]))
    team.start(lambda: None)
    like = problem_of(TaggerParameters(), examples)
    problem = PartedProblem.of(team, like.objective, like.C, like.loss)
    watch, changes = Watch(team), list[int]()
    settle = team.settle
    team.settle = lambda order, settled: (changes.append(len(settled.change.indices)), settle(order, settled))[1]  # type: ignore[method-assign]
    solution = fit(problem, METHODS[method], stop=Stop(epochs=rounds, gap=gap), callbacks=[watch])
    moved = watch.rows[-1]["bytes_a_part"] / len(changes)
    return {
        "method": method,
        "parts": n_parts,
        "rounds": len(solution.trace),
        "gap": solution.gap,
        "reached": solution.stopped == "gap",
        "dual": solution.dual,
        "bytes_a_round": moved,
        "allowed": 2 * BYTES * float(np.mean(changes)),
        "non_zeros": float(np.mean(changes)),
        "trace": watch.rows,
    }


def with_gradients(examples: Any, rounds: int, gap: float) -> dict[str, Any]:
    """Passes of L-BFGS, each of which would send a gradient up and a change of w down."""
    problem = problem_of(TaggerParameters(), examples)
    problem = Problem(examples, problem.objective, C=problem.C)
    solution = fit(problem, LBFGS(), stop=Stop(epochs=rounds, gap=gap))
    passes = solution.oracle_calls / examples.n_examples
    return {
        "method": "gradients",
        "parts": "any",
        "rounds": passes,
        "gap": solution.gap,
        "reached": solution.stopped == "gap",
        "bytes_a_round": 2.0 * BYTES * np.count_nonzero(solution.w),
    }


def one_machine(examples: Any, gap: float) -> dict[str, Any]:
    """Epochs and seconds of one thread."""
    solution = fit(problem_of(TaggerParameters(n_jobs=1), examples), SOLVER, stop=Stop(epochs=500, gap=gap))
    return {"epochs": len(solution.trace), "seconds": solution.seconds, "gap": solution.gap, "dual": solution.dual}


def cost_model(tokens: int, seconds_an_epoch: float, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds of a round on 100 machines with 10⁹ tokens, over two links."""
    machines, all_tokens = 100, 1e9
    work = seconds_an_epoch / tokens * all_tokens / machines
    # The non-zeros of a change grow with the square root of the data (Heaps' law for rare features).
    non_zeros = row["non_zeros"] * (all_tokens / tokens) ** 0.5
    moved = 2 * BYTES * non_zeros
    return [
        {
            "link": name,
            "work": work,
            "sending to each part in turn": machines * moved / bandwidth,
            "sending along a tree": 2 * moved / bandwidth * np.log2(machines),
            "latency": LATENCY,
            "non_zeros": non_zeros,
        }
        for name, bandwidth in LINKS.items()
    ]


def timed(folder: Path, name: str, gap: float, sentences: int | None) -> dict[str, Any]:
    """Seconds of two Dask workers with one thread each against one process with one thread."""
    from distributed import Client, LocalCluster

    from widemargin.dask import train

    corpus = defaults.CORPORA[name]
    sequences = defaults.sequences(folder / corpus.train, corpus.label)[:sentences]
    words, labels = (list(each) for each in zip(*sequences, strict=True))
    parameters = TaggerParameters(n_jobs=1, tol=gap, max_epochs=300)
    examples = compile_tags(parameters, Data(words, labels)).examples
    fit(problem_of(parameters, examples), SOLVER, stop=Stop(epochs=1, gap=None))  # compiles
    alone = one_machine(examples, gap)
    size = examples.n_weights
    del examples
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.perf_counter()
        found = train(client, parameters, (words, labels), parts=2)
        seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "one": alone,
        "two": {
            "rounds": len(found.solution.trace),
            "seconds": found.solution.seconds,
            "with_compiling": seconds,
            "gap": found.solution.gap,
        },
        "faster": alone["seconds"] / found.solution.seconds,
        "driver_peak_MB_more": (peak - before) / 1024,
        "w_MB": 8e-6 * size,
    }


def killed(runs: int) -> dict[str, Any]:
    """Runs in which a worker is killed at a random moment: the weights must be those of a run without."""
    from distributed import Client, LocalCluster

    from widemargin.dask import train
    from widemargin.data.generators import addresses

    X, y = addresses(200, seed=1)
    parameters = TaggerParameters(n_jobs=1, tol=None, max_epochs=8)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    outcomes, rng = [], random.Random(0)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        train(client, parameters, (X, y), parts=3)  # compiles
        begin = time.perf_counter()
        expected = train(client, parameters, (X, y), parts=3)
        usual = time.perf_counter() - begin
    for _ in range(runs):  # a cluster for each: a worker that is killed while it starts is not replaced
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            victim = rng.choice(sorted(client.run(os.getpid).values()))
            killer = threading.Timer(rng.random() * usual, os.kill, (victim, signal.SIGKILL))
            killer.start()
            found = train(client, parameters, (X, y), parts=3)
            killer.join()
            same = bool(np.array_equal(found.solution.w, expected.solution.w))
            outcomes.append({"same": same, "rebuilt": found.rebuilt})
    return {"runs": outcomes, "lost": sum(not each["same"] for each in outcomes)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--corpora", nargs="+", choices=defaults.CORPORA, default=["ewt", "jnlpba"])
    parser.add_argument("--parts", nargs="+", type=int, default=[2, 4, 8, 16, 32])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, "gradients"], default=[*METHODS, "gradients"])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("bench/scale.json"))
    options = parser.parse_args()
    results: dict[str, Any] = {}
    if options.kill:
        results["killed"] = killed(options.kill)
        print(f"{options.kill} runs with a killed worker, {results['killed']['lost']} with other weights")
    for name in [] if options.kill else options.corpora:
        if options.time:
            results[name] = timed(options.data, name, options.gap, options.sentences)
            print(name, json.dumps(results[name]))
            continue
        examples, tokens = compiled(options.data, name, options.sentences)
        alone = one_machine(examples, options.gap)
        print(f"{name}: {examples.n_examples} sentences, {examples.n_weights} weights, {alone['epochs']} epochs")
        rows = []
        for method in options.methods:
            for n_parts in options.parts if method in METHODS else [0]:
                if method == "gradients":
                    row = with_gradients(examples, options.rounds, options.gap)
                else:
                    row = on_parts(examples, method, n_parts, options.rounds, options.gap)
                rows.append(row)
                moved = row["bytes_a_round"] / 1e6
                figures = f"{row['rounds']:6.0f} rounds, gap {row['gap']:.4f}, {moved:.2f} MB a round and part"
                if "allowed" in row:
                    figures += f" (24 bytes a non-zero would be {row['allowed'] / 1e6:.2f})"
                print(f"  {method:9} {row['parts']:>3} parts: {figures}", flush=True)
        costs = cost_model(tokens, alone["seconds"] / alone["epochs"], next(row for row in rows if "non_zeros" in row))
        results[name] = {"one": alone, "tokens": tokens, "rows": rows, "costs": costs}
        for cost in costs:
            print(
                "  100 machines, 10⁹ tokens:",
                {key: cost[key] if key == "link" else float(f"{cost[key]:.3g}") for key in cost},
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1, default=float))


if __name__ == "__main__":
    main()
