"""Table 3 of Yu & Joachims (2009) on another set: precision@k of latent top-k rankings against the Ranking SVM.

Not their OHSUMED, but the ranking set of LightGBM: 201 training and 50 test queries, about 15 documents each, 300
sparse features, grades 0 to 4. What is decided beforehand, looking at training data only:

- relevant is grade 2 and above, 38 % of the documents (from grade 1 on it would be 79 %, and all in 57 queries);
- every method has the same queries, folds and grid of C, and the C (for LightGBM: trees) with the best cross-validated
  P@k is taken, for every k by itself; methods that have a k are trained for that k;
- the loss is the hinge, as in the paper; queries without relevant documents are left out of scores;
- test queries are ranked once, after all choices.

p is from a paired sign-flip test over queries against the Ranking SVM.

    python benchmarks/latent_rank.py --data DIR [--quick]
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widemargin import Ranker
from widemargin.core.sparse import Rows, boundaries, compressed, expanded
from widemargin.tasks.base import Reading
from widemargin.tasks.rank.files import RankFiles
from widemargin.tasks.rank.positions import PositionExamples
from widemargin.tasks.rank.regression import regression_weights
from widemargin.tasks.rank.scores import Rankings, mean

KS, RELEVANT_FROM, BASELINE = (1, 3, 5, 10), 2, "Ranking SVM"
GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
N_REPEATS = 2
TREES = tuple({"n_estimators": n, "learning_rate": rate, "num_leaves": 7} for n in (30, 100) for rate in (0.03, 0.1))
PAPER = {
    "Ranking SVM": (0.597, 0.543, 0.532, 0.486),
    "ListNet": (0.652, 0.602, 0.550, 0.498),
    "latent precision@k": (0.680, 0.573, 0.567, 0.494),
    "initial weights": (0.626, 0.557, 0.524, 0.464),
}

Queries = tuple[list[Any], list[Any]]
Fit = Callable[[Queries, int, Any], Callable[[list[Any]], np.ndarray]]


def queries_of(path: Path) -> Queries:
    """The documents and grades of each query."""
    corpus = RankFiles().read(str(path), Reading(), {"width": 301}, gold=True)
    ends = corpus.X.indptr[1:-1]
    return np.split(expanded(corpus.X.matrix.rows, corpus.X.matrix.width), ends), np.split(corpus.y, ends)


def chosen(queries: Queries, numbers: Any) -> Queries:
    X, y = queries
    return [X[i] for i in numbers], [y[i] for i in numbers]


def precisions(predict: Callable[[list[Any]], np.ndarray], queries: Queries, k: int) -> np.ndarray:
    X, y = queries
    grades = np.concatenate(y).astype(np.int32)
    return Rankings(predict(X), grades, boundaries(map(len, y)), RELEVANT_FROM).precision(k)


def ranker(measure: str, **more: Any) -> Fit:
    def fit(queries: Queries, k: int, C: float) -> Callable[[list[Any]], np.ndarray]:
        given = {"measure": measure, "k": k, "C": C, "loss": "hinge", "relevant_from": RELEVANT_FROM, "tol": 0.01}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # k = 10 leaves few queries, and small C small weights
            trained = Ranker(**given, n_jobs=1, **more).fit(*queries)
        return lambda X: np.concatenate(trained.predict(X))

    return fit


def initial(queries: Queries, k: int, _: Any) -> Callable[[list[Any]], np.ndarray]:
    """The weights that the latent rankings begin with, by themselves."""
    X, y = np.concatenate(queries[0]), np.concatenate(queries[1])
    ends = boundaries(map(len, queries[1]))
    w = regression_weights(compressed(X), X.shape[1], ends, (y >= RELEVANT_FROM).astype(float))
    return lambda documents: np.concatenate(documents) @ w


def lambdarank(queries: Queries, k: int, given: Any) -> Callable[[list[Any]], np.ndarray]:
    import lightgbm

    model = lightgbm.LGBMRanker(**given, lambdarank_truncation_level=k + 5, n_jobs=1, verbose=-1, random_state=0)
    model.fit(np.concatenate(queries[0]), np.concatenate(queries[1]), group=list(map(len, queries[1])))
    return lambda X: np.asarray(model.predict(np.concatenate(X)))


class Method(NamedTuple):
    """How to train, the settings to choose from, and whether k is one more."""

    name: str
    fit: Fit
    grid: tuple[Any, ...]
    for_k: bool


def methods() -> Iterator[Method]:
    yield Method(BASELINE, ranker("pairs"), GRID, False)
    yield Method("latent precision@k", ranker("precision"), GRID, True)
    yield Method("initial weights", initial, (None,), False)
    yield Method("latent NDCG@k", ranker("ndcg"), GRID, True)
    yield Method("average precision", ranker("map"), GRID, False)
    try:
        import lightgbm  # noqa: F401 — only whether it is there
    except ImportError:
        print("LightGBM is not installed, so lambdarank is left out")
        return
    yield Method("LightGBM lambdarank", lambdarank, TREES, True)


def cross_validated(fit: Fit, queries: Queries, ks: Sequence[int], given: Any, n_repeats: int) -> dict[int, float]:
    """P@k for some k, the first of which is trained for: the mean over repeats of a 5-fold cross-validation."""
    scores: dict[int, list[Any]] = {k: [] for k in ks}
    for seed in range(n_repeats):
        order = np.random.default_rng(seed).permutation(len(queries[0]))
        for fold in range(5):
            held = np.sort(order[fold::5])
            predict = fit(chosen(queries, np.setdiff1d(order, held)), ks[0], given)
            for k in ks:
                scores[k].append(precisions(predict, chosen(queries, held), k))
    return {k: mean(np.concatenate(each)) for k, each in scores.items()}


def p_value(one: np.ndarray, other: np.ndarray) -> float:
    """Two-sided, by flipping the signs of the differences at random."""
    difference = (one - other)[~np.isnan(one)]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(20_000, len(difference)))
    return float(np.mean(np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12))


def table3(data: Path, *, quick: bool) -> list[dict[str, Any]]:
    train, rows = queries_of(data / "train.svmlight"), []
    if quick:
        train = chosen(train, range(60))
    picked: dict[tuple[str, int], tuple[Fit, Any, float]] = {}
    for name, fit, grid, for_k in methods():
        for ks in [(k,) for k in KS] if for_k else [KS]:
            values = [cross_validated(fit, train, ks, given, 1 if quick else N_REPEATS) for given in grid]
            for k in ks:
                best = int(np.argmax([value[k] for value in values]))
                picked[name, k] = fit, grid[best], values[best][k]
                print(f"  {name:<20} P@{k:<2} {values[best][k]:.3f} by cross-validation, {grid[best]}", flush=True)
    test, found = queries_of(data / "test.svmlight"), {}
    for (name, k), (fit, given, value) in picked.items():
        found[name, k] = precisions(fit(train, k, given), test, k)
        p = p_value(found[name, k], found[BASELINE, k])
        rows.append(
            {"table": "P@k", "method": name, "k": k, "chosen": str(given), "cross-validated": value}
            | {"test": mean(found[name, k]), "p against Ranking SVM": p}
        )
    print(f"\n{'P@k on the test queries':<24}" + "".join(f"{f'P@{k}':>18}" for k in KS))
    for name in dict.fromkeys(name for name, _ in picked):
        cells = {row["k"]: row for row in rows if row["method"] == name}
        each = (f"{cells[k]['test']:.3f} (p {cells[k]['p against Ranking SVM']:.2f})" for k in KS)
        print(f"{name:<24}" + "".join(f"{cell:>18}" for cell in each))
    for name, values in PAPER.items():
        print(f"{f'paper: {name}':<24}" + "".join(f"{value:>18.3f}" for value in values))
    return rows


def rounds(data: Path, *, quick: bool) -> list[dict[str, Any]]:
    """The rounds of CCCP against C (Figure 3), from the rule's beginning and from random ones."""
    train, rows = queries_of(data / "train.svmlight"), []
    given: Any = {"measure": "precision", "k": 5, "loss": "hinge", "relevant_from": RELEVANT_FROM, "n_jobs": 1}
    print(f"\n{'begin':<8}{'C':>8}{'rounds':>8}{'calls':>8}{'objective':>12}{'at zero':>12}{'P@5 train':>11}")
    for init in ("rule", "random"):
        for C in GRID[::2] if quick else GRID:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trained = Ranker(**given, C=C, init=init).fit(*train)
            zero = C * _loss_at_zero(train)
            score, n = trained.score(*train), len(trained.solution_.rounds)
            calls, objective = trained.solution_.oracle_calls, trained.solution_.primal
            rows.append({"table": "rounds", "init": init, "C": C, "rounds": n, "calls": calls, "objective": objective})
            print(f"{init:<8}{C:>8g}{n:>8}{calls:>8}{objective:>12.5g}{zero:>12.5g}{score:>11.3f}", flush=True)
    return rows


def _loss_at_zero(queries: Queries) -> float:
    """Σ max Δ over queries: the slacks of w = 0."""
    total = 0.0
    for grades in queries[1]:
        relevant, n = int((grades >= RELEVANT_FROM).sum()), len(grades)
        if n > 5 and 0 < relevant < n:
            total += (min(5, relevant) - max(0, 5 - (n - relevant))) / 5
    return total


def oracles(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds of a loss-augmented top-k decode of one query, with its scores and without."""
    rng, rows = np.random.default_rng(0), []
    print(f"\n{'documents':>10}{'features':>10}{'k':>8}{'ms':>8}{'without scores':>16}")
    for n, width in ((100_000, 46),) if quick else ((100_000, 10), (100_000, 46), (1_000_000, 10)):
        values, grades = rng.normal(size=(n, width)), rng.integers(0, 5, n).astype(np.int32)
        features = Rows(np.arange(n + 1) * width, np.tile(np.arange(width, dtype=np.int32), n), values.ravel())
        w, batch = rng.normal(size=width), np.zeros(1, dtype=np.int32)
        for k in (10, 1000):
            examples = PositionExamples(features, width, boundaries([n]), grades, k=k)
            whole = _milliseconds(lambda: examples.decode(w, batch, error_scale=1.0))  # noqa: B023
            scores = _milliseconds(lambda: examples.scores(w, batch))  # noqa: B023
            rows.append({"table": "oracle", "documents": n, "features": width, "k": k, "ms": whole})
            print(f"{n:>10,}{width:>10}{k:>8,}{whole:>8.2f}{whole - scores:>16.2f}", flush=True)
    return rows


def _milliseconds(call: Callable[[], Any]) -> float:
    """The fastest of thirty calls, after one that compiles: others may be computing on the same machine."""
    seconds = []
    for _ in range(31):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return 1000 * min(seconds[1:])


def run(data: str | os.PathLike[str], *, quick: bool = False) -> list[dict[str, Any]]:
    """All tables, printed as they grow, as rows."""
    folder = Path(data)
    return [*table3(folder, quick=quick), *rounds(folder, quick=quick), *oracles(quick=quick)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the folder with train.svmlight, test.svmlight and .query files")
    parser.add_argument("--quick", action="store_true", help="a third of the training queries, fewer settings")
    arguments = parser.parse_args()
    run(arguments.data, quick=arguments.quick)
