"""Working sets against a dict of lists."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import rows
from widemargin import cuts as module
from widemargin.cuts import ALIVE, SLOTS, USED, Cuts, CutStore, add, compact, concatenate, drop_idle, find, violation

pytestmark = pytest.mark.interpreted

N_BLOCKS, N_WEIGHTS = 4, 12

entries = st.dictionaries(st.integers(0, N_WEIGHTS - 1), st.sampled_from([-1.0, 0.5, 2.0]), max_size=5)
cut = st.tuples(st.integers(0, N_BLOCKS - 1), st.integers(0, 2).map(float), entries)
operations = st.one_of(
    st.tuples(st.just("add"), st.lists(cut, min_size=1, max_size=8)),
    st.tuples(st.just("move"), st.lists(st.sampled_from([0.0, 0.25, 3.0]), min_size=1, max_size=6)),
    st.tuples(st.just("drop"), st.integers(0, N_BLOCKS - 1)),
    st.tuples(st.just("compact"), st.integers(0, 5)),
)


def batch(triples):
    return Cuts(
        np.array([block for block, _, _ in triples], dtype=np.int32),
        np.array([b for _, b, _ in triples], dtype=np.float64),
        rows([list(a.items()) for _, _, a in triples]),
    )


class Pair:
    """A `CutStore` and a naive copy: per block a list of [b, a, α], newest first."""

    def __init__(self, n_blocks=N_BLOCKS, n_weights=N_WEIGHTS):
        self.store, self.naive, self.n_weights = CutStore(n_blocks), {i: [] for i in range(n_blocks)}, n_weights

    def slots(self, block):
        sets, slot, found = self.store.sets, self.store.sets.first[block], []
        while slot >= 0:
            found.append(slot)
            slot = sets.after[slot]
        return found

    def add(self, triples):
        given = batch(triples)
        self.store.reserve(given)
        sets = self.store.sets
        for k, (block, b, a) in enumerate(triples):
            begin, end = given.a.indptr[k : k + 2]
            slot = find(sets, block, b, given.a, begin, end)
            twin = [
                n
                for n, other in enumerate(self.naive[block])
                if (other[0], list(other[1].items())) == (b, list(a.items()))
            ]
            assert slot == (self.slots(block)[twin[0]] if twin else -1)
            if slot < 0:
                assert add(sets, block, b, given.a, begin, end) == sets.first[block]
                self.naive[block].insert(0, [b, a, 0.0])

    def move(self, alphas):
        """Set the α of some cuts, in the order of blocks."""
        cuts = [
            (slot, cut) for block in self.naive for slot, cut in zip(self.slots(block), self.naive[block], strict=True)
        ]
        for (slot, cut), alpha in zip(cuts, alphas, strict=False):
            self.store.sets.alpha[slot] = cut[2] = alpha

    def drop(self, block):
        drop_idle(self.store.sets, block)
        self.naive[block] = [cut for cut in self.naive[block] if cut[2] > 0]

    def compact(self, spare):
        self.store.sets = compact(self.store.sets, self.store.n_entries + spare)
        assert self.store.sets.tally[USED] == self.store.sets.tally[ALIVE]

    def check(self):
        store, sets = self.store, self.store.sets
        w, combination = np.arange(self.n_weights) / 3, np.zeros(self.n_weights)
        taken = []
        for block, cuts in self.naive.items():
            slots = self.slots(block)
            assert len(slots) == len(cuts) == sets.size[block]
            for slot, (b, a, alpha) in zip(slots, cuts, strict=True):
                span = slice(sets.begin[slot], sets.end[slot])
                taken.append((span.start, span.stop))
                assert dict(zip(sets.indices[span].tolist(), sets.values[span].tolist(), strict=True)) == a
                assert (sets.b[slot], sets.alpha[slot]) == (b, alpha)
                assert sets.norm[slot] == sum(value**2 for value in a.values())
                assert violation(sets, slot, w) == pytest.approx(b - sum(v * w[i] for i, v in a.items()))
                for index, value in a.items():
                    combination[index] += alpha * value
        spans = sorted(span for span in taken if span[0] < span[1])
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), "cuts share entries"
        assert all(end <= sets.tally[USED] <= len(sets.indices) for _, end in taken)
        every = [slot for block in self.naive for slot in self.slots(block)]
        assert len(set(every)) == len(every) == len(store) <= sets.tally[SLOTS] <= len(sets.b)
        assert store.n_entries == sum(len(a) for cuts in self.naive.values() for _, a, _ in cuts)
        assert np.allclose(store.combination(self.n_weights), combination, rtol=1e-13, atol=1e-13)
        assert store.linear_term == pytest.approx(sum(c[0] * c[2] for cuts in self.naive.values() for c in cuts))


@given(st.lists(operations, max_size=25))
def test_a_store_is_a_dict_of_lists(history):
    pair = Pair()
    for name, argument in history:
        getattr(pair, name)(argument)
        pair.check()


def test_thousands_of_cuts_come_and_go(monkeypatch):
    """Long enough for slots to be used again and for entries to be squeezed together many times."""
    compactions = []
    monkeypatch.setattr(module, "compact", lambda sets, room: compactions.append(room) or compact(sets, room))
    rng, pair, most = np.random.default_rng(0), Pair(20, 500), 0
    for step in range(150):
        pair.add(
            [
                (int(rng.integers(20)), float(rng.integers(3)), dict.fromkeys(rng.integers(500, size=8).tolist(), 1.0))
                for _ in range(rng.integers(1, 40))
            ]
        )
        kept = rng.random(len(pair.store)) < (0.95 if step % 20 < 10 else 0.4)
        pair.move(np.where(kept, 0.5, 0.0).tolist())
        for block in range(20):
            pair.drop(block)
        most = max(most, len(pair.store))
        if step % 30 == 29:
            pair.check()
    assert len(compactions) >= 3
    assert pair.store.sets.tally[SLOTS] <= most + 40
    assert len(pair.store.sets.indices) < 20 * max(pair.store.n_entries, 64)


@given(st.lists(st.lists(cut, max_size=3), min_size=1, max_size=4))
def test_concatenate(parts):
    together, at_once = concatenate([batch(part) for part in parts]), batch(list(chain.from_iterable(parts)))
    assert together.block.tolist() == at_once.block.tolist()
    assert together.b.tolist() == at_once.b.tolist()
    for array, expected in zip(together.a, at_once.a, strict=True):
        assert array.tolist() == expected.tolist()


def test_a_cut_with_a_different_order_or_sign_is_another_cut():
    pair = Pair()
    pair.add([(0, 1.0, {3: 1.0, 4: 2.0}), (1, 1.0, {3: 1.0, 4: 2.0}), (0, 2.0, {3: 1.0, 4: 2.0}), (0, 1.0, {3: 1.0})])
    pair.add([(0, 1.0, {3: 1.0, 4: -2.0}), (0, 1.0, {3: 1.0, 5: 2.0}), (0, 1.0, {})])
    pair.check()
    assert len(pair.store) == 7
    pair.add([(0, 1.0, {3: 1.0, 4: 2.0}), (0, 1.0, {}), (1, 1.0, {3: 1.0, 4: 2.0})])
    assert len(pair.store) == 7
