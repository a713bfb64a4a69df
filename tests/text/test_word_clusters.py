"""Word clusters: every merge against mutual information computed anew, the tree, ties, and bad input."""

from collections import Counter
from functools import partial
from itertools import combinations, pairwise
from math import log2
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.errors import WidemarginError
from widemargin.text import brown, word_clusters
from widemargin.text.columns import Column, Columns, places
from widemargin.text.word_clusters import BigramCounter, cluster_words, in_batches

pytestmark = pytest.mark.interpreted

TEXT = [line.split() for line in ("the dog barks", "the cat sleeps", "a dog sleeps", "a cat barks", "the dog")]
sentences = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), max_size=12)


class Plain:
    """The definition, computed anew for every question. A mark stands around sentences, and is no word."""

    def __init__(self, text, min_count=1):
        self.counts = Counter(word for sentence in text for word in sentence)
        self.words = sorted((w for w, n in self.counts.items() if n >= min_count), key=lambda w: (-self.counts[w], w))
        marked = [[None, *sentence, None] for sentence in text if sentence]
        known = {None, *self.words}
        self.pairs = Counter(p for sentence in marked for p in pairwise(sentence) if known.issuperset(p))

    def information(self, clusters):
        """The sum over the pairs of clusters; how often a cluster is on one side is counted over the whole text."""
        of = {word: number for number, cluster in enumerate([{None}, *clusters]) for word in cluster}
        total, joint, left, right = self.pairs.total(), Counter(), Counter(), Counter()
        for (first, second), count in self.pairs.items():
            left[of.get(first)] += count
            right[of.get(second)] += count
            if first in of and second in of:
                joint[of[first], of[second]] += count
        return sum(n / total * log2(n * total / (left[c] * right[d])) for (c, d), n in joint.items())

    def loss(self, clusters, a, b):
        merged = [each for each in clusters if each not in (a, b)] + [a | b]
        return self.information(clusters) - self.information(merged)

    def name(self, cluster):
        return min(cluster, key=self.words.index)

    def merged(self, clusters, merge):
        """The clusters after a merge, which must be the best that there is, and the first of those as good."""
        losses = {pair: self.loss(clusters, *map(frozenset, pair)) for pair in combinations(clusters, 2)}
        least = min(losses.values())
        equal = [pair for pair, loss in losses.items() if loss < least + 1e-7]
        ranks = [sorted(self.words.index(self.name(cluster)) for cluster in pair) for pair in equal]
        assert [self.words[rank] for rank in min(ranks)] == [merge.kept, merge.absorbed]
        assert merge.loss == pytest.approx(least, abs=1e-7)
        a, b = equal[ranks.index(min(ranks))]
        return [each for each in clusters if each not in (a, b)] + [a | b]


cluster = partial(cluster_words, min_count=1)


def check(text, n_clusters, min_count=1):
    plain, found = Plain(text, min_count), cluster(text, n_clusters, min_count=min_count)
    assert list(found.paths) == list(found.counts) == plain.words
    assert found.counts == {word: plain.counts[word] for word in plain.words}
    merges = iter(found.merges)
    clusters = []
    for word in plain.words:
        clusters.append(frozenset({word}))
        if len(clusters) > n_clusters:
            clusters = plain.merged(clusters, next(merges))
    assert found.information == pytest.approx(plain.information(clusters), abs=1e-9)
    below = {cluster: {cluster: ""} for cluster in clusters}  # the leaves of every tree, with their paths
    while len(clusters) > 1:
        before, merge = clusters, next(merges)
        clusters = plain.merged(clusters, merge)
        a, b = sorted(set(before) - set(clusters), key=lambda each: plain.words.index(plain.name(each)))
        below[a | b] = {leaf: bit + path for bit, side in (("0", a), ("1", b)) for leaf, path in below[side].items()}
    assert next(merges, None) is None
    assert found.paths == {word: path for leaf, path in below[clusters[0]].items() for word in leaf}


@given(sentences, st.integers(2, 4), st.integers(1, 2))
def test_every_merge_loses_least(text, n_clusters, min_count):
    if len(Plain(text, min_count).words) >= n_clusters:
        check(text, n_clusters, min_count)


def test_more_words_and_as_many_clusters_as_words():
    text = [[f"w{(i * i + j * j) % 17 % (5 + i % 9)}" for j in range(i % 7 + 1)] for i in range(40)]
    for n_clusters in (2, 5, len(Plain(text).words)):
        check(text, n_clusters)


def test_no_pair_of_frequent_words():
    check([[f"{i}-{word}", word, f"{word}-{i}"] for i in range(2) for word in "abc"], 2, min_count=2)


def test_logarithms_of_large_counts_need_no_table(monkeypatch):
    expected = cluster(TEXT * 3, 3)
    monkeypatch.setattr(brown, "KNOWN_LOGS", 3)
    assert cluster(TEXT * 3, 3) == expected


def test_words_that_stand_in_the_same_places_go_together():
    paths = cluster(TEXT, 3).paths
    assert paths["dog"] == paths["cat"] != paths["barks"] == paths["sleeps"] != paths["the"] == paths["a"]
    assert len(set(paths.values())) == 3


@given(st.permutations(TEXT * 2))
def test_the_order_of_sentences_does_not_matter(text):
    assert cluster(text, 3) == cluster(TEXT * 2, 3)


def test_equal_losses_go_by_frequency_then_spelling():
    text = [["x", "ß", "y"], ["x", "z", "y"], ["x", "é", "y"], ["x", "z", "y"]]
    assert [merge[:2] for merge in cluster(text, 4).merges][:1] == [("z", "ß")]
    assert cluster([["b"], ["a"], ["d"], ["c"]], 2).merges[0][:2] == ("a", "b")


def test_columns_generators_and_batches_are_the_same(monkeypatch):
    expected = cluster(TEXT, 3)
    assert cluster(iter(TEXT), 3) == expected
    words = Column.of([word for sentence in TEXT for word in sentence])
    assert cluster(Columns({"word": words}, places(TEXT)), 3) == expected
    monkeypatch.setattr(word_clusters, "BATCH", 2)
    monkeypatch.setattr(word_clusters, "FEWEST_WAITING", 1)
    assert cluster([[], *TEXT, []], 3) == expected


@given(sentences)
def test_counts_are_those_of_a_plain_counter(text):
    counter = BigramCounter()
    for batch in in_batches(text):
        counter.add(batch)
    found, plain = counter.bigrams(), Plain(text)
    assert found.words == ["", *plain.words]
    assert found.total == plain.pairs.total()
    for side, flip in ((found.after, 1), (found.before, -1)):
        pairs = {
            (found.words[r] or None, found.words[other] or None)[::flip]: count
            for r in range(len(found.words))
            for other, count in zip(
                *(each[side.indptr[r] : side.indptr[r + 1]].tolist() for each in side[1:]), strict=True
            )
        }
        assert pairs == plain.pairs


def test_progress_is_told_to_the_end():
    told = []
    cluster(TEXT, 3, told=lambda *steps: told.append(steps))
    assert told[-1] == (6 + 1 + 2, 6 + 1 + 2)
    assert told == sorted(told)


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ([], {}, "there are no words"),
        ([[], []], {}, "there are no words"),
        (TEXT, {"min_count": 9}, "there are no words that occur at least 9 times"),
        (TEXT, {"n_clusters": 7}, "there are 6 different words, too few for 7 clusters"),
        (TEXT, {"min_count": 3}, "there are 2 different words that occur at least 3 times, too few for 3 clusters"),
        (TEXT, {"n_clusters": 1}, "at least 2 clusters, not 1"),
        (TEXT, {"min_count": 0}, "min_count must be at least 1, not 0"),
        ([["a", ""]], {}, "sentence 1, token 2: a word is wanted, not an empty string"),
        (["to be"], {}, r"X\[0\] must be a sequence of positions, not 'to be'; split texts into tokens"),
        ([["a", 3]], {}, "a string is wanted, not 3"),
    ],
)
def test_bad_input_is_told_plainly(text, options, complaint):
    with pytest.raises(WidemarginError, match=complaint):
        cluster(text, **{"n_clusters": 3, **options})


def test_places_in_later_batches_are_told(monkeypatch):
    monkeypatch.setattr(word_clusters, "BATCH", 2)
    with pytest.raises(WidemarginError, match=r"^from sentence 5 on: X\[1\] must be"):
        cluster([*TEXT, "to be"], 3)
    with pytest.raises(WidemarginError, match=r"^from sentence 5 on, sentence 2, token 1: a word is wanted"):
        cluster([*TEXT, [""]], 3)


def test_too_many_clusters_for_the_memory(monkeypatch):
    monkeypatch.setattr(brown, "empty_window", Mock(side_effect=MemoryError))
    with pytest.raises(WidemarginError, match=r"^3 clusters need 0\.0 GB of memory; ask for fewer"):
        cluster(TEXT, 3)
