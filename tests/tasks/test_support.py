"""The weights that a tree with hashed features reads: all that its outputs differ in, and hardly any others."""

import numpy as np
import pytest

from helpers import BRACKETED, brackets, dependencies
from widemargin.core.examples import BLOCK

pytestmark = pytest.mark.interpreted

LARGE_TABLE = 12
SMALL = {
    "trees": lambda: dependencies(11, [3, 2, 1, 3, 0, 2], hash_bits=LARGE_TABLE),
    "trees, forests": lambda: dependencies(12, [3, 1], "nonprojective", single_root=False, hash_bits=LARGE_TABLE),
    "trees, siblings": lambda: dependencies(14, [3, 2, 3, 1], order=2, hash_bits=LARGE_TABLE),
    "trees, grandparents": lambda: dependencies(20, [3, 2], order="grandsiblings", hash_bits=LARGE_TABLE),
    "brackets": lambda: brackets(BRACKETED, ["first:word", "first:pos|last:word", "split:word", "length"], LARGE_TABLE),
}


@pytest.mark.parametrize("name", SMALL)
def test_support_holds_the_features_of_all_outputs(name):
    small = SMALL[name]()
    examples = small.examples
    everything = np.arange(examples.n_examples, dtype=np.int32)
    of_each = []
    for i in everything:
        batch = everything[i : i + 1]
        differing = {
            int(index) for output in small.outputs(i) for index in examples.difference(batch, output).psi.indices
        }
        read = places(examples.support(batch))
        assert differing <= read
        assert len(read) < examples.n_weights / 4, "the table is too small to show what is left out"
        of_each.append(read)
    assert set.union(*of_each) == places(examples.support(everything)), "a batch reads what its examples read"


def places(runs):
    found = [int(place) for begin, end in runs for place in range(begin, end)]
    assert len(found) == len(set(found)), "runs overlap"
    assert all(end - begin <= BLOCK for begin, end in runs)
    return set(found)
