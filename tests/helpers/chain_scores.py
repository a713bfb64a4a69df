"""Part scores of chains, drawn at random, and what a label sequence scores."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from widemargin.decoders.viterbi import Segmented, reach_of, viterbi

coarse = st.sampled_from([0.0, 0.0, 1.0, 1.0, -1.0, 2.0, -2.0, -np.inf])


fine = st.one_of(st.floats(-100, 100, allow_subnormal=False), st.just(-np.inf))


shapes = st.one_of(
    st.tuples(st.integers(1, 5), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(4, 9)),
)


@st.composite
def part_scores(draw, score, shape=shapes):
    n, labels = draw(shape)
    tables = n if draw(st.booleans()) else 1

    def table(*size):
        return draw(arrays(np.float64, size, elements=score, fill=st.nothing()))

    return table(n, labels), table(tables, labels, labels), table(labels), table(labels)


def decode(emission, transition, begin, end, spare=0):
    n, n_labels = emission.shape
    labels = np.full(n, -1, dtype=np.int32)
    given, prefix, arrival = emission.copy(), *(np.full((n + spare, n_labels), np.nan) for _ in range(2))
    total = viterbi(given, transition, reach_of(transition), begin, end, prefix, arrival, labels)
    assert np.array_equal(given, emission)
    return total, labels.tolist()


def score(labels, emission, transition, begin, end):
    tables = np.broadcast_to(transition, (len(labels), *transition.shape[1:]))
    total = begin[labels[0]] + end[labels[-1]] + sum(emission[t, label] for t, label in enumerate(labels))
    return total + sum(tables[t, labels[t - 1], labels[t]] for t in range(1, len(labels)))


def segmented(emission, transition, begin, end):
    """The same chain as a segmentation into single tokens."""
    return Segmented(np.ascontiguousarray(emission[:, None]), transition, begin, end)
