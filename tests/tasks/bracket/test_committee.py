"""Parsers that settle on one tree: against the sums of all trees' scores."""

from dataclasses import replace

import numpy as np
import pytest

from widemargin import ConstituencyParser
from widemargin.data.treebanks import treebank
from widemargin.errors import WidemarginError
from widemargin.files.brackets import columns_of
from widemargin.tasks.bracket.committee import settled_trees
from widemargin.text.trees import Tree

TREES = [
    Tree.parse(text)
    for text in (
        "(S (NP (N dogs)) (V bark) (R now))",
        "(NP (D the) (NP (N cat)) (A big))",
        "(NP (D the) (N cat))",
    )
]
EVERY = 100_000


def parsers(trees, **others):
    return [
        ConstituencyParser(solver="perceptron", max_epochs=1, hash_bits=12, tags="given", fold=fold, **others)
        .fit(columns_of(trees), trees)
        .model_
        for fold in ("left", "right")
    ]


def test_the_sum_of_scores_is_the_highest_of_all_trees():
    rng, X = np.random.default_rng(0), columns_of(TREES)
    models = parsers(TREES, templates="tags first:word split:pos")
    models = [replace(model, weights=rng.normal(size=len(model.weights))) for model in models]
    totals = []
    for one, other in zip(*(model.predict_best(X, EVERY) for model in models), strict=True):
        scores = {str(tree): score for score, tree in one}
        assert len(scores) == len(other) < EVERY
        totals.append({str(tree): score + scores[str(tree)] for score, tree in other})
    for k in (1, 3, EVERY):
        found = settled_trees(models, X, k)
        for i, total in enumerate(totals):
            own = [total[str(tree)] for model in models for _, tree in model.predict_best(X, k)[i]]
            assert total[str(found[i])] == pytest.approx(max(own))
        if k == EVERY:
            assert any(tree != first for model in models for tree, first in zip(found, model.predict(X), strict=True))


def test_labels_that_others_do_not_know_are_not_settled_on():
    trees = treebank(30, seed=2).trees
    (left, right), X = parsers(trees), columns_of(TREES[:2])
    (few, _) = parsers(TREES[:2])
    for tree in settled_trees([few, left], X, 5) + settled_trees([right], X):
        assert tree.words() in [each.words() for each in TREES[:2]]
    assert settled_trees([right], X) == right.predict(X)
    with pytest.raises(WidemarginError, match="no parsers"):
        settled_trees([], X)
