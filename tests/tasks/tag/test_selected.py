"""Chains with only some of the weights: the full chain with the others fixed at 0."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import as_dicts, random_chain, rows, selected
from helpers.chains import chains
from widemargin.core.loop import fit
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows
from widemargin.core.stop import Stop
from widemargin.errors import DataError
from widemargin.objectives import Softmax
from widemargin.solvers import LBFGS
from widemargin.tasks.tag.crfsuite import SelectedChain, SelectedChainExamples, observed_pairs, observed_states

pytestmark = pytest.mark.interpreted

LENGTHS = [3, 2, 4, 1, 0, 3]
EVERYTHING = np.arange(len(LENGTHS), dtype=np.int32)


def both(seed):
    """The full examples, those with some weights, and the number that each of these has among all."""
    full = random_chain(seed, LENGTHS, binary=False, per_position=3).compiled()
    some = selected(seed, LENGTHS).examples
    L, states = some.shape.n_labels, some.shape.states
    features = np.repeat(np.arange(some.shape.n_features), np.diff(states.indptr))
    return full, some, np.concatenate([features * L + states.indices, some.shape.n_features * L + some.shape.pairs])


def among(numbers, psi):
    """Rows of the full chain with the entries of chosen weights only, renumbered."""
    places = {int(number): place for place, number in enumerate(numbers)}
    return [{places[j]: pytest.approx(x, abs=1e-12) for j, x in row.items() if j in places} for row in as_dicts(psi)]


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_full_chain_with_the_others_at_zero(seed, scale):
    full, some, numbers = both(seed)
    w = np.random.default_rng(seed).normal(size=some.n_weights)
    wide = np.zeros(full.n_weights)
    wide[numbers] = w
    labels = some.decode(w, EVERYTHING, error_scale=scale)
    assert np.array_equal(labels, full.decode(wide, EVERYTHING, error_scale=scale))
    errors, psi = some.difference(EVERYTHING, labels)
    assert np.array_equal(errors, full.difference(EVERYTHING, labels).errors)
    assert as_dicts(psi) == among(numbers, full.difference(EVERYTHING, labels).psi)
    losses, tangents = some.expectation(w, EVERYTHING, error_scale=scale)
    expected, wide_tangents = full.expectation(wide, EVERYTHING, error_scale=scale)
    assert losses == pytest.approx(expected)
    assert as_dicts(tangents) == among(numbers, wide_tangents)
    assert some.probabilities(w, EVERYTHING)[0] == pytest.approx(full.probabilities(wide, EVERYTHING)[0])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_totals_are_the_sums_of_tangents(n_threads):
    _, some, _ = both(1)
    w = np.random.default_rng(1).normal(size=some.n_weights)
    c = np.arange(1.0, len(LENGTHS) + 1)
    totals = some.totals([EVERYTHING[:4], EVERYTHING[4:]], 0.0)
    totals.visit(w, 0, c[:4])
    totals.visit(w, 1, c[4:])
    expected = np.zeros(some.n_weights)
    for weight, row in zip(c, as_dicts(some.expectation(w, EVERYTHING).psi), strict=True):
        for index, value in row.items():
            expected[index] += weight * value
    assert totals.total(n_threads) == pytest.approx(expected)


def test_training_finds_the_optimum_among_the_chosen_weights():
    """Where the gradient of the full problem vanishes at all chosen weights."""
    full, some, numbers = both(2)
    options = {"objective": Softmax(error_scale=0.0), "C": 2.0, "loss": "hinge"}
    solution = fit(Problem(some, **options), LBFGS(), stop=Stop(epochs=200, gap=1e-12))
    wide = np.zeros(full.n_weights)
    wide[numbers] = solution.w
    slope = wide.copy()
    for cuts in Problem(full, **options).full_pass(wide):
        for row in as_dicts(cuts.a):
            for index, value in row.items():
                slope[index] -= 2.0 * value
    assert np.abs(slope[numbers]).max() < 1e-5
    assert np.abs(slope).max() > 1e-2


@given(chains(), st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.booleans())
def test_observed_weights_are_counted(model, least, everything):
    examples = model.compiled()
    data, L = examples, model.n_labels
    states, follows = Counter(), Counter()
    for sequence, gold in zip(model.sequences, model.gold, strict=True):
        for position, label in zip(sequence, gold, strict=True):
            for feature, value in position:
                states[feature, label] += value
        follows.update(pairwise(gold))
    if everything:
        for feature in {feature for feature, _ in states}:
            for label in range(L):
                states.setdefault((feature, label), 0.0)
        for pair in np.ndindex(L, L):
            follows.setdefault(pair, 0)
    found = observed_states(data.features.rows, data.gold, model.n_features, L, least=least, all_labels=everything)
    assert [set(row) for row in as_dicts(found._replace(values=np.ones(len(found.indices))))] == [
        {label for (feature, label), value in states.items() if feature == wanted and value >= least}
        for wanted in range(model.n_features)
    ]
    pairs = observed_pairs(data.indptr, data.gold, L, least=least, all_pairs=everything)
    assert pairs.tolist() == sorted(k * L + label for (k, label), count in follows.items() if count >= least)
    assert all(np.all(np.diff(row) > 0) for row in np.split(found.indices, found.indptr[1:-1]))


def test_no_weights_at_all_decode_to_something():
    none = Rows(np.zeros(3, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
    shape = SelectedChain(n_labels=2, n_features=2, states=none, pairs=np.empty(0, dtype=np.int64))
    one = rows([[(0, 1.0)], [(1, 1.0)]])
    examples = SelectedChainExamples(shape, np.array([0, 2]), one, np.array([0, 1], dtype=np.int32))
    assert examples.n_weights == 0
    assert len(examples.decode(np.empty(0), np.array([0], dtype=np.int32))) == 2
    assert examples.expectation(np.empty(0), np.array([0], dtype=np.int32)).errors == pytest.approx([2 * np.log(2)])


def test_more_pairs_than_can_be_numbered_are_refused():
    none = Rows(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
    with pytest.raises(DataError, match="more weights than can be indexed"):
        SelectedChain(n_labels=10**5, n_features=10**5, states=none, pairs=np.empty(0, dtype=np.int64))
