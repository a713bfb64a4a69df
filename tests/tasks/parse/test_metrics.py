"""Scores of trees: cases counted by hand, and random trees against the definitions written down naively."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.data.treebanks import treebank
from widemargin.errors import DataError
from widemargin.metrics import Score
from widemargin.tasks.bracket.metrics import Conventions, bracket_scores, brackets
from widemargin.tasks.parse.metrics import Attachment, attachment_scores
from widemargin.text.trees import Arc, Tree

pytestmark = pytest.mark.interpreted

GOLD = [[Arc(2, "det"), Arc(3, "nsubj"), Arc(0, "root"), Arc(3, "punct")], [Arc(0, "root"), Arc(1, "punct")]]
PREDICTED = [[Arc(2, "det"), Arc(3, "obj"), Arc(0, "root"), Arc(1, "punct")], [Arc(0, "root"), Arc(1, "punct")]]
WORDS = [["the", "dog", "barks", "!"], ["yes", "."]]


def test_attachment_by_hand():
    scores = attachment_scores(GOLD, PREDICTED)
    assert scores.overall == Attachment(5 / 6, 4 / 6, 5 / 6, 6)
    assert scores.exact == 0.5
    assert scores.by_relation == {
        "det": Score(1.0, 1.0, 1.0, 1),
        "nsubj": Score(0.0, 0.0, 0.0, 1),
        "obj": Score(0.0, 0.0, 0.0, 0),
        "punct": Score(0.5, 0.5, 0.5, 2),
        "root": Score(1.0, 1.0, 1.0, 2),
    }
    assert scores.by_length == {
        "root": Score(1.0, 1.0, 1.0, 2),
        "1": Score(1.0, 3 / 4, 6 / 7, 4),
        "3–6": Score(0.0, 0.0, 0.0, 0),
    }
    assert scores.by_sentence_length == {"1–10": scores.overall}


def test_punctuation_can_be_left_out():
    scores = attachment_scores(GOLD, PREDICTED, WORDS)
    assert scores.overall == Attachment(1.0, 3 / 4, 3 / 4, 4)
    assert scores.exact == 0.5
    assert "punct" not in scores.by_relation
    assert attachment_scores(GOLD, PREDICTED, [["$", "+", "a.", "e"], ["", "…"]]).overall.n_tokens == 5


def test_long_sentences_and_arcs_have_their_bins():
    gold = [[Arc(0, "root"), *(Arc(1, "x") for _ in range(n - 1))] for n in (10, 11, 40, 41)]
    scores = attachment_scores(gold, gold)
    assert {name: each.n_tokens for name, each in scores.by_sentence_length.items()} == {
        "1–10": 10,
        "11–20": 11,
        "31–40": 40,
        "41+": 41,
    }
    assert list(scores.by_length) == ["root", "1", "2", "3–6", "7+"]
    assert [each.support for each in scores.by_length.values()] == [4, 4, 4, 16, 3 + 4 + 33 + 34]


def arc_pairs():
    arc = st.builds(Arc, st.integers(0, 12), st.sampled_from("abc"))
    return st.lists(st.lists(st.tuples(arc, arc), min_size=1, max_size=12), max_size=4)


@given(arc_pairs())
def test_attachment_against_the_definitions(sentences):
    gold, predicted = ([[pair[side] for pair in sentence] for sentence in sentences] for side in (0, 1))
    scores = attachment_scores(gold, predicted)
    flat = [pair for sentence in sentences for pair in sentence]
    n = max(len(flat), 1)
    assert scores.overall.uas == sum(g.head == p.head for g, p in flat) / n
    assert scores.overall.las == sum(g == p for g, p in flat) / n
    for label, score in scores.by_relation.items():
        right = sum(g == p and g.label == label for g, p in flat)
        assert score.precision == right / max(sum(p.label == label for _, p in flat), 1)
        assert score.recall == right / max(sum(g.label == label for g, _ in flat), 1)
    assert sum(score.support for score in scores.by_length.values()) == len(flat)
    assert sum(each.n_tokens for each in scores.by_sentence_length.values()) == len(flat)


def test_sentences_must_match():
    for gold, predicted, words in ((GOLD, GOLD[:1], None), (GOLD, GOLD, WORDS[:1]), (GOLD[:1], GOLD[1:], None)):
        with pytest.raises(DataError, match="not as many"):
            attachment_scores(gold, predicted, words)


# ---------------------------------------------------------------------------------------------------------- brackets


def test_brackets_by_hand():
    """Punctuation inside the sentence and at its end is deleted, so that where it hangs makes no difference."""
    gold = Tree.parse("(TOP (S (NP (NP (DT the) (NN dog)) (, ,)) (VP (VBZ gives) (PRT (RP up))) (. .)))")
    predicted = Tree.parse("(S1 (S (NP (DT the) (NN dog)) (, ,) (VP (VBZ gives) (ADVP (RB up)) (. .))))")
    scores = bracket_scores([gold], [predicted])
    assert scores.micro == Score(1.0, 4 / 5, 8 / 9, 5)
    assert scores.exact == 0.0
    assert scores.by_label == {
        "ADVP": Score(1.0, 1.0, 1.0, 1),
        "NP": Score(1.0, 0.5, 2 / 3, 2),
        "S": Score(1.0, 1.0, 1.0, 1),
        "VP": Score(1.0, 1.0, 1.0, 1),
    }
    plain = Conventions(roots=frozenset(), deleted=frozenset(), same={})
    assert sorted(label for _, _, label in brackets(gold, plain).elements()) == ["NP", "NP", "PRT", "S", "TOP", "VP"]
    assert bracket_scores([gold], [gold], plain).exact == 1.0
    assert bracket_scores([gold], [predicted], plain).micro.f1 < scores.micro.f1


def test_brackets_around_deleted_words_alone_do_not_count():
    assert brackets(Tree.parse("(S (PRN (, ,)) (UH oh))")) == {(0, 1, "S"): 1}


def naive_brackets(tree, conventions):
    """Every constituent's span by the places of its words in the sentence without the deleted ones."""
    kept = [tag not in conventions.deleted for tag in tree.tags()]
    found, at = [], 0

    def visit(part):
        nonlocal at
        begin = at
        if part.word is not None:
            at += 1
            return
        for child in part.children:
            visit(child)
        span = sum(kept[:begin]), sum(kept[:at])
        if span[0] < span[1] and part.label not in conventions.roots:
            found.append((*span, conventions.same.get(part.label, part.label)))

    visit(tree)
    return found


@st.composite
def bracketings(draw, n):
    """A random tree over the tokens 0 … n − 1, unary chains included."""
    tags = [draw(st.sampled_from(["N", "V", ",", "."])) for _ in range(n)]

    def constituent(begin, end, depth):
        label = draw(st.sampled_from(["S", "NP", "PRT", "ADVP", "TOP"]))
        if end - begin == 1:
            leaf = Tree(tags[begin], (str(begin),))
            return Tree(label, (leaf,)) if depth == 0 or draw(st.booleans()) else leaf
        if draw(st.integers(0, 4)) == 0 and depth < 6:
            return Tree(label, (constituent(begin, end, depth + 1),))
        at = draw(st.integers(begin + 1, end - 1))
        return Tree(label, (constituent(begin, at, depth + 1), constituent(at, end, depth + 1)))

    return constituent(0, n, 0)


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(bracketings(n), bracketings(n))))
def test_brackets_against_the_definitions(pair):
    gold, predicted = pair
    conventions = Conventions()
    wanted, found = (naive_brackets(tree, conventions) for tree in pair)
    assert Counter(wanted) == brackets(gold)
    left, right = list(wanted), 0
    for bracket in found:
        if bracket in left:
            left.remove(bracket)
            right += 1
    scores = bracket_scores([gold], [predicted])
    assert scores.micro.precision == (right / len(found) if found else 0.0)
    assert scores.micro.recall == (right / len(wanted) if wanted else 0.0)
    assert scores.exact == (sorted(wanted) == sorted(found))


def test_trees_must_be_over_the_same_words():
    a, b = Tree.parse("(S (A a))"), Tree.parse("(S (A b))")
    with pytest.raises(
        DataError, match="the gold tree of sentence 2 and the predicted one are not over the same words"
    ):
        bracket_scores([a, a], [a, b])
    with pytest.raises(DataError, match="there are 2 gold trees, but 1 predicted ones"):
        bracket_scores([a, a], [a])


def test_gold_scores_all():
    bank = treebank(20, non_projective=0.2, several_roots=0.2)
    scores = attachment_scores(bank.arcs, bank.arcs)
    assert scores.overall[:3] == (1.0, 1.0, 1.0)
    assert scores.exact == 1.0
    assert bracket_scores(bank.trees, bank.trees).micro[:3] == (1.0, 1.0, 1.0)
