"""A structure is right when its outputs maximise ⟨w, φ⟩ + scale · Δ and its cuts bound the slack everywhere,

    Δ_i(ŷ) − ⟨w′, ψ_i(ŷ)⟩ ≤ ξ_i(w′)   for every ŷ that was decoded at any w,

which `check_structure` verifies through `Examples` alone. It checks any further abilities, too (`testing.abilities`).
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import (
    Bounded,
    ErrorCounts,
    Examples,
    HullSearch,
    KBest,
    Marginals,
    Outputs,
    Positions,
    Scorable,
)
from widemargin.testing.abilities import (
    NOTHING,
    ROUNDING,
    Row,
    check_best,
    check_hull,
    check_marginals,
    check_positions,
    check_scored,
    check_slack,
    equal,
    rows_of,
    size_of,
    steady,
    value_of,
)


def check_structure(
    examples: Examples,
    *,
    enumerate_outputs: Callable[[int], Iterable[Outputs]] | None = None,
    gold: Outputs | None = None,
    position_errors: Callable[[int, Outputs], Sequence[float]] | None = None,
    error_scales: Sequence[float] = (0.0, 1.0),
    n_draws: int = 12,
    max_examples: int = 25,
    seed: int = 0,
) -> None:
    """Raise `AssertionError` unless `examples` keep the promises of `Examples`.

    Parameters
    ----------
    examples : the examples to check; if they are not `exact`, decoding need not find the maximum
    enumerate_outputs : all outputs of example i, each as the outputs of a batch of one; decoding and any further
        abilities are then compared with brute force. Only for small examples.
    gold : the gold outputs of all examples as one batch
    position_errors : L_c of an output of example i for every position c, if the examples offer `Positions`
    error_scales : the error scales to decode with
    n_draws : how many weight vectors to draw; many hold small integers, so that outputs tie
    max_examples : how many examples to check, drawn at random
    seed : the seed of everything random
    """
    rng = np.random.default_rng(seed)
    everything = np.arange(examples.n_examples, dtype=np.int32)
    _check_description(examples)
    if gold is not None:
        _check_gold(examples, everything, gold)
    batch = rng.permutation(everything)[:max_examples]
    draws = [_random_weights(rng, examples.n_weights, kind) for kind in range(n_draws)]
    _check_support(examples, draws[-1], batch, error_scales)
    decoded = {(k, scale): _decode(examples, w, batch, scale) for k, w in enumerate(draws) for scale in error_scales}
    seen: list[list[Row]] = [[rows[k] for rows in decoded.values()] for k in range(len(batch))]
    possible = {} if enumerate_outputs is None else _all_rows(examples, batch, enumerate_outputs)
    for i, known in zip(batch, seen, strict=True):
        known.extend(possible.get(int(i), []))
    if examples.exact:
        gold_row: Row = (0.0, *NOTHING)
        for (k, scale), rows in decoded.items():
            missed = _excess(examples, draws[k], batch, scale)
            for i, row, known, excess in zip(batch, rows, seen, missed, strict=True):
                _check_maximum(i, row, [gold_row, *known], draws[k], scale, excess)
    if isinstance(examples, KBest):
        for ((k, scale), rows), n_best in product(decoded.items(), (1, 3, 8)):
            check_best(examples, draws[k], batch, n_best, scale, rows, possible)
    if isinstance(examples, Marginals):
        check_marginals(examples, draws, batch, error_scales, possible)
    listed: dict[int, list[Sequence[float]]] = {}
    if enumerate_outputs is not None and position_errors is not None:
        listed = {i: [position_errors(i, output) for output in enumerate_outputs(i)] for i in possible}
    for w in draws:
        _check_worst(examples, w, batch, possible, listed)


def _check_worst(
    examples: Examples,
    w: FloatVector,
    batch: IntVector,
    possible: dict[int, list[Row]],
    listed: dict[int, list[Sequence[float]]],
) -> None:
    """Check the abilities that slack scaling and position-wise slacks need."""
    if isinstance(examples, Scorable):
        check_scored(examples, w, batch)
    if isinstance(examples, HullSearch):
        check_hull(examples, w, batch, possible)
    if isinstance(examples, ErrorCounts):
        check_slack(examples, w, batch, possible)
    if isinstance(examples, Positions):
        check_positions(examples, w, batch, possible, listed)


def _all_rows(
    examples: Examples, batch: IntVector, enumerate_outputs: Callable[[int], Iterable[Outputs]]
) -> dict[int, list[Row]]:
    """The differences of all outputs of every example of the batch; the gold one must be among them."""
    found = {}
    for i in batch.tolist():
        one = np.array([i], dtype=np.int32)
        found[i] = [row for output in enumerate_outputs(i) for row in rows_of(examples, one, output)]
        right = any(error == 0.0 and not len(indices) for error, indices, _ in found[i])
        assert right, f"example {i}: no enumerated output is gold, with Δ = 0 and ψ = 0"
    return found


def _check_gold(examples: Examples, everything: IntVector, gold: Outputs) -> None:
    for i, (error, indices, _) in zip(everything, rows_of(examples, everything, gold), strict=True):
        assert error == 0.0, f"example {i}: the gold output has the error {error}, not 0"
        assert not len(indices), f"example {i}: ψ of the gold output is not zero"


def _check_description(examples: Examples) -> None:
    if (work := examples.work) is not None:
        shape = np.shape(work)
        assert shape == (examples.n_examples,), f"work has the shape {shape}, not one number per example"
        assert np.all(np.isfinite(work) & (work >= 0)), "work must be finite and not negative"
    examples.decode(np.zeros(examples.n_weights), np.empty(0, dtype=np.int32))


def _check_support(examples: Examples, w: FloatVector, batch: IntVector, scales: Sequence[float]) -> None:
    """Check that weights outside the support do not matter."""
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
            assert equal(one, two), f"example {i}: its output depends on weights outside the support"


def _random_weights(rng: np.random.Generator, n: int, kind: int) -> FloatVector:
    """Zeros for kind 0, then small integers and real numbers in turn."""
    if kind == 0:
        return np.zeros(n)
    if kind % 2:
        return rng.integers(-2, 3, n).astype(np.float64)
    return rng.normal(scale=2.0 ** rng.integers(-2, 4), size=n)


def _decode(examples: Examples, w: FloatVector, batch: IntVector, scale: float) -> list[Row]:
    """The differences of a batch's outputs."""

    def ask(part: IntVector) -> list[Row]:
        return rows_of(examples, part, examples.decode(w, part, error_scale=scale))

    return steady(ask, w, batch, f"decode with error_scale={scale}")


def _excess(examples: Examples, w: FloatVector, batch: IntVector, scale: float) -> FloatVector:
    """Bounds on how much more other outputs may score; 0 unless decoding may be cut short."""
    if not isinstance(examples, Bounded):
        return np.zeros(len(batch))
    excess = examples.excess(batch, examples.decode(w, batch, error_scale=scale))
    assert np.all(excess >= 0.0), f"excess with error_scale={scale} is negative"
    return excess


def _check_maximum(i: int, row: Row, others: list[Row], w: FloatVector, scale: float, excess: float) -> None:
    """Check that no other output has a higher ⟨w, φ⟩ + scale · Δ; ⟨w, φ(gold)⟩ is common to all and left out."""
    size = max(1.0, *(size_of(other, w, scale) for other in others))
    found, best = value_of(row, w, scale), max(value_of(other, w, scale) for other in others)
    assert found + excess >= best - ROUNDING * size, (
        f"example {i}: decode with error_scale={scale} found an output that scores {found:.12g} above gold"
        + (f", and at most {found + excess:.12g} elsewhere" if excess else "")
        + f", but there is one that scores {best:.12g}"
    )
