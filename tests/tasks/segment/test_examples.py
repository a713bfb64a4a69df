"""Segmentations against a plain-Python model that knows neither arrays nor kernels."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import as_dicts
from helpers.segmentations import PlainSegmentation, candidate_spans, random_segmentation, segmentations
from widemargin.core.sparse import NO_ROWS, boundaries, dots
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.segment.costs import encode, segments_of
from widemargin.tasks.segment.examples import SegmentExamples
from widemargin.tasks.segment.scores import Segmentation, span_boundaries

pytestmark = pytest.mark.interpreted

small = st.integers(-2, 2)
halves = st.integers(-4, 4).filter(bool).map(lambda n: n / 2)


@st.composite
def models(draw):
    """Models with half-integer values and penalties, so that sums are exact and ties are frequent."""
    max_lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    n_labels, n_features, n_segment_features = len(max_lengths), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    binary = draw(st.booleans())

    def row(n, most):
        return draw(st.lists(st.tuples(st.integers(0, n - 1), st.just(1.0) if binary else halves), max_size=most))

    lengths = draw(st.lists(st.integers(0, 4 if n_labels < 3 else 3), min_size=1, max_size=3))
    sequences = [[row(n_features, 3) for _ in range(n)] for n in lengths]
    spans = [
        {span: row(n_segment_features, 2) for span in candidate_spans(n, max(max_lengths))}
        if n_segment_features
        else {}
        for n in lengths
    ]
    gold = [draw(st.sampled_from(segmentations(n, max_lengths))) for n in lengths]
    penalties = (None, None, None)
    if draw(st.booleans()):
        penalty = st.lists(st.integers(0, 4).map(lambda n: n / 2), min_size=n_labels, max_size=n_labels)
        matrix = [[0.0 if g == p else c for p, c in enumerate(draw(penalty))] for g in range(n_labels)]
        penalties = (draw(penalty), draw(penalty), matrix)
    return PlainSegmentation(
        max_lengths,
        n_features,
        sequences,
        gold,
        n_segment_features,
        spans if n_segment_features else None,
        *penalties,
        binary=binary,
    )


def weights(data, model, score=small):
    n = model.compiled().n_weights
    return np.array(data.draw(st.lists(score, min_size=n, max_size=n)), dtype=np.float64)


def batch_of(data, model):
    return np.array(data.draw(st.permutations(range(len(model.gold)))), dtype=np.int32)


def split(model, batch, codes):
    """Outputs laid end to end as one segmentation per example of the batch."""
    ends = np.cumsum([len(model.sequences[i]) for i in batch])
    assert len(codes) == ends[-1]
    return [segments_of(part) for part in np.split(codes, ends[:-1])]


@given(models(), st.data())
def test_decode_equals_brute_force(model, data):
    examples, w, batch = model.compiled(), weights(data, model), batch_of(data, model)
    for scale in (0.0, 1.0, 0.5):
        found = examples.decode(w, batch, error_scale=scale)
        assert np.array_equal(found, examples.decode(examples.shape.parts(w).thin(), batch, error_scale=scale))
        for i, segments in zip(batch, split(model, batch, found), strict=True):
            values = [model.score(w, i, each) + scale * model.error(i, each) for each in model.outputs(i)]
            assert model.score(w, i, segments) + scale * model.error(i, segments) == max(values)


@given(models().filter(lambda model: model.binary), st.data())
def test_decode_obeys_infinite_weights(model, data):
    examples, w = model.compiled(), weights(data, model, st.one_of(small, st.just(-np.inf)))
    batch = batch_of(data, model)
    for i, segments in zip(batch, split(model, batch, examples.decode(w, batch)), strict=True):
        assert model.score(w, i, segments) == max(model.score(w, i, each) for each in model.outputs(i))


@given(models(), st.data())
def test_difference_is_that_of_the_explicit_features(model, data):
    examples, w, batch = model.compiled(), weights(data, model), batch_of(data, model)
    outputs = [data.draw(st.sampled_from(model.outputs(i))) for i in batch]
    errors, psi = examples.difference(batch, np.concatenate([encode(each) for each in outputs]))
    assert errors.tolist() == [model.error(i, each) for i, each in zip(batch, outputs, strict=True)]
    assert as_dicts(psi) == [model.psi(i, each) for i, each in zip(batch, outputs, strict=True)]
    assert np.diff(psi.indptr).tolist() == [len(row) for row in as_dicts(psi)], "an index occurs twice"
    assert dots(psi, w).tolist() == [
        model.score(w, i, model.gold[i]) - model.score(w, i, each) for i, each in zip(batch, outputs, strict=True)
    ]


@given(models(), st.data())
def test_scores_are_those_of_the_model(model, data):
    w, batch = weights(data, model), batch_of(data, model)
    outputs = [data.draw(st.sampled_from(model.outputs(i))) for i in batch]
    found = model.compiled().scores(w, batch, np.concatenate([encode(each) for each in outputs]))
    assert found.tolist() == [model.score(w, i, each) for i, each in zip(batch, outputs, strict=True)]


def slack(model, w, i, segments, error):
    return error * (1.0 - model.score(w, i, model.gold[i]) + model.score(w, i, segments))


@given(models(), st.data())
def test_slack_scaling_finds_the_worst(model, data):
    examples, w, batch = model.compiled(), weights(data, model), batch_of(data, model)
    for i, segments in zip(batch, split(model, batch, examples.decode_slack(w, batch)), strict=True):
        values = [slack(model, w, i, each, model.error(i, each)) for each in model.outputs(i)]
        assert slack(model, w, i, segments, model.error(i, segments)) == max(values)
        if max(values) == 0:
            assert segments == model.gold[i]


@given(models(), st.data())
def test_violators_are_the_worst_of_each_span(model, data):
    examples, w, batch = model.compiled(), weights(data, model), batch_of(data, model)
    errors, psi = examples.violators(w, batch)
    found, rows = iter(errors.tolist()), iter(as_dicts(psi))
    for i in batch:
        spans = candidate_spans(len(model.sequences[i]), max(model.max_lengths))
        assert examples.n_positions[i] == len(spans)
        for c in range(len(spans)):
            listed = [(model.position_errors(i, each)[c], each) for each in model.outputs(i)]
            error, row = next(found), next(rows)
            value = error * (1.0 - sum(w[index] * entry for index, entry in row.items()))
            assert value == max(0.0, *(slack(model, w, i, each, of) for of, each in listed))
            assert error == 0 or any(of == error and model.psi(i, each) == row for of, each in listed)
            assert error > 0 or not row
    assert next(found, None) is None


@given(models(), st.data())
def test_max_marginals_are_the_best_with_each_segment(model, data):
    examples, w, batch = model.compiled(), weights(data, model), batch_of(data, model)
    best, starts = examples.max_marginals(w, batch), boundaries(examples.n_positions[batch])
    assert np.array_equal(best, examples.max_marginals(examples.shape.parts(w).thin(), batch))
    for i, begin, end in zip(batch, starts[:-1], starts[1:], strict=True):
        spans = candidate_spans(len(model.sequences[i]), max(model.max_lengths))
        assert len(spans) == end - begin
        for (t, u), row in zip(spans, best[begin:end], strict=True):
            for label, value in enumerate(row):
                scores = [model.score(w, i, each) for each in model.outputs(i) if (t, u, label) in each]
                assert value == max(scores, default=-np.inf)


def fits(allowed, segments):
    """Whether all codes of a sequence's segments are allowed."""
    return allowed[np.arange(len(allowed)), encode(segments)].all()


@given(models(), st.data())
def test_bounds_leave_what_is_allowed(model, data):
    free, w, batch = model.compiled(), weights(data, model), batch_of(data, model)
    elements = st.sampled_from([True, True, True, False])
    allowed = data.draw(arrays(bool, (len(free.gold), 2 * model.n_labels), elements=elements, fill=st.nothing()))
    bound = free.within(free.bounds_of(free.indptr, allowed))
    repeated, codes = bound.decode_best(w, batch, 1000)
    found = list(zip(repeated.tolist(), split(model, repeated, codes), strict=True))
    for i, segments in zip(batch, split(model, batch, bound.decode(w, batch)), strict=True):
        own = allowed[free.indptr[i] : free.indptr[i + 1]]
        possible = [each for each in model.outputs(i) if fits(own, each)]
        if possible:
            assert segments in possible
            assert model.score(w, i, segments) == max(model.score(w, i, each) for each in possible)
            assert sorted(each for j, each in found if j == i) == sorted(possible)


@given(models())
def test_the_parts_of_the_weights_are_where_the_model_reads_them(model):
    shape = model.compiled().shape
    w = np.arange(shape.n_weights, dtype=np.float64)
    parts = shape.parts(w)
    assert parts.flat().tolist() == parts.thin().flat().tolist() == w.tolist()
    roles = parts.roles.reshape(shape.n_features, 3, shape.n_labels)
    for i, segments in enumerate(model.gold):
        x, total = model.sequences[i], 0.0
        for j, (t, u, y) in enumerate(segments):
            total += parts.begin[y] if j == 0 else parts.transition[segments[j - 1][2], y]
            total += sum(value * roles[f, 0, y] for f, value in x[t]) + parts.length[u - t, y]
            total += sum(value * roles[f, 1, y] for f, value in chain.from_iterable(x[t : u + 1]))
            total += sum(value * roles[f, 2, y] for f, value in x[u])
            if model.spans is not None:
                total += sum(value * parts.segment[g, y] for g, value in model.spans[i][t, u])
        assert total + (parts.end[segments[-1][2]] if segments else 0.0) == model.score(w, i, segments)


@given(st.lists(st.integers(0, 6), max_size=5), st.integers(1, 4))
def test_spans_are_numbered_by_token_and_length(lengths, longest):
    indptr = np.cumsum([0, *lengths], dtype=np.int64)
    spans = span_boundaries(indptr, longest)
    listed = [
        (first + t, u - t) for first, n in zip(indptr, lengths, strict=False) for t, u in candidate_spans(n, longest)
    ]
    assert spans[-1] == len(listed)
    assert [spans[t] + d for t, d in listed] == list(range(len(listed)))


@given(st.integers(0, 5).flatmap(lambda n: st.sampled_from(segmentations(n, [2, 3]))))
def test_codes_of_segments_and_back(segments):
    assert segments_of(encode(segments)) == segments


def test_longer_sequences_with_real_weights():
    """Too long to enumerate: nothing that is close to the decoded segmentation is better, nor any of the k best."""
    model = random_segmentation(0, [25, 1, 12], max_lengths=[1, 6, 4], n_segment_features=4, binary=False)
    examples, batch = model.compiled(), np.arange(3, dtype=np.int32)
    w = np.random.default_rng(1).normal(size=examples.n_weights)
    decoded = split(model, batch, examples.decode(w, batch, error_scale=1.0))
    values = [model.score(w, i, each) + model.error(i, each) for i, each in zip(batch, decoded, strict=True)]
    repeated, codes = examples.decode_best(w, batch, 30, error_scale=1.0)
    others = list(zip(repeated, split(model, repeated, codes), strict=True))
    assert len({(i, tuple(each)) for i, each in others}) == len(others)
    for i, each in others:
        assert model.score(w, i, each) + model.error(i, each) <= values[i] + 1e-9
    best, starts = examples.max_marginals(w, batch), boundaries(examples.n_positions[batch])
    for i, segments in zip(batch, split(model, batch, examples.decode(w, batch)), strict=True):
        assert best[starts[i] : starts[i + 1]].max() == pytest.approx(model.score(w, i, segments))


def test_without_gold_there_is_still_decoding():
    examples = random_segmentation(3, [3, 0, 2], max_lengths=[1, 2]).compiled()
    bare = SegmentExamples(examples.shape, examples.indptr, examples.features.rows)
    w, batch = np.random.default_rng(0).normal(size=examples.n_weights), np.arange(3, dtype=np.int32)
    assert np.array_equal(bare.decode(w, batch), examples.decode(w, batch))


def test_slack_scaling_of_odd_penalties_is_refused():
    examples = random_segmentation(3, [3], max_lengths=[1, 2]).compiled()
    rows, gold = examples.features.rows, examples.gold
    odd = SegmentExamples(examples.shape, examples.indptr, rows, gold=gold, precision=np.array([1.0, np.pi]))
    with pytest.raises(UnsupportedError, match="approximate-slack"):
        odd.decode_slack(np.zeros(odd.n_weights), np.zeros(1, dtype=np.int32))


def build(max_lengths=(1, 2), codes=(1, 3, 2), n_segment_features=0, **options):
    """Three tokens without features, two labels."""
    none = NO_ROWS._replace(indptr=np.zeros(4, dtype=np.int64))
    return SegmentExamples(
        Segmentation(2, 1, n_segment_features, max_lengths),
        np.array([0, 0, 3]),
        none,
        gold=np.array(codes, dtype=np.int32),
        **options,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_lengths": (1,)}, "a positive length for each of the 2 labels"),
        ({"max_lengths": (0, 2)}, "a positive length for each of the 2 labels"),
        ({"codes": (1, 3)}, "gold must hold 3 codes from 0 to 3"),
        ({"codes": (1, 3, 4)}, "gold must hold 3 codes from 0 to 3"),
        ({"codes": (2, 3, 2)}, "neither begins a segment nor goes on"),
        ({"codes": (1, 2, 3)}, "neither begins a segment nor goes on"),
        ({"codes": (3, 2, 2)}, "example 1 has a gold segment of 3 tokens with the label 1, whose segments may have 2"),
        ({"n_segment_features": 1}, "there are 5 candidate spans, but 0 rows of segment_features"),
        ({"recall": np.array([1.0, -1.0])}, "recall must be an array of the shape .2,., finite and not negative"),
        ({"confusion": np.ones((2, 2))}, "zeros for right labels"),
    ],
)
def test_malformed_arrays_are_refused(options, message):
    build()
    with pytest.raises(DataError, match=message):
        build(**options)


def test_too_many_weights_are_refused():
    with pytest.raises(DataError, match="more weights than can be indexed"):
        Segmentation(1000, 1_000_000, 0, (1,) * 1000)
