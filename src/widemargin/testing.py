"""Checks for structures and solvers, the library's own and yours: plain functions that raise `AssertionError`.

A structure is right when its outputs maximise ⟨w, φ⟩ + scale · Δ and its cuts bound the slack everywhere,

    Δ_i(ŷ) − ⟨w′, ψ_i(ŷ)⟩ ≤ ξ_i(w′)   for every ŷ that was decoded at any w,

which `check_structure` verifies through `Examples` alone; where they offer `KBest` or `Marginals`, those too. A dual
solver is right when its dual never falls, never exceeds the primal, and meets it; `check_solver` trains through `fit`
and looks on.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, cast

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.cut_store import CutStore
from widemargin.loop import Callback, Stop, fit
from widemargin.problem import Meter, Problem
from widemargin.solution import Epoch, Solution
from widemargin.solvers.base import Solver
from widemargin.solvers.dual import DualState
from widemargin.structures.base import Differences, Examples, KBest, Marginals, Outputs

ROUNDING = 1e-9

Row = tuple[float, IntVector, FloatVector]
"""One output's difference from gold: Δ, and the indices and values of ψ."""


def check_structure(
    examples: Examples,
    *,
    enumerate_outputs: Callable[[int], Iterable[Outputs]] | None = None,
    gold: Outputs | None = None,
    error_scales: Sequence[float] = (0.0, 1.0),
    n_draws: int = 12,
    max_examples: int = 25,
    seed: int = 0,
) -> None:
    """Raise `AssertionError` unless `examples` keep the promises of `Examples`.

    Parameters
    ----------
    examples : what to check; where they are not `exact`, decoding need not find the maximum
    enumerate_outputs : all outputs of example i, each as the outputs of a batch of one; decoding, and the expectation
        where there is one, are then compared with brute force. Only for small examples.
    gold : the gold outputs of all examples as one batch
    error_scales : which loss-augmented decoders to try
    n_draws : how many weight vectors to draw; many are small integers, so that outputs tie
    max_examples : how many examples to look at, drawn at random
    seed : of everything random
    """
    rng = np.random.default_rng(seed)
    everything = np.arange(examples.n_examples, dtype=np.int32)
    _check_description(examples)
    if gold is not None:
        for i, (error, indices, _) in zip(everything, _rows(examples, everything, gold), strict=True):
            assert error == 0.0, f"example {i}: the gold output has the error {error}, not 0"
            assert not len(indices), f"example {i}: ψ of the gold output is not empty"

    batch = rng.permutation(everything)[:max_examples]
    draws = [_random_weights(rng, examples.n_weights, kind) for kind in range(n_draws)]
    _check_support(examples, draws[-1], batch, error_scales)
    decoded = {(k, scale): _decode(examples, w, batch, scale) for k, w in enumerate(draws) for scale in error_scales}
    seen: list[list[Row]] = [[rows[k] for rows in decoded.values()] for k in range(len(batch))]
    possible = {} if enumerate_outputs is None else _all_rows(examples, batch, enumerate_outputs)
    for i, known in zip(batch, seen, strict=True):
        known.extend(possible.get(int(i), []))
    if examples.exact:
        gold_row: Row = (0.0, np.empty(0, dtype=np.int32), np.empty(0))
        for (k, scale), rows in decoded.items():
            for i, row, known in zip(batch, rows, seen, strict=True):
                _check_maximum(i, row, [gold_row, *known], draws[k], scale)
    if isinstance(examples, KBest):
        for ((k, scale), rows), n_best in product(decoded.items(), (1, 3, 8)):
            _check_best(examples, draws[k], batch, n_best, scale, rows, possible)
    if isinstance(examples, Marginals):
        _check_marginals(examples, draws, batch, error_scales, possible)


def _all_rows(
    examples: Examples, batch: IntVector, enumerate_outputs: Callable[[int], Iterable[Outputs]]
) -> dict[int, list[Row]]:
    """The differences of all outputs of every example of the batch; the gold one must be among them."""
    found = {}
    for i in batch.tolist():
        one = np.array([i], dtype=np.int32)
        found[i] = [row for output in enumerate_outputs(i) for row in _rows(examples, one, output)]
        right = any(error == 0.0 and not len(indices) for error, indices, _ in found[i])
        assert right, f"example {i}: no enumerated output is gold, with Δ = 0 and an empty ψ"
    return found


def _check_marginals(
    examples: Examples,
    draws: Sequence[FloatVector],
    batch: IntVector,
    scales: Sequence[float],
    possible: dict[int, list[Row]],
) -> None:
    for scale in scales:
        _expectation(examples, draws[-1], batch, scale)
        for (i, rows), w in product(possible.items(), draws):
            one = np.array([i], dtype=np.int32)
            _check_expectation(i, _expectation(examples, w, one, scale)[0], rows, w, scale)


def _check_description(examples: Examples) -> None:
    if (work := examples.work) is not None:
        shape = np.shape(work)
        assert shape == (examples.n_examples,), f"work has the shape {shape}, not one number per example"
        assert np.all(np.isfinite(work) & (work >= 0)), "work must be finite and not negative"
    examples.decode(np.zeros(examples.n_weights), np.empty(0, dtype=np.int32))


def _check_support(examples: Examples, w: FloatVector, batch: IntVector, scales: Sequence[float]) -> None:
    """Weights outside the support must not matter."""
    support = examples.support(batch)
    inside = np.zeros(examples.n_weights, dtype=np.int64)
    for begin, end in support:
        assert 0 <= begin <= end <= examples.n_weights, f"support has the run {begin} … {end} outside the weights"
        inside[begin:end] += 1
    assert np.all(inside <= 1), "runs of the support overlap"
    other = np.where(inside, w, 1e6)
    for scale in scales:
        for i, one, two in zip(
            batch, _decode(examples, w, batch, scale), _decode(examples, other, batch, scale), strict=True
        ):
            assert _same(one, two), f"example {i}: its output depends on weights outside the support"


def _random_weights(rng: np.random.Generator, n: int, kind: int) -> FloatVector:
    """All zero at first, then small integers and real numbers by turns."""
    if kind == 0:
        return np.zeros(n)
    if kind % 2:
        return rng.integers(-2, 3, n).astype(np.float64)
    return rng.normal(scale=2.0 ** rng.integers(-2, 4), size=n)


def _decode(examples: Examples, w: FloatVector, batch: IntVector, scale: float) -> list[Row]:
    """The differences of a batch's outputs."""

    def ask(part: IntVector) -> list[Row]:
        return _rows(examples, part, examples.decode(w, part, error_scale=scale))

    return _steady(ask, w, batch, f"decode with error_scale={scale}")


def _expectation(examples: Examples, w: FloatVector, batch: IntVector, scale: float) -> list[Row]:
    """−log p of the gold outputs of a batch, and φ(gold) − E[φ]."""

    def ask(part: IntVector) -> list[Row]:
        return _checked(examples, part, cast("Marginals", examples).expectation(w, part, error_scale=scale))

    return _steady(ask, w, batch, f"expectation with error_scale={scale}")


def _steady(ask: Callable[[IntVector], list[Row]], w: FloatVector, batch: IntVector, name: str) -> list[Row]:
    """The rows of a batch, which must depend neither on its company nor on its order, and leave `w` alone."""
    before = w.copy()
    rows = ask(batch)
    assert np.array_equal(w, before), f"{name} changed the weights it was given"
    middle = len(batch) // 2
    parts = [batch[::-1].copy(), batch[:middle], batch[middle:], *(batch[k : k + 1] for k in range(5))]
    for part in filter(len, parts):
        again = dict(zip(part, ask(part), strict=True))
        for i, row in zip(batch, rows, strict=True):
            same = i not in again or _same(row, again[i])
            assert same, f"example {i}: {name} changes when the batch is split or reordered"
    return rows


def _same(one: Row, other: Row) -> bool:
    return one[0] == other[0] and np.array_equal(one[1], other[1]) and np.array_equal(one[2], other[2])


def _rows(examples: Examples, batch: IntVector, outputs: Outputs) -> list[Row]:
    """The differences of `outputs`, one by one."""
    return _checked(examples, batch, examples.difference(batch, outputs))


def _checked(examples: Examples, batch: IntVector, differences: Differences) -> list[Row]:
    """Differences one by one, after a look at their form."""
    errors, (indptr, indices, values) = differences
    for name, array, kind, size in (
        ("errors", errors, np.float64, len(batch)),
        ("psi.indptr", indptr, np.int64, len(batch) + 1),
        ("psi.indices", indices, np.int32, int(indptr[-1])),
        ("psi.values", values, np.float64, int(indptr[-1])),
    ):
        found = f"{getattr(array, 'dtype', type(array).__name__)} of shape {np.shape(array)}"
        wanted = f"{np.dtype(kind)} of shape {(size,)}"
        assert found == wanted, f"{name} of a batch of {len(batch)} must be {wanted}, not {found}"
    assert indptr[0] == 0, f"psi.indptr must begin with 0, not {indptr[0]}"
    assert np.all(np.diff(indptr) >= 0), f"psi.indptr must not fall, as it does in {indptr.tolist()}"
    rows: list[Row] = []
    for i, error, begin, end in zip(batch, errors.tolist(), indptr[:-1], indptr[1:], strict=True):
        columns, entries = indices[begin:end], values[begin:end]
        assert 0 <= error < np.inf, f"example {i}: its error is {error}; it must be finite and not negative"
        inside = np.all((columns >= 0) & (columns < examples.n_weights))
        assert inside, f"example {i}: ψ has indices outside [0, {examples.n_weights})"
        assert len(np.unique(columns)) == len(columns), f"example {i}: ψ has an index twice; sum its entries"
        proper = np.all(np.isfinite(entries) & (entries != 0))
        assert proper, f"example {i}: ψ has zeros, infinities or NaN among its values"
        rows.append((error, columns, entries))
    return rows


def _check_best(
    examples: Any,
    w: FloatVector,
    batch: IntVector,
    k: int,
    scale: float,
    decoded: list[Row],
    all_rows: dict[int, list[Row]],
) -> None:
    """The k best outputs: in order, as good as what `decode` found, and the best of all where those are listed."""
    what = f"decode_best with k={k} and error_scale={scale}"
    repeated, outputs = examples.decode_best(w, batch, k, error_scale=scale)
    order = repeated[np.flatnonzero(np.diff(repeated, prepend=-1))]
    assert np.array_equal(order, batch), f"{what} returned the examples {order.tolist()}, not {batch.tolist()}"
    found = list(zip(repeated.tolist(), _rows(examples, repeated, outputs), strict=True))
    for i, first in zip(batch.tolist(), decoded, strict=True):
        rows = [row for j, row in found if j == i]
        alone, output = examples.decode_best(w, np.array([i], dtype=np.int32), k, error_scale=scale)
        same = len(alone) == len(rows) and all(map(_same, rows, _rows(examples, alone, output)))
        assert same, f"example {i}: {what} depends on the rest of the batch"
        values = [_value(row, w, scale) for row in rows]
        slip = ROUNDING * max(1.0, *(_size(row, w, scale) for row in rows))
        assert len(rows) <= k, f"example {i}: {what} returned {len(rows)} outputs"
        assert np.all(np.diff(values) <= slip), f"example {i}: {what} returned outputs in the wrong order"
        if not examples.exact:
            continue
        assert abs(values[0] - _value(first, w, scale)) <= slip, f"example {i}: the first of {what} is not the best"
        if i in all_rows:
            best = sorted((_value(row, w, scale) for row in all_rows[i]), reverse=True)[:k]
            assert len(best) == len(values), f"example {i}: {what} returned {len(values)} outputs, not {len(best)}"
            worst = float(np.max(np.abs(np.subtract(best, values))))
            assert worst <= slip, f"example {i}: {what} missed a better output, or returned one twice"
            for row in rows:
                times, possible = (sum(_same(row, each) for each in some) for some in (rows, all_rows[i]))
                assert times <= possible, f"example {i}: {what} returned an output twice"


def _value(row: Row, w: FloatVector, scale: float) -> float:
    """⟨w, φ⟩ + scale · Δ above that of gold."""
    return scale * row[0] - float(row[2] @ w[row[1]])


def _size(row: Row, w: FloatVector, scale: float) -> float:
    """How large the numbers are whose sum is the value: what rounding is to be measured by."""
    return scale * row[0] + float(np.abs(row[2]) @ np.abs(w[row[1]]))


def _check_maximum(i: int, row: Row, others: list[Row], w: FloatVector, scale: float) -> None:
    """No other output has a higher ⟨w, φ⟩ + scale · Δ; ⟨w, φ(gold)⟩ is common to all and left out."""
    size = max(1.0, *(_size(other, w, scale) for other in others))
    found, best = _value(row, w, scale), max(_value(other, w, scale) for other in others)
    assert found >= best - ROUNDING * size, (
        f"example {i}: decode with error_scale={scale} found an output that scores {found:.12g} above gold, "
        f"but there is one that scores {best:.12g}"
    )


def _check_expectation(i: int, row: Row, outputs: list[Row], w: FloatVector, scale: float) -> None:
    """−log p(gold) and φ(gold) − E[φ] = E[ψ] under p ∝ exp(scale · Δ − ⟨w, ψ⟩), ψ of the gold output being 0."""
    scores = np.array([scale * error - float(values @ w[indices]) for error, indices, values in outputs])
    weights = np.exp(scores - scores.max())
    value = float(scores.max() + np.log(weights.sum()))
    expected, found = np.zeros(len(w)), np.zeros(len(w))
    for p, (_, indices, values) in zip(weights / weights.sum(), outputs, strict=True):
        expected[indices] += p * values
    found[row[1]] = row[2]
    rounding = ROUNDING * max(1.0, float(np.abs(scores).max()))
    name = f"example {i}: expectation with error_scale={scale}"
    assert abs(row[0] - value) <= rounding, f"{name} says that −log p(gold) is {row[0]:.12g}, not {value:.12g}"
    worst = int(np.argmax(np.abs(found - expected))) if len(w) else 0
    close = np.all(np.abs(found - expected) <= rounding * max(1.0, float(np.abs(expected).max(initial=0.0))))
    assert close, f"{name} has {found[worst]:.12g} at the weight {worst}, not {expected[worst]:.12g}"


def check_solver(
    solver: Solver,
    problems: Problem | Sequence[Problem],
    *,
    gap: float = 1e-3,
    max_epochs: int = 500,
    seed: int = 0,
) -> None:
    """Raise `AssertionError` unless `solver` trains every one of the `problems` as a solver should.

    Parameters
    ----------
    solver : what to check
    problems : small problems with a loss that the solver supports
    gap : the relative duality gap that a solver with a dual must prove, where decoding is exact
    max_epochs : within so many epochs
    seed : of the training runs
    """
    for problem in [problems] if isinstance(problems, Problem) else problems:
        watched = _Watched(solver, problem)
        has_dual = solver.dual(problem, solver.start(problem)) is not None
        stop = Stop(epochs=max_epochs if has_dual else 10, gap=gap)
        solution = watched.fit(stop, seed)
        if has_dual and problem.exact:
            assert solution.stopped == "gap", (
                f"{_of(solver, problem)}: the relative gap is {solution.gap} after {max_epochs} epochs, above {gap}"
            )
        same = np.array_equal(solution.w, fit(watched.problem, solver, stop=stop, seed=seed).w)
        assert same, f"{_of(solver, problem)}: two runs with the same seed gave different weights"
        threaded = replace(problem, n_threads=2, meter=Meter())
        same = np.array_equal(solution.w, fit(threaded, solver, stop=stop, seed=seed).w)
        assert same, f"{_of(solver, problem)}: two threads gave other weights than one"
        for limit in (Stop(epochs=0), Stop(epochs=1), Stop(seconds=0.0)):
            watched.fit(limit, seed)
        if threading.current_thread() is threading.main_thread() and _ctrl_c_is_free():
            for calls in (1, 2):
                watched.fit(stop, seed, _CtrlC(calls))


class _Watched:
    """A solver that lets its state be looked at after every epoch."""

    def __init__(self, solver: Solver, problem: Problem) -> None:
        self.solver, self.problem = solver, replace(problem, meter=Meter())
        self.aside = replace(problem, meter=Meter())
        self.state: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def start(self, problem: Problem, w: FloatVector | None = None, cuts: CutStore | None = None) -> Any:
        self.state = self.solver.start(problem, w, cuts)
        return self.state

    def fit(self, stop: Stop, seed: int, *callbacks: Callback) -> Solution:
        solution = fit(
            self.problem, cast("Solver", self), stop=stop, seed=seed, callbacks=[_Inspector(self), *callbacks]
        )
        name = f"{_of(self.solver, self.problem)}, stopped by {solution.stopped}"
        assert solution.w.shape == (self.problem.n_weights,), f"{name}: w has the shape {solution.w.shape}"
        assert np.all(np.isfinite(solution.w)), f"{name}: weights are not finite"
        self.inspect(name)
        return solution

    def inspect(self, name: str) -> float | None:
        """The dual at the present state, which must lie below the primal; w must be the sum of the cuts."""
        w, dual = self.solver.weights(self.state), self.solver.dual(self.problem, self.state)
        if isinstance(self.state, DualState):
            last = self.state.w  # weights() may be an average
            worst = float(np.max(np.abs(last - self.state.store.combination(len(last))), initial=0.0))
            close = worst <= ROUNDING * max(1.0, float(np.max(np.abs(last), initial=0.0)))
            assert close, f"{name}: w differs from Σ αa by {worst:.3g}"
        if dual is not None and self.problem.exact:
            primal = self.aside.primal(w)
            assert dual <= primal + ROUNDING * max(1.0, abs(primal)), f"{name}: dual {dual!r} exceeds primal {primal!r}"
        return dual


class _Inspector(Callback):
    def __init__(self, watched: _Watched) -> None:
        self.watched, self.dual = watched, -np.inf

    def on_epoch(self, epoch: Epoch) -> None:
        name = f"{_of(self.watched.solver, self.watched.problem)}, epoch {epoch.epoch}"
        dual = self.watched.inspect(name)
        if dual is not None:
            fell = dual < self.dual - ROUNDING * max(1.0, abs(dual))
            assert not fell, f"{name}: the dual fell from {self.dual!r} to {dual!r}"
            self.dual = dual


class _CtrlC(Callback):
    """Presses Ctrl-C once, before the given oracle call."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def on_batch(self, visited: int) -> None:
        self.calls -= 1
        if self.calls == 0:
            signal.raise_signal(signal.SIGINT)


def _ctrl_c_is_free() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _of(solver: Solver, problem: Problem) -> str:
    return f"{solver!r} on {type(problem.examples).__name__} with {problem.loss} and C={problem.C}"
