"""Graphs with proofs: the snakes of PyStruct's example, grids of noisy pictures, and bounds against exact decoders.

`snakes` trains on 200 pictures (features of cells: the colours of their 3 × 3 neighbourhoods; of edges: those of both
ends, for each direction) until the proven gap is at most 3 %, and tests on 100 others. PyStruct's authors say 20
minutes on one core. `grids` trains on 100 noisy pictures of 40 × 40 cells with 5 labels (Potts), and compares P with
that of exact decoding at the same weights, where HiGHS closes all gaps. `drawn` compares labels and bounds of random
graphs, some with rules, with enumeration, elimination and HiGHS. Seconds are of the processor, after a first run that
compiles.

    python benchmarks/graphs.py [snakes] [grids] [drawn] [--n 10000] [--C 0.1] [--threads 1]
"""

import argparse
import os
from collections import Counter
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows, boundaries
from widemargin.decoders.elimination import elimination
from widemargin.decoders.polytope import polytope, solve
from widemargin.solvers import named_solver
from widemargin.structures.examples import part_examples
from widemargin.structures.flat import Scores
from widemargin.structures.graph import ExactGraphs, GraphCosts, Graphs, gold_outputs, graphs, shape_of
from widemargin.structures.graph_programmes import RelaxedGraphs, SolvedGraphs
from widemargin.structures.graph_rules import RuledGraphs, at_most, implies, together
from widemargin.structures.part_rows import Items, Kinds, TiedRows

COLOURS, BACKGROUND, BLUE = {1: 0, 2: 1, 3: 2, 4: 3, 6: 4}, 3, np.array([1, 2, 4])
N_LABELS, N_FEATURES = 11, 45


class Picture(NamedTuple):
    """The features of cells and edges as sparse rows, and the labels of the cells."""

    shape: Any
    indices: list[np.ndarray]
    values: list[np.ndarray]
    labels: np.ndarray


def grid(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges to the right, and those down."""
    number = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    return right, np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)


def snakes(path: Path, part: str) -> list[Picture]:
    data, found, at = np.load(path), [], 0
    codes = (data[f"pixels_{part}"].astype(np.int64) // 255) @ BLUE
    colours = np.array([COLOURS[code] for code in codes.tolist()])
    for rows, columns in data[f"shapes_{part}"].tolist():
        padded = np.full((rows + 2, columns + 2), BACKGROUND)
        padded[1:-1, 1:-1] = colours[at : at + rows * columns].reshape(rows, columns)
        around = [padded[y : y + rows, x : x + columns].ravel() for y in range(3) for x in range(3)]
        cells = np.stack([each + 5 * k for k, each in enumerate(around)], axis=1)
        right, down = grid(rows, columns)
        ends = np.concatenate([right, down])
        edges = np.concatenate([cells[ends[:, 0]], cells[ends[:, 1]] + N_FEATURES], axis=1)
        edges[len(right) :] += 2 * N_FEATURES
        shape = shape_of(np.full(rows * columns, N_LABELS), ends)
        labels = data[f"labels_{part}"][at : at + rows * columns].astype(np.int32)
        found.append(Picture(shape, [*cells, *edges], [np.ones(9)] * len(cells) + [np.ones(18)] * len(edges), labels))
        at += rows * columns
    return found


def noisy(n: int, seed: int, *, side: int = 40, k: int = 5, spots: int = 12) -> list[Picture]:
    """Pictures of `spots` regions; each cell shows its label, and noise as strong as that."""
    rng, (y, x), found = np.random.default_rng(seed), np.mgrid[:side, :side], []
    ends = np.concatenate(grid(side, side))
    shape = shape_of(np.full(side * side, k), ends)
    for _ in range(n):
        centres, colours = side * rng.random((spots, 2)), rng.integers(0, k, size=spots)
        nearest = ((y[..., None] - centres[:, 0]) ** 2 + (x[..., None] - centres[:, 1]) ** 2).argmin(axis=-1)
        labels = colours[nearest].ravel().astype(np.int32)
        shown = np.eye(k)[labels] + rng.normal(size=(side * side, k))
        indices = [np.arange(k)] * len(labels) + [np.zeros(1, dtype=np.int64)] * len(ends)
        found.append(Picture(shape, indices, [*shown, *np.ones((len(ends), 1))], labels))
    return found


def examples_of(pictures: list[Picture], kinds: Kinds, n_weights: int, make: Any = graphs) -> Any:
    shapes = [each.shape for each in pictures]
    structure, sizes = make(shapes), np.arange(len(shapes))
    counts = [len(shape.widths) + len(shape.ends) for shape in shapes]
    kind = np.concatenate([np.repeat([0, 1], [len(shape.widths), len(shape.ends)]) for shape in shapes])
    places = np.concatenate([np.concatenate([shape.at_node, shape.at_edge]) for shape in shapes])
    indices = [row for each in pictures for row in each.indices]
    values = np.concatenate([row for each in pictures for row in each.values])
    rows = Rows(boundaries([len(row) for row in indices]), np.concatenate(indices).astype(np.int32), values)
    features = TiedRows(sizes, structure.n_own(sizes), Items(boundaries(counts), kind, places, rows), kinds, n_weights)
    labels = [each.labels for each in pictures]
    gold = np.concatenate(labels)
    costs = GraphCosts(structure, sizes, gold, np.ones(len(gold)))
    return part_examples(structure, features, costs, gold_outputs(structure, sizes, labels))


def all_pairs(k: int, n_features: int) -> tuple[Kinds, int]:
    columns, n = np.concatenate([np.arange(k), np.arange(k * k)]), k + k * k
    first = n_features * k
    kinds = Kinds(np.array([0, first]), np.array([k, k * k]), np.array([0, k, n]), columns, np.ones(n))
    return kinds, first + 4 * n_features * k * k


def potts(k: int) -> tuple[Kinds, int]:
    columns = np.concatenate([np.arange(k), np.where(np.eye(k).ravel() > 0, 0, -1)])
    parts = np.array([0, k, k + k * k])
    return Kinds(np.array([0, k * k]), np.array([k, 1]), parts, columns, np.ones(k + k * k)), k * k + 1


def accuracy(examples: Any, pictures: list[Picture], w: np.ndarray) -> float:
    outputs = examples.decode(w, np.arange(len(pictures), dtype=np.int32))
    labels = np.concatenate(examples.structure.labels(examples.sizes, outputs))
    return float(np.mean(labels == np.concatenate([each.labels for each in pictures])))


def trained(name: str, examples: Any, C: float, gap: float, threads: int) -> Any:
    examples.decode(np.zeros(examples.n_weights), np.arange(2, dtype=np.int32), error_scale=1.0)
    begin, seconds = process_time(), perf_counter()
    stop = Stop(epochs=200, gap=gap, seconds=600)
    solution = fit(Problem(examples, C=C, loss="hinge", n_threads=threads), named_solver("auto"), stop=stop)
    used, seconds = process_time() - begin, perf_counter() - seconds
    batch = np.arange(examples.n_examples, dtype=np.int32)
    excess = C * examples.excess(batch, examples.decode(solution.w, batch, error_scale=1.0)).sum()
    figures = f"{used:.1f} processor s, {seconds:.1f} s, {solution.oracle_calls} oracle calls"
    print(f"{name}, C {C:g}: {figures}; {solution}", flush=True)
    print(f"  of the gap of {solution.primal - solution.dual:.3g}, {excess:.3g} are bounds, the rest are weights")
    return solution


def run_snakes(path: Path, C: list[float], threads: int) -> None:
    if not path.is_file():
        print(f"snakes: skipped, there is no {path}")
        return
    kinds, n_weights = all_pairs(N_LABELS, N_FEATURES)
    train, test = snakes(path, "train"), snakes(path, "test")
    examples, others = examples_of(train, kinds, n_weights), examples_of(test, kinds, n_weights)
    fit(Problem(examples, C=0.1, loss="hinge"), named_solver("auto"), stop=Stop(epochs=1))  # compiles
    for each in C:
        solution = trained("snakes", examples, each, 0.03, threads)
        print(f"  test accuracy {accuracy(others, test, solution.w):.4f}")


def run_grids(threads: int, n: int = 100, C: float = 1e-3) -> None:
    kinds, n_weights = potts(5)
    train, test = noisy(n, 0), noisy(n, 1)
    examples, others = examples_of(train, kinds, n_weights), examples_of(test, kinds, n_weights)
    solution = trained("grids", examples, C, 0.01, threads)
    for name, scale in (("prediction", 0.0), ("with costs", 1.0)):
        took, gaps = [], []
        for i in range(n):
            one = np.array([i], dtype=np.int32)
            begin = process_time()
            outputs = others.decode(solution.w, one, error_scale=scale)
            took.append(1e3 * (process_time() - begin))
            gaps.append(others.excess(one, outputs)[0] / others.scores(solution.w, one, outputs)[0])
        figures = f"median {np.median(took):.1f} ms, mean {np.mean(took):.1f}, most {max(took):.1f}"
        print(f"  {name}: {figures} an image; gap at most {max(gaps):.2g} of the score, mean {np.mean(gaps):.2g}")
    print(f"  test accuracy {accuracy(others, test, solution.w):.4f}")
    few = train[:10]
    P = []
    for make in (graphs, SolvedGraphs):
        some = Problem(examples_of(few, kinds, n_weights, make), C=C, loss="hinge")
        P.append(some.primal(solution.w, np.zeros(len(few))))
    print(
        f"  P of {len(few)} images: {P[0]:.6g} with bounds, {P[1]:.6g} by HiGHS, {100 * (P[0] / P[1] - 1):.3g} % apart"
    )


def drawn(rng: np.random.Generator) -> tuple[str, Any, np.ndarray]:
    """The kind of a random graph, its shape and scores."""
    kind = ["tree", "grid", "complete", "sparse"][rng.integers(4)]
    if kind == "grid":
        rows, columns = rng.integers(2, 5, size=2).tolist()
        n, ends = rows * columns, np.concatenate(grid(rows, columns))
    else:
        n = int(rng.integers(1, 8))
        pairs = [(u, v) for u in range(n) for v in range(u)]
        if kind == "tree":
            pairs = [(int(rng.integers(v)), v) for v in range(1, n)]
        elif kind == "sparse":
            pairs = [pair for pair in pairs if rng.random() < 0.5]
        ends = np.array([pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]).reshape(-1, 2)
    typed = rng.random() < 0.5
    shape = shape_of(rng.integers(1, 5, size=n) if typed else np.full(n, rng.integers(2, 4)), ends)
    theta = rng.normal(size=shape.n_own) * rng.choice([0.3, 3.0, 1e6])
    if rng.random() < 0.3:
        theta[rng.random(len(theta)) < 0.1] = -np.inf
    return f"{kind}{', typed' if typed else ''}", shape, theta


def obeys(shape: Any, scores: Scores, size: float, rng: np.random.Generator) -> bool:
    """Whether labels that must obey random rules are the best that do, and the bound is not below their score."""
    given = [(v, int(rng.integers(width))) for v, width in enumerate(shape.widths.tolist())]
    rules = [at_most(int(rng.integers(1, 3)), given), implies(given[0], *given[1:]), *together(*given[-2:])]
    structure, scores_of = RuledGraphs([shape], [rules]), ExactGraphs([shape], [elimination(*shape, most=1 << 22)])
    allowed = [y for y in product(*map(range, shape.widths.tolist())) if all(rule.is_met(y) for rule in rules)]
    best = max((float(scores_of.total(scores, np.append(y, 0.0))[0]) for y in allowed), default=-np.inf)
    if best == -np.inf:
        return True
    output = structure.best(scores)
    found = float(structure.total(scores, output)[0])
    in_rules = all(rule.is_met(output[:-1]) for rule in rules)
    return bool(in_rules and best - 1e-5 * size <= found <= best + 1e-12 * size and found + output[-1] >= best)


def run_drawn(n: int) -> None:
    rng, counts, wrong, worst = np.random.default_rng(0), Counter[str](), Counter[str](), 0.0
    for _ in range(n):
        kind, shape, theta = drawn(rng)
        exact = ExactGraphs([shape], [elimination(*shape, most=1 << 22)])
        size = 1.0 + np.abs(theta[theta > -np.inf]).sum()

        def score(labels: Any) -> float:
            return float(exact.total(scores, np.append(labels, 0.0))[0])  # noqa: B023

        scores = Scores(np.zeros(1, np.int64), np.zeros(1, np.int64), theta, np.empty(0))
        best, how = score(exact.best(scores)[:-1]), "elimination"
        if best == -np.inf:
            continue
        if np.prod(shape.widths) <= 512:
            how = "enumeration"
            best_of_all = max(score(labels) for labels in product(*map(range, shape.widths.tolist())))
            wrong["elimination"] += abs(best - best_of_all) > 1e-12 * size
            wrong["rules"] += rng.random() < 0.2 and not obeys(shape, scores, size, rng)
        if rng.random() < 0.1:
            how += ", HiGHS"
            wrong["HiGHS"] += solve(polytope(*shape), theta, whole=True).bound < best - 1e-12 * size
            relaxed = RelaxedGraphs([shape])
            output = relaxed.best(scores)
            wrong["relaxed"] += relaxed.total(scores, output)[0] + output[-1] < best - 1e-12 * size
        for structure in (Graphs([shape], choices=int(rng.choice([0, 1, 1 << 14]))), SolvedGraphs([shape])):
            output = structure.best(scores)
            found = score(output[:-1])
            wrong["bound below"] += found + output[-1] < best
            wrong["labels above"] += found > best + 1e-12 * size
            if isinstance(structure, SolvedGraphs):
                wrong["solved: not the best"] += found < best - 1e-5 * size
                worst = max(worst, output[-1] / size)
        counts[kind, how] += 1
    for kind, count in sorted(counts.items()):
        print(f"drawn {' against '.join(kind)}: {count}")
    print(f"drawn: {sum(counts.values())} graphs, wrong: {dict(wrong)}; the largest gap of solved ones is {worst:.2g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["snakes", "grids", "drawn"])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("WIDEMARGIN_DATA", "data")))
    parser.add_argument("--n", type=int, default=1000, help="how many graphs to draw")
    parser.add_argument("--C", type=float, nargs="+", default=[0.1])
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if "snakes" in given.what:
        run_snakes(given.data / "snakes" / "snakes.npz", given.C, given.threads)
    if "grids" in given.what:
        run_grids(given.threads)
    if "drawn" in given.what:
        run_drawn(given.n)


if __name__ == "__main__":
    main()
