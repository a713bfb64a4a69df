"""Explanations of constituents: votes add up to the scores of trees, and alternatives are the best there are."""

import numpy as np
import pytest

from widemargin.bracketings import Bracketing
from widemargin.columns import Column, Columns, boundaries
from widemargin.errors import WidemarginError
from widemargin.features.brackets import DEFAULT_BRACKET_TEMPLATES
from widemargin.predictors.bracketer import Bracketer
from widemargin.report.explain import reasons
from widemargin.report.explain_spans import SpanExplainer
from widemargin.structures.bracket import BracketExamples
from widemargin.trees import Tree

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


@pytest.fixture(scope="module")
def parser():
    """Its weights are random."""
    bracketing = Bracketing.of(TREES)
    n_weights = BracketExamples.count_weights(bracketing.n_labels, BITS)
    w = np.random.default_rng(0).normal(size=n_weights)
    return Bracketer(bracketing.chains, bracketing, DEFAULT_BRACKET_TEMPLATES, BITS, w)


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
    tree, explainer = TREES[i], explainers[i]
    data = explainer._examples.data
    gold = parser.bracketing.encode(tree)
    examples = BracketExamples(parser.bracketing, BITS, data.indptr, data.keys, gold)
    other = np.array([node[:3] for node in explainer.nodes], dtype=np.int32)
    psi = examples.difference(np.zeros(1, dtype=np.int32), other).psi
    expected = psi.values @ parser.w[psi.indices]
    from widemargin.features.span_votes import nodes_of

    assert score(explainer, nodes_of(gold.tolist())) - score(explainer, explainer.nodes) == pytest.approx(expected)
