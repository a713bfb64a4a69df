"""Chains as one would write them down, drawn at random: models and their weights, scores of parts, labels of spans."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.data import rows
from widemargin.decoders.viterbi import Segmented, reach_of, viterbi
from widemargin.tasks.tag.features import ChainExamples, ChainShape

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]


BIOES = ["S-X", "O", "E-X", "B-X", "I-X"]


@dataclass(frozen=True)
class PlainChain:
    """A chain model as one would write it down, without arrays or kernels.

    `sequences[i][t]` lists the (feature, value) pairs of a position, `transitions[i][t]` those on the transition into
    it; `costs[g][l]` is the error of the label l where g is right.
    """

    n_labels: int
    n_features: int
    sequences: list
    gold: list
    costs: list | None = None
    n_transition_features: int = 0
    transitions: list | None = None
    binary: bool = False

    def features(self, i, labels):
        """φ(x_i, labels) as a dict."""
        L = self.n_labels
        transition = self.n_features * L
        begin = transition + L * L
        end = begin + L
        conditional = end + L
        entries = []
        for t, label in enumerate(labels):
            entries += [(f * L + label, value) for f, value in self.sequences[i][t]]
            if t == 0:
                entries.append((begin + label, 1.0))
            else:
                pair = labels[t - 1] * L + label
                entries.append((transition + pair, 1.0))
                if self.transitions is not None:
                    entries += [(conditional + g * L * L + pair, value) for g, value in self.transitions[i][t]]
        if labels:
            entries.append((end + labels[-1], 1.0))
        phi = {}
        for index, value in entries:
            phi[index] = phi.get(index, 0.0) + value
        return phi

    def score(self, w, i, labels):
        return sum(float(w[index]) * value for index, value in self.features(i, labels).items() if value != 0)

    def cost(self, gold, label):
        return float(gold != label) if self.costs is None else self.costs[gold][label]

    def error(self, i, labels):
        return float(sum(map(self.cost, self.gold[i], labels)))

    def psi(self, i, labels):
        """φ(x_i, gold) − φ(x_i, labels) without zeros."""
        gold, other = self.features(i, self.gold[i]), self.features(i, labels)
        difference = {index: gold.get(index, 0.0) - other.get(index, 0.0) for index in gold | other}
        return {index: value for index, value in difference.items() if value != 0.0}

    def outputs(self, i):
        """All label sequences of example i."""
        return [list(labels) for labels in product(range(self.n_labels), repeat=len(self.gold[i]))]

    def best(self, w, i, scale=0.0):
        """The best value of ⟨w, φ⟩ + scale · Δ."""
        return max(self.score(w, i, labels) + scale * self.error(i, labels) for labels in self.outputs(i))

    def compiled(self):
        """The same as the library has it."""
        positions = [row for sequence in self.sequences for row in sequence]
        conditional = None if self.transitions is None else [row for sequence in self.transitions for row in sequence]
        return ChainExamples(
            ChainShape(self.n_labels, self.n_features, self.n_transition_features),
            np.cumsum([0, *map(len, self.gold)], dtype=np.int64),
            rows(positions, binary=self.binary),
            np.array([label for labels in self.gold for label in labels], dtype=np.int32),
            costs=None if self.costs is None else np.array(self.costs, dtype=np.float64),
            transition_features=None if conditional is None else rows(conditional, binary=self.binary),
        )


def random_chain(seed, lengths, *, n_labels=3, n_features=6, per_position=2, costs=False, conditional=0, binary=True):
    """A `PlainChain` drawn at random, with some mistakes to learn from: labels follow the first feature, with noise."""
    rng = np.random.default_rng(seed)

    def position(n, count):
        return [(int(f), 1.0 if binary else float(rng.normal())) for f in rng.integers(n, size=count)]

    sequences = [[position(n_features, per_position) for _ in range(length)] for length in lengths]
    noise = [rng.random(length) < 0.25 for length in lengths]
    gold = [
        [int(rng.integers(n_labels)) if bad else row[0][0] % n_labels for row, bad in zip(sequence, odd, strict=True)]
        for sequence, odd in zip(sequences, noise, strict=True)
    ]
    matrix = rng.integers(1, 9, (n_labels, n_labels)) / 4 * (1.0 - np.eye(n_labels))
    return PlainChain(
        n_labels,
        n_features,
        sequences,
        gold,
        matrix.tolist() if costs else None,
        conditional,
        [[position(conditional, 1) for _ in range(length)] for length in lengths] if conditional else None,
        binary,
    )


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
