"""Segments of labels that are known in part: against enumeration, and from labels to models."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import widemargin
from helpers import as_dicts
from helpers.segmentations import random_segmentation
from widemargin.core.examples import FirstCompletions, Latent
from widemargin.core.latent import fit_latent
from widemargin.core.loop import Stop
from widemargin.core.problem import Problem
from widemargin.errors import DataError
from widemargin.objectives import OBJECTIVES
from widemargin.solvers import Auto
from widemargin.tasks.segment import SegmenterParameters
from widemargin.tasks.segment.costs import encode, segments_of
from widemargin.tasks.segment.estimator import compile_segments
from widemargin.tasks.segment.examples import PartialSegmentExamples, SegmentExamples
from widemargin.tasks.segment.labels import encode_partial
from widemargin.tasks.training import Data

INTERPRETED = pytest.mark.interpreted


class PlainPartial:
    """A `PlainSegmentation` of whose gold codes only sets are seen; everything is enumerated."""

    def __init__(self, model, allowed, known):
        self.model, self.allowed, self.known = model, allowed, known

    def fitting(self, i):
        """All segmentations whose codes are in the sets."""
        return [
            each
            for each in self.model.outputs(i)
            if all(code in codes for code, codes in zip(encode(each).tolist(), self.allowed[i], strict=True))
        ]

    def segment_error(self, i, segment):
        model, (t, u, y) = self.model, segment
        fitting = self.local(i)
        if segment in fitting:
            return 0.0
        sure = [label for label in range(model.n_labels) if self.certain(i, (t, u, label))]
        if sure:
            return float(model.confusion[sure[0]][y])
        return float(model.precision[y] + sum(self.missed(i, s) for s in range(t, u + 1)))

    def missed(self, i, s):
        codes = self.allowed[i][s]
        if not self.known[i][s] or not any(code & 1 for code in codes):
            return 0.0
        return min(self.model.recall[code >> 1] for code in codes)

    def local(self, i):
        """The segments whose codes are allowed, with a token behind them that may begin another."""
        n, allowed = len(self.allowed[i]), self.allowed[i]
        return [
            (t, u, y)
            for t in range(n)
            for u in range(t, n)
            for y in range(self.model.n_labels)
            if 2 * y + 1 in allowed[t]
            and all(2 * y in allowed[s] for s in range(t + 1, u + 1))
            and (u + 1 == n or any(code & 1 for code in allowed[u + 1]))
        ]

    def certain(self, i, segment):
        (t, u, y), allowed = segment, self.allowed[i]
        return (
            allowed[t] == {2 * y + 1}
            and all(allowed[s] == {2 * y} for s in range(t + 1, u + 1))
            and (u + 1 == len(allowed) or 2 * y not in allowed[u + 1])
        )

    def error(self, i, segments):
        return sum(self.segment_error(i, segment) for segment in segments)

    def compiled(self):
        base, L = self.model.compiled(), self.model.n_labels
        codes = [each for sets in self.allowed for each in sets]
        own, model = base.features, self.model
        return PartialSegmentExamples(
            base.shape,
            own.indptr,
            own.rows,
            own.segment_rows if base.shape.n_segment_features else None,
            np.array([[code in each for code in range(2 * L)] for each in codes], dtype=bool).reshape(-1, 2 * L),
            np.array([each for known in self.known for each in known], dtype=bool),
            precision=np.array(model.precision),
            recall=np.array(model.recall),
            confusion=np.array(model.confusion),
        )


@st.composite
def partial_segmentations(draw):
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    model = random_segmentation(
        draw(st.integers(0, 50)), lengths, max_lengths=[1, 3], penalties=True, n_segment_features=2
    )
    allowed, known = [], []
    for gold in model.gold:
        own = encode(gold).tolist()
        kinds = [draw(st.sampled_from(["known", "set", "any"])) for _ in own]
        more = {"known": st.just(set()), "set": st.sets(st.integers(0, 3)), "any": st.just({0, 1, 2, 3})}
        sets = [{code} | draw(more[kind]) for code, kind in zip(own, kinds, strict=True)]
        sets[:1] = [{code for code in each if code & 1} for each in sets[:1]]
        allowed.append(sets)
        known.append([kind != "any" for kind in kinds])
    return PlainPartial(model, allowed, known)


def split(model, codes):
    return [segments_of(part) for part in np.split(codes, np.cumsum([len(each) for each in model.sequences])[:-1])]


def everything(examples):
    return np.arange(examples.n_examples, dtype=np.int32)


def joined(segmentations):
    return np.concatenate([encode(each) for each in segmentations])


@INTERPRETED
@given(partial_segmentations(), st.integers(0, 9))
def test_decoding_and_completing_equal_enumeration(plain, seed):
    model, examples = plain.model, plain.compiled()
    w, batch = np.random.default_rng(seed).normal(size=examples.n_weights), everything(examples)
    completions = examples.complete(w, batch)
    for i, found in enumerate(split(model, completions)):
        assert found in plain.fitting(i)
        best = max(model.score(w, i, each) for each in plain.fitting(i))
        assert model.score(w, i, found) == pytest.approx(best)
    completed = examples.completed(completions)
    for scale in (0.0, 1.0, 3.0):
        for i, found in enumerate(split(model, completed.decode(w, batch, error_scale=scale))):
            best = max(model.score(w, i, each) + scale * plain.error(i, each) for each in model.outputs(i))
            assert model.score(w, i, found) + scale * plain.error(i, found) == pytest.approx(best)


@INTERPRETED
@given(partial_segmentations(), st.data())
def test_differences_and_searches_count_errors_by_what_is_known(plain, data):
    model, examples = plain.model, plain.compiled()
    batch = everything(examples)
    w = np.random.default_rng(0).normal(size=examples.n_weights)
    gold = [data.draw(st.sampled_from(plain.fitting(i))) for i in batch]
    completed, filled = examples.completed(joined(gold)), replace(model, gold=gold)
    outputs = [data.draw(st.sampled_from(model.outputs(i))) for i in batch]
    errors, psi = completed.difference(batch, joined(outputs))
    np.testing.assert_allclose(errors, [plain.error(i, each) for i, each in enumerate(outputs)])
    for i, (row, each) in enumerate(zip(as_dicts(psi), outputs, strict=True)):
        assert row == pytest.approx(filled.psi(i, each))
    assert not completed.difference(batch, examples.guess(np.random.default_rng(1))).errors.any()

    def value(i, each):
        return plain.error(i, each) * (1.0 + model.score(w, i, each) - model.score(w, i, gold[i]))

    for i, found in enumerate(split(model, completed.decode_slack(w, batch))):
        assert value(i, found) == pytest.approx(max(0.0, *(value(i, each) for each in model.outputs(i))))


@INTERPRETED
def test_fully_known_codes_are_the_usual_error():
    model = random_segmentation(3, [5, 4, 6], max_lengths=[1, 3, 2], penalties=True)
    codes = [encode(each).tolist() for each in model.gold]
    plain = PlainPartial(model, [[{code} for code in each] for each in codes], [[True] * len(each) for each in codes])
    examples, usual = plain.compiled(), model.compiled()
    assert isinstance(examples, Latent)
    assert isinstance(examples, FirstCompletions)
    w, batch = np.random.default_rng(0).normal(size=usual.n_weights), everything(usual)
    completed = examples.completed(examples.first_completions())
    assert np.array_equal(completed.gold, usual.gold)
    for name in ("lengths", "missed"):
        assert np.array_equal(getattr(completed.costs.tables, name), getattr(usual.costs.tables, name))
    found = usual.decode(w, batch, error_scale=1.0)
    assert np.array_equal(completed.decode(w, batch, error_scale=1.0), found)
    assert np.array_equal(completed.difference(batch, found).errors, usual.difference(batch, found).errors)


@INTERPRETED
def test_labels_become_codes():
    labels, allowed, given, spans = encode_partial(
        [["O", None, "I-x", "I-x"], ["I-x", frozenset({"B-x", "O"}), "I-x", "B-x"]]
    )
    assert labels == ["x", "O"]
    inside, begin, outside = 0, 1, 3
    codes = [set(np.flatnonzero(row).tolist()) for row in allowed]
    assert codes == [
        {outside},
        {begin, outside},
        {inside, begin},
        {inside},
        {begin},
        {begin, outside},
        {inside, begin},
        {begin},
    ]
    assert given.tolist() == [True, False, True, True, True, True, True, True]
    assert [max(span.end - span.start for span in each) for each in spans] == [2, 1]


@INTERPRETED
def test_bad_input_is_refused():
    with pytest.raises(DataError, match="there is no labelled token to learn from"):
        encode_partial([[None, None]])
    fit = widemargin.Segmenter(templates="lower", n_jobs=1).fit
    with pytest.raises(DataError, match="sequence 0: the label 'x' marks no span"):
        fit([["a", "b"]], [["x", None]])
    with pytest.raises(DataError, match="sequence 0, position 1: no label is allowed"):
        fit([["a", "b"]], [["O", set()]])
    plain = PlainPartial(random_segmentation(0, [2], max_lengths=[1, 1], penalties=True), [[{1}, {0}]], [[True, True]])
    with pytest.raises(DataError, match="no segmentation of sequence 0 complies"):
        plain.compiled()


@pytest.mark.parametrize("objective", ["margin", "slack", "positions", "approximate-slack"])
def test_objectives_learn_from_them(objective):
    model = random_segmentation(1, [4, 3, 5, 2], max_lengths=[1, 3], penalties=True)
    codes = [encode(each).tolist() for each in model.gold]
    known = [[(i + t) % 3 > 0 for t in range(len(each))] for i, each in enumerate(codes)]
    allowed = [
        [{code} if sure else {0, 1, 2, 3} for code, sure in zip(each, own, strict=True)]
        for each, own in zip(codes, known, strict=True)
    ]
    examples = PlainPartial(model, allowed, known).compiled()
    solution = fit_latent(Problem(examples, OBJECTIVES[objective], C=1.0), Auto(), stop=Stop(epochs=30, gap=0.01))
    values = [each.objective for each in solution.rounds]
    assert all(after <= before * (1 + 1e-9) for before, after in pairwise(values))


X = [["in", "New", "York", "now"], ["from", "Rome"], ["to", "New", "York"], ["in", "Rome", "now"]] * 2
FULL = [["O", "B-city", "I-city", "O"], ["O", "B-city"], ["O", "B-city", "I-city"], ["O", "B-city", "O"]] * 2
PARTIAL = [
    ["O", "B-city", "I-city", None],
    [None, "B-city"],
    [None, {"B-city", "I-city"}, "I-city"],
    ["O", None, "O"],
    *[[None] * len(each) for each in X[4:]],
]


def test_the_estimator_learns_from_labels_known_in_part(tmp_path):
    segmenter = widemargin.Segmenter(templates="lower shape", C=1.0, n_jobs=1).fit(X, PARTIAL, dev=(X, PARTIAL))
    assert segmenter.score(X, FULL) == segmenter.score(X, PARTIAL) == 1.0
    assert segmenter.model_.summary["unknown"] == {"labels": 16, "sequences": 4}
    segmenter.save(tmp_path / "m.wm")
    assert widemargin.load(tmp_path / "m.wm").predict(X) == segmenter.predict(X)
    results = segmenter.model_.evaluate(X, PARTIAL).results
    assert results["accuracy"] == 1.0
    assert results["not_scored"] == 16
    assert segmenter.calibrate(X, [FULL[0], *PARTIAL[1:]])["spans"].n == 1


def test_without_unknown_labels_nothing_is_latent():
    compiled = compile_segments(SegmenterParameters(), Data(X, FULL))
    assert type(compiled.examples) is SegmentExamples
    assert compiled.sample_weight is None
