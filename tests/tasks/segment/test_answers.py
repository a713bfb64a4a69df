"""Constraints, alternatives and margins of segmentations against all of them, one by one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import widemargin
from helpers.segmentations import random_segmentation
from widemargin import Constraints, Segmenter
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.segment.costs import segments_of
from widemargin.tasks.segment.model import ConstrainedSegments, segment_margin
from widemargin.text.spans import Span

pytestmark = pytest.mark.interpreted

LABELS = ["O", "X", "Y"]


class Case:
    """Segmentations with up to three tokens a segment, and random weights."""

    def __init__(self, seed, lengths):
        self.model = random_segmentation(seed, lengths, max_lengths=[1, 3, 2], n_segment_features=2)
        self.examples = self.model.compiled()
        self.w = np.random.default_rng(seed).normal(size=self.examples.n_weights)
        self.weights = self.examples.shape.parts(self.w).thin()

    def check(self, constraints, complies):
        """Decoding finds the best output of every sequence that complies, or says that there is none."""
        best = [
            max((self.model.score(self.w, i, y) for y in self.model.outputs(i) if complies(i, y)), default=None)
            for i in range(self.examples.n_examples)
        ]
        if None in best:
            with pytest.raises(DataError, match=f"for sequence {best.index(None)} complies"):
                ConstrainedSegments(self.examples, self.weights, LABELS, constraints).decode()
            return
        codes = ConstrainedSegments(self.examples, self.weights, LABELS, constraints).decode()
        for i, output in enumerate(np.split(codes, self.examples.indptr[1:-1])):
            segments = segments_of(output)
            assert complies(i, segments)
            assert self.model.score(self.w, i, segments) == pytest.approx(best[i], rel=1e-9, abs=1e-9)


seeds = st.integers(0, 10**6)
lengths = st.lists(st.integers(0, 4), min_size=1, max_size=2)


@settings(max_examples=40)
@given(seeds, lengths, st.data())
def test_allowed_labels_and_forbidden_pairs(seed, sizes, data):
    position = st.none() | st.sets(st.sampled_from(LABELS))
    allowed = [data.draw(st.none() | st.lists(position, min_size=n, max_size=n)) for n in sizes]
    forbidden = data.draw(st.sets(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), max_size=4))

    def complies(i, segments):
        named = [LABELS[y] for _, _, y in segments]
        sets = allowed[i] or [None] * sizes[i]
        fits = all(sets[s] is None or LABELS[y] in sets[s] for t, u, y in segments for s in range(t, u + 1))
        return fits and not forbidden.intersection(pairwise(named))

    Case(seed, sizes).check(Constraints(allowed=allowed, forbidden=forbidden), complies)


@settings(max_examples=40)
@given(seeds, lengths, st.data())
def test_forced_spans_and_one_span_at_most(seed, sizes, data):
    span = st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(["X", "Y"]))
    forced = [[each for each in data.draw(st.lists(span, max_size=2)) if each[0] < each[1] <= size] for size in sizes]
    once = data.draw(st.sets(st.sampled_from(["X", "Y"])))

    def complies(i, segments):
        found = [(t, u + 1, LABELS[y]) for t, u, y in segments]
        types = [type_ for *_, type_ in found]
        return set(forced[i]) <= set(found) and all(types.count(type_) <= 1 for type_ in once)

    Case(seed, sizes).check(Constraints(spans=forced, at_most_one=once, bio=True), complies)


@settings(max_examples=40)
@given(seeds, st.integers(1, 5))
def test_the_margin_of_a_segment_is_its_lead_over_all_outputs_without_it(seed, n):
    case, batch = Case(seed, [n]), np.zeros(1, dtype=np.int32)
    best = case.examples.max_marginals(case.w, batch)
    scored = [(case.model.score(case.w, 0, y), y) for y in case.model.outputs(0)]
    for segment in segments_of(case.examples.decode(case.w, batch)):
        without = max((score for score, y in scored if segment not in y), default=-np.inf)
        t, u, label = segment
        margin = segment_margin(best, case.examples.spans, t, u + 1, label)
        assert margin == pytest.approx(max(scored)[0] - without, abs=1e-9)


def test_scores_of_segmentations():
    case = Case(3, [3, 0, 2])
    for i in range(3):
        repeated, codes = case.examples.decode_best(case.w, np.array([i], dtype=np.int32), 1000)
        outputs = codes.reshape(len(repeated), -1) if len(codes) else [codes]
        expected = [case.model.score(case.w, i, segments_of(each)) for each in outputs]
        assert case.examples.scores(case.weights, repeated, codes) == pytest.approx(expected)


def test_constraints_that_make_no_sense():
    case = Case(0, [2])
    for constraints in (
        Constraints(at_most_one=["Q"]),
        Constraints(forbidden=[("X", "Q")]),
        Constraints(spans=[[(0, 1, "Q")]]),
        Constraints(allowed=[[{"Q"}, None]]),
    ):
        with pytest.raises(DataError, match="'Q', which the model does not know"):
            ConstrainedSegments(case.examples, case.weights, LABELS, constraints)


def test_answers_of_a_segmenter(tmp_path):
    rng = np.random.default_rng(0)
    X = [[["a", "b", "c", "d"][k] for k in rng.integers(4, size=5)] for _ in range(80)]
    y = [[(t, t + 1, "X") for t, word in enumerate(words) if word == "b" or rng.random() < 0.1] for words in X]
    segmenter = Segmenter(templates=["word"], max_epochs=4).fit(X[:40], y[:40])
    with pytest.raises(WidemarginError, match="not calibrated for spans"):
        segmenter.confidence(X)

    ranked = segmenter.predict_best(X[:2], 3)
    assert [each[0].output for each in ranked] == segmenter.predict(X[:2])
    assert all(each == sorted(each, reverse=True) and len(each) == 3 for each in ranked)
    assert segmenter.predict([["a", "a"]], Constraints(spans=[[(1, 2, "X")]])) == [[Span(1, 2, "X")]]
    once = segmenter.predict([["b", "a", "b"]], Constraints(at_most_one=["X"]))
    assert len(once[0]) == 1

    report = segmenter.calibrate(X[40:], y[40:])
    assert report.keys() == {"spans"}
    with pytest.raises(UnsupportedError, match="at_most_one"):
        segmenter.predict_spans(X, Constraints(at_most_one=["X"]))
    found = segmenter.predict_spans(X)
    assert report["spans"].n == sum(map(len, found[40:]))
    assert [[Span(*span[:3]) for span in each] for each in found] == segmenter.predict(X)
    assert [[span.confidence for span in each] for each in found] == [each.tolist() for each in segmenter.confidence(X)]
    assert segmenter.max_marginals(X)[0].shape == (5, 2)
    segmenter.save(tmp_path / "model.wm")
    assert widemargin.load(tmp_path / "model.wm").predict_spans(X) == found
