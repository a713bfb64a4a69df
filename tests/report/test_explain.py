"""Explanations: the votes for a part add up to its score, and the reasons to the difference of two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widemargin.core.sparse import boundaries
from widemargin.decoders.tree_kbest import SIBLINGS
from widemargin.errors import WidemarginError
from widemargin.report.explain import Option, reasons
from widemargin.structures.dependencies import sentence_of
from widemargin.tasks.parse.examples import TreeExamples, Trees
from widemargin.tasks.parse.explain import ArcExplainer, ArcVotes
from widemargin.tasks.parse.features import ARC_TEMPLATES, LABEL_TEMPLATES, SIBLING_TEMPLATES, ArcExtractor
from widemargin.text.columns import Column, Columns
from widemargin.text.templates import AFTER
from widemargin.text.trees import Arc

pytestmark = pytest.mark.interpreted

BITS, LABELS = 10, ["a", "b", "c"]
LENGTHS = [4, 1, 6]
NAMES = ("word", "lemma", "upos", "xpos", "feats")


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    columns = {name: Column.of([f"{name}{k}" for k in rng.integers(0, 3, sum(LENGTHS))]) for name in NAMES}
    return Columns(columns, boundaries(LENGTHS))


@pytest.fixture(scope="module")
def scored(corpus):
    """The extractor, weights, and scores as decoders see them."""
    extractor = ArcExtractor(ARC_TEMPLATES, LABEL_TEMPLATES, SIBLING_TEMPLATES, hash_bits=BITS)
    examples = TreeExamples(Trees(len(LABELS), BITS, order=2), corpus.indptr, extractor.keys(corpus))
    w = np.random.default_rng(1).normal(size=examples.n_weights)
    batch = np.arange(len(LENGTHS), dtype=np.int32)
    return extractor, w, examples.scored(w, batch).scores


@pytest.mark.parametrize("i", range(len(LENGTHS)))
def test_votes_add_up_to_the_scores_that_decoders_see(corpus, scored, i):
    extractor, w, scores = scored
    voters = ArcVotes(extractor, corpus.alone(i), w, LABELS)
    arcs, siblings, _ = sentence_of(scores, i, len(LABELS), SIBLINGS)
    n = LENGTHS[i]
    for m in range(1, n + 1):
        for h in set(range(n + 1)) - {m}:
            for s in range(h, m, 1 if m > h else -1):
                if h > 0 and s == 0:
                    continue
                expected = arcs[h, m] + siblings[h, s, m]
                mine = voters.scores(h, m, 0 if s == h else s)
                assert mine == pytest.approx(expected)
                for label in range(len(LABELS)):
                    votes = voters.votes(h, m, label, 0 if s == h else s)
                    assert sum(weight for _, weight in votes) == pytest.approx(mine[label])


def test_votes_are_spelt(corpus, scored):
    extractor, w, _ = scored
    names = [name for name, _ in ArcVotes(extractor, corpus.alone(0), w, LABELS).votes(0, 2, 0)]
    words, xpos = (corpus.sequences(name)[0] for name in ("word", "xpos"))
    assert f"head:word|modifier:word=<root>|{words[1]}" in names
    names = [name for name, _ in ArcVotes(extractor, corpus.alone(0), w, LABELS).votes(4, 2, 0)]
    assert f"head:xpos|head:xpos[1]|modifier:xpos|distance={xpos[3]}|{AFTER}|{xpos[1]}|-2" in names
    lemma = corpus.sequences("lemma")[0][3]
    assert f"head:lemma|modifier:xpos|direction|label={lemma}|{xpos[1]}|left|a" in names


votes = st.lists(st.tuples(st.sampled_from(["a=1", "a=2", "b=x=y", "c"]), st.integers(-3, 3).map(float)))


@given(votes, votes)
def test_reasons_add_up_to_the_difference(one, other):
    found = reasons(Option("one", one), Option("other", other))
    assert sum(each.difference for each in found) == Option("", one).score - Option("", other).score
    sizes = [abs(each.difference) for each in found]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 not in sizes


@pytest.fixture(scope="module")
def explainer(corpus, scored):
    extractor, w, _ = scored
    arcs = [Arc(2, "a"), Arc(0, "b"), Arc(2, "c"), Arc(6, "a"), Arc(6, "a"), Arc(2, "b")]
    words = corpus.sequences("word")[2]
    return ArcExplainer(ArcVotes(extractor, corpus.alone(2), w, LABELS), words, arcs, LABELS)


def best(explainer, token, arcs):
    return max(arcs, key=lambda arc: explainer.option(token, arc).score)


@pytest.fixture(scope="module")
def margins(corpus, scored, explainer):
    extractor, w, _ = scored
    alone = corpus.alone(2)
    examples = TreeExamples(Trees(len(LABELS), BITS, order=2), alone.indptr, extractor.keys(alone))
    return explainer.margins(examples.part_scores(w, 0))


@pytest.mark.parametrize("token", range(1, 7))
def test_alternatives_are_the_best_there_are(explainer, margins, token):
    chosen = explainer.arcs[token - 1]
    heads, labels = set(range(7)) - {token}, explainer.labels
    others = [Arc(h, label) for h in heads - {chosen.head} for label in labels]
    assert explainer.alternative(token) == best(explainer, token, others)
    relabelled = [Arc(chosen.head, label) for label in labels if label != chosen.label]
    assert explainer.alternative(token, head=chosen.head) == best(explainer, token, relabelled)
    assert explainer.alternative(token, label=relabelled[0].label) == relabelled[0]
    same = [Arc(h, chosen.label) for h in heads - {chosen.head}]
    assert explainer.alternative(token, label=chosen.label) == best(explainer, token, same)
    for head in heads - {chosen.head}:
        assert explainer.alternative(token, head, "c") == Arc(head, "c")
    other, margin = margins[token - 1]
    assert other == explainer.alternative(token)
    options = explainer.option(token, chosen), explainer.option(token, other)
    assert margin == pytest.approx(options[0].score - options[1].score)
    assert sum(reason.difference for reason in reasons(*options)) == pytest.approx(margin)


def test_alternatives_that_there_are_not(explainer):
    with pytest.raises(WidemarginError, match="token 3 cannot have the head 3"):
        explainer.alternative(3, head=3)
    with pytest.raises(WidemarginError, match="no label 'd'"):
        explainer.alternative(3, label="d")
    with pytest.raises(WidemarginError, match="c is the one chosen"):
        explainer.alternative(3, head=2, label="c")


def test_a_sentence_of_one_word(corpus, scored):
    extractor, w, _ = scored
    explainer = ArcExplainer(ArcVotes(extractor, corpus.alone(1), w, LABELS), ["word"], [Arc(0, "b")], ["a", "b", "c"])
    assert explainer.alternative(1).head == 0
    assert explainer.option(1, Arc(0, "b")).name == "0 root → 1 word, b"
