"""Classes and sets of labels: what their structures offer against enumeration, objectives against scikit-learn's."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import STRUCTURES, all_cuts, as_dicts, classes, label_sets, rows
from widemargin.core import checks
from widemargin.core.examples import ErrorCounts, KBest, Marginals, Positions
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows, dots
from widemargin.decoders.subsets import MOST_LISTED, search_subsets, subset_scores, subset_sums
from widemargin.errors import DataError, UnsupportedError
from widemargin.objectives import Softmax
from widemargin.structures.label_sets import TABLE, ListedSets, SearchedSets
from widemargin.tasks.classify.examples import (
    ClassExamples,
    EnumeratedMultilabel,
    SearchedMultilabel,
    multilabel_kind,
)

pytestmark = pytest.mark.interpreted

FLAT = [name for name in STRUCTURES if name.startswith(("classes", "multilabel"))]
LISTED = [name for name in FLAT if name != "multilabel, no pairs"]
NUMBERS = st.floats(-4, 4, width=32).map(float)


def everything(small):
    return np.arange(small.examples.n_examples, dtype=np.int32)


def drawn_weights(small, n=8):
    rng = np.random.default_rng(1)
    return [scale * rng.normal(size=small.examples.n_weights) for scale in np.repeat([0.1, 0.5, 3.0], n // 3 + 1)]


@given(
    st.integers(1, 5).flatmap(
        lambda k: st.tuples(arrays(float, k, elements=NUMBERS), arrays(float, (k, k), elements=NUMBERS))
    )
)
def test_all_sets_are_scored_in_the_order_of_their_numbers(scores):
    single, pair = scores
    listed = subset_scores(single[None], pair)[0]
    for number, value in enumerate(listed):
        members = [k for k in range(len(single)) if number >> k & 1]
        assert value == pytest.approx(single[members].sum() + sum(pair[j, k] for j, k in combinations(members, 2)))


@given(st.integers(1, 5).flatmap(lambda k: arrays(float, 2**k, elements=st.floats(0, 1))))
def test_sums_over_all_sets_with_two_labels(p):
    n = len(p).bit_length() - 1
    sums = subset_sums(p[None].copy(), n).reshape(n, n)
    for j, k in product(range(n), repeat=2):
        both = sum(value for number, value in enumerate(p) if number >> j & 1 and number >> k & 1)
        assert sums[j, k] == pytest.approx(both if j <= k else 0.0)


@given(
    st.integers(1, 5).flatmap(
        lambda k: st.tuples(arrays(float, (2, k), elements=NUMBERS), arrays(float, (k, k), elements=NUMBERS))
    )
)
def test_the_search_ends_where_no_single_label_helps(scores):
    single, pair = scores
    symmetric = np.triu(pair, 1) + np.triu(pair, 1).T
    for row, found in zip(single, search_subsets(single, symmetric), strict=True):

        def score(y, row=row):
            return row @ y + y @ symmetric @ y / 2

        neighbours = [found ^ np.eye(len(found), dtype=np.int32)[k] for k in range(len(found))]
        assert (
            score(found)
            >= max(map(score, [*neighbours, np.zeros(len(row)), np.ones(len(row)), 1.0 * (row > 0)])) - 1e-9
        )


@pytest.mark.parametrize("name", LISTED)
def test_the_worst_output_under_slack_scaling_is_found(name):
    small = STRUCTURES[name]()
    assert isinstance(small.examples, ErrorCounts)
    for w in drawn_weights(small):
        outputs = small.examples.decode_slack(w, everything(small))
        errors, psi = small.examples.difference(everything(small), outputs)
        found = errors * (1.0 - dots(psi, w))
        best = [max(0.0, np.max(errors * (1.0 - psi @ w))) for errors, psi in all_cuts(small)]
        np.testing.assert_allclose(found, best, atol=1e-9)


@pytest.mark.parametrize("name", FLAT)
def test_the_violators_are_the_worst_outputs_of_each_position(name):
    small = STRUCTURES[name]()
    examples = small.examples
    costs = examples.costs.costs
    for w in drawn_weights(small):
        errors, psi = examples.violators(w, everything(small))
        found = iter(zip(errors, as_dicts(psi), strict=True))
        for i, (_, all_psi) in enumerate(all_cuts(small)):
            outputs = np.concatenate(list(small.outputs(i)))
            slack = 1.0 - all_psi @ w
            gold = small.gold[i]
            # The error at each position of every output, a column a position.
            table = costs[gold, outputs][:, None] if outputs.ndim == 1 else costs * (outputs != gold)
            assert table.shape[1] == examples.n_positions[i]
            for at_position in table.T:
                error, row = next(found)
                value = error * (1.0 - sum(w[index] * each for index, each in row.items()))
                best = max(0.0, np.max(at_position * slack))
                assert value == pytest.approx(best, abs=1e-9)
                assert (error == 0.0) == (best == 0.0) == (not row)
        assert next(found, None) is None


def test_the_scores_of_classes_are_their_max_marginals():
    small = STRUCTURES["classes, costs"]()
    w = drawn_weights(small)[0]
    best = small.examples.max_marginals(w, everything(small))
    repeated, order = small.examples.decode_best(w, everything(small), 4)
    assert np.all(np.diff(best[repeated, order].reshape(-1, 4), axis=1) <= 0)


def test_many_examples_are_decoded_in_parts():
    n_labels = 12
    small = label_sets(3, TABLE // 2**n_labels + 5, n_labels, pairwise=True)
    w = drawn_weights(small)[0]
    together = small.examples.decode(w, everything(small))
    scores = small.examples.scored(w, everything(small)).scores
    single, pairs = scores.own.reshape(-1, n_labels), np.zeros((n_labels, n_labels))
    pairs[np.triu_indices(n_labels, 1)] = scores.shared
    values = (single * together).sum(axis=1) + np.einsum("ij,jk,ik->i", together, pairs, together)
    np.testing.assert_allclose(values, [subset_scores(row[None], pairs).max() for row in single])


def test_what_is_offered_depends_on_what_can_be_listed():
    assert multilabel_kind(MOST_LISTED, pairwise=True) is EnumeratedMultilabel
    assert multilabel_kind(MOST_LISTED + 1, pairwise=True) is SearchedMultilabel
    searched = label_sets(1, 4, MOST_LISTED + 1, pairwise=True).examples
    assert not searched.exact
    for protocol in (KBest, Marginals, ErrorCounts, Positions):
        assert isinstance(label_sets(1, 4, 3, pairwise=True).examples, protocol)
        assert not isinstance(searched, protocol)
    with pytest.raises(UnsupportedError, match="Marginals"):
        Problem(searched, Softmax(), loss="hinge")
    with pytest.raises(DataError, match="14 labels are most"):
        ListedSets(MOST_LISTED + 1)


def test_wrong_arrays_are_refused():
    features = rows([[(0, 1.0)], [(2, 1.0)]])
    gold = np.array([0, 1], dtype=np.int32)
    with pytest.raises(DataError, match="outside 0 … 1"):
        ClassExamples(features, 2, 2, gold)
    with pytest.raises(DataError, match="2 class numbers from 0 to 1"):
        ClassExamples(features, 3, 2, gold + 1)
    with pytest.raises(DataError, match="2 × 2 with zeros"):
        ClassExamples(features, 3, 2, gold, costs=np.ones((2, 2)))
    with pytest.raises(DataError, match="more weights than can be indexed"):
        ClassExamples(features, 2**20, 2**12)
    with pytest.raises(DataError, match="matrix of 0 and 1"):
        multilabel_kind(2, pairwise=True)(features, 3, 2, np.full((2, 2), 2, dtype=np.int32))
    with pytest.raises(DataError, match="one for each label"):
        multilabel_kind(2, pairwise=True)(features, 3, 2, costs=np.ones(3))


def test_features_that_occur_twice_are_summed():
    w = np.arange(6.0)
    once, twice = rows([[(0, 3.0)], [(1, 1.0)]]), rows([[(0, 1.0), (0, 2.0)], [(1, 1.0), (2, 0.0)]])
    gold, batch = np.array([0, 1], dtype=np.int32), np.arange(2, dtype=np.int32)
    one, other = (ClassExamples(features, 3, 2, gold) for features in (once, twice))
    assert np.array_equal(one.max_marginals(w, batch), other.max_marginals(w, batch))
    assert as_dicts(one.difference(batch, 1 - gold).psi) == as_dicts(other.difference(batch, 1 - gold).psi)


def test_examples_without_gold_can_be_decoded():
    small = classes(1, 5)
    bare = ClassExamples(small.examples.features.rows, 5, 3)
    w = drawn_weights(small)[0]
    assert np.array_equal(bare.decode(w, everything(small)), small.examples.decode(w, everything(small)))


def number(part, n_labels):
    """The number of a label, or of a pair of labels."""
    if isinstance(part, int):
        return part
    j, k = part
    return n_labels + j * n_labels - j * (j + 1) // 2 + k - j - 1


def test_pairs_of_sets_take_the_room_of_their_members_alone():
    """However many labels there are: in dense matrices these pairs would take gigabytes."""
    rng, n_labels = np.random.default_rng(0), 5_000
    sets, others = np.zeros((2, 60, n_labels), dtype=np.int32)
    for row in (*sets, *others):
        row[rng.choice(n_labels, 4, replace=False)] = 1
    others[2] = sets[2]
    others[3] = 0
    change = SearchedSets(n_labels).change(np.ones(60, dtype=np.int64), sets, others)
    for i, entries in enumerate(as_dicts(Rows(*change))):
        own, other = (np.flatnonzero(row).tolist() for row in (sets[i], others[i]))
        own, other = ({*own, *combinations(own, 2)}, {*other, *combinations(other, 2)})
        signed = dict.fromkeys(own - other, 1.0) | dict.fromkeys(other - own, -1.0)
        assert entries == {number(part, n_labels): sign for part, sign in signed.items()}


def test_too_many_pairs_are_refused_and_single_labels_are_not(monkeypatch):
    X, gold = rows([[(0, 1.0)]] * 3), np.zeros((3, 5_000), dtype=np.int32)
    monkeypatch.setattr(checks, "MOST_BYTES", 10**8)
    with pytest.raises(UnsupportedError, match=r"5,000 labels have 12,497,500 pairs.*--no-pairwise"):
        multilabel_kind(5_000, pairwise=True)(X, 1, 5_000, gold)
    multilabel_kind(5_000, pairwise=False)(X, 1, 5_000, gold)
