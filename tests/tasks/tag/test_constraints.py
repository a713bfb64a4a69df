"""Constrained predictions against the best of all outputs that comply, one by one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import random_chain
from helpers.chains import BIO, BIOES
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.tag.predict import ConstrainedChain
from widemargin.text.spans import SpanLabels, spans

pytestmark = pytest.mark.interpreted

BILOU = ["U-X", "O", "B-X", "L-X", "I-X"]
PREFIXES = {"O": "BIIB", "S-X": "BIES", "U-X": "BILU"}
"""Of the first, the inner and the last token of a span, and of the only one, by the scheme's first label."""


def is_proper(labels, scheme):
    """Whether these are the labels that the scheme's definition gives to the spans they mark."""
    first, inner, last, only = PREFIXES[scheme[0]]
    written = ["O"] * len(labels)
    for start, end, type_ in spans(labels):
        prefixes = only if end - start == 1 else first + inner * (end - start - 2) + last
        written[start:end] = [f"{prefix}-{type_}" for prefix in prefixes]
    return written == labels


class Case:
    """A chain with random weights; -inf does not occur, so that the best score tells everything."""

    def __init__(self, seed, lengths, labels, conditional=0, binary=True):
        self.labels = labels
        self.model = random_chain(seed, lengths, n_labels=len(labels), conditional=conditional, binary=binary)
        examples = self.model.compiled()
        self.w = np.random.default_rng(seed).normal(size=examples.n_weights)
        self.examples, self.weights = examples, examples.shape.parts(self.w).thin()

    def constrained(self, constraints):
        return ConstrainedChain(self.examples, self.weights, self.labels, constraints)

    def best(self, i, complies):
        """The best score of the outputs that comply, None if there is none."""
        possible = [y for y in self.model.outputs(i) if complies([self.labels[code] for code in y])]
        return max((self.model.score(self.w, i, y) for y in possible), default=None)

    def check(self, constraints, complies):
        """Decoding finds the best output of every sequence that complies, or says that there is none."""
        best = [self.best(i, lambda labels, i=i: complies(i, labels)) for i in range(self.examples.n_examples)]
        if None in best:
            with pytest.raises(DataError, match=f"for sequence {best.index(None)} complies"):
                self.constrained(constraints).decode()
            return
        codes = np.split(self.constrained(constraints).decode(), self.examples.indptr[1:-1])
        for i, output in enumerate(codes):
            assert complies(i, [self.labels[code] for code in output])
            assert self.model.score(self.w, i, output.tolist()) == pytest.approx(best[i], rel=1e-9, abs=1e-9)


lengths = st.lists(st.integers(0, 4), min_size=1, max_size=2)
seeds = st.integers(0, 10**6)
schemes = st.sampled_from([BIO, BIOES, BILOU])


@settings(max_examples=40)
@given(seeds, lengths, st.sampled_from([0, 2]), st.booleans(), st.data())
def test_allowed_labels_and_forbidden_pairs(seed, sizes, conditional, binary, data):
    labels = ["a", "b", "c"]
    position = st.none() | st.sets(st.sampled_from(labels))
    allowed = [data.draw(st.none() | st.lists(position, min_size=n, max_size=n)) for n in sizes]
    forbidden = data.draw(st.sets(st.tuples(st.sampled_from(labels), st.sampled_from(labels)), max_size=4))

    def complies(i, output):
        sets = allowed[i] or [None] * len(output)
        fits = all(which is None or label in which for which, label in zip(sets, output, strict=True))
        return fits and not forbidden.intersection(pairwise(output))

    case = Case(seed, sizes, labels, conditional, binary)
    case.check(Constraints(allowed=allowed, forbidden=forbidden), complies)


@settings(max_examples=40)
@given(seeds, lengths, schemes, st.data())
def test_proper_marks_and_forced_spans(seed, sizes, labels, data):
    types = sorted(SpanLabels(labels).types)
    forced = [
        data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, n), st.sampled_from(types)), max_size=2))
        if n
        else []
        for n in sizes
    ]
    forced = [[span for span in each if span[0] < span[1]] for each in forced]
    Case(seed, sizes, labels).check(
        Constraints(spans=forced, bio=True),
        lambda i, output: is_proper(output, labels) and set(forced[i]) <= {tuple(span) for span in spans(output)},
    )


@settings(max_examples=30)
@given(seeds, st.lists(st.integers(0, 5), min_size=1, max_size=2), schemes, st.data())
def test_one_span_at_most(seed, sizes, labels, data):
    types = data.draw(st.sets(st.sampled_from(sorted(SpanLabels(labels).types)), min_size=1))

    def complies(i, output):
        found = [span.type for span in spans(output)]
        return is_proper(output, labels) and all(found.count(type_) <= 1 for type_ in types)

    Case(seed, sizes, labels).check(Constraints(at_most_one=types), complies)


def test_one_span_at_most_may_be_impossible():
    case = Case(0, [3], BIO)
    with pytest.raises(DataError, match="for sequence 0"):
        case.constrained(Constraints(spans=[[(0, 1, "X"), (2, 3, "X")]], at_most_one=["X"])).decode()


def test_alternatives_comply_too():
    case = Case(1, [3, 2], BIO)
    constrained = case.constrained(Constraints(bio=True, allowed=[None, [{"O"}, None]]))
    batch, codes = constrained.examples.decode_best(constrained.weights, np.arange(2, dtype=np.int32), 1000)
    outputs = np.split(codes, np.cumsum(case.examples.lengths[batch])[:-1])
    named = [(i, *(BIO[code] for code in output)) for i, output in zip(batch.tolist(), outputs, strict=True)]
    possible = {
        (i, *(BIO[code] for code in y))
        for i in range(2)
        for y in case.model.outputs(i)
        if is_proper([BIO[code] for code in y], BIO) and (i == 0 or y[0] == 0)
    }
    assert len(named) == len(possible)
    assert set(named) == possible


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints(allowed=[None]), "there are 2 sequences, but allowed is given for 1"),
        (Constraints(spans=[[]]), "spans is given for 1"),
        (Constraints(allowed=[[None], None]), "sequence 0 has 2 positions, but 1 sets"),
        (Constraints(allowed=[None, ["O"]]), "a set of labels is wanted, not 'O'"),
        (Constraints(allowed=[None, [{"Q"}]]), "the label 'Q', which the model does not know"),
        (Constraints(forbidden=[("O", "Q")]), "the label 'Q'"),
        (Constraints(spans=[[], [(0, 2, "X")]]), r"sequence 1 has 1 positions; it cannot have the span \(0, 2, 'X'\)"),
        (Constraints(spans=[[(0, 1, "Q")], []]), "no span type 'Q'; there are 'X', 'Y'"),
        (Constraints(at_most_one=["Q"]), "no span type 'Q'"),
    ],
)
def test_constraints_that_make_no_sense(constraints, message):
    with pytest.raises(DataError, match=message):
        Case(0, [2, 1], BIO).constrained(constraints)


def test_labels_that_mark_no_spans():
    for constraints in (Constraints(bio=True), Constraints(spans=[[(0, 1, "X")]]), Constraints(at_most_one=["X"])):
        with pytest.raises(DataError, match="do not mark spans"):
            Case(0, [2], ["NOUN", "VERB"]).constrained(constraints)


def test_what_is_not_offered():
    with pytest.raises(UnsupportedError, match="at_most_one"):
        Case(0, [2], BIO).constrained(Constraints(at_most_one=["X"])).check_by_parts("alternatives")
