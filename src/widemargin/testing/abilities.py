"""Checks of a structure's abilities beyond decoding: those of `core.examples`."""

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import Examples, Marginals, SummedMarginals
from widemargin.core.sparse import add_rows
from widemargin.testing.rows import (
    NOTHING,
    ROUNDING,
    Row,
    checked_rows,
    equal,
    rows_of,
    size_of,
    slack_of,
    steady,
    value_of,
)


def check_best(
    examples: Any,
    w: FloatVector,
    batch: IntVector,
    k: int,
    scale: float,
    decoded: list[Row],
    all_rows: dict[int, list[Row]],
) -> None:
    """Check the k best outputs: in order, as good as those of `decode`, and the best of all outputs if listed."""
    what = f"decode_best with k={k} and error_scale={scale}"
    repeated, outputs = examples.decode_best(w, batch, k, error_scale=scale)
    order = repeated[np.flatnonzero(np.diff(repeated, prepend=-1))]
    assert np.array_equal(order, batch), f"{what} returned the examples {order.tolist()}, not {batch.tolist()}"
    found = list(zip(repeated.tolist(), rows_of(examples, repeated, outputs), strict=True))
    for i, first in zip(batch.tolist(), decoded, strict=True):
        rows = [row for j, row in found if j == i]
        alone, output = examples.decode_best(w, np.array([i], dtype=np.int32), k, error_scale=scale)
        same = len(alone) == len(rows) and all(map(equal, rows, rows_of(examples, alone, output)))
        assert same, f"example {i}: {what} depends on the rest of the batch"
        values = [value_of(row, w, scale) for row in rows]
        slip = ROUNDING * max(1.0, *(size_of(row, w, scale) for row in rows))
        assert len(rows) <= k, f"example {i}: {what} returned {len(rows)} outputs"
        assert np.all(np.diff(values) <= slip), f"example {i}: {what} returned outputs in the wrong order"
        if not examples.exact:
            continue
        assert abs(values[0] - value_of(first, w, scale)) <= slip, f"example {i}: the first of {what} is not the best"
        if i in all_rows:
            best = sorted((value_of(row, w, scale) for row in all_rows[i]), reverse=True)[:k]
            assert len(best) == len(values), f"example {i}: {what} returned {len(values)} outputs, not {len(best)}"
            worst = float(np.max(np.abs(np.subtract(best, values))))
            assert worst <= slip, f"example {i}: {what} missed a better output, or returned one twice"
            for row in rows:
                times, possible = (sum(equal(row, each) for each in some) for some in (rows, all_rows[i]))
                assert times <= possible, f"example {i}: {what} returned an output twice"


def check_marginals(
    examples: Examples,
    draws: Sequence[FloatVector],
    batch: IntVector,
    scales: Sequence[float],
    possible: dict[int, list[Row]],
) -> None:
    """Check −log p of gold and expectations against the sums over all outputs, if those are listed."""
    for scale in scales:
        _expectation(examples, draws[-1], batch, scale)
        for (i, rows), w in product(possible.items(), draws):
            one = np.array([i], dtype=np.int32)
            _check_expectation(i, _expectation(examples, w, one, scale)[0], rows, w, scale)
        if isinstance(examples, SummedMarginals):
            _check_totals(examples, draws, np.sort(batch), scale)


def _expectation(examples: Examples, w: FloatVector, batch: IntVector, scale: float) -> list[Row]:
    """−log p of the gold outputs of a batch, and φ(gold) − E[φ]."""

    def ask(part: IntVector) -> list[Row]:
        return checked_rows(examples, part, cast("Marginals", examples).expectation(w, part, error_scale=scale))

    return steady(ask, w, batch, f"expectation with error_scale={scale}")


def _check_expectation(i: int, row: Row, outputs: list[Row], w: FloatVector, scale: float) -> None:
    """Check −log p(gold) and φ(gold) − E[φ] = E[ψ] under p ∝ exp(scale · Δ − ⟨w, ψ⟩), where ψ of gold is 0."""
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


def _check_totals(examples: Any, draws: Sequence[FloatVector], batch: IntVector, scale: float) -> None:
    """Check that the sums over all examples are those of their expectations, on any number of threads."""
    batches = [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
    totals = examples.totals(batches, scale)
    for w in draws if totals is not None else ():
        c = np.random.default_rng(len(batch)).uniform(0.5, 2.0, size=len(batch))
        losses, psi = examples.expectation(w, batch, error_scale=scale)
        for number in (1, 0):
            rows = np.isin(batch, batches[number])
            found = totals.visit(w, number, c[rows])
            assert np.array_equal(found, losses[rows]), f"visit with error_scale={scale} differs from expectation"
        expected = np.zeros(len(w))
        add_rows(c, psi, expected)
        one, two = totals.total(1), totals.total(2)
        assert np.array_equal(one, two), "the number of threads changes the total"
        close = np.allclose(one, expected, rtol=ROUNDING, atol=ROUNDING * max(1.0, float(np.abs(psi.values).sum())))
        assert close, f"the total with error_scale={scale} is not the sum of the expectations"


def check_scored(examples: Any, w: FloatVector, batch: IntVector) -> None:
    """Check that decoding by part scores and decoding by weights find outputs of the same value."""
    scored = examples.scored(w, batch)
    for some, scale in product((batch, batch[::-1][::2].copy()), (0.0, 1.0)):
        found, expected = (
            rows_of(examples, some, examples.decode(each, some, error_scale=scale)) for each in (scored, w)
        )
        for i, one, other in zip(some.tolist(), found, expected, strict=True):
            slip = ROUNDING * max(1.0, size_of(other, w, scale))
            worse = abs(value_of(one, w, scale) - value_of(other, w, scale))
            assert worse <= slip, f"example {i}: decoding by part scores finds another output than decoding by weights"


def check_hull(examples: Any, w: FloatVector, batch: IntVector, possible: dict[int, list[Row]]) -> None:
    """Check that the search finds gold or a violator, and nothing worse than the worst output."""

    def ask(part: IntVector) -> list[Row]:
        return rows_of(examples, part, examples.decode_hull(w, part, 12))

    for i, row in zip(batch.tolist(), steady(ask, w, batch, "decode_hull"), strict=True):
        found, others = slack_of(row, w), possible.get(i, [])
        size = max(1.0, *(other[0] * (1.0 + size_of(other, w, 0.0)) for other in [row, *others]))
        right = row[0] == 0.0 and not len(row[1])
        assert right or found > -ROUNDING * size, (
            f"example {i}: decode_hull found an output that is neither gold nor a violator"
        )
        if others:
            worst = max(slack_of(other, w) for other in others)
            assert found <= max(worst, 0.0) + ROUNDING * size, f"example {i}: decode_hull found what is no output"


def check_slack(examples: Any, w: FloatVector, batch: IntVector, possible: dict[int, list[Row]]) -> None:
    """Check that no output has a larger Δ(1 − ⟨w, ψ⟩), and that the one found is not below 0."""

    def ask(part: IntVector) -> list[Row]:
        return rows_of(examples, part, examples.decode_slack(w, part))

    for i, row in zip(batch.tolist(), steady(ask, w, batch, "decode_slack"), strict=True):
        found, others = slack_of(row, w), possible.get(i, [])
        best = max([0.0, *(slack_of(other, w) for other in others)])
        size = max(1.0, *(other[0] * (1.0 + size_of(other, w, 0.0)) for other in [row, *others]))
        assert found >= best - ROUNDING * size, (
            f"example {i}: decode_slack found an output with Δ(1 − ⟨w, ψ⟩) = {found:.12g}, but there is {best:.12g}"
        )


def check_positions(
    examples: Any,
    w: FloatVector,
    batch: IntVector,
    possible: dict[int, list[Row]],
    errors: dict[int, list[Sequence[float]]],
) -> None:
    """Check that the violator of each position is an output, and the one with the largest L_c(1 − ⟨w, ψ⟩).

    `errors` holds L_c of all outputs.
    """

    def ask(part: IntVector) -> list[tuple[Row, ...]]:
        counts = examples.n_positions[part].tolist()
        rows = iter(checked_rows(examples, np.repeat(part, counts), examples.violators(w, part)))
        return [tuple(next(rows) for _ in range(count)) for count in counts]

    for i, rows in zip(batch.tolist(), steady(ask, w, batch, "violators"), strict=True):
        outputs, by_position = possible.get(i), errors.get(i)
        size = max(1.0, *(row[0] * (1.0 + size_of(row, w, 0.0)) for row in [*rows, *(outputs or [(0.0, *NOTHING)])]))
        for c, row in enumerate(rows):
            found = slack_of(row, w)
            assert (row[0] > 0) == (found > 0), f"example {i}, position {c}: a violator that does not violate anything"
            if outputs is None:
                continue
            same = row[0] == 0.0 or any(equal((0.0, *row[1:]), (0.0, *other[1:])) for other in outputs)
            assert same, f"example {i}, position {c}: the violator is none of the outputs"
            if by_position is not None:
                best = max(slack_of(other, w, of[c]) for other, of in zip(outputs, by_position, strict=True))
                assert abs(found - max(best, 0.0)) <= ROUNDING * size, (
                    f"example {i}, position {c}: the violator has L_c(1 − ⟨w, ψ⟩) = {found:.12g}, "
                    f"but the worst has {max(best, 0.0):.12g}"
                )
        if outputs is not None:
            # Claim 4.1 of Sarawagi & Gupta; without errors at positions, this is the only check.
            total, slack = sum(slack_of(row, w) for row in rows), max(slack_of(other, w) for other in outputs)
            assert total >= slack - ROUNDING * size * max(len(rows), 1), (
                f"example {i}: the slacks of its positions sum up to {total:.12g}, less than {slack:.12g}, "
                "which slack scaling asks for"
            )
