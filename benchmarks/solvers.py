"""Every solver on four corpora; what papers claim of them is measured by `benchmarks/papers`.

    python benchmarks/solvers.py [--sets ewt bc2gm jnlpba ocr] [--parts gaps epochs lazy memory report] [--out bench]

`gaps` times solvers to a proven gap, in alternating runs, medians; `epochs` times an epoch against one of the averaged
perceptron; `lazy` times AdaGrad with and without touching all weights; `memory` takes the peak of training
on jnlpba; `report` runs every solver once and writes the pages of `widemargin compare`. Clocks run on training alone:
neither compiling nor the passes that measure the objective count. Every part can be run by itself.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.solution import Epoch
from widemargin.files.formats import read
from widemargin.report.comparison import compare
from widemargin.report.verdict import SolverRun, judge
from widemargin.solvers import SOLVERS, named_solver
from widemargin.tasks.parameters import PRESETS
from widemargin.tasks.plan import Plan
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

HERE = Path(__file__).resolve()
SETS = ("ewt", "bc2gm", "jnlpba", "ocr")
TEXTS = SETS[:3]
C = 0.1
THREADS = os.cpu_count() or 1
SQUARED = ("auto", "dcd", "dcd-light", "cpd")
HINGE = ("auto", "sdm", "ocp", "bcfw", "n-slack", "one-slack")
GAPS = (0.01, 0.001)
EPOCHS = {"mira": 1.5, "ocp": 2.0, "dcd-light": 2.0, "adagrad": 3.0}


def data_folder() -> Path:
    return Path(os.environ.get("WIDEMARGIN_DATA", HERE.parents[2] / "shared" / "data"))


def letters() -> tuple[list[Any], list[list[str]]]:
    """Handwritten words: 128 pixels a letter and a bias, real-valued and dense; fold 0 is left for testing."""
    stored = np.load(data_folder() / "ocr-letters" / "letters.npz")
    pixels = np.unpackbits(stored["pixels"], axis=1).astype(np.float64)
    pixels = np.hstack([pixels, np.ones((len(pixels), 1))])
    ends = np.cumsum(stored["lengths"])
    words = [range(end - length, end) for end, length in zip(ends, stored["lengths"], strict=True)]
    chosen = [word for word, fold in zip(words, stored["folds"], strict=True) if fold != 0]
    return [pixels[word.start : word.stop] for word in chosen], [
        [chr(ord("a") + stored["labels"][t]) for t in word] for word in chosen
    ]


def load(name: str) -> Any:
    """The training data of a corpus, compiled; the text sets with the tagger's 20 templates, shapes among them."""
    if name == "ocr":
        return compile_tags(TaggerParameters(), Data(*letters())).examples
    path = {"ewt": "ud-english-ewt/train.conllu", "bc2gm": "bc2gm/train.tsv", "jnlpba": "jnlpba/train.tsv"}[name]
    columns = read(data_folder() / path).columns
    label = "xpos" if name == "ewt" else columns.names[-1]
    return compile_tags(TaggerParameters(), Data(columns.only("word"), columns[label])).examples


def problem_for(examples: Any, name: str, loss: str | None = None, **options: Any) -> Problem:
    """The problem that a solver's name asks for."""
    return Plan.of(TaggerParameters(solver=name, C=C, loss=loss, n_jobs=THREADS, **options)).problem(examples)


def warm(examples: Any, names: Any, loss: str | None = None) -> None:
    """Compile what these solvers need."""
    few = np.zeros(examples.n_examples)
    few[:8] = 1.0
    for name in names:
        plain = problem_for(examples, name, loss)
        small = Problem(
            examples, plain.objective, C=C, sample_weight=few, loss=plain.loss, n_threads=THREADS, cut_memory=64
        )
        fit(small, named_solver(name), stop=Stop(epochs=12, gap=None), audit=True)


def race(examples: Any, name: str, loss: str, stop: Stop) -> SolverRun:
    problem = problem_for(examples, name, loss)
    solution = fit(problem, named_solver(name), stop=stop, audit=True)
    return SolverRun(name, None, solution.trace, solution.stopped)


def seconds_to(trace: tuple[Epoch, ...], reached: Callable[[Epoch], bool]) -> float | None:
    return next((row.seconds for row in trace if reached(row)), None)


def median_of(values: list[float | None]) -> float | None:
    """The median; None where most runs have none."""
    known = [value for value in values if value is not None]
    return median(known) if 2 * len(known) > len(values) else None


def gaps(name: str, examples: Any, runs: int, seconds: float) -> dict[str, Any]:
    """Time to gaps by the solvers' own certificates, and to an objective within 1 % of the optimum."""
    results: dict[str, Any] = {}
    for loss, names in (("squared_hinge", SQUARED), ("hinge", HINGE)):
        warm(examples, names, loss)
        traces: dict[str, list[tuple[Epoch, ...]]] = {each: [] for each in names}
        for _ in range(runs):
            for each in names:
                stop = Stop(epochs=None, gap=GAPS[-1], seconds=seconds)
                traces[each].append(race(examples, each, loss, stop).trace)
                last = traces[each][-1][-1]
                print(f"  {name} {loss} {each}: gap {last.gap:.3g} after {last.seconds:.1f} s", flush=True)
        table: dict[str, Any] = {}
        every = [SolverRun(each, None, trace) for each in names for trace in traces[each]]
        judged = {id(verdict.run.trace): verdict for verdict in judge(every)}
        for each in names:
            row: dict[str, Any] = {
                f"to {gap:.1%}": median_of([seconds_to(trace, _proves(gap)) for trace in traces[each]]) for gap in GAPS
            }
            within = [judged[id(trace)].reached[1] for trace in traces[each]]
            row["objective within 1%"] = median_of([None if moment is None else moment.seconds for moment in within])
            row["oracle calls to 1%"] = median_of(
                [None if moment is None else moment.oracle_calls for moment in within]
            )
            table[each] = row
        results[loss] = table
    return results


def _proves(gap: float) -> Callable[[Epoch], bool]:
    return lambda row: row.gap is not None and row.gap <= gap


def epochs(examples: Any, runs: int) -> dict[str, float]:
    """Seconds per epoch of ten, against the averaged perceptron's."""
    names = ("perceptron", *EPOCHS)
    warm(examples, names)
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            problem, solver = problem_for(examples, name), named_solver(name)
            begin = perf_counter()
            state, rng = solver.start(problem), np.random.default_rng(0)
            for _ in range(10):
                solver.epoch(problem, state, rng)
            solver.weights(state)
            times[name].append((perf_counter() - begin) / 10)
    return {name: median(each) for name, each in times.items()}


def lazy(examples: Any, runs: int, n: int = 200) -> dict[str, float]:
    """Seconds for a step of AdaGrad on one example, lazy and eager, over the first `n` of them."""
    few = np.zeros(examples.n_examples)
    few[:n] = 1.0
    times: dict[str, list[float]] = {f"adagrad(batch_size=1,lazy={lazy})": [] for lazy in (True, False)}
    warm(examples, times)
    for _ in range(runs):
        for name, each in times.items():
            solver = named_solver(name)
            problem = Problem(examples, C=C, sample_weight=few, n_threads=THREADS)
            state, rng = solver.start(problem), np.random.default_rng(0)
            solver.epoch(problem, state, rng)
            begin = perf_counter()
            solver.epoch(problem, state, rng)
            each.append((perf_counter() - begin) / n)
    return dict(zip(("lazy", "eager"), map(median, times.values()), strict=True))


def memory(names: tuple[str, ...] = ("perceptron", "auto", "dcd", "sdm", "bcfw", "one-slack")) -> dict[str, float]:
    """Peak megabytes of training on jnlpba with a budget of 256 for cuts, each solver in a process of its own."""
    peaks = {}
    for name in names:
        command = [sys.executable, str(HERE), "--peak", name]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        peaks[name] = float(done.stdout.strip().splitlines()[-1])
        print(f"  {name}: {peaks[name]:.0f} MB", flush=True)
    return peaks


def peak(name: str) -> float:
    """Peak megabytes of this process after 20 epochs."""
    import resource

    examples = load("jnlpba")
    problem = problem_for(examples, name, cut_memory=256.0)
    fit(problem, named_solver(name), stop=Stop(epochs=20, gap=None, seconds=90))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(name: str, examples: Any, seconds: float, out: Path) -> None:
    """Every solver once, as `widemargin compare` reports it."""
    names = [each for each in SOLVERS if each != "lbfgs"] + (list(PRESETS) if examples.n_weights < 10**7 else [])
    comparison = compare(
        lambda each: problem_for(examples, each),
        {each: Plan.of(TaggerParameters(solver=each)).solver for each in names},
        stop=Stop(epochs=None, gap=GAPS[-1], seconds=seconds),
        data={"corpus": name, "examples": examples.n_examples, "weights": examples.n_weights},
        settings={"C": C, "threads": THREADS},
    )
    comparison.save(out / name)


def lines(results: dict[str, Any]) -> Iterator[str]:
    """The results as tables in Markdown."""
    for name, by_loss in results.get("gaps", {}).items():
        for loss, table in by_loss.items():
            columns = list(next(iter(table.values())))
            yield f"\n{name}, {loss}, C = {C}; seconds\n"
            yield "| solver | " + " | ".join(columns) + " |"
            yield "|" + " --- |" * (len(columns) + 1)
            for solver, row in table.items():
                cells = ("–" if row[column] is None else f"{row[column]:,.4g}" for column in columns)
                yield f"| {solver} | " + " | ".join(cells) + " |"
    for name, times in results.get("epochs", {}).items():
        ratios = ", ".join(
            f"{each} {times[each] / times['perceptron']:.2f} (≤ {most})" for each, most in EPOCHS.items()
        )
        yield f"\n{name}: an epoch of the perceptron takes {times['perceptron']:.2f} s; of it: {ratios}"
    for name, times in results.get("lazy", {}).items():
        ratio = times["eager"] / times["lazy"]
        yield f"\n{name}: a step of lazy AdaGrad is {ratio:.1f} times as fast as an eager one (≥ 10)"
    if "memory" in results:
        peaks = results["memory"]
        most = 2 * peaks["perceptron"] + 256
        yield "\njnlpba, peak memory in MB: " + ", ".join(f"{name} {value:.0f}" for name, value in peaks.items())
        yield f"(at most twice the perceptron's and the budget of 256: {most:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--parts", nargs="+", default=["gaps", "epochs", "lazy", "memory"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="the most that a run may take")
    parser.add_argument("--out", type=Path, default=Path("bench"))
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(peak(options.peak))
        return
    if not data_folder().is_dir():
        raise SystemExit(f"there are no corpora at {data_folder()}; set WIDEMARGIN_DATA")
    options.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {part: {} for part in ("gaps", "epochs", "lazy") if part in options.parts}
    for name in options.sets:
        examples = load(name)
        if "epochs" in options.parts:
            results["epochs"][name] = epochs(examples, options.runs)
        if "lazy" in options.parts and name in TEXTS:
            results["lazy"][name] = lazy(examples, options.runs)
        if "gaps" in options.parts:
            results["gaps"][name] = gaps(name, examples, options.runs, options.seconds)
        if "report" in options.parts:
            report(name, examples, options.seconds, options.out)
        (options.out / "solvers.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    if "memory" in options.parts:
        results["memory"] = memory()
    (options.out / "solvers.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    print("\n".join(lines(results)))


if __name__ == "__main__":
    main()
