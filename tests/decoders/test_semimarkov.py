"""The decoders of segmentations against all segmentations, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.chains import coarse, fine
from helpers.segmentations import candidate_spans, everything, part_scores, score
from widemargin.decoders.semimarkov import both_passes, new_passes, semimarkov
from widemargin.decoders.semimarkov_searches import errors_forward, semimarkov_kbest, trace_error, write_through
from widemargin.decoders.viterbi import Segmented
from widemargin.tasks.segment.costs import segments_of

pytestmark = pytest.mark.interpreted


def decode(parts, spare=0):
    n, _, n_labels = parts[0].shape
    arrival, best = (np.full((n + spare, n_labels), np.nan) for _ in range(2))
    codes = np.full(n, -1, dtype=np.int32)
    total = semimarkov(parts, arrival, best, codes)
    return total, segments_of(codes)


def kbest(parts, k):
    codes, totals = np.full((k, len(parts[0])), -1, dtype=np.int32), np.full(k, np.nan)
    found = semimarkov_kbest(parts, k, codes, totals)
    return [segments_of(each) for each in codes[:found]], totals[:found].tolist()


def from_the_end(segments):
    """Labels and lengths, last segment first."""
    return [(label, last - first) for first, last, label in reversed(segments)]


@given(part_scores(coarse), st.integers(0, 2))
def test_equals_brute_force_with_ties_and_infinities(parts, spare):
    total, segments = decode(parts, spare)
    scored = [(score(each, *parts), each) for each in everything(parts)]
    best = max(value for value, _ in scored)
    assert total == best == score(segments, *parts)
    if best > -np.inf:
        assert segments == min((each for value, each in scored if value == best), key=from_the_end)


@given(part_scores(fine))
def test_equals_brute_force_on_any_scores(parts):
    total, segments = decode(parts)
    assert total == pytest.approx(max(score(each, *parts) for each in everything(parts)), rel=1e-12, abs=1e-9)
    assert score(segments, *parts) == pytest.approx(total, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_where_all_is_forbidden_every_token_is_a_segment(n):
    parts = Segmented(np.full((n, 3, 2), -np.inf), np.zeros((1, 2, 2)), np.zeros(2), np.zeros(2))
    singles = [(t, t, 0) for t in range(n)]
    assert decode(parts) == (-np.inf, singles)
    assert kbest(parts, 3) == ([singles], [-np.inf])


@given(part_scores(coarse), st.integers(1, 9))
def test_the_best_are_those_of_the_enumeration_in_order(parts, k):
    found, totals = kbest(parts, k)
    possible = sorted((value for each in everything(parts) if (value := score(each, *parts)) > -np.inf), reverse=True)
    assert totals == (possible[:k] or [-np.inf])
    assert [score(each, *parts) for each in found] == totals
    assert len(set(map(tuple, found))) == len(found)
    assert found[0] == decode(parts)[1]


@given(part_scores(fine), st.integers(1, 5))
def test_the_best_on_any_scores(parts, k):
    found, totals = kbest(parts, k)
    possible = sorted((value for each in everything(parts) if (value := score(each, *parts)) > -np.inf), reverse=True)
    assert totals == pytest.approx(possible[:k] or [-np.inf], rel=1e-12, abs=1e-9)
    assert len(set(map(tuple, found))) == len(found)
    assert found[0] == decode(parts)[1]


def marginals(parts):
    """The max-marginals of all candidate spans, and the best segmentations that hold them."""
    n, longest, n_labels = parts.segment.shape
    passes = new_passes(n, n_labels)
    both_passes(parts, passes)
    found = {}
    for t, u in candidate_spans(n, longest):
        row = passes.arrival[t] + parts.segment[t, u - t] + passes.departure[u]
        for label, value in enumerate(row.tolist()):
            codes = np.full(n, -1, dtype=np.int32)
            write_through(parts, passes, t, u - t, label, codes)
            found[t, u, label] = value, segments_of(codes)
    return found


@given(part_scores(coarse))
def test_max_marginals_are_the_best_that_hold_a_segment(parts):
    for segment, (value, output) in marginals(parts).items():
        assert value == max(score(each, *parts) for each in everything(parts) if segment in each)
        assert segment in output
        assert score(output, *parts) == value


@given(part_scores(fine))
def test_max_marginals_on_any_scores(parts):
    for segment, (value, output) in marginals(parts).items():
        best = max(score(each, *parts) for each in everything(parts) if segment in each)
        assert value == pytest.approx(best, rel=1e-12, abs=1e-9)
        assert segment in output
        assert score(output, *parts) == pytest.approx(best, rel=1e-12, abs=1e-9)


@given(part_scores(coarse), st.data())
def test_the_best_for_each_error(parts, data):
    segment, transition, begin, _ = parts
    n, _, n_labels = segment.shape
    free = np.zeros(n_labels)
    errors = data.draw(arrays(np.float64, segment.shape, elements=st.integers(0, 3).map(float), fill=st.nothing()))
    arrival, best = (np.full((n, n_labels, 3 * n + 1), np.nan) for _ in range(2))
    errors_forward(parts, errors, arrival, best)
    expected, codes = {}, np.empty(n, dtype=np.int32)
    for each in everything(parts):
        case = each[-1][2], int(sum(errors[t, u - t, y] for t, u, y in each))
        expected[case] = max(expected.get(case, -np.inf), score(each, segment, transition, begin, free))
    for label in range(n_labels):
        for e in range(3 * n + 1):
            value = expected.get((label, e), -np.inf)
            assert best[n - 1, label, e] == value
            if value > -np.inf:
                trace_error(parts, errors, arrival, best, e, label, codes)
                found = segments_of(codes)
                assert score(found, segment, transition, begin, free) == value
                assert (found[-1][2], sum(errors[t, u - t, y] for t, u, y in found)) == (label, e)
