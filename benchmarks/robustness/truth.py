"""What is true of a small problem, from all its outputs: P(w) at any w, and a w that is as good as other solvers find.

Nothing here asks the library's oracles, sums or solvers. P is computed with the mantissa of a long double; a fault is
confirmed with fractions, where P has no rounding at all (`Truth.exactly`), except for smooth objectives.
"""

import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from helpers import programme, quadratic_programme, weights_in
from widemargin.core.problem import Problem

Blocks = Sequence[tuple[Any, Any]]

LONG = np.longdouble
ROUNDING = 1e-13  # of scores, relative to the sum of the sizes of what they are sums of
ITERATIONS = 200


class Truth:
    """P of a problem whose `blocks` list all cuts: for each block its b, and its a as rows."""

    def __init__(self, problem: Problem, blocks: Blocks) -> None:
        self.problem, self.smooth = problem, problem.objective.kind == "smooth"
        counts = problem.c > 0
        self.blocks = [block for block, matters in zip(blocks, counts, strict=True) if matters]
        self.c = problem.c[counts]
        self.a = np.vstack([np.empty((0, problem.n_weights)), *(a for _, a in self.blocks)])
        self.b = np.concatenate([np.empty(0), *(b for b, _ in self.blocks)])
        self.first = np.cumsum([0, *(len(b) for b, _ in self.blocks)], dtype=np.int64)[:-1]
        self.scale = getattr(problem.objective, "error_scale", 1.0) if self.smooth else 1.0

    def primal(self, w: Any, kind: Any = LONG) -> Any:
        """P(w), in numbers of this kind."""
        w = w.astype(kind)
        slacks = self.slacks(self.scale * self.b.astype(kind) - self.a.astype(kind) @ w)
        losses = slacks if self.problem.loss == "hinge" else slacks**2
        return self.penalty(w) + kind(self.problem.C) * (self.c.astype(kind) @ losses)

    def slacks(self, values: Any) -> Any:
        """The slack of each block, given b − ⟨w, a⟩ of all cuts."""
        if not len(self.first):
            return values[:0]
        most = np.maximum.reduceat(values, self.first)
        if not self.smooth:
            return np.maximum(most, 0)
        sizes = np.diff([*self.first, len(values)])
        return most + np.log(np.add.reduceat(np.exp(values - np.repeat(most, sizes)), self.first))

    def penalty(self, w: Any) -> Any:
        """r(w)."""
        square, size = (w @ w) / 2, np.abs(w).sum()
        return {"l2": square, "l1": size, "elastic-net": square + self.problem.l1 * size, "none": 0 * square}[
            self.problem.penalty
        ]

    def exactly(self, w: Any) -> Fraction | None:
        """P(w) without rounding; None for smooth objectives."""
        if self.smooth:
            return None
        exact = [Fraction(each) for each in w.tolist()]
        total = sum((each * each for each in exact), Fraction(0)) / 2
        if self.problem.penalty == "l1":
            total = sum(map(abs, exact), Fraction(0))
        for (b, a), c in zip(self.blocks, self.c.tolist(), strict=True):
            slack = Fraction(0)
            for error, row in zip(b.tolist(), a, strict=True):
                score = sum((Fraction(float(row[j])) * exact[j] for j in np.flatnonzero(row)), Fraction(0))
                slack = max(slack, Fraction(error) - score)
            total += Fraction(self.problem.C) * Fraction(c) * (slack if self.problem.loss == "hinge" else slack**2)
        return total

    def rounding(self, w: Any) -> float:
        """How far P(w) may be off if scores are sums of rounded numbers."""
        if not len(self.first):
            return 0.0
        sizes = np.maximum.reduceat(np.abs(self.b) + np.abs(self.a) @ np.abs(w), self.first)
        slacks = self.slacks(self.scale * self.b - self.a @ w)
        off = ROUNDING * sizes
        if self.problem.loss == "squared_hinge":
            off = 2.0 * slacks * off + off**2
        return float(self.problem.C * (self.c @ off))

    def best(self, known: Iterable[Any]) -> tuple[Any, Any]:
        """The least P that can be found from the `known` weights and by other solvers, and where it is."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = [np.zeros(self.problem.n_weights), *known]
            points += self._by_gradients(self._least(points)) if self.smooth else self._by_interior_points()
            points = [point for point in points if np.isfinite(point).all()]
            best = self._least(points)
            for other in points:
                if other is not best:
                    best = self._between(best, other)
            return self.primal(best), best

    def _least(self, points: Sequence[Any]) -> Any:
        values = [self.primal(point) for point in points]
        return points[int(np.nanargmin(values))]

    def _between(self, best: Any, other: Any) -> Any:
        """The best point on the line from `best` to `other`, and as far beyond it."""
        found = minimize_scalar(
            lambda t: float(self.primal(best + t * (other - best), np.float64)), bounds=(-1.0, 2.0), method="bounded"
        )
        new = best + found.x * (other - best)
        return new if self.primal(new) < self.primal(best) else best

    def _by_interior_points(self) -> list[Any]:
        """Clarabel's solutions, with weights in several units, and rows scaled to a largest entry of 1."""
        if not len(self.first):
            return []
        quadratic, linear, constraints, bounds = programme(self.problem, self._all_blocks())
        largest = np.abs(constraints[:, : len(linear) - len(self.blocks)]).max(axis=0)
        top = largest.max(initial=0.0) or 1.0
        points = []
        for unit in (np.ones(len(largest)), np.full(len(largest), 1.0 / top), 1.0 / np.maximum(largest, 1e-6 * top)):
            size = np.append(unit, np.ones(len(self.blocks)))
            rows = constraints * size
            by_row = np.maximum(np.abs(rows).max(axis=1), 1e-300)
            whole = max(np.abs(linear * size).max(), np.abs(quadratic * size**2).max())
            _, x = quadratic_programme(
                quadratic * size**2 / whole,
                linear * size / whole,
                rows / by_row[:, None],
                bounds / by_row,
                strict=False,
            )
            points.append(weights_in(self.problem, x * size))
        return points

    def _all_blocks(self) -> Blocks:
        """A block for each slack, those without weight empty."""
        left = iter(self.blocks)
        nothing = np.empty(0), np.empty((0, self.problem.n_weights))
        return [next(left) if c > 0 else nothing for c in self.problem.c.tolist()]

    def _by_gradients(self, start: Any) -> list[Any]:
        """L-BFGS with w = p − q, p, q ≥ 0, in units in which the features of a column are at most 1."""
        n, largest = self.problem.n_weights, np.abs(self.a).max(axis=0, initial=0.0)
        unit = 1.0 / np.where(largest > 0, largest, 1.0)
        square = float(self.problem.penalty in ("l2", "elastic-net"))
        kink = {"l1": 1.0, "elastic-net": self.problem.l1}.get(self.problem.penalty, 0.0)

        def both(pq: Any) -> tuple[float, Any]:
            w = unit * (pq[:n] - pq[n:])
            values = self.scale * self.b - self.a @ w
            slacks = self.slacks(values)
            sizes = np.diff([*self.first, len(values)])
            share = np.exp(values - np.repeat(slacks, sizes)) * np.repeat(self.problem.C * self.c, sizes)
            slope = unit * (square * w - share @ self.a)
            value = square * 0.5 * w @ w + kink * (unit @ (pq[:n] + pq[n:])) + self.problem.C * (self.c @ slacks)
            return value, np.concatenate([slope + kink * unit, kink * unit - slope])

        if not len(self.first):
            return []
        points = []
        for w in (np.zeros(n), start):
            begin = np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0)]) / np.tile(unit, 2)
            options = {"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS, "ftol": 1e-15, "gtol": 1e-12}
            found = minimize(both, begin, jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * n), options=options)
            points.append(unit * (found.x[:n] - found.x[n:]))
        return points
