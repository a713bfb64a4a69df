"""The optimisation problem: its value by enumeration, its oracle's book-keeping, and what it refuses."""

import numpy as np
import pytest

from helpers import PROBLEMS, primal, problem, random_chain
from widemargin.core.problem import Meter, Problem, predict
from widemargin.errors import DataError, WidemarginError

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_primal_is_that_of_enumeration(name, loss):
    training, small = problem(name, loss=loss)
    for scale in (0.0, 0.1, 3.0):
        w = np.random.default_rng(0).normal(size=training.n_weights) * scale
        assert training.primal(w) == pytest.approx(primal(training, small, w), rel=1e-12)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_estimate_after_one_pass_at_fixed_weights_is_the_primal(loss):
    training, _ = problem("weighted", loss=loss)
    w = np.random.default_rng(0).normal(size=training.n_weights)
    assert training.primal_estimate(w) is None
    for batch in training.batches(np.random.default_rng(1), 3):
        training.cuts(w, batch)
    assert training.primal_estimate(w) == pytest.approx(training.primal(w))
    training.forget()
    assert training.primal_estimate(w) is None


@pytest.mark.parametrize("size", [None, 1, 2, 5, 100])
def test_batches_cover_what_counts_once(size):
    training, _ = problem("weighted")
    batches = training.batches(np.random.default_rng(0), size)
    counted = [i for i, weight in enumerate(training.example_weight) if weight > 0]
    assert sorted(np.concatenate(batches)) == counted == training.weighted_examples.tolist()
    assert all(batch.dtype == np.int32 and len(batch) == (size or training.batch_size) for batch in batches[:-1])
    other = training.batches(np.random.default_rng(1), 1)
    assert sorted(np.concatenate(other)) == counted
    assert np.concatenate(other).tolist() != np.concatenate(training.batches(np.random.default_rng(0), 1)).tolist()


def test_the_meter_counts_calls_and_is_asked_first():
    training, _ = problem("chain")
    announced = []
    training.meter.watch = announced.append
    w = np.zeros(training.n_weights)
    training.cuts(w, np.array([0, 1, 2], dtype=np.int32))
    training.mistakes(w, np.array([4], dtype=np.int32))
    training.primal(w)
    assert announced == [3, 1, 9]
    assert training.meter.calls == 13
    assert np.flatnonzero(~np.isnan(training.slacks)).tolist() == [0, 1, 2]
    assert training.meter.seconds > 0


def test_mistakes_are_decoded_without_the_error_term():
    training, _ = problem("chain")
    w = np.random.default_rng(0).normal(size=training.n_weights)
    batch = training.weighted_examples
    plain = training.examples.difference(batch, training.examples.decode(w, batch))
    cuts = training.mistakes(w, batch)
    assert cuts.b.tolist() == plain.errors.tolist()
    assert cuts.a.indices.tolist() == plain.psi.indices.tolist()
    assert cuts.block.tolist() == batch.tolist()


@pytest.mark.parametrize("n_threads", [1, 2, 3, 50])
def test_threads_change_nothing(n_threads):
    training, small = problem("chain, conditional", n_threads=n_threads)
    w = np.random.default_rng(0).normal(size=training.n_weights)
    alone, _ = problem("chain, conditional")
    batch = training.weighted_examples[::-1].copy()
    cuts, expected = training.cuts(w, batch), alone.cuts(w, batch)
    assert cuts.b.tolist() == expected.b.tolist()
    for array, other in zip(cuts.a, expected.a, strict=True):
        assert array.tolist() == other.tolist()
    everything = np.arange(small.examples.n_examples, dtype=np.int32)
    parts = predict(small.examples, w, n_threads)
    assert np.concatenate(parts).tolist() == small.examples.decode(w, everything).tolist()


def test_no_examples_at_all():
    training = Problem(random_chain(0, []).compiled())
    w = np.ones(training.n_weights)
    assert training.primal(w) == 0.5 * training.n_weights
    assert training.batches(np.random.default_rng(0)) == []
    assert [len(part) for part in predict(training.examples, w, 2)] == [0]


@pytest.mark.parametrize("C", [0, -1.0, float("nan"), float("inf"), 10**400, 1j, "1", True])
def test_a_bad_trade_off(C):
    with pytest.raises(WidemarginError, match="C must be a number above 0, not"):
        problem("chain", C=C)


def test_an_unknown_loss():
    with pytest.raises(WidemarginError, match="loss must be one of squared_hinge, hinge, not 'log'"):
        problem("chain", loss="log")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(8), r"sample_weight has the shape \(8,\), but there are 9 examples"),
        (np.ones((9, 1)), r"sample_weight has the shape \(9, 1\)"),
        ([1] * 8 + [-2], r"sample_weight\[8\] is -2.0; weights must be finite and not negative"),
        ([1, float("nan")] + [1] * 7, r"sample_weight\[1\] is nan"),
        ([float("inf")] + [1] * 8, r"sample_weight\[0\] is inf"),
    ],
)
def test_bad_sample_weights(weight, message):
    with pytest.raises(DataError, match=message):
        problem("chain", sample_weight=weight)


def test_the_first_call_does_not_tell_how_long_calls_take():
    """It may have had to compile; a time limit would else end training before it has begun."""
    meter = Meter()
    assert meter.seconds_a_call == 0.0
    meter.count(1, 60.0)
    assert meter.seconds_a_call == 0.0
    meter.count(4, 2.0)
    assert meter.seconds_a_call == 0.5
    assert (meter.calls, meter.seconds) == (5, 62.0)
