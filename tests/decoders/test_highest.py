"""The place of the highest score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.decoders.scores import highest

pytestmark = pytest.mark.interpreted


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 2.5]), min_size=1, max_size=14))
def test_the_first_of_the_highest(scores):
    assert highest(np.array(scores)) == np.argmax(scores)
