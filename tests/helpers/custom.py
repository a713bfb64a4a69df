"""Structures of one's own: a sign, a matching, and a latent one, whose outputs are a sign and the part behind it."""

from itertools import permutations

import numpy as np

from widemargin.structures.custom import LatentCustomExamples


class Sign:
    """The simplest structure of one's own: ŷ ∈ {−1, 1}."""

    def features(self, x, y):
        return {0: y * x}

    def error(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w, y=None):
        return max((-1, 1), key=lambda s: w[0] * s * x + (y is not None and s != y))


class Matching:
    """A structure of one's own: y[i] is the column that row i is matched with; φ sums the features of matched pairs."""

    def features(self, x, y):
        return sum(x[i, j] for i, j in enumerate(y))

    def error(self, y, y_hat):
        return sum(i != j for i, j in zip(y, y_hat, strict=True))

    def decode(self, x, w, y=None):
        from scipy.optimize import linear_sum_assignment

        scores = x @ w
        if y is not None:
            scores = scores + 1.0 - np.eye(len(y))[list(y)]
        return tuple(linear_sum_assignment(scores, maximize=True)[1].tolist())


class MaskedMatching(Matching):
    """The same with a decoder that can be told to be wrong at a position."""

    def decode(self, x, w, y=None, wrong_at=None):
        if wrong_at is None:
            return super().decode(x, w, y)
        x = np.concatenate([x, np.zeros((*x.shape[:2], 1))], axis=2)
        x[wrong_at, y[wrong_at], -1] = -1.0 - 4.0 * np.abs(x[..., :-1] @ w).sum()
        return super().decode(x, np.append(w, 1.0))


class ListedMatching(Matching):
    """The same with all outputs listed."""

    def outputs(self, x):
        return permutations(range(len(x)))


N_PARTS, WIDTH = 3, 4


class Parts:
    """x is a matrix of parts; y is 0, or 1 with the number h of a part; φ(x, 1, h) = x_h, φ(x, 0, h) = a bias."""

    n_weights = WIDTH + 1

    def features(self, x, y, h):
        return (np.arange(WIDTH), x[h]) if y else {WIDTH: 1.0}

    def error(self, y, y_hat, h_hat):
        return float(y != y_hat)

    def pairs(self, y=None):
        return [(0, -1), *((1, h) for h in range(N_PARTS))] if y is None else [p for p in self.pairs() if p[0] == y]

    def score(self, x, w, pair):
        return float(x[pair[1]] @ w[:WIDTH]) if pair[0] else float(w[WIDTH])

    def decode(self, x, w, y=None):
        return max(self.pairs(), key=lambda p: self.score(x, w, p) + (0.0 if y is None else self.error(y, *p)))

    def complete(self, x, y, w):
        return max(self.pairs(y), key=lambda p: self.score(x, w, p))[1]

    def guess(self, x, y, rng):
        return int(rng.integers(N_PARTS)) if y else -1


def parts(seed=0, n=12, structure=None):
    """Latent examples: in positive ones one of the parts leans to one side."""
    rng = np.random.default_rng(seed)
    X = list(rng.normal(size=(n, N_PARTS, WIDTH)))
    y = [k % 2 for k in range(n)]
    for x, sign in zip(X, y, strict=True):
        x[rng.integers(N_PARTS), 0] += 3.0 * sign
    return LatentCustomExamples(structure or Parts(), X, y)


def slacks(problem, w):
    """The slack of every example against its completion, by enumeration; the approximate oracle may find less."""
    structure, examples = problem.examples.latent, problem.examples
    found = []
    for x, gold in zip(examples.X, examples.y, strict=True):
        options = [
            (structure.error(gold[0], *p), structure.score(x, w, p) - structure.score(x, w, gold))
            for p in structure.pairs()
        ]
        scaled = problem.objective.times_error
        found.append(max(0.0, *(error * (1.0 + score) if scaled else error + score for error, score in options)))
    return np.array(found)


def objective(problem, w):
    """(5) by enumeration."""
    structure, total = problem.examples.latent, 0.0
    for i, (x, y) in enumerate(zip(problem.examples.X, problem.examples.golds, strict=True)):
        best = max(structure.score(x, w, p) for p in structure.pairs(y))
        options = [(structure.error(y, *p), structure.score(x, w, p) - best) for p in structure.pairs()]
        if problem.objective.times_error:
            slack = max(0.0, *(error * (1.0 + score) for error, score in options))
        else:
            slack = max(error + score for error, score in options)
        total += problem.c[i] * (slack if problem.loss == "hinge" else slack**2)
    return 0.5 * w @ w + problem.C * total
