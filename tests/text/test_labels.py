"""Labels and what confusing them costs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.text.columns import Column, Columns, Notation
from widemargin.text.inputs import as_columns
from widemargin.text.labels import are_labels, as_sequences, cost_matrix, encode_labels

pytestmark = pytest.mark.interpreted

label_lists = st.lists(st.lists(st.sampled_from(["B-é", "I", "O", "10", "9"]), max_size=4), max_size=5)


def like(y):
    """Sequences of the lengths of `y`."""
    return [["w"] * len(labels) for labels in y]


@given(label_lists.filter(any))
def test_labels_are_numbered_by_frequency(y):
    labels, gold, _ = encode_labels(like(y), y)
    flat = [label for sequence in y for label in sequence]
    assert labels == sorted(set(flat), key=lambda label: (-flat.count(label), label))
    assert [labels[code] for code in gold] == flat
    assert gold.dtype == np.int32


@given(label_lists.filter(any))
def test_labels_may_be_lists_tuples_arrays_or_a_column(y):
    flat = [label for sequence in y for label in sequence]
    expected = encode_labels(like(y), y)
    # A column may have values that no position has.
    values = ["Z", *sorted(set(flat), reverse=True), "A"]
    column = Column(np.array([values.index(label) for label in flat], dtype=np.int32), values)
    X = Columns({"word": Column.of(flat)}, boundaries(map(len, y)))
    for form in ([tuple(labels) for labels in y], [np.array(labels, dtype=str) for labels in y], column):
        labels, gold, _ = encode_labels(X, form)
        assert labels == expected[0]
        assert all(type(label) is str for label in labels)
        assert gold.tolist() == expected[1].tolist()
    assert as_sequences(X, column) == y


def test_whole_numbers_are_sorted_as_numbers():
    for y in ([[10, 9], [-1]], [np.array([10, 9]), np.array([-1], dtype=np.int8)]):
        labels, gold, _ = encode_labels([["a", "b"], ["c"]], y)
        assert labels == [-1, 9, 10]
        assert gold.tolist() == [2, 1, 0]
        assert are_labels(labels)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["A", "B"]], "X has 2 sequences, but y has 1"),
        ([["A", "B"], ["A"], ["A"]], "X has 2 sequences, but y has 3"),
        ([["A", "B"], ["A", "B"]], "sequence 1 has 1 positions, but 2 labels"),
        ([["A"], ["A"]], "sequence 0 has 2 positions, but 1 labels"),
        (["AB", "C"], "y[0] must be a list of labels, not 'AB'"),
        ([["A", "B"], "C"], "y[1] must be a list of labels, not 'C'"),
        ([b"AB", b"C"], "y[0] must be a list of labels, not b'AB'"),
        ([{"A": 1, "B": 2}, ["C"]], "y[0] must be a list of labels, not {'A': 1, 'B': 2}"),
        ([1, 2], "y[0] must be a list of labels, not 1"),
        (np.array(["AB", "C"]), "y[0] must be a list of labels"),
        ("AB", "y must be a list of label lists, not 'AB'"),
        (None, "y must be a list of label lists, not None"),
        (7, "y must be a list of label lists, not 7"),
        ([["A", set()], ["A"]], "sequence 0, position 1: no label is allowed; use None for any label"),
        ([["A", {1.5}], ["A"]], "sequence 0, position 1: a label must be a string or a whole number, not 1.5"),
        ([["A", ["B", None]], ["A"]], "sequence 0, position 1: a label must be a string or a whole number, not None"),
        ([["A", {1, 2}], ["A"]], "labels must be all strings or all whole numbers; there are int and str"),
        ([[None, None], [None]], "there is no labelled position to learn from"),
        ([["A", "B"], [1.0]], "sequence 1, position 0: a label must be a string or a whole number, not 1.0"),
        ([["A", "B"], [True]], "sequence 1, position 0: a label must be a string or a whole number, not True"),
        ([["A", "B"], [b"A"]], "sequence 1, position 0: a label must be a string or a whole number, not b'A'"),
        ([["A", "B"], [[["A"]]]], "sequence 1, position 0: a label must be a string or a whole number, not ['A']"),
        ([["A", "B"], [{"A": 1}]], "sequence 1, position 0: a label must be a string or a whole number, not {'A': 1}"),
        ([["A", "B"], [np.bool_(True)]], "sequence 1, position 0: a label must be a string or a whole number"),
        ([["A", "B"], [1]], "labels must be all strings or all whole numbers; there are int and str"),
    ],
)
def test_bad_labels_are_located(y, message):
    with pytest.raises(DataError, match="^" + re.escape(message)):
        encode_labels([["a", "b"], ["c"]], y)


def test_columns_of_labels_belong_to_columns_of_tokens():
    column = Column.of(["A", "B"])
    with pytest.raises(DataError, match="there are 3 positions but 2 labels"):
        encode_labels(as_columns([["a", "b"], ["c"]]), column)
    with pytest.raises(DataError, match="only together with tokens in columns"):
        as_sequences([["a", "b"]], column)


@pytest.mark.parametrize(("X", "y"), [([], []), ([[]], [[]]), (as_columns([[], []]), Column.of([]))])
def test_without_labels_there_is_nothing_to_learn(X, y):
    with pytest.raises(DataError, match="there is no labelled position to learn from"):
        encode_labels(X, y)


# Costs


def test_costs_that_are_not_given_count_errors():
    assert cost_matrix(None, ["a", "b"]) is None
    assert cost_matrix({}, ["a", "b"]).tolist() == [[0, 1], [1, 0]]


@given(st.permutations([("b", 3.0), (("b", "a"), 0.5), (("c", "b"), 7), (("a", "a"), 0)]))
def test_costs_of_pairs_go_before_those_of_labels_in_any_order(items):
    assert cost_matrix(dict(items), ["a", "b", "c"]).tolist() == [[0, 1, 1], [0.5, 0, 3], [1, 7, 0]]


def test_costs_of_whole_numbers():
    assert cost_matrix({(0, 1): np.float32(2.0), 1: np.int64(3)}, [0, 1]).tolist() == [[0, 2], [3, 0]]


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"d": 1.0}, "costs names the label 'd', which the training data do not have"),
        ({("a", "d"): 1.0}, "costs names the label 'd', which the training data do not have"),
        ({"a": -1.0}, "costs['a'] is -1.0; costs are finite, not negative, and 0 for a right label"),
        ({"a": float("nan")}, "costs['a'] is nan"),
        ({("a", "b"): float("inf")}, "costs[('a', 'b')] is inf"),
        ({("a", "a"): 1.0}, "costs[('a', 'a')] is 1.0; costs are finite, not negative, and 0 for a right label"),
        ({"a": "x"}, "costs['a'] is 'x'"),
        ({"a": None}, "costs['a'] is None"),
        ({("a", "b", "c"): 1.0}, "costs[('a', 'b', 'c')] names 3 labels; one or two are wanted, gold and predicted"),
        ({(): 1.0}, "costs[()] names 0 labels; one or two are wanted, gold and predicted"),
        ([[0, 1], [1, 0]], "costs must be a dict"),
        (3.0, "costs must be a dict of {(gold, predicted): cost} or {gold: cost}, not 3.0"),
    ],
)
def test_bad_costs(costs, message):
    with pytest.raises(DataError, match="^" + re.escape(message)):
        cost_matrix(costs, ["a", "b", "c"])


def test_labels_known_in_part_are_sets():
    y = [["B", None, {"A", "C"}], [["B"], ("C", "A"), "B"]]
    labels, known, sets = encode_labels(like(y), y)
    assert labels == ["B", "A", "C"]
    assert known.tolist() == [0, 3, 4, 0, 4, 0]
    assert sets.tolist() == [[True, True, True], [False, True, True]]


def test_a_column_writes_unknown_labels_and_alternatives():
    column = Column.of(["B", "_", "A|C", "B", "C|A", "B"])
    X = Columns({"word": column}, np.array([0, 3, 6]))
    plain = encode_labels(X, column)
    assert (plain.labels, plain.known.tolist()) == (["B", "A|C", "C|A"], [0, 3, 1, 0, 2, 0])
    both = encode_labels(X, replace(column, notation=Notation(alternatives="|")))
    assert (both.labels, both.sets.sum(axis=1).tolist()) == (["B", "A", "C"], [3, 2, 2])
    none = encode_labels(X, replace(column, notation=Notation(unknown=None)))
    assert (none.labels, len(none.sets)) == (["B", "A|C", "C|A", "_"], 0)
