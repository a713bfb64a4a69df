"""How the default solver copes with few dense features, whatever C is: epochs, seconds and the gap that is proven.

    python benchmarks/conditioning.py [--n 60] [--epochs 100]

The data are generated: sequences of 8 positions with 8 normal features and 4 labels, which are random, or those of a
linear rule with a fifth replaced. P(0), the objective of zero weights, is what no run may exceed.
"""

import argparse
import warnings
from itertools import product
from time import perf_counter

import numpy as np

from widemargin import SequenceTagger

C = [10.0**k for k in range(-6, 7)]


def sequences(labels, n, seed=0, length=8, n_features=8, n_labels=4):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(length, n_features)) for _ in range(n)]
    rule = rng.normal(size=(n_features, n_labels))
    noise = 1.0 if labels == "random" else 0.2
    y = [np.where(rng.random(length) < noise, rng.integers(n_labels, size=length), (x @ rule).argmax(1)) for x in X]
    return X, [[str(label) for label in each] for each in y]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60, help="sequences")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--solver", default="auto")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| labels | objective | loss | gap ≤ 1 % | worse than zero | most epochs | seconds, all C |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for labels, objective, loss in product(
        ["noisy", "random"], ["margin", "slack", "positions"], ["squared_hinge", "hinge"]
    ):
        X, y = sequences(labels, options.n)
        # An error costs 1; under `positions` each has a slack of its own.
        worst = 8.0 if objective != "positions" and loss == "squared_hinge" else 1.0
        SequenceTagger(solver=options.solver, objective=objective, loss=loss, max_epochs=5).fit(X, y)  # compiles
        begin, solutions = perf_counter(), []
        for each in C:
            tagger = SequenceTagger(
                solver=options.solver, C=each, objective=objective, loss=loss, max_epochs=options.epochs
            )
            solutions.append(tagger.fit(X, y).solution_)
        seconds = perf_counter() - begin
        proven = sum(solution.certified and solution.gap <= 0.01 for solution in solutions)
        zero = [each * options.n * 8 * worst for each in C]
        worse = sum(solution.primal > (1 + 1e-8) * bound for solution, bound in zip(solutions, zero, strict=True))
        most = max(len(solution.trace) for solution in solutions)
        print(
            f"| {labels} | {objective} | {loss} | {proven} of {len(C)} | {worse} | {most} | {seconds:.2f} |", flush=True
        )


if __name__ == "__main__":
    main()
