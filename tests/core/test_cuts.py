"""Working sets against a dict of lists."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import rows
from widemargin.core.cut_store import CutStore
from widemargin.core.cuts import (
    ALIVE,
    SLOTS,
    USED,
    Cuts,
    add,
    add_products,
    concatenate,
    drop_idle,
    find,
    product,
    violation,
)
from widemargin.core.products import new_lookup

pytestmark = pytest.mark.interpreted

N_BLOCKS, N_WEIGHTS = 4, 12

entries = st.dictionaries(st.integers(0, N_WEIGHTS - 1), st.sampled_from([-1.0, 0.5, 2.0]), max_size=5)
cut = st.tuples(st.integers(0, N_BLOCKS - 1), st.integers(0, 2).map(float), entries)
operations = st.one_of(
    st.tuples(st.just("add"), st.lists(cut, min_size=1, max_size=8)),
    st.tuples(st.just("move"), st.lists(st.sampled_from([0.0, 0.25, 3.0]), min_size=1, max_size=6)),
    st.tuples(st.just("drop"), st.integers(0, N_BLOCKS - 1)),
    st.tuples(st.just("compact"), st.none()),
)


def batch(triples):
    return Cuts(
        np.array([block for block, _, _ in triples], dtype=np.int32),
        np.array([b for _, b, _ in triples], dtype=np.float64),
        rows([list(a.items()) for _, _, a in triples]),
    )


class Pair:
    """A `CutStore` and a naive copy: per block a list of [b, a, α], newest first."""

    def __init__(self, n_blocks=N_BLOCKS, n_weights=N_WEIGHTS, **options):
        self.store, self.n_weights = CutStore(n_blocks, **options), n_weights
        self.naive = {i: [] for i in range(n_blocks)}

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
                slot = add(sets, block, b, given.a, begin, end)
                assert slot == sets.first[block]
                if self.store.products:
                    add_products(sets, slot, new_lookup(end - begin))
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

    def compact(self, _):
        self.store.compact()
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
                taken.append((span.start, sets.tail[slot]))
                assert dict(zip(sets.indices[span].tolist(), sets.values[span].tolist(), strict=True)) == a
                assert (sets.b[slot], sets.alpha[slot]) == (b, alpha)
                assert sets.norm[slot] == sum(value**2 for value in a.values())
                assert violation(sets, slot, w) == pytest.approx(b - sum(v * w[i] for i, v in a.items()))
                for index, value in a.items():
                    combination[index] += alpha * value
            if store.products:
                for n, newer in enumerate(slots):
                    for m in range(n + 1, len(slots)):
                        expected = sum(value * cuts[m][1].get(index, 0.0) for index, value in cuts[n][1].items())
                        assert product(sets, newer, slots[m]) == expected
        spans = sorted(span for span in taken if span[0] < span[1])
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), "cuts share entries"
        assert all(end <= sets.tally[USED] <= len(sets.indices) for _, end in taken)
        every = [slot for block in self.naive for slot in self.slots(block)]
        assert len(set(every)) == len(every) == len(store) <= sets.tally[SLOTS] <= len(sets.b)
        assert store.n_entries == sum(end - begin for begin, end in taken)
        if not store.products:
            assert store.n_entries == sum(len(a) for cuts in self.naive.values() for _, a, _ in cuts)
        assert np.allclose(store.combination(self.n_weights), combination, rtol=1e-13, atol=1e-13)
        assert store.linear_term == pytest.approx(sum(c[0] * c[2] for cuts in self.naive.values() for c in cuts))


@given(st.lists(operations, max_size=25), st.booleans())
def test_a_store_is_a_dict_of_lists(history, products):
    pair = Pair(products=products)
    for name, argument in history:
        getattr(pair, name)(argument)
        pair.check()


def test_thousands_of_cuts_come_and_go(monkeypatch):
    """Long enough for slots to be used again and for entries to be squeezed together many times."""
    compactions = []
    compact = CutStore.compact
    monkeypatch.setattr(CutStore, "compact", lambda store: compactions.append(store) or compact(store))
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


@pytest.mark.parametrize("products", [False, True])
def test_a_store_keeps_to_its_budget_without_changing_what_it_stands_for(products):
    """Cuts without weight go; those of a block are merged; w, Σ bα and the masses stay; in the end cuts are refused."""
    rng, n_blocks, n_weights = np.random.default_rng(3), 6, 400
    memory = 12 * 900 / 2**20
    store, expected, linear, refused = CutStore(n_blocks, memory, products=products), np.zeros(n_weights), 0.0, 0
    for _ in range(60):
        triples = [
            (
                int(rng.integers(n_blocks)),
                float(rng.integers(1, 4)),
                dict.fromkeys(rng.integers(400, size=20).tolist(), 1.0),
            )
            for _ in range(8)
        ]
        alpha = rng.choice([0.0, 0.5, 1.5], size=8)
        before = store.combination(n_weights)
        kept = len(store.reserve(batch(triples)).b)
        assert np.allclose(store.combination(n_weights), before, rtol=0, atol=1e-12)
        store.insert(batch(triples), alpha)
        for (_, b, a), value in zip(triples[:kept], alpha[:kept], strict=True):
            expected[list(a)] += value
            linear += b * value
        refused += kept < 8
        assert store.n_entries <= 900
        assert np.allclose(store.combination(n_weights), expected, rtol=0, atol=1e-10)
        assert store.linear_term == pytest.approx(linear)
        masses = np.bincount(
            [block for block in range(n_blocks) for _ in Pair.slots(_View(store), block)],
            weights=[store.sets.alpha[s] for block in range(n_blocks) for s in Pair.slots(_View(store), block)],
            minlength=n_blocks,
        )
        assert np.allclose(masses, store.sets.mass)
    assert refused > 0
    assert len(store) >= n_blocks


class _View:
    def __init__(self, store):
        self.store = store


@pytest.mark.parametrize("products", [False, True])
def test_a_store_adopts_the_cuts_of_another(products):
    pair = Pair()
    pair.add([(0, 1.0, {3: 1.0, 4: 2.0}), (2, 1.0, {3: 1.0}), (0, 2.0, {4: 2.0, 5: -1.0}), (0, 1.0, {7: 1.0})])
    pair.move([0.5, 0.25, 1.0, 2.0])
    for block, cuts in pair.naive.items():
        pair.store.sets.mass[block] = sum(alpha for _, _, alpha in cuts)
    other = Pair(products=products)
    other.store.adopt(pair.store, np.ones(len(pair.store.sets.first), dtype=bool))
    other.naive = pair.naive
    other.check()
    assert np.array_equal(other.store.sets.mass, pair.store.sets.mass)
    other.store.scale(2.0)
    assert np.array_equal(other.store.combination(N_WEIGHTS), 2 * pair.store.combination(N_WEIGHTS))
