"""Products by lookup against products of dense vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.core.products import dot_entered, enter, leave, lookup_for, products
from widemargin.core.sparse import Rows, expanded

pytestmark = pytest.mark.interpreted

WIDTH = 40
# Multiples of 256 fall on one place of any small table.
indices = st.one_of(st.integers(0, WIDTH - 1), st.integers(0, 7).map(lambda k: 256 * k))
rows_of_entries = st.lists(st.dictionaries(indices, st.integers(-3, 3).map(float), max_size=12), min_size=1, max_size=6)


def as_rows(dicts):
    indptr = np.cumsum([0, *map(len, dicts)]).astype(np.int64)
    keys = [key for each in dicts for key in each]
    return Rows(indptr, np.array(keys, dtype=np.int32), np.array([v for each in dicts for v in each.values()], float))


@given(rows_of_entries)
def test_a_row_in_the_table_is_multiplied_with_any_other(dicts):
    rows = as_rows(dicts)
    dense = expanded(rows, 256 * 8)
    lookup = lookup_for(rows)
    for p, (begin, end) in enumerate(zip(rows.indptr, rows.indptr[1:], strict=False)):
        enter(rows.indices, rows.values, begin, end, lookup)
        found = [dot_entered(rows.indices, rows.values, *rows.indptr[q : q + 2], lookup) for q in range(len(dicts))]
        assert found == (dense @ dense[p]).tolist()
        leave(rows.indices, begin, end, lookup)
        assert np.all(lookup.keys == -1)
        assert not lookup.values.any()


@given(rows_of_entries)
def test_all_products_of_some_rows(dicts):
    rows = as_rows(dicts)
    dense = expanded(rows, 256 * 8)[1:]
    K = np.empty((len(dense), len(dense)))
    products(rows, 1, len(dicts), lookup_for(rows), K)
    assert K.tolist() == (dense @ dense.T).tolist()
