"""Pictures of spans: every word is there, boxes cover their words, and nothing is wider than asked for."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.errors import WidemarginError
from widemargin.report.spans import GAP, spans_picture
from widemargin.report.svg import page

pytestmark = pytest.mark.interpreted
words = st.lists(st.sampled_from(["12", "Park", "Avenue", ",", "Leeds", "<&>"]), max_size=20)


def boxes(picture):
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', picture.body)
    return [tuple(map(float, each)) for each in found]


@given(words, st.randoms(use_true_random=False))
def test_words_and_types_are_there_and_boxes_apart(tokens, random):
    ends = sorted(random.sample(range(len(tokens) + 1), k=random.randint(0, len(tokens) + 1) // 2 * 2))
    spans = [(start, end, random.choice("AB")) for start, end in zip(ends[::2], ends[1::2], strict=True)]
    picture = spans_picture(tokens, spans, width=200.0)
    assert page([picture]).count("<svg") == 1
    written = re.findall(r"<text [^>]*>([^<]*)</text>", picture.body)
    escaped = {"<&>": "&lt;&amp;&gt;"}
    assert written[: len(tokens)] == [escaped.get(token, token) for token in tokens]
    assert set(written[len(tokens) :]) == {kind for *_, kind in spans}
    drawn = boxes(picture)
    assert len(drawn) >= len(spans)
    for (x, y, wide), (other, below, _) in pairwise(drawn):
        assert below > y or other >= x + wide + GAP - 0.2
    assert all(x + wide <= max(200.0, picture.width) + 0.1 for x, _, wide in drawn)


def test_a_span_goes_on_in_the_next_line():
    assert len(boxes(spans_picture(["word"] * 10, [(0, 10, "all")], width=100.0))) > 1
    assert len(boxes(spans_picture(["word"] * 10, [(0, 10, "all")], width=10_000.0))) == 1


@pytest.mark.parametrize("spans", [[(0, 3, "x")], [(1, 1, "x")], [(0, 2, "x"), (1, 2, "y")], [(-1, 1, "x")]])
def test_spans_outside_or_overlapping_are_refused(spans):
    with pytest.raises(WidemarginError, match="must lie within the 2 words"):
        spans_picture(["a", "b"], spans)
