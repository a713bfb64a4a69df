"""Probabilities from margins: they fit, they rise, and they are finite."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.errors import DataError
from widemargin.metrics import expected_calibration_error, reliability
from widemargin.tasks.calibration import Calibration, Judged, Reliability, Sigmoid

pytestmark = pytest.mark.interpreted


def drawn(curve, seed, n=20_000):
    rng = np.random.default_rng(seed)
    margins = rng.exponential(size=n)
    return Judged(margins, rng.random(n) < curve(margins))


@pytest.mark.parametrize("curve", [Sigmoid(1.0, 0.0), Sigmoid(2.5, -1.0), Sigmoid(0.3, 0.5), Sigmoid(0.0, 1.0)])
def test_the_curve_that_the_data_come_from(curve):
    found = Sigmoid.fit(drawn(curve, 0))
    assert found.slope == pytest.approx(curve.slope, abs=0.1)
    assert found.shift == pytest.approx(curve.shift, abs=0.1)
    assert Reliability.of(found, drawn(curve, 1)).after < 0.02


def test_calibration_helps():
    judged = drawn(Sigmoid(0.2, -1.0), 0)
    found = Reliability.of(Sigmoid.fit(judged), judged)
    assert found.after < 0.02
    assert found.before > 0.2


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1, max_size=30))
def test_any_data_give_a_rising_curve(pairs):
    judged = Judged(np.array([margin for margin, _ in pairs]), np.array([right for _, right in pairs]))
    curve = Sigmoid.fit(judged)
    assert np.isfinite([curve.slope, curve.shift]).all()
    probabilities = curve(np.array([0.0, 0.5, 3.0, 1e6, np.inf]))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert (np.diff(probabilities) >= 0).all()


def test_margins_that_tell_nothing():
    sure = np.array([np.inf, np.inf])
    with pytest.raises(DataError, match="nothing to calibrate on"):
        Sigmoid.fit(Judged(sure, np.array([True, True])))
    judged = drawn(Sigmoid(), 0, 50)
    more = Judged(np.append(judged.margins, np.inf), np.append(judged.right, True))
    assert Sigmoid.fit(more) == Sigmoid.fit(judged)


@pytest.mark.parametrize(
    "calibration",
    [Calibration({"labels": Sigmoid(1.5, -2.0)}), Calibration({"labels": Sigmoid(), "spans": Sigmoid(0.0, 3.0)})],
)
def test_round_trip(calibration):
    assert Calibration.restored(calibration.described()) == calibration


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40), st.integers(1, 20))
def test_calibration_error_by_its_definition(pairs, n_bins):
    confidence, right = np.array([each for each, _ in pairs]), np.array([each for _, each in pairs], dtype=bool)
    total = 0.0
    for k in range(n_bins):
        inside = [(c, r) for c, r in pairs if min(int(c * n_bins), n_bins - 1) == k]
        total += abs(sum(c - r for c, r in inside))
    expected = total / len(pairs) if pairs else 0.0
    assert expected_calibration_error(confidence, right, n_bins) == pytest.approx(expected)
    assert sum(each.n for each in reliability(confidence, right, n_bins)) == len(pairs)


@pytest.mark.parametrize(("n_right", "n_wrong"), [(9, 0), (30, 10), (1, 5)])
def test_predictions_that_are_alike_get_the_mean_of_their_targets(n_right, n_wrong):
    """With one margin for all, the most likely probability is the mean of Platt's targets."""
    right = np.array([True] * n_right + [False] * n_wrong)
    curve = Sigmoid.fit(Judged(np.full(len(right), 2.0), right))
    targets = np.where(right, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    assert curve(np.array([2.0]))[0] == pytest.approx(targets.mean(), abs=1e-3)
