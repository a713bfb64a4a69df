"""Oracle calls and seconds to a gap of 1 %, where a call is all of the time.

Problems: perfect matchings (a program in plain Python), summaries (Opinosis, an integer programme), and the tracking of
cells, an integer programme as motile has it: cells are detected in each frame, some detections are false, cells move,
divide, appear and disappear. All problems have the hinge, which every solver here minimises. Calls include those of the
pass that proves the gap. Everything but the seconds is the same in each run.

    python benchmarks/oracles.py [--data DIR] [--problems tracking …] [--solvers auto …] [--gap 0.01] [--small]
    python benchmarks/oracles.py --jobs 1 2     # seconds of processes, with a decoder that first sleeps 20 ms
"""

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import csr_array

from widemargin import Problem, Stop, StructuredPredictor, fit
from widemargin.data.generators import matchings
from widemargin.solvers import named_solver
from widemargin.structures.custom import custom_examples

SOLVERS = ("auto", "bcfw", "sdm", "one-slack", "bundle")
MOST_EPOCHS = 100  # after which a solver gives up


class Matching:
    """Perfect matchings: x[i, j] are the features of the pair (i, j), and y[i] is the partner of i."""

    def features(self, x: Any, y: Any) -> Any:
        """The sum of the features of what is chosen."""
        return x[np.arange(len(y)), list(y)].sum(axis=0)

    def error(self, y: Any, y_hat: Any) -> float:
        """How many choices are wrong."""
        return float(np.sum(np.not_equal(y, y_hat)))

    def decode(self, x: Any, w: Any, y: Any = None) -> Any:
        """The best output, with every wrong choice worth 1 more if the gold one is given."""
        scores = x @ w
        if y is not None:
            scores += 1.0
            scores[np.arange(len(y)), list(y)] -= 1.0
        return tuple(linear_sum_assignment(scores, maximize=True)[1].tolist())


class Sleeping(Matching):
    """Matchings by a decoder that takes 20 ms more, and leaves the processors to others meanwhile."""

    def decode(self, x: Any, w: Any, y: Any = None) -> Any:
        """The best output, later."""
        sleep(0.02)
        return super().decode(x, w, y)


class Tracking:
    """Tracks of cells: x is (features of all variables, equalities of flow), y says which variables are 1.

    The variables are detections, moves, appearances, disappearances and divisions; a detection is entered by one move
    or appears, and is left by one move or disappears, or by two moves if it divides.
    """

    releases_gil = True  # HiGHS does, while it solves

    def features(self, x: Any, y: Any) -> Any:
        """The sum of the features of what is chosen."""
        return x[0].T @ y

    def error(self, y: Any, y_hat: Any) -> float:
        """How many choices are wrong."""
        return float(np.sum(y != y_hat))

    def decode(self, x: Any, w: Any, y: Any = None) -> Any:
        """The best output, with every wrong choice worth 1 more if the gold one is given."""
        values = x[0] @ w if y is None else x[0] @ w + 1.0 - 2.0 * y
        found = milp(
            -values,
            integrality=np.ones(len(values)),
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(x[1], 0.0, 0.0),
            options={"mip_rel_gap": 0.0},
        )
        return np.rint(found.x)


N_FEATURES = 11  # by kind: detection (score, 1), move (distance, its square, change of size, 1), the others


def cells(seed: int, n_frames: int = 5, n_cells: int = 8) -> tuple[Any, Any]:
    """A film of cells and its tracks."""
    rng = np.random.default_rng(seed)
    frames: list[list[tuple[Any, float, int, bool]]] = [  # place, size, number of the mother, whether it is a cell
        [(rng.uniform(0.0, 10.0, 2), rng.normal(1.0, 0.2), -1, True) for _ in range(n_cells)]
    ]
    for _ in range(n_frames - 1):
        frame: list[tuple[Any, float, int, bool]] = []
        for number, (place, size, _, true) in enumerate(frames[-1]):
            if not true or rng.random() < 0.05:
                continue
            frame += [
                (place + rng.normal(0.0, 0.7, 2), size + rng.normal(0.0, 0.1), number, True)
                for _ in range(2 if rng.random() < 0.08 else 1)
            ]
        for most, mean, spread, true in ((0.5, 1.0, 0.2, True), (2.0, 0.8, 0.3, False)):
            frame += [(rng.uniform(0.0, 10.0, 2), rng.normal(mean, spread), -1, true) for _ in range(rng.poisson(most))]
        frames.append(frame)
    return _programme(frames, rng)


def _programme(frames: list[list[tuple[Any, float, int, bool]]], rng: np.random.Generator) -> tuple[Any, Any]:
    """The variables of a film with their features, the equalities, and the gold values."""
    rows: list[list[float]] = []
    gold: list[float] = []
    entries: list[tuple[int, int, float]] = []  # equality, variable, coefficient

    def variable(first: int, values: list[float], is_true: bool, equalities: list[tuple[int, float]]) -> None:
        row = [0.0] * N_FEATURES
        row[first : first + len(values)] = values
        entries.extend((equality, len(rows), coefficient) for equality, coefficient in equalities)
        rows.append(row)
        gold.append(float(is_true))

    offsets = np.concatenate([[0], np.cumsum([len(frame) for frame in frames])]).tolist()
    n = offsets[-1]  # equality k: into detection k; equality n + k: out of it
    for t, frame in enumerate(frames):
        after = frames[t + 1] if t + 1 < len(frames) else []
        for k, (place, size, mother, true) in enumerate(frame):
            here = offsets[t] + k
            daughters = [j for j, each in enumerate(after) if each[2] == k]
            variable(0, [rng.normal(1.0 if true else -0.3, 0.7), 1.0], true, [(here, -1.0), (n + here, -1.0)])
            variable(6, [float(t == 0), 1.0], true and mother < 0, [(here, 1.0)])
            variable(8, [float(not after), 1.0], true and not daughters, [(n + here, 1.0)])
            variable(10, [1.0], len(daughters) == 2, [(n + here, -1.0)])
            for j, (there, other, _, _) in enumerate(after):
                distance = float(np.linalg.norm(place - there))
                if distance < 4.0 or j in daughters:
                    values = [distance, distance**2, abs(size - other), 1.0]
                    ends = [(n + here, 1.0), (offsets[t + 1] + j, 1.0)]
                    variable(2, values, j in daughters, ends)
    equality, column, value = map(np.array, zip(*entries, strict=True))
    return (np.array(rows), csr_array((value, (equality, column)), shape=(2 * n, len(rows)))), np.array(gold)


def tracking(n: int, folder: Path) -> Any:
    X, y = zip(*(cells(seed) for seed in range(n)), strict=True)
    return custom_examples(Tracking(), X, y)


def matching(n: int, folder: Path) -> Any:
    X, y = matchings(n, seed=1, size=(10, 20), noise=0.5)
    return custom_examples(Matching(), X, y)


def summaries(n: int, folder: Path) -> Any:
    from widemargin import Summariser
    from widemargin.tasks.summarise.estimator import compile_topics
    from widemargin.tasks.summarise.files import read_topics
    from widemargin.tasks.training import Data

    corpus = read_topics(str(folder / "opinosis"), about={"encoding": "cp1252"})
    return compile_topics(Summariser(), Data(corpus.X[:n], corpus.y[:n])).examples


# name: how to make the examples of it, how many, how many in a small run, C
PROBLEMS: dict[str, tuple[Callable[[int, Path], Any], int, int, float]] = {
    "matchings": (matching, 200, 30, 0.1),
    "summaries": (summaries, 51, 6, 10.0),
    "tracking": (tracking, 30, 6, 0.1),
}


def measured(name: str, solver: str, make: Callable[[], Any], C: float, gap: float) -> tuple[int, str]:
    """The calls to the gap, and a row of the table."""
    problem = Problem(make(), C=C, loss="hinge")
    begin = perf_counter()
    found = fit(problem, named_solver(solver), stop=Stop(epochs=MOST_EPOCHS, gap=gap), seed=0)
    seconds = perf_counter() - begin
    reached = "" if found.gap is not None and found.gap <= gap else f"  stopped at {found.gap}"
    passes = found.oracle_calls / problem.n_counted
    row = f"{name:12}{solver:28}{found.oracle_calls:>8}{passes:>9.1f}{problem.meter.seconds:>10.2f}{seconds:>10.2f}"
    return found.oracle_calls, row + reached


def compare_jobs(jobs: list[int], gap: float, n: int) -> None:
    """Print the seconds of each number of processes, and whether their weights are the same."""
    X, y = matchings(n, seed=1, size=(10, 20), noise=0.5)
    first: Any = None
    print(f"{'processes':12}{'calls':>8}{'seconds':>10}{'faster':>10}")
    for n_jobs in jobs:
        made = StructuredPredictor(Sleeping(), C=0.1, loss="hinge", tol=gap, n_jobs=n_jobs)
        begin = perf_counter()
        found = made.fit(X, y).solution_
        seconds = perf_counter() - begin
        first = first or (seconds, found.w)
        same = "" if np.array_equal(found.w, first[1]) else "  other weights!"
        print(f"{n_jobs:<12}{found.oracle_calls:>8}{seconds:>10.2f}{first[0] / seconds:>8.2f} ×{same}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("WIDEMARGIN_DATA") or "../shared/data")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--small", action="store_true", help="few examples")
    parser.add_argument("--jobs", nargs="+", type=int, help="compare these numbers of processes instead")
    options = parser.parse_args()
    if options.jobs:
        compare_jobs(options.jobs, options.gap, 30 if options.small else 200)
        return
    print(f"{'problem':12}{'solver':28}{'calls':>8}{'passes':>9}{'s decode':>10}{'seconds':>10}{'auto needs':>14}")
    for name in options.problems:
        make, n, few, C = PROBLEMS[name]
        examples = partial(make, few if options.small else n, Path(options.data))
        base = 0
        for solver in options.solvers:
            calls, row = measured(name, solver, examples, C, options.gap)
            base = base or calls
            print(f"{row}{calls / base:>10.1f} × fewer" if solver != options.solvers[0] else row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
