"""Small data: the default tagger against python-crfsuite, and `auto` against every single solver.

    python benchmarks/small.py [--parts peer solvers] [--sets …] [--losses …] [--runs 5] [--seconds 60] [--quick]

`peer` trains on 20, 150 and 500 generated addresses with default settings, in one warm process; the peer builds its
feature strings in Python and runs `lbfgs` with its defaults. `solvers` takes the time to a proven gap of 1 % and of
0.1 %, on one thread, of every solver that minimises the same objective. Runs alternate; the figures are medians.
Clocks run on training alone, certificates included and compiling not. `--quick` takes the smallest sets, once.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import peer

from solvers import data_folder, letters
from widemargin import SequenceTagger
from widemargin.core.loop import Stop, fit
from widemargin.core.problem import Problem
from widemargin.core.solution import Solution
from widemargin.data.generators import addresses, matchings
from widemargin.files.formats import read
from widemargin.solvers import SOLVERS
from widemargin.structures.custom import CustomExamples
from widemargin.tasks.classify import ClassifierParameters
from widemargin.tasks.classify.compile import compile_classes
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import compile_tags
from widemargin.tasks.training import Data

ADDRESSES = (20, 150, 500)
GAPS = (0.01, 0.001)
C = 0.1
REACH = 1.1
WARM_EPOCHS = 12
SHARED = ("auto", "sdm", "ocp", "n-slack", "one-slack", "interior", "bundle")
RIVALS = {"squared_hinge": (*SHARED, "dcd", "dcd-light", "cpd"), "hinge": (*SHARED, "bcfw")}


class Matching:
    """Perfect matchings, in plain Python: a slow oracle."""

    def features(self, x: Any, y: Sequence[int]) -> tuple[Any, Any]:
        """The sum over the edges of the matching."""
        return np.arange(x.shape[2]), x[np.arange(len(y)), list(y)].sum(axis=0)

    def error(self, y: Sequence[int], y_hat: Sequence[int]) -> float:
        """The number of wrong partners."""
        return float(sum(one != other for one, other in zip(y, y_hat, strict=True)))

    def decode(self, x: Any, w: Any, y: Sequence[int] | None = None) -> tuple[int, ...]:
        """The best matching."""
        from scipy.optimize import linear_sum_assignment

        scores = x @ w
        if y is not None:
            scores = scores + 1.0
            scores[np.arange(len(y)), list(y)] -= 1.0
        return tuple(linear_sum_assignment(scores, maximize=True)[1].tolist())


def chains(X: Any, y: Any) -> Any:
    return compile_tags(TaggerParameters(), Data(X, y)).examples


def classes(X: Any, y: Any) -> Any:
    return compile_classes(ClassifierParameters(), Data(X, y)).examples


def entities() -> Any:
    columns = read(data_folder() / "wnut17" / "train.conll").columns
    return chains(columns.only(columns.names[0]), columns[columns.names[-1]])


def digits() -> Any:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return classes(X / 16.0, y)


def dense() -> Any:
    from sklearn.datasets import make_classification

    return classes(
        *make_classification(
            20_000, 50, n_informative=20, n_classes=5, class_sep=0.8, flip_y=0.05, shuffle=True, random_state=0
        )
    )


def text(n: int = 5_000, n_words: int = 30_000, n_topics: int = 10) -> Any:
    """Documents of 20 to 120 words, Zipf-distributed; one word in twelve belongs to the topic."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    topics = rng.integers(n_topics, size=n)
    frequency = 1.0 / np.arange(1, n_words + 1)
    frequency /= frequency.sum()
    own = rng.integers(n_words, size=(n_topics, 200))
    indptr, indices, values = [0], [], []
    for topic in topics:
        words = rng.choice(n_words, rng.integers(20, 120), p=frequency)
        special = rng.random(len(words)) < 1 / 12
        words[special] = rng.choice(own[topic], special.sum())
        distinct, counts = np.unique(words, return_counts=True)
        weights = np.log1p(counts)
        indptr.append(indptr[-1] + len(distinct))
        indices.append(distinct)
        values.append(weights / np.linalg.norm(weights))
    shape = (n, n_words)
    return classes(csr_array((np.concatenate(values), np.concatenate(indices), indptr), shape=shape), topics)


SETS: dict[str, Callable[[], Any]] = {
    "addresses-100": lambda: chains(*addresses(100)),
    "addresses-500": lambda: chains(*addresses(500)),
    "addresses-5000": lambda: chains(*addresses(5_000)),
    "letters": lambda: chains(*letters()),
    "wnut17": entities,
    "digits": digits,
    "dense-20000": dense,
    "text-5000": text,
    "matchings-300": lambda: CustomExamples(Matching(), *matchings(300), n_weights=12),
}
SMALLEST = ("addresses-100", "digits")


def train_theirs(X: Sequence[Sequence[str]], y: Sequence[Sequence[str]], path: Path) -> None:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(list(peer.features(tokens)), labels)
    trainer.train(str(path))


def clocked(run: Callable[[], Any]) -> float:
    begin = perf_counter()
    run()
    return perf_counter() - begin


def against_peer(sizes: Iterable[int], runs: int) -> None:
    """Seconds from tokens to a model."""
    print("| addresses | ours, s | oracle calls | theirs, s | ours ÷ theirs | reach |")
    print("| --- | --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        for n in sizes:
            X, y = addresses(n)
            calls = SequenceTagger().fit(X, y).solution_.oracle_calls  # and warms up
            ours, theirs = [], []
            for _ in range(runs):
                ours.append(clocked(lambda: SequenceTagger().fit(X, y)))  # noqa: B023 — called at once
                theirs.append(clocked(lambda: train_theirs(X, y, Path(folder) / "model")))  # noqa: B023
            ratio = median(ours) / median(theirs)
            print(f"| {n} | {median(ours):.4f} | {calls} | {median(theirs):.4f} | {ratio:.2f} | ≤ 1 |", flush=True)


def race(examples: Any, name: str, loss: Any, stop: Stop) -> Solution:
    return fit(Problem(examples, C=C, loss=loss), SOLVERS[name], stop=stop)


def against_solvers(names: Iterable[str], losses: Iterable[str], runs: int, seconds: float) -> None:
    """Seconds and oracle calls to a proven gap."""
    print("| set | loss | gap | auto, s | calls | best other, s | calls | which | auto ÷ best | reach |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        examples = SETS[name]()
        for loss in losses:
            for rival in RIVALS[loss]:
                race(examples, rival, loss, Stop(epochs=WARM_EPOCHS, gap=GAPS[0], seconds=seconds))
            for gap in GAPS:
                _report(name, loss, gap, _times(examples, loss, Stop(epochs=None, gap=gap, seconds=seconds), runs))


def _times(examples: Any, loss: str, stop: Stop, runs: int) -> dict[str, tuple[float, int]]:
    """The median seconds and the oracle calls of every solver that gets there; auto's in any case.

    A solver that has taken three times as long as the fastest is not asked again.
    """
    taken: dict[str, list[float]] = {}
    calls: dict[str, int] = {}
    for _ in range(runs):
        fastest = min((min(each) for each in taken.values()), default=np.inf)
        for name in RIVALS[loss]:
            if name in taken and min(taken[name]) > 3.0 * fastest:
                continue
            solution = race(examples, name, loss, stop)
            reached = solution.certified and solution.gap is not None and solution.gap <= (stop.gap or 0.0)
            taken.setdefault(name, []).append(solution.seconds if reached else np.inf)
            calls[name] = solution.oracle_calls
    return {name: (median(each), calls[name]) for name, each in taken.items()}


def _report(name: str, loss: str, gap: float, times: dict[str, tuple[float, int]]) -> None:
    auto = times.pop("auto")
    best = min(times, key=lambda rival: times[rival][0])
    ratio = auto[0] / times[best][0] if np.isfinite(auto[0]) else np.inf
    print(
        f"| {name} | {loss} | {gap:.1%} | {auto[0]:.4f} | {auto[1]} | {times[best][0]:.4f} | {times[best][1]} | {best} "
        f"| {ratio:.2f} | ≤ {REACH} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["peer", "solvers"], choices=["peer", "solvers"])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--losses", nargs="+", default=["squared_hinge"], choices=list(RIVALS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="a solver that takes longer has not got there")
    parser.add_argument("--quick", action="store_true", help="the smallest sets, one run")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores")
    quick = options.quick
    if "peer" in options.parts:
        against_peer(ADDRESSES[:1] if quick else ADDRESSES, 1 if quick else options.runs)
    if "solvers" in options.parts:
        runs, seconds = (1, 5.0) if quick else (options.runs, options.seconds)
        against_solvers(SMALLEST if quick else options.sets, options.losses, runs, seconds)


if __name__ == "__main__":
    main()
