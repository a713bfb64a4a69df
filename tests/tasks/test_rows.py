"""Rows of weights of hashed features, summed up several at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.structures.hashed import add_rows

pytestmark = pytest.mark.interpreted


@given(st.lists(st.integers(0, 20), max_size=11), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_every_feature_counts_once(slots, n_labels, seed):
    rng = np.random.default_rng(seed)
    table, row = rng.normal(size=21 + n_labels), rng.normal(size=n_labels)
    expected = row + sum(table[slot : slot + n_labels] for slot in slots)
    add_rows(table, np.array(slots, dtype=np.int32), row)
    assert row == pytest.approx(expected)
