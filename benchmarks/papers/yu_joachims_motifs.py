"""Table 1 of Yu & Joachims (2009), motifs: sequences, methods and folds.

Sequences are cut into ten folds. On each, C is chosen by training on eight folds and looking at the ninth; then the
nine are learnt together, and the tenth is looked at once. `rule` begins with the library's rough motif, `random` with
windows at random, as in the paper, once for each seed; its C is that of `rule`. The threshold of the baseline is the
best for the test fold, as in the paper, which is to its advantage; a second row has the threshold that is best for its
training data, as ours must do.

Of the 5,743 background sequences of yeast-ars `N_BACKGROUND` take part, spread evenly, with a weight such that they
count in total as all would with the paper's C/50: all of them take five times as long.
"""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from experiment import SEED, Bench
from yu_joachims_em import ORDER, STARTS, Expectation, markov, motif

from widemargin import MotifFinder
from widemargin.tasks.base import Reading
from widemargin.tasks.motif.files import Site, read_sequences, share_found

CHOICES = (0.1, 1.0)
N_FOLDS, N_BACKGROUND, WEIGHT = 10, 400, 0.02
N_SEEDS = {"yeast": 3, "promoters": 5}
EM, FAIR, FIRST, THIRD, RANDOM = "EM", "EM, fair threshold", "rule, order 1", "rule, order 3", "random, order 3"


class Data(NamedTuple):
    """Sequences, whether they are positive, their known sites, and background sequences."""

    X: list[str]
    y: np.ndarray
    sites: list[Any]
    background: list[str]
    both: bool


def yeast(folder: Path) -> Data:
    parts = [read_sequences(str(folder / f"yeast-ars/{part}.tsv"), Reading()) for part in ("train", "dev", "test")]
    background = list(read_sequences(str(folder / "yeast-ars/background.fa"), Reading()).sequences.texts)
    X = [text for part in parts for text in part.sequences.texts]
    sites = [each for part in parts for each in part.sequences.sites]
    y = np.array([label == "1" for part in parts for label in part.labels])
    return Data(X, y, sites, background, True)


def promoters(folder: Path) -> Data:
    data = read_sequences(str(folder / "dna-promoters/promoters.data"), Reading())
    y = np.array([label == "+" for label in data.labels])
    texts = [text.upper() for text in data.sequences.texts]
    return Data(texts, y, [[] for _ in texts], [], False)


SETS = {"yeast": yeast, "promoters": promoters}


def folds_of(y: np.ndarray, n: int) -> np.ndarray:
    """A fold for every example, with the same share of both classes in each."""
    fold, rng = np.empty(len(y), dtype=np.int64), np.random.default_rng(SEED)
    for members in (np.flatnonzero(y), np.flatnonzero(~y)):
        fold[rng.permutation(members)] = np.arange(len(members)) % n
    return fold


def background_of(data: Data) -> tuple[list[str], int]:
    """The background sequences that take part, and how many each stands for."""
    step = max(1, len(data.background) // N_BACKGROUND)
    return data.background[::step], step


def learnt(data: Data, train: np.ndarray, test: np.ndarray, **options: Any) -> dict[str, Any]:
    """A finder's training run, and what came of it on its test fold."""
    background, step = background_of(data)
    finder = MotifFinder(
        strands="both" if data.both else "one", background_weight=WEIGHT * step, n_jobs=1, max_epochs=300, **options
    )
    begin = perf_counter()
    finder.fit([data.X[i] for i in train], data.y[train], background=background or None)
    solution = finder.solution_
    about = {"C": options["C"], "rounds": len(solution.rounds), "objective": solution.primal}
    seconds = perf_counter() - begin
    sites = finder.locate([data.X[i] for i in test], everywhere=True)
    return {**judged(data, test, sites, 0.0), **about, "seconds": seconds}


def judged(data: Data, test: np.ndarray, sites: Sequence[Site], threshold: float) -> dict[str, Any]:
    """Which sequences are wrong, as digits, and the share of known sites that are found."""
    wrong = (np.array([site.score for site in sites]) > threshold) != data.y[test]
    found = share_found(sites, [data.sites[i] for i in test])[0] if any(data.sites) else None
    return {"wrong": "".join(map(str, wrong.astype(int))), "found": found}


def em(
    data: Data, train: np.ndarray, test: np.ndarray, length: int, seed: int, starts: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The motif of the positive training sequences, with the best threshold for the test fold, and for training."""
    begin = perf_counter()
    background = markov(background_of(data)[0] or [data.X[i] for i in train], ORDER)

    def windows(chosen: Sequence[int]) -> Expectation:
        return Expectation([data.X[i] for i in chosen], length, data.both, background, ORDER)

    matrix = motif(windows([i for i in train if data.y[i]]), seed, starts)
    seconds = perf_counter() - begin
    sites = {"test": windows(test).sites(matrix), "train": windows(train).sites(matrix)}
    best, fair = best_threshold(sites["test"], data.y[test]), best_threshold(sites["train"], data.y[train])
    first, second = (judged(data, test, sites["test"], each) for each in (best, fair))
    return {**first, "seconds": seconds}, {**second, "seconds": seconds}


def best_threshold(sites: Sequence[Site], right: np.ndarray) -> float:
    """The threshold with the fewest errors."""
    scores = np.array([site.score for site in sites])
    candidates = np.concatenate([[-np.inf], np.sort(scores)])
    return float(min(candidates, key=lambda t: np.count_nonzero((scores > t) != right)))


def chosen(data: Data, fold: np.ndarray, k: int, choices: Sequence[float], **options: Any) -> float:
    """The C with the fewest errors on the fold after the test fold."""
    inner = (k + 1) % (fold.max() + 1)
    train, dev = np.flatnonzero((fold != k) & (fold != inner)), np.flatnonzero(fold == inner)
    errors = {C: learnt(data, train, dev, C=C, **options)["wrong"].count("1") for C in choices}
    return min(choices, key=errors.__getitem__)


def motifs(name: str, length: int, bench: Bench) -> dict[str, Any]:
    """All methods on all folds of a set."""
    data = SETS[name](bench.data)
    if bench.quick:
        few = slice(None, None, 1 + len(data.X) // 150)
        data = Data(data.X[few], data.y[few], data.sites[few], data.background[::50], data.both)
    choices, starts = bench.size(CHOICES, CHOICES[1:2]), bench.size(STARTS, 10)
    fold, runs = folds_of(data.y, N_FOLDS), {method: [] for method in (EM, FAIR, FIRST, THIRD)}
    seeds: list[list[Any]] = [[] for _ in range(bench.size(N_SEEDS[name], 1))]
    for k in range(bench.size(N_FOLDS, 2)):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        for method, found in zip((EM, FAIR), em(data, train, test, length, k, starts), strict=True):
            runs[method].append(found)
        for method, order in ((FIRST, 1), (THIRD, 3)):
            options: dict[str, Any] = {"length": length, "order": order}
            options["C"] = chosen(data, fold, k, choices, **options)
            runs[method].append(learnt(data, train, test, **options))
        for seed, of in enumerate(seeds):
            of.append(learnt(data, train, test, init="random", random_state=seed, **options))
        errors = ", ".join(f"{method} {of[-1]['wrong'].count('1')}" for method, of in runs.items())
        bench.tell(f"fold {k + 1}, errors of {len(test)}: {errors}")
    return {"runs": runs, "seeds": seeds}
