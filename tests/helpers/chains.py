"""Chain models and their weights, drawn at random."""

import numpy as np
from hypothesis import strategies as st

from helpers import PlainChain
from widemargin.tasks.tag.features import ChainShape

small = st.integers(-2, 2)


halves = st.integers(-4, 4).filter(bool).map(lambda n: n / 2)


@st.composite
def chains(draw):
    """Models with integer costs and half-integer values, so that sums are exact and ties are frequent."""
    n_labels, n_features = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    binary, n_conditional = draw(st.booleans()), draw(st.integers(0, 2))
    value = st.just(1.0) if binary else halves

    def row(n, most):
        return st.lists(st.tuples(st.integers(0, n - 1), value), max_size=most)

    lengths = draw(st.lists(st.integers(0, 4 if n_labels < 4 else 3), min_size=1, max_size=4))
    sequences = [[draw(row(n_features, 7)) for _ in range(n)] for n in lengths]
    transitions = [[draw(row(n_conditional, 2)) for _ in range(n)] for n in lengths] if n_conditional else None
    gold = [draw(st.lists(st.integers(0, n_labels - 1), min_size=n, max_size=n)) for n in lengths]
    costs = None
    if draw(st.booleans()):
        cost = st.lists(st.integers(0, 3), min_size=n_labels, max_size=n_labels)
        costs = [[0 if g == p else c for p, c in enumerate(draw(cost))] for g in range(n_labels)]
    return PlainChain(n_labels, n_features, sequences, gold, costs, n_conditional, transitions, binary)


def weights(data, model, score=small):
    n = ChainShape(model.n_labels, model.n_features, model.n_transition_features).n_weights
    return np.array(data.draw(st.lists(score, min_size=n, max_size=n)), dtype=np.float64)
