"""Checks of a structure's abilities beyond decoding, those of `core.examples`, on outputs as differences from gold."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeVar, cast

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.core.examples import Differences, Examples, Marginals, Outputs, SummedMarginals
from widemargin.core.sparse import add_rows

ROUNDING = 1e-9
NOTHING = (np.empty(0, dtype=np.int32), np.empty(0))

Found = TypeVar("Found")

Row = tuple[float, IntVector, FloatVector]
"""One output's difference from gold: Δ, and the indices and values of ψ that are not zero."""


def steady(ask: Callable[[IntVector], list[Found]], w: FloatVector, batch: IntVector, name: str) -> list[Found]:
    """The rows of a batch; they must not depend on how it is split or ordered, and `ask` must not change `w`."""
    before = w.copy()
    rows = ask(batch)
    assert np.array_equal(w, before), f"{name} changed the weights it was given"
    middle = len(batch) // 2
    parts = [batch[::-1].copy(), batch[:middle], batch[middle:], *(batch[k : k + 1] for k in range(5))]
    for part in filter(len, parts):
        again = dict(zip(part, ask(part), strict=True))
        for i, row in zip(batch, rows, strict=True):
            same = i not in again or equal_found(row, again[i])
            assert same, f"example {i}: {name} changes when the batch is split or reordered"
    return rows


def equal_found(one: Any, other: Any) -> bool:
    """Whether two rows, or two lists of them, are equal bit for bit."""
    if one and isinstance(one[0], float):
        return equal(one, other)
    return len(one) == len(other) and all(map(equal, one, other))


def equal(one: Row, other: Row) -> bool:
    """Whether two rows are equal bit for bit."""
    return one[0] == other[0] and np.array_equal(one[1], other[1]) and np.array_equal(one[2], other[2])


def rows_of(examples: Examples, batch: IntVector, outputs: Outputs) -> list[Row]:
    """The differences of `outputs`, one by one."""
    return checked_rows(examples, batch, examples.difference(batch, outputs))


def checked_rows(examples: Examples, batch: IntVector, differences: Differences) -> list[Row]:
    """Differences one by one, after a check of their form."""
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
        assert np.all(np.isfinite(entries)), f"example {i}: ψ has infinities or NaN among its values"
        kept = entries != 0.0  # rows with and without stored zeros are equal
        rows.append((error, columns[kept], entries[kept]))
    return rows


def value_of(row: Row, w: FloatVector, scale: float) -> float:
    """⟨w, φ⟩ + scale · Δ of an output, minus that of gold."""
    return scale * row[0] - float(row[2] @ w[row[1]])


def size_of(row: Row, w: FloatVector, scale: float) -> float:
    """The sum of the absolute terms of `value_of`, the scale of its rounding errors."""
    return scale * row[0] + float(np.abs(row[2]) @ np.abs(w[row[1]]))


def slack_of(row: Row, w: FloatVector, error: float | None = None) -> float:
    """Δ(1 − ⟨w, ψ⟩), with `error` in place of Δ if given."""
    return (row[0] if error is None else error) * (1.0 - float(row[2] @ w[row[1]]))


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
