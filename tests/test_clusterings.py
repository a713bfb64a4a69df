"""Scores of clusterings: published examples, brute force, and what holds of all of them."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.clusterings import (
    SCORES,
    by_first,
    clustering_scores,
    clusters_of,
    mitre_loss,
    pair_loss,
    scores_of_clusters,
)
from widemargin.errors import DataError

pytestmark = pytest.mark.interpreted

LABELS = st.lists(st.integers(0, 3), min_size=1, max_size=6)
BOTH = st.integers(1, 6).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2))
TRUTH = ["12345", "67", "89ABC"]  # of Bagga & Baldwin (1998) and of Luo (2005)


@pytest.mark.parametrize(
    ("gold", "predicted", "recall", "precision"),
    [(["ABCD"], ["AB", "CD"], 2 / 3, 1.0), (["AB", "CD"], ["ABCD"], 1.0, 2 / 3), (["ABCD"], ["ABCD"], 1.0, 1.0)],
)
def test_muc_of_vilain_et_al(gold, predicted, recall, precision):
    score = scores_of_clusters([gold], [predicted])["muc"]
    assert (score.recall, score.precision) == pytest.approx((recall, precision))


@pytest.mark.parametrize(
    ("predicted", "muc", "b3", "ceaf_m", "ceaf_e"),
    [
        (["12345", "6789ABC"], 0.947, 0.865, 0.833, 0.733),
        (["1234589ABC", "67"], 0.947, 0.737, 0.583, 0.667),
        (["123456789ABC"], 0.900, 0.545, 0.417, 0.294),
        (list("123456789ABC"), 0.0, 0.400, 0.250, 0.178),
    ],
)
def test_table_of_luo(predicted, muc, b3, ceaf_m, ceaf_e):
    """Luo (2005), Table 1; MUC is not defined for the last line, where the library has 0."""
    scores = scores_of_clusters([TRUTH], [predicted])
    found = [round(scores[name].f1, 3) for name in ("muc", "b3", "ceaf_m", "ceaf_e")]
    assert found == [muc, b3, ceaf_m, ceaf_e]


def test_precision_of_bagga_and_baldwin():
    for predicted, precision in ((["12345", "6789ABC"], 0.76), (["1234589ABC", "67"], 0.58)):
        scores = scores_of_clusters([TRUTH], [predicted])
        assert round(scores["b3"].precision, 2) == precision
        assert scores["b3"].recall == 1.0
        assert (round(scores["muc"].precision, 2), scores["muc"].recall) == (0.9, 1.0)


def test_items_of_one_side_only():
    """Items that are missing are wrong in recall, items that should not be there are wrong in precision."""
    scores = scores_of_clusters([["ab"]], [["abc", "d"]])
    assert (scores["b3"].recall, scores["b3"].precision) == (1.0, pytest.approx((2 * 2 / 3) / 4))
    assert (scores["muc"].recall, scores["muc"].precision) == (1.0, 0.5)
    assert (scores["ceaf_m"].recall, scores["ceaf_m"].precision) == (1.0, 0.5)
    assert (scores["pair"].recall, scores["pair"].precision) == (1.0, pytest.approx(1 / 3))


KEY = ["a", "bc", "def"]  # TC-A of the reference scorer
WHOLE, ALONE = ["abcdef"], list("abcdef")  # TC-M and TC-N


@pytest.mark.parametrize(
    ("gold", "predicted", "muc", "b3", "ceaf_m", "ceaf_e", "blanc"),
    [
        (KEY, KEY, (1, 1), (1, 1), (1, 1), (1, 1), (1, 1, 1)),
        (KEY, ["a", "de"], (1 / 3, 1), (7 / 18, 1), (0.5, 1), (0.6, 0.9), (0.21591, 1, 0.35385)),
        (
            KEY,
            ["a", "bcx", "defy", "z"],
            (1, 3 / 5),
            (1, (4 + 7 / 12) / 9),
            (1, 0.66667),
            (0.88571, 0.66429),
            (1, 0.42593, 0.59717),
        ),
        (WHOLE, WHOLE, (1, 1), (1, 1), (1, 1), (1, 1), (1, 1, 1)),
        (WHOLE, ALONE, (0, 0), (1 / 6, 1), (1 / 6, 1 / 6), (2 / 7, 2 / 42), (0, 0, 0)),
        (WHOLE, ["abc", "def"], (4 / 5, 1), (0.5, 1), (0.5, 0.5), (6 / 9, 3 / 9), (0.2, 0.5, 2 / 7)),
        (ALONE, ALONE, (0, 0), (1, 1), (1, 1), (1, 1), (1, 1, 1)),
        (ALONE, WHOLE, (0, 0), (1, 1 / 6), (1 / 6, 1 / 6), (2 / 42, 2 / 7), (0, 0, 0)),
    ],
)
def test_cases_of_the_reference_scorer(gold, predicted, muc, b3, ceaf_m, ceaf_e, blanc):
    """Recall and precision of TC-A-1 … 3, TC-M and TC-N; of BLANC also F1. Each follows from the definitions, too."""
    scores = scores_of_clusters([gold], [predicted])
    for name, wanted in {"muc": muc, "b3": b3, "ceaf_m": ceaf_m, "ceaf_e": ceaf_e, "blanc": blanc}.items():
        score = scores[name]
        assert (score.recall, score.precision, score.f1)[: len(wanted)] == pytest.approx(wanted, abs=6e-6), name


def test_lea_of_moosavi_and_strube():
    """The example of §4: links of a, b, c and d … g."""
    score = scores_of_clusters([["abc", "defg"]], [["ab", "cd", "fghi"]], ["lea"])["lea"]
    assert (round(score.recall, 2), round(score.precision, 2)) == (0.24, 0.33)


def test_blanc_of_a_single_item_and_of_none():
    assert scores_of_clusters([["a"]], [["a"]], ["blanc"])["blanc"].f1 == 1.0
    assert scores_of_clusters([["a"]], [["b"]], ["blanc"])["blanc"].f1 == 0.0
    assert scores_of_clusters([["a"]], [["a"]], ["muc"])["muc"].f1 == 0.0
    assert scores_of_clusters([[]], [[]], ["blanc"])["blanc"].f1 == 0.0


ITEMS = st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 2))


@given(ITEMS, ITEMS)
def test_blanc_and_lea_are_those_of_enumeration(gold, predicted):
    """The two sides need not have the same items."""
    sides = [
        [[item for item in side if side[item] == label] for label in set(side.values())] for side in (gold, predicted)
    ]
    scores = scores_of_clusters([sides[0]], [sides[1]])
    links = [
        {
            kind: {p for p in combinations(sorted(side), 2) if (side[p[0]] == side[p[1]]) == kind}
            for kind in (True, False)
        }
        for side in (gold, predicted)
    ]
    kinds = [kind for kind in (True, False) if links[0][kind] or links[1][kind]]

    def share(kind, of):
        return len(links[0][kind] & links[1][kind]) / max(len(links[of][kind]), 1)

    if kinds:
        both = [(share(kind, 0), share(kind, 1)) for kind in kinds]
        f1 = [2 * r * p / (r + p) if r + p else 0.0 for r, p in both]
        assert scores["blanc"].recall == pytest.approx(np.mean([r for r, _ in both]))
        assert scores["blanc"].precision == pytest.approx(np.mean([p for _, p in both]))
        assert scores["blanc"].f1 == pytest.approx(np.mean(f1))
    # With a link of every item to itself in clusters of one, recall and precision of LEA look the same.
    for side, other, found in ((gold, predicted, scores["lea"].recall), (predicted, gold, scores["lea"].precision)):
        total = 0.0
        for label in set(side.values()):
            cluster = [item for item in side if side[item] == label]
            own = list(combinations(cluster, 2)) or [(cluster[0], cluster[0])]
            kept = [p for p in own if p[0] in other and p[1] in other and other[p[0]] == other[p[1]]]
            if len(cluster) == 1:
                kept = [p for p in kept if sum(each == other[p[0]] for each in other.values()) == 1]
            total += len(cluster) * len(kept) / len(own)
        assert found == pytest.approx(total / max(len(side), 1))


def muc_by_links(gold, predicted):
    """The fewest links to be added to the parts that `predicted` cuts the clusters of `gold` into."""
    missing = wanted = 0
    for cluster in clusters_of(gold):
        missing += len({predicted[item] for item in cluster}) - 1
        wanted += len(cluster) - 1
    return 1 - missing / wanted if wanted else 0.0


@given(BOTH)
def test_scores_are_their_definitions(both):
    gold, predicted = both
    scores, items = clustering_scores([gold], [predicted]), range(len(gold))
    assert scores["muc"].recall == pytest.approx(muc_by_links(gold, predicted))
    assert scores["muc"].precision == pytest.approx(muc_by_links(predicted, gold))
    same = [[{j for j in items if labels[i] == labels[j]} for i in items] for labels in both]
    shared = [len(g & p) for g, p in zip(*same, strict=True)]
    assert scores["b3"].recall == pytest.approx(np.mean([s / len(g) for s, g in zip(shared, same[0], strict=True)]))
    assert scores["b3"].precision == pytest.approx(np.mean([s / len(p) for s, p in zip(shared, same[1], strict=True)]))
    one, other = sorted((clusters_of(gold), clusters_of(predicted)), key=len)
    best = max(
        sum(len(set(a) & set(b)) for a, b in zip(one, chosen, strict=True)) for chosen in permutations(other, len(one))
    )
    assert scores["ceaf_m"].f1 == pytest.approx(best / len(gold))
    together = [{pair for pair in combinations(items, 2) if labels[pair[0]] == labels[pair[1]]} for labels in both]
    assert scores["pair"].recall == pytest.approx(len(together[0] & together[1]) / max(1, len(together[0])))
    n_pairs = len(gold) * (len(gold) - 1) / 2
    assert pair_loss([gold], [predicted]) == pytest.approx(len(together[0] ^ together[1]) / max(1, n_pairs))
    assert mitre_loss([gold], [predicted]) == pytest.approx(1 - scores["muc"].f1)


@given(BOTH)
def test_scores_look_at_clusters_not_at_names(both):
    gold, predicted = both
    renamed = [f"cluster {label}" for label in predicted]
    assert clustering_scores([gold], [predicted]) == clustering_scores([by_first(gold)], [renamed])
    turned = clustering_scores([predicted], [gold])
    for name, score in clustering_scores([gold], [predicted]).items():
        assert score.f1 == pytest.approx(turned[name].f1)
        assert 0.0 <= score.f1 <= 1.0 + 1e-12
    for name, score in clustering_scores([gold], [gold]).items():
        assert score.f1 == pytest.approx(1.0) or (name in ("muc", "pair") and score.support == 0)


@given(LABELS)
def test_documents_are_summed(labels):
    one = clustering_scores([labels], [[0] * len(labels)])
    two = clustering_scores([labels, labels], [[0] * len(labels)] * 2)
    for name, score in one.items():
        assert score[:3] == pytest.approx(two[name][:3])
    assert clustering_scores([], [])["b3"] == (0.0, 0.0, 0.0, 0)
    assert set(one) == set(SCORES)


def test_different_numbers_of_items_are_refused():
    with pytest.raises(DataError, match="1 gold clusterings, but 0"):
        clustering_scores([[1]], [])
    with pytest.raises(DataError, match="document 0 has 1 gold items, but 2"):
        pair_loss([[1]], [[1, 2]])
