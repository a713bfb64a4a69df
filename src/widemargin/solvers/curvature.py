"""The memory of L-BFGS: pairs s = w' − w, y = ∇P(w') − ∇P(w), and −H ∇P as a combination of them (Chen et al. 2014).

The two-loop recursion of Nocedal & Wright (2006, Algorithm 7.4) only ever adds multiples of the pairs and of ∇P. So it
runs on coefficients, with products looked up in a table, and reads no vector at all. Pairs are read once to update the
table, and once to sum up the direction. Both are as slow as reading memory, so pairs are kept in single precision. H
then belongs to the rounded pairs: it is as good an estimate, and stays positive definite since the products are those
of the rounded pairs, too.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._threads import run
from widemargin._types import AnyArray, FloatMatrix, FloatVector
from widemargin.core.products import inner

PIECE = 1 << 16  # sums run over pieces of this size, whatever the number of threads
FLATTEST = 1e-8  # the least cosine of the angle between s and y
BLOCK = 1 << 10  # this much of a piece stays in the cache while it is multiplied with all pairs


@dataclass(slots=True)
class Pairs:
    """Pair number k is in the rows (k modulo the memory) of `s` and `y`; `n` counts the pairs since the start.

    `products` holds the products of all rows of `s`, `y` and then ∇P with each other, except ⟨∇P, ∇P⟩.
    """

    s: AnyArray
    y: AnyArray
    products: FloatMatrix
    n: int = 0


def no_pairs(memory: int, n_weights: int) -> Pairs:
    """Room for `memory` pairs."""
    s, y = (np.zeros((memory, n_weights), dtype=np.float32) for _ in range(2))
    return Pairs(s, y, np.zeros((2 * memory + 1, 2 * memory + 1)))


@kernel
def _add_products(vector: AnyArray, s: AnyArray, y: AnyArray, gradient: FloatVector, sums: FloatMatrix) -> None:
    """sums += ⟨vector, s⟩, ⟨vector, y⟩, ⟨vector, ∇P⟩."""
    with_s = with_y = with_gradient = 0.0
    for j in range(len(vector)):
        value = np.float64(vector[j])
        with_s += value * np.float64(s[j])
        with_y += value * np.float64(y[j])
        with_gradient += value * gradient[j]
    sums[0] += with_s
    sums[1] += with_y
    sums[2] += with_gradient


@kernel
def _products(s: AnyArray, y: AnyArray, k: int, gradient: FloatVector, begin: int, end: int, out: FloatMatrix) -> None:
    """Add the products of all rows with s[k], y[k] and ∇P to a table per piece."""
    memory = len(s)
    for first in range(begin, end, BLOCK):
        last, sums = min(first + BLOCK, end), out[first // PIECE]
        newest_s, newest_y, part = s[k, first:last], y[k, first:last], gradient[first:last]
        for row in range(memory):
            _add_products(s[row, first:last], newest_s, newest_y, part, sums[row])
            _add_products(y[row, first:last], newest_s, newest_y, part, sums[memory + row])


@kernel
def _combine(
    s: AnyArray, y: AnyArray, gradient: FloatVector, factors: FloatVector, begin: int, end: int, out: FloatVector
) -> None:
    """out = Σ of all rows and of ∇P times their factors, over a range."""
    memory = len(s)
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        part, total = gradient[first:last], out[first:last]
        for j in range(len(total)):
            total[j] = factors[2 * memory] * part[j]
        for k in range(memory):
            of_s, of_y, row_s, row_y = factors[k], factors[memory + k], s[k, first:last], y[k, first:last]
            for j in range(len(total)):
                total[j] += of_s * row_s[j] + of_y * row_y[j]


class Point(NamedTuple):
    """P at `w`, and the gradient there: ∇P, or that of the smooth part of P (`solvers.lbfgs`)."""

    w: FloatVector
    value: float
    gradient: FloatVector


def keep(pairs: Pairs, before: Point, after: Point, gradient: FloatVector, strong: bool, n_threads: int) -> None:
    """Keep the pair of a step; forget all pairs if P did not curve up on the way.

    `gradient` is the one that `direction` will be asked about next; `strong` says that P is 1-strongly convex.
    """
    memory, k, n = len(pairs.s), pairs.n % len(pairs.s), len(after.w)
    # Without a temporary vector: allocating fresh memory takes longer than filling it.
    np.subtract(after.w, before.w, out=pairs.s[k], casting="same_kind")
    np.subtract(after.gradient, before.gradient, out=pairs.y[k], casting="same_kind")
    tables = np.zeros((-(-n // PIECE), 2 * memory, 3))
    run([partial(_products, pairs.s, pairs.y, k, gradient, *each, tables) for each in _ranges(n, n_threads)])
    for row, found in zip((k, memory + k, 2 * memory), tables.sum(axis=0).T, strict=True):
        pairs.products[row, :-1] = pairs.products[:-1, row] = found
    # ⟨s, y⟩ ≥ ‖s‖² where P is 1-strongly convex; if it is clearly less, rounding is to blame or P is not convex there.
    along, square = pairs.products[k, memory + k], pairs.products[k, k]
    least = 0.5 * square if strong else FLATTEST * sqrt(square * pairs.products[memory + k, memory + k])
    pairs.n = pairs.n + 1 if along > least else 0


def direction(pairs: Pairs, gradient: FloatVector, n_threads: int) -> FloatVector:
    """−H ∇P; without pairs −∇P, shortened to length 1 if it is longer."""
    d = np.empty(len(gradient))
    if not pairs.n:
        return np.divide(gradient, -max(sqrt(inner(gradient, gradient)), 1.0), out=d)
    factors = _two_loops(pairs)
    run([partial(_combine, pairs.s, pairs.y, gradient, factors, *each, d) for each in _ranges(len(d), n_threads)])
    return d


def _two_loops(pairs: Pairs) -> FloatVector:
    """The factors of all s, all y and ∇P in −H ∇P."""
    memory, products = len(pairs.s), pairs.products
    kept = [k % memory for k in range(max(0, pairs.n - memory), pairs.n)]
    d, alpha = np.zeros(2 * memory + 1), np.zeros(memory)
    d[-1] = -1.0
    for k in reversed(kept):
        alpha[k] = inner(products[k], d) / products[k, memory + k]
        d[memory + k] -= alpha[k]
    newest = kept[-1]
    d *= products[newest, memory + newest] / products[memory + newest, memory + newest]
    for k in kept:
        beta = inner(products[memory + k], d) / products[k, memory + k]
        d[k] += alpha[k] - beta
    return d


def _ranges(n: int, n_threads: int) -> list[tuple[int, int]]:
    """0 … n − 1 in ranges of whole pieces, one for each thread."""
    n_pieces = -(-n // PIECE)
    ends = [min(n_pieces * each // n_threads * PIECE, n) for each in range(n_threads + 1)]
    return [(begin, end) for begin, end in pairwise(ends) if begin < end]
