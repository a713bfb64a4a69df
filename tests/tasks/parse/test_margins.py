"""Margins of all arcs of a sentence, which compiled code sums up, against the votes for each arc."""

from types import SimpleNamespace

import numpy as np
import pytest

from widemargin.data.treebanks import treebank
from widemargin.report.explain import Question
from widemargin.tasks.parse import ParserParameters
from widemargin.tasks.parse.estimator import compile_trees
from widemargin.tasks.parse.explain import ArcExplainer, ArcVotes
from widemargin.tasks.parse.model import Parser
from widemargin.tasks.training import Data

pytestmark = pytest.mark.interpreted

BANK = treebank(6, seed=1)


@pytest.fixture(scope="module", params=[{}, {"order": 2}, {"order": "grandsiblings"}, {"decoder": "nonprojective"}])
def parser(request) -> Parser:
    """Its weights are random."""
    parameters = ParserParameters(hash_bits=10, tags="given", **request.param)
    compiled = compile_trees(parameters, Data(BANK.columns, BANK.arcs))
    w = np.random.default_rng(0).normal(size=compiled.examples.n_weights)
    return compiled.model(SimpleNamespace(w=w), {})


def test_margins_are_the_differences_of_votes(parser):
    for i in range(BANK.columns.n_sequences):
        X = BANK.columns.alone(i)
        (words,), (arcs,) = X.sequences("word"), parser.predict(X)
        explainer = ArcExplainer(ArcVotes(parser.extractor, X, parser.w, parser.labels), words, arcs, parser.labels)
        found = explainer.margins(parser.examples(X).part_scores(parser.w, 0))
        for token, (arc, (other, margin)) in enumerate(zip(arcs, found, strict=True), 1):
            best = explainer.alternative(token)
            assert explainer.option(token, other).score == pytest.approx(explainer.option(token, best).score)
            assert margin == pytest.approx(explainer.option(token, arc).score - explainer.option(token, other).score)


def test_listing_all_arcs_looks_for_the_votes_of_two_arcs_a_token(parser, monkeypatch):
    """Those of all n² arcs would take minutes in a long sentence."""
    asked, features = [], ArcVotes._features
    monkeypatch.setattr(ArcVotes, "_features", lambda *arguments: asked.append(arguments) or features(*arguments))
    X = BANK.columns.alone(0)
    assert len(parser.explain(X, Question())["parts"]) == X.n_tokens
    assert len(asked) == 2 * X.n_tokens
