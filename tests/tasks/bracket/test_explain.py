"""Explanations of constituents: votes add up to the scores of trees, and alternatives are the best there are."""

from itertools import product

import numpy as np
import pytest

from widemargin.core import checks
from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError
from widemargin.report.explain import reasons
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.examples import BracketExamples, count_weights
from widemargin.tasks.bracket.explain import SpanExplainer, nodes_of
from widemargin.tasks.bracket.features import DEFAULT_BRACKET_TEMPLATES
from widemargin.tasks.bracket.model import Bracketer
from widemargin.text.columns import Column, Columns
from widemargin.text.trees import Tree

pytestmark = pytest.mark.interpreted

TREES = [
    Tree.parse(text)
    for text in (
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat)) (ADVP (RB now))))",
        "(S (VP (VB look) (PP (IN at) (NP (PRP it)))))",
        "(S (NP (NN time)) (VP (VBZ flies)))",
    )
]
BITS = 9
SPANS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.fixture(scope="module")
def parser():
    """Its weights are random."""
    bracketing = Bracketing.of(TREES)
    w = np.random.default_rng(0).normal(size=count_weights(bracketing.n_labels, BITS))
    return Bracketer(bracketing.chains, bracketing, DEFAULT_BRACKET_TEMPLATES, BITS, weights=w)


@pytest.fixture(scope="module")
def explainers(parser):
    words, tags = ([each for tree in TREES for each in of(tree)] for of in (Tree.words, Tree.tags))
    X = Columns({"word": Column.of(words), "pos": Column.of(tags)}, boundaries([len(tree.words()) for tree in TREES]))
    return [SpanExplainer(parser, X.alone(i)) for i in range(len(TREES))]


def score(explainer, nodes):
    return sum(weight for node in nodes for _, weight in explainer._voters.votes(node))


@pytest.mark.parametrize("i", range(len(TREES)))
def test_votes_add_up_to_what_training_sees(parser, explainers, i):
    """⟨w, φ(gold) − φ(other)⟩ from the votes, and from the structure's own differences."""
    explainer, gold = explainers[i], parser.bracketing.encode(TREES[i])
    data = explainer._examples.features.data
    examples = BracketExamples(parser.bracketing, BITS, data.indptr, data.keys, gold)
    other = np.array([node[:3] for node in explainer.nodes], dtype=np.int32)
    psi = examples.difference(np.zeros(1, dtype=np.int32), other).psi
    difference = score(explainer, nodes_of(gold.tolist())) - score(explainer, explainer.nodes)
    assert difference == pytest.approx(psi.values @ parser.w[psi.indices])


@pytest.fixture(scope="module")
def every_tree(parser, explainers):
    """All trees over the three words of the second sentence that the parser could predict, and their scores."""
    allowed, rests, n = parser.bracketing.allowed, parser.bracketing.rests, len(parser.labels)
    found = []
    for spans in ([(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)], [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]):
        kinds = [2 if span == (0, 3) else int(span[1] - span[0] > 1) for span in spans]
        for labels in product(*(np.flatnonzero(allowed[kind]).tolist() for kind in kinds)):
            nodes = nodes_of([(*span, label) for span, label in zip(spans, labels, strict=True)])
            halves = [(node.left, node.right, node.label) for node in nodes if node.is_split]
            if all(left < n and (right < n or rests[label] == right) for left, right, label in halves):
                found.append(nodes)
    single = {node: score(explainers[1], [node]) for node in {node for nodes in found for node in nodes}}
    return [({node[:3] for node in nodes}, sum(single[node] for node in nodes)) for nodes in found]


@pytest.mark.parametrize("span", SPANS)
def test_alternatives_are_the_best_trees_of_their_kind(parser, explainers, every_tree, span):
    explainer = explainers[1]

    def best(fits=lambda places: True):
        return max(value for places, value in every_tree if fits(places))

    highest = best()
    assert score(explainer, explainer.nodes) == pytest.approx(highest)

    chosen = explainer.label(*span)
    codes = [code for code, name in enumerate(parser.labels) if name]
    if chosen is not None:
        code = parser.labels.index(chosen)
        expected = best(lambda places: (*span, code) not in places)
    else:
        expected = best(lambda places: any((*span, code) in places for code in codes))
    other = explainer.alternative(*span)
    assert score(explainer, other) == pytest.approx(expected)
    one, two = explainer.options(other)
    assert one.score - two.score == pytest.approx(highest - expected)
    assert sum(reason.difference for reason in reasons(one, two)) == pytest.approx(highest - expected)


def test_a_label_that_is_asked_for(parser, explainers):
    explainer = explainers[0]
    for label in set(parser.labels) - {""}:
        code = parser.labels.index(label)
        if parser.bracketing.on_spans[code] and explainer.label(0, 2) != label:
            assert (0, 2, code) in {node[:3] for node in explainer.alternative(0, 2, label)}


def test_alternatives_that_there_are_not(explainers):
    explainer = explainers[0]
    begin, end, label = explainer.constituents()[0]
    with pytest.raises(WidemarginError, match=f"are predicted to be {label}; name another"):
        explainer.alternative(begin, end, label)
    with pytest.raises(WidemarginError, match="has no constituents 'XX'"):
        explainer.alternative(0, 2, "XX")
    with pytest.raises(WidemarginError, match="no words 3 to 2 in a sentence of 6"):
        explainer.alternative(2, 2)
    with pytest.raises(WidemarginError, match="no tree can be like that"):
        explainer.alternative(0, 1, "S")


def test_margins_are_the_differences_of_votes(explainers):
    for explainer in explainers:
        for (begin, end, _), margin, instead in explainer.margins():
            one, other = explainer.options(explainer.alternative(begin, end))
            assert margin == pytest.approx(one.score - other.score)
            assert instead == other.name


def test_listing_all_constituents_spells_no_votes(explainers, monkeypatch):
    monkeypatch.setattr(type(explainers[0]._voters), "votes", None)
    assert len(list(explainers[0].margins())) == len(explainers[0].constituents())


@pytest.mark.parametrize(("limit", "reason"), [("SECONDS", "three times"), ("BYTES", "nine")])
def test_what_would_take_too_long_or_too_much_memory_is_refused(parser, monkeypatch, limit, reason):
    """The limits here are just above what parsing takes."""
    X = Columns({"word": Column.of(["a"] * 400), "pos": Column.of(["NN"] * 400)}, boundaries([400]))
    examples = parser.examples(X)
    value = {"SECONDS": 1.01e-6 * examples.work[0], "BYTES": 1.01 * examples.chart_bytes(6)[0]}[limit]
    monkeypatch.setattr(checks, f"MOST_{limit}", value)
    with pytest.raises(WidemarginError, match=f"sentence 1 would .* for explaining, which .* {reason}"):
        SpanExplainer(parser, X)
