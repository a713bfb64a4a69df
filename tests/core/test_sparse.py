"""Compressed rows against dicts."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import as_dicts, rows
from widemargin.core.sparse import add_scaled, coalesce, dot, dots, new_table, stack

pytestmark = pytest.mark.interpreted

entries = st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 3).map(float)), max_size=12)
far = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(-3, 3).map(float)), max_size=40)


def summed(row):
    total = {}
    for index, value in row:
        total[index] = total.get(index, 0.0) + value
    return {index: value for index, value in total.items() if value != 0}


@given(st.lists(entries, max_size=5), st.lists(st.integers(-3, 3), min_size=10, max_size=10))
def test_dots(lists, w):
    w = np.array(w, dtype=np.float64)
    compressed = rows(lists)
    expected = [sum(value * w[index] for index, value in row) for row in lists]
    assert dots(compressed, w).tolist() == expected
    for r, value in enumerate(expected):
        assert dot(compressed.indices, compressed.values, *compressed.indptr[r : r + 2], w) == value


@given(st.lists(entries, min_size=1, max_size=4), st.integers(-2, 2).map(float))
def test_add_scaled(lists, step):
    compressed, w = rows(lists), np.arange(10.0)
    expected = w.copy()
    for index, value in lists[0]:
        expected[index] += step * value
    add_scaled(step, compressed.indices, compressed.values, 0, compressed.indptr[1], w)
    assert w.tolist() == expected.tolist()


@given(st.lists(st.lists(entries, max_size=3), min_size=1, max_size=4))
def test_stack(parts):
    together, at_once = stack([rows(part) for part in parts]), rows(list(chain.from_iterable(parts)))
    for array, expected in zip(together, at_once, strict=True):
        assert array.dtype == expected.dtype
        assert array.tolist() == expected.tolist()


@given(st.lists(st.one_of(entries, far), min_size=1, max_size=5))
def test_coalesce(lists):
    """Rows are coalesced one after the other in one array, each moved to where the one before it now ends."""
    compressed = rows(lists)
    table = new_table(max(map(len, lists)))
    ends = [0]
    for begin, end in pairwise(compressed.indptr):
        ends.append(coalesce(compressed.indices, compressed.values, begin, end, ends[-1], table))
        assert np.all(table == -1)
    result = compressed._replace(indptr=np.array(ends))
    assert as_dicts(result) == [summed(row) for row in lists]
    assert [len(row) for row in as_dicts(result)] == np.diff(ends).tolist()
    for row, found in zip(lists, as_dicts(result), strict=True):
        order = list(dict.fromkeys(index for index, _ in row))
        assert list(found) == [index for index in order if index in found]


def test_coalesce_where_all_entries_collide():
    """Indices that are multiples of the table's size all hash to one place."""
    n = 64
    lists = [[(256 * (k % 32), 1.0) for k in range(n)]]
    compressed = rows(lists)
    end = coalesce(compressed.indices, compressed.values, 0, n, 0, new_table(n))
    assert end == 32
    assert np.all(compressed.values[:end] == 2.0)
