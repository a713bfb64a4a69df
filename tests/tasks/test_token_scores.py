"""Scores on integer codes are those of the strings, whatever the labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError
from widemargin.metrics import sequence_scorer
from widemargin.tasks.token_training import code_scorer
from widemargin.text.columns import split

NAMES = ["O", "B-a", "I-a", "B-b", "I-b", "E-a", "S-b", "I", "x", "O"]
UNSEEN = ["B-c", "I-c", "U-a"]


@st.composite
def sequences(draw):
    lengths = draw(st.lists(st.integers(0, 6), max_size=5))
    n = sum(lengths)
    gold = draw(st.lists(st.sampled_from(NAMES + UNSEEN), min_size=n, max_size=n))
    codes = draw(st.lists(st.integers(0, len(NAMES) - 1), min_size=n, max_size=n))
    return boundaries(lengths), gold, np.array(codes, dtype=np.int32)


@pytest.mark.interpreted
@pytest.mark.parametrize("metric", ["accuracy", "f1", "sequence_accuracy"])
@given(drawn=sequences())
def test_codes_score_as_strings_do(metric, drawn):
    indptr, gold, codes = drawn
    gold_lists, predicted = split(gold, indptr), split([NAMES[code] for code in codes.tolist()], indptr)
    assert code_scorer(metric, NAMES, indptr, gold_lists)(codes) == sequence_scorer(metric).measure(
        gold_lists, predicted
    )


def test_labels_may_be_numbers():
    score = code_scorer("accuracy", [3, 1], np.array([0, 3]), [[1, 3, 7]])
    assert score(np.array([1, 0, 0])) == 2 / 3


def test_a_metric_that_is_none():
    with pytest.raises(WidemarginError, match="no scorer 'f2'"):
        code_scorer("f2", ["O"], np.array([0]), [])
