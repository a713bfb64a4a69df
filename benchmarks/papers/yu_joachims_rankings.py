"""Table 3 of Yu & Joachims (2009), precision@k: latent top-k rankings against the Ranking SVM and others.

Not their OHSUMED, but the ranking set of LightGBM: 201 training and 50 test queries, about 15 documents each, 300
sparse features, grades 0 to 4. What is decided beforehand, looking at training data only:

- relevant is grade 2 and above, 38 % of the documents (from grade 1 on it would be 79 %, and all in 57 queries);
- every method has the same queries, folds and grid of C, and the C (for LightGBM: trees) with the best cross-validated
  P@k is taken, for every k by itself; methods that have a k are trained for that k;
- the loss is the hinge, as in the paper; queries without relevant documents are left out of scores;
- test queries are ranked once, after all choices.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiment import SEED, Bench

from widemargin import Ranker
from widemargin.core.sparse import boundaries, compressed, expanded
from widemargin.tasks.base import Reading
from widemargin.tasks.rank.examples import regression_weights
from widemargin.tasks.rank.files import RankFiles, Rankings, mean

KS, RELEVANT_FROM, N_FOLDS = (1, 3, 5, 10), 2, 5
GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
TREES = tuple({"n_estimators": n, "learning_rate": rate, "num_leaves": 7} for n in (30, 100) for rate in (0.03, 0.1))

Queries = tuple[list[Any], list[Any]]
Scores = Callable[[list[Any]], np.ndarray]
Fit = Callable[[Queries, int, Any], Scores]


def queries_of(path: Path) -> Queries:
    """The documents and grades of each query."""
    corpus = RankFiles().read(str(path), Reading(), {"width": 301}, gold=True)
    ends = corpus.X.indptr[1:-1]
    return np.split(expanded(corpus.X.matrix.rows, corpus.X.matrix.width), ends), np.split(corpus.y, ends)


def chosen(queries: Queries, numbers: Any) -> Queries:
    X, y = queries
    return [X[i] for i in numbers], [y[i] for i in numbers]


def precisions(predict: Scores, queries: Queries, k: int) -> np.ndarray:
    X, y = queries
    grades = np.concatenate(y).astype(np.int32)
    return Rankings(predict(X), grades, boundaries(map(len, y)), RELEVANT_FROM).precision(k)


def ranker(measure: str) -> Fit:
    def fit(queries: Queries, k: int, C: float) -> Scores:
        given: Any = {"measure": measure, "k": k, "C": C, "loss": "hinge", "relevant_from": RELEVANT_FROM, "tol": 0.01}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # k = 10 leaves few queries, and small C small weights
            trained = Ranker(**given, n_jobs=1).fit(*queries)
        return lambda X: np.concatenate(trained.predict(X))

    return fit


def initial(queries: Queries, k: int, _: Any) -> Scores:
    """The weights that the latent rankings begin with, by themselves."""
    X, y = np.concatenate(queries[0]), np.concatenate(queries[1])
    ends = boundaries(map(len, queries[1]))
    w = regression_weights(compressed(X), X.shape[1], ends, (y >= RELEVANT_FROM).astype(float))
    return lambda documents: np.concatenate(documents) @ w


def lambdarank(queries: Queries, k: int, given: Any) -> Scores:
    import lightgbm

    model = lightgbm.LGBMRanker(**given, lambdarank_truncation_level=k + 5, n_jobs=1, verbose=-1, random_state=SEED)
    model.fit(np.concatenate(queries[0]), np.concatenate(queries[1]), group=list(map(len, queries[1])))
    return lambda X: np.asarray(model.predict(np.concatenate(X)))


class Method(NamedTuple):
    """How it is called, how to train, the settings to choose from, and whether k is one more."""

    title: str
    fit: Fit
    grid: tuple[Any, ...]
    for_k: bool


METHODS = {
    "pairs": Method("Ranking SVM", ranker("pairs"), GRID, False),
    "precision": Method("latent precision@k", ranker("precision"), GRID, True),
    "initial": Method("its initial weights", initial, (None,), False),
    "ndcg": Method("latent NDCG@k", ranker("ndcg"), GRID, True),
    "map": Method("average precision", ranker("map"), GRID, False),
    "lambdarank": Method("LightGBM, lambdarank", lambdarank, TREES, True),
}


def cross_validated(fit: Fit, queries: Queries, ks: Sequence[int], given: Any) -> dict[int, float]:
    """P@k for some k, the first of which is trained for, over all folds."""
    scores: dict[int, list[Any]] = {k: [] for k in ks}
    order = np.random.default_rng(SEED).permutation(len(queries[0]))
    for fold in range(N_FOLDS):
        held = np.sort(order[fold::N_FOLDS])
        predict = fit(chosen(queries, np.setdiff1d(order, held)), ks[0], given)
        for k in ks:
            scores[k].append(precisions(predict, chosen(queries, held), k))
    return {k: mean(np.concatenate(each)) for k, each in scores.items()}


def rankings(name: str, bench: Bench) -> dict[str, Any]:
    """For every k the setting chosen, its cross-validated P@k, and P@k of each test query with relevant documents."""
    folder = bench.data / "lightgbm-rank"
    train, test = (queries_of(folder / f"{part}.svmlight") for part in ("train", "test"))
    train = bench.size(train, chosen(train, range(60)))
    _, fit, grid, for_k = METHODS[name]
    grid, found = bench.size(grid, grid[:1]), {}
    for ks in [(k,) for k in KS] if for_k else [KS]:
        values = [cross_validated(fit, train, ks, given) for given in grid]
        for k in ks:
            best = int(np.argmax([value[k] for value in values]))
            tested = precisions(fit(train, k, grid[best]), test, k)
            found[f"P@{k}"] = {
                "setting": str(grid[best]),
                "cross-validated": values[best][k],
                "test": [float(value) for value in tested if not np.isnan(value)],
            }
            bench.tell(f"P@{k} {values[best][k]:.3f} by cross-validation with {grid[best]}")
    return found
