"""Segmentations as users give them: checked, numbered, and priced."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.tasks.segment.labels import (
    Penalties,
    as_labels,
    as_spans,
    bio_names,
    decode_segments,
    encode_segments,
    longest_spans,
    max_lengths,
)
from widemargin.text.columns import Column
from widemargin.text.inputs import as_columns
from widemargin.text.spans import Span, bio

pytestmark = pytest.mark.interpreted

X = [["a", "b", "c"], [], ["d"]]
SPANS = [[Span(0, 2, "x")], [], [Span(0, 1, "y")]]
LABELS = [["B-x", "I-x", "O"], [], ["B-y"]]


@st.composite
def segmentations(draw):
    """Sizes of sequences and spans in them."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    found = []
    for size in sizes:
        cuts = sorted(draw(st.sets(st.integers(0, size))))
        types = [draw(st.sampled_from(["", "x", "yy"])) for _ in cuts[1:]]
        found.append([Span(i, j, t) for i, j, t in zip(cuts, cuts[1:], types, strict=False) if t])
    return sizes, found


@given(segmentations())
def test_codes_and_spans_are_two_ways_to_say_the_same(case):
    sizes, spans = case
    if not sum(sizes):
        with pytest.raises(DataError, match="no token"):
            encode_segments(spans, sizes)
        return
    labels, codes = encode_segments(spans, sizes)
    assert decode_segments(codes, labels, boundaries(sizes)) == spans
    flat = [label for each, size in zip(spans, sizes, strict=True) for label in bio(each, size)]
    names = bio_names(labels)
    assert [names[code] for code in codes] == flat
    counts = np.bincount(codes >> 1)
    assert sorted(counts, reverse=True) == counts.tolist()
    assert counts.all()


@pytest.mark.parametrize(
    "y",
    [
        SPANS,
        LABELS,
        [[(0, 2, "x")], (), [[np.int64(0), 1, "y"]]],
        [["I-x", "I-x", "O"], [], ["I-y"]],
        [["B-x", "E-x", "O"], [], ["S-y"]],
    ],
)
def test_spans_and_labels_mean_the_same(y):
    assert as_spans(X, y) == SPANS
    assert as_labels(X, y) == LABELS


def test_spans_come_from_columns():
    assert as_spans(as_columns(X), Column.of([label for each in LABELS for label in each])) == SPANS


def test_no_spans_at_all():
    assert as_spans(X, [[], [], []]) == [[], [], []]


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        ([[(0, 2, "x"), (1, 3, "y")], [], []], "sequence 0: the span 1:3 ('y') overlaps with the one before"),
        ([[], [], [(0, 2, "x")]], "sequence 2: the span 0:2 ('x') does not fit into a sequence of 1 tokens"),
        ([[], [], [(0, "x")]], "sequence 2: a span is (start, end, label), not (0, 'x')"),
        ([[], [], [(0.0, 1, "x")]], "sequence 2: a span is (start, end, label)"),
        ([[], [], [(False, 1, "x")]], "sequence 2: a span is (start, end, label)"),
        ([[], [], [(0, 1, 7)]], "sequence 2: a span is (start, end, label)"),
        ([[], [], [(0, 1, "O")]], "sequence 2 has a span labelled 'O'"),
        ([["B-O", "O", "O"], [], ["O"]], "sequence 0 has a span labelled 'O'"),
        ([["NN", "O", "O"], [], ["O"]], "sequence 0: the label 'NN' marks no span"),
        ([["B-x"], [], ["O"]], "sequence 0 has 3 positions, but 1 labels"),
        ([[(0, 1, "x")]], "X has 3 sequences, but y has 1"),
        ([[(0, 1, "x")], 7, []], "y[1] must be a list of spans, not 7"),
        ("abc", "y must be a list of spans or labels for every sequence, not 'abc'"),
        (7, "y must be a list of spans or labels"),
    ],
)
def test_wrong_segmentations_are_named(y, complaint):
    with pytest.raises(DataError, match=re.escape(complaint)):
        as_spans(X, y)


def test_lengths():
    labels = ["O", "x", "y"]
    assert max_lengths(None, labels, longest_spans(SPANS)) == (1, 2, 1)
    assert max_lengths(2, labels, longest_spans(SPANS)) == (1, 2, 1)
    assert max_lengths({"y": 4}, labels, longest_spans(SPANS)) == (1, 2, 4)
    for wrong, complaint in (
        (1, "allows segments of 1 tokens with the label 'x', but the training data have one of 2"),
        ({"z": 3}, "names the label 'z'"),
        ({"x": 0}, "a positive whole number, not 0"),
        (True, "a positive whole number, not True"),
    ):
        with pytest.raises(DataError, match=complaint):
            max_lengths(wrong, labels, longest_spans(SPANS))


def test_an_error_is_a_false_positive_and_a_false_negative():
    precision, recall, confusion = Penalties.of(["O", "x", "y"], None, None, None)
    assert precision.tolist() == recall.tolist() == [0, 1, 1]
    assert confusion.tolist() == [[0, 1, 1], [1, 0, 2], [1, 2, 0]]


def test_penalties_can_be_given():
    given = Penalties.of(["O", "x", "y"], {"x": 3}, {"O": 0.5, "y": 2}, {("x", "y"): 0.25})
    assert given.precision.tolist() == [0, 3, 1]
    assert given.recall.tolist() == [0.5, 1, 2]
    assert given.confusion.tolist() == [[0, 3.5, 1.5], [1, 0, 0.25], [2, 5, 0]]


@pytest.mark.parametrize(
    ("precision", "complaint"),
    [
        ({"z": 1}, "precision names the label 'z'"),
        ({"x": -1}, "finite and not negative"),
        ({"x": "1"}, "finite and not negative"),
        (3, "a dict of penalties"),
    ],
)
def test_wrong_penalties_are_named(precision, complaint):
    with pytest.raises(DataError, match=complaint):
        Penalties.of(["O", "x"], precision, None, None)
