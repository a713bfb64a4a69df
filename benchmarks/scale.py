"""Training on several parts: rounds and bytes to a gap, against one machine, and what that means for a cluster.

    python benchmarks/scale.py [--corpora ewt jnlpba] [--parts 2 4 8 16 32] [--rounds 100] [--sentences N]
    python benchmarks/scale.py --time [--corpora jnlpba]      two Dask workers against one process with one thread
    python benchmarks/scale.py --draw docs/scaling.png SECONDS_A_TOKEN NON_ZEROS LATENCY
    python benchmarks/scale.py --kill 10                      workers killed at random moments: is anything lost?

Parts are simulated in one process, one after the other: rounds, bytes and gaps are what a cluster would see, and
seconds are not. Methods: *consensus*, the library's default; *cocoa*, accelerated CoCoA+; *plain* CoCoA+ as published
(σ′ = K, no momentum); *averaging* (CoCoA: σ′ = 1, and the best share of the step instead of 1 / K); and *gradients*
(the bundle method, which sends a gradient of P in every round). Bytes a round are those of one part, both
ways. The cost model is

    seconds of a round = work of the slowest part + bytes / bandwidth + latency

`--time` fits latency and bandwidth to runs of three sizes. `--draw` shows what the model says of 10⁹ tokens, from the
work a token, the non-zeros of a round's change and how they grow, given as its arguments.
"""

import argparse
import json
import os
import random
import resource
import signal
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import defaults
import numpy as np

from widemargin import Callback, Stop, fit
from widemargin.parts import part_of
from widemargin.parts.cocoa import Cocoa
from widemargin.parts.consensus import Consensus
from widemargin.parts.part import Part
from widemargin.parts.problem import PartedProblem
from widemargin.parts.team import LocalCarrier, Team
from widemargin.solvers import SOLVERS
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

HERE = Path(__file__).resolve()
SOLVER = SOLVERS["auto"]
METHODS = {
    "consensus": Consensus(local=repr(SOLVER)),
    "cocoa": Cocoa(local=repr(SOLVER)),
    "plain": Cocoa(local=repr(SOLVER), caution=1.0, momentum=0.0),
    "averaging": Cocoa(local=repr(SOLVER), caution=1e-9, momentum=0.0),
}
LINKS = {"1 Gbit/s": 125e6, "10 Gbit/s": 1250e6}
BYTES = 12  # of a non-zero
TWO_WORKERS = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}


def compiled(folder: Path, name: str, sentences: int | None) -> tuple[Any, int]:
    """The examples of a corpus, and its tokens."""
    corpus = defaults.CORPORA[name]
    sequences = defaults.sequences(folder / corpus.train, corpus.label)[:sentences]
    words, labels = (list(each) for each in zip(*sequences, strict=True))
    return compile_tags(TaggerParameters(), Data(words, labels)).examples, sum(map(len, words))


def share(examples: Any, k: int, n_parts: int) -> Part:
    """Part k: every n_parts-th example."""
    weight = (np.arange(examples.n_examples) % n_parts == k).astype(float)
    return part_of(Plan.of(TaggerParameters(n_jobs=1)).problem(examples, weight), SOLVER, k)


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
    like = Plan.of(TaggerParameters()).problem(examples)
    problem = PartedProblem(team, like.objective, like.C, like.loss)
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
    """Passes of the bundle method, each of which would send a gradient up and a change of w down."""
    solution = fit(Plan.of(TaggerParameters()).problem(examples), SOLVERS["bundle"], stop=Stop(epochs=rounds, gap=gap))
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
    solution = fit(Plan.of(TaggerParameters(n_jobs=1)).problem(examples), SOLVER, stop=Stop(epochs=500, gap=gap))
    return {"epochs": len(solution.trace), "seconds": solution.seconds, "gap": solution.gap, "dual": solution.dual}


def timed(folder: Path, name: str, gaps: list[float], sentences: int | None) -> dict[str, Any]:
    """Seconds to each gap of two Dask workers with one thread each, against one process with one thread."""
    from distributed import Client, LocalCluster, get_task_stream

    from widemargin.dask import train

    corpus = defaults.CORPORA[name]
    sequences = defaults.sequences(folder / corpus.train, corpus.label)[:sentences]
    words, labels = (list(each) for each in zip(*sequences, strict=True))
    parameters = TaggerParameters(n_jobs=1, max_epochs=400)
    examples = compile_tags(parameters, Data(words, labels)).examples
    fit(Plan.of(parameters).problem(examples), SOLVER, stop=Stop(epochs=1, gap=None))  # compiles
    size, rows = examples.n_weights, []
    with LocalCluster(**TWO_WORKERS) as cluster, Client(cluster) as client:
        train(client, replace(parameters, max_epochs=3), (words[:200], labels[:200]), parts=2)  # compiles
        for gap in gaps:
            alone = one_machine(examples, gap)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            with get_task_stream(client) as tasks:
                found = train(client, replace(parameters, tol=gap), (words, labels), parts=2)
            rounds, moved = len(found.solution.trace), found.sent + found.received
            rows.append(
                {
                    "gap": gap,
                    "one": alone,
                    "rounds": rounds,
                    "seconds": found.solution.seconds,
                    "faster": alone["seconds"] / found.solution.seconds,
                    "work_a_round": slowest(tasks.data, "round") / rounds,
                    "looking_a_round": slowest(tasks.data, "look") / rounds,
                    "MB_a_round": moved / rounds / 1e6,
                    "driver_peak_MB_more": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
                }
            )
    return {"sentences": len(words), "w_MB": 8e-6 * size, "rows": rows}


def slowest(tasks: Any, what: str) -> float:
    """The seconds of the slowest part of every round, added up; `what` is the beginning of the tasks' keys."""
    longest: dict[str, float] = {}
    for each in tasks:
        kind, number = str(each["key"]).split("-")[:2]
        spent = sum(step["stop"] - step["start"] for step in each["startstops"] if step["action"] == "compute")
        if kind == what:
            longest[number] = max(longest.get(number, 0.0), spent)
    return sum(longest.values())


def carried(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Seconds a round and bytes a second that carrying takes: a line through what rounds took besides their work."""
    moved = np.array([1e6 * row["MB_a_round"] for row in rows])
    rest = np.array([row["seconds"] / row["rounds"] - row["work_a_round"] - row["looking_a_round"] for row in rows])
    slope, latency = np.polyfit(moved, rest, 1)
    return float(latency), float(1.0 / slope)


def cost_model(
    tokens: float, seconds_a_token: float, non_zeros: float, latency: float, machines: Any, link: float
) -> dict[str, Any]:
    """Seconds of a round: the work of a part, carrying from and to each part in turn or along a tree, and latency."""
    moved = 2.0 * BYTES * non_zeros
    return {
        "work": seconds_a_token * tokens / machines,
        "in turn": machines * moved / link,
        "along a tree": 2.0 * np.log2(np.maximum(machines, 2)) * moved / link,
        "latency": latency,
    }


def draw(path: Path, model: Any) -> None:
    """Seconds of a round for any number of machines."""
    import matplotlib.pyplot as plt

    machines = np.geomspace(1, 1000, 100)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, (name, link) in zip(axes, LINKS.items(), strict=True):
        cost = model(machines, link)
        axis.loglog(machines, cost["work"], label="work of a part", color="#555555", linestyle=":")
        axis.loglog(machines, cost["work"] + cost["in turn"] + cost["latency"], label="one driver, parts in turn")
        axis.loglog(
            machines, cost["work"] + cost["along a tree"] + cost["latency"], label="sums along a tree (not built)"
        )
        axis.axvline(100, color="#cccccc", linewidth=0.8, zorder=0)
        axis.set(title=name, xlabel="machines")
    axes[0].set_ylabel("seconds of a round, 10⁹ tokens")
    axes[1].legend(frameon=False)
    figure.savefig(path, dpi=130)


def killed(runs: int) -> dict[str, Any]:
    """Runs in which a worker is killed at a random moment: the weights must be those of a run without."""
    from distributed import Client, LocalCluster

    from widemargin.dask import train
    from widemargin.data.generators import addresses

    X, y = addresses(200, seed=1)
    parameters = TaggerParameters(n_jobs=1, tol=None, max_epochs=8)
    outcomes, rng = [], random.Random(0)
    with LocalCluster(**TWO_WORKERS) as cluster, Client(cluster) as client:
        train(client, parameters, (X, y), parts=3)  # compiles
        begin = time.perf_counter()
        expected = train(client, parameters, (X, y), parts=3)
        usual = time.perf_counter() - begin
    for _ in range(runs):  # a cluster for each: a worker that is killed while it starts is not replaced
        with LocalCluster(**TWO_WORKERS) as cluster, Client(cluster) as client:
            victim = rng.choice(sorted(client.run(os.getpid).values()))
            killer = threading.Timer(rng.random() * usual, os.kill, (victim, signal.SIGKILL))
            killer.start()
            found = train(client, parameters, (X, y), parts=3)
            killer.join()
            same = bool(np.array_equal(found.solution.w, expected.solution.w))
            outcomes.append({"same": same, "rebuilt": found.rebuilt})
    return {"runs": outcomes, "lost": sum(not each["same"] for each in outcomes)}


def told_times(options: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    """Runs on two workers of three sizes, the largest to several gaps."""
    sizes = [1000, 4000, None] if options.sentences is None else [options.sentences]
    runs = [timed(options.data, name, [options.gap], size) for size in sizes[:-1]]
    runs.append(timed(options.data, name, [0.1, 0.05, options.gap], sizes[-1]))
    for run in runs:
        for row in run["rows"]:
            print(f"{name}, {run['sentences']} sentences, w {run['w_MB']:.0f} MB: {json.dumps(row)}", flush=True)
    if len(runs) > 1:
        latency, bandwidth = carried([run["rows"][-1] for run in runs])
        print(f"  carrying takes {latency:.3f} s a round and {bandwidth / 1e6:.0f} MB a second")
    return runs


def told_rounds(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Rounds and bytes of every method and number of parts."""
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
    return {"one": alone, "tokens": tokens, "rows": rows}


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
    parser.add_argument("--draw", nargs=4, metavar=("FILE", "SECONDS_A_TOKEN", "NON_ZEROS", "LATENCY"))
    parser.add_argument("--out", type=Path, default=Path("bench/scale.json"))
    options = parser.parse_args()
    if options.draw:
        file, *figures = options.draw
        model = partial(cost_model, 1e9, *map(float, figures))
        draw(Path(file), model)
        for name, link in LINKS.items():
            print(f"100 machines, {name}:", {key: float(f"{value:.3g}") for key, value in model(100.0, link).items()})
        return
    if options.kill:
        results: dict[str, Any] = {"killed": killed(options.kill)}
        print(f"{options.kill} runs with a killed worker, {results['killed']['lost']} with other weights")
    else:
        told = told_times if options.time else told_rounds
        results = {name: told(options, name) for name in options.corpora}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=1, default=float), encoding="utf-8")


if __name__ == "__main__":
    main()
