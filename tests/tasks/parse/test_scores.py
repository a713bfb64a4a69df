"""Scores of arcs, labels, siblings and grandparents against the definition: weights looked up feature by feature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.core.sparse import boundaries, dots
from widemargin.tasks.parse.examples import TreeExamples, Trees
from widemargin.tasks.parse.features import GROUPS, TURNS, ArcExtractor, step_of, turn_of
from widemargin.text.columns import Column, Columns

pytestmark = pytest.mark.interpreted

N_LABELS, BITS = 3, 8
EXTRACTOR = ArcExtractor(
    ["head:word", "modifier:word", "head:word|modifier:word", "head:tag|modifier:tag|between:tag", "between:tag"],
    [
        *("head:tag|modifier:word|distance", "head:word|modifier:tag|direction", "head:tag|modifier:tag|direction"),
        *("modifier:word|direction", "head:word|direction", "head:tag"),
    ],
    ["sibling:word|modifier:tag", "head:word|sibling:tag|modifier:tag", "sibling:tag|modifier:word"],
    ["grandparent:word|modifier:tag", "grandparent:tag|head:tag|modifier:tag", "grandparent:tag|head:word"],
    BITS,
)
tokens = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("NV")), max_size=6)


def sentences(drawn):
    flat = [token for sentence in drawn for token in sentence]
    named = {name: Column.of(token[k] for token in flat) for k, name in enumerate(("word", "tag"))}
    return Columns(named, boundaries(map(len, drawn)))


class Slow:
    """The scores of one sentence, one feature at a time."""

    def __init__(self, keys, w, first):
        self.keys, self.w, self.first = keys, w, first

    def slots(self, group, h, m, other=None, step=None):
        """The slots of the features of a group; tokens have numbers in the sentence, and `other` 0 is none."""
        keys, rows = self.keys, [self.first + node if node else 0 for node in (h, m, other or 0)]
        begin, end = keys.edges[GROUPS.index(group)], keys.edges[GROUPS.index(group) + 1]
        total = keys.head[rows[0], begin:end] + keys.modifier[rows[1], begin:end]
        total = total + (0 if other is None else keys.other[rows[2], begin:end])
        return (total + (0 if step is None else keys.measure[step, begin:end])) % 2**BITS

    def with_step(self, slots, step):
        return self.w[slots].sum() + self.w[slots + 1 + step].sum()

    def arc(self, h, m):
        step, total = step_of(h, m), self.with_step(self.slots("arc", h, m), step_of(h, m))
        tags = {}
        for node in range(min(h, m) + 1, max(h, m)):
            tags.setdefault(self.keys.other[self.first + node, self.keys.edges[GROUPS.index("between")]], node)
        return total + sum(self.with_step(self.slots("between", h, m, node), step) for node in tags.values())

    def labels(self, h, m):
        groups = ("label", "label_head", "label_modifier")
        slots = np.concatenate([self.slots(group, h, m, step=step_of(h, m)) for group in groups])
        return self.w[slots[:, None] + np.arange(N_LABELS)].sum(axis=0)

    def sibling(self, h, s, m):
        return self.with_step(self.slots("sibling", h, m, 0 if s == h else s), step_of(s, m))

    def grandparent(self, g, h, m):
        return self.with_step(self.slots("grandparent", h, m, g), turn_of(g, h > m, m))


@given(st.lists(tokens, min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_scores_are_sums_of_the_weights_of_features(drawn, seed):
    X = sentences(drawn)
    keys, trees = EXTRACTOR.keys(X), Trees(N_LABELS, BITS, order="grandsiblings")
    examples = TreeExamples(trees, X.indptr, keys)
    w = np.random.default_rng(seed).normal(size=trees.n_weights)
    for i, n in enumerate(examples.lengths.tolist()):
        (arcs, siblings, grandparents), slow = examples.part_scores(w, i), Slow(keys, w, int(X.indptr[i]))
        for h in range(n + 1):
            for m in set(range(1, n + 1)) - {h}:
                assert arcs[h, m] == pytest.approx(slow.arc(h, m) + slow.labels(h, m))
                for s in range(h, m, 1 if m > h else -1):
                    if s > 0 or h == 0:
                        assert siblings[h, s, m] == pytest.approx(slow.sibling(h, s, m))
                for g in range(n + 1):
                    if h > 0 and not min(h, m) <= g <= max(h, m):
                        assert grandparents[h, m, g] == pytest.approx(slow.grandparent(g, h, m))


@pytest.mark.parametrize("order", [1, 2, "grandsiblings"])
def test_differences_of_scores_are_those_of_features(order):
    """Also where templates look at several columns of the tokens between: all take the same tokens."""
    X = sentences([[("a", "N"), ("b", "N"), ("c", "V"), ("a", "N"), ("c", "N"), ("b", "V")]])
    extractor = ArcExtractor(
        ["head:tag|between:tag", "modifier:tag|between:word"],
        EXTRACTOR.label,
        EXTRACTOR.sibling if order != 1 else (),
        EXTRACTOR.grandparent if order == "grandsiblings" else (),
        BITS,
    )
    gold = np.array([2, 6, 2, 3, 4, 0], dtype=np.int32), np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    examples = TreeExamples(Trees(N_LABELS, BITS, order=order), X.indptr, extractor.keys(X), *gold)
    rng, one = np.random.default_rng(0), np.zeros(1, dtype=np.int32)
    for _ in range(20):
        w = rng.normal(size=examples.n_weights)
        output = examples.decode(rng.normal(size=examples.n_weights), one)
        right, found = (examples.scores(w, one, each)[0] for each in (examples.gold, output))
        assert dots(examples.difference(one, output).psi, w)[0] == pytest.approx(right - found)


@pytest.mark.parametrize(("chain", "name"), [((0, 5, 2), "root"), ((1, 2, 3), "1"), ((1, 9, 4), "beyond 3+"),
                                             ((9, 5, 1), "-6+"), ((9, 1, 5), "beyond -3+")])  # fmt: skip
def test_turns_tell_the_distance_of_the_ends_and_the_side_of_the_head(chain, name):
    g, h, m = chain
    assert TURNS[turn_of(g, h > m, m)] == name
