"""More than the best tree: alternatives, probabilities, expected counts and the least risk."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import fail, succeed
from widemargin import ConstituencyParser
from widemargin.core.sparse import dots
from widemargin.data.treebanks import treebank
from widemargin.decoders.cky import cell
from widemargin.errors import UnsupportedError, WidemarginError
from widemargin.files.brackets import columns_of
from widemargin.tasks.bracket.metrics import bracket_scores
from widemargin.text.trees import Tree

OPTIONS = {
    "hash_bits": 14,
    "templates": "tags first:pos|last:pos first:word split:pos",
    "max_epochs": 8,
    "tol": None,
    "tags": "given",
}


@pytest.fixture(scope="module")
def trees():
    return [tree for tree in treebank(80).trees if 1 < len(tree.words()) <= 12][:40]


@pytest.fixture(scope="module")
def parser(trees):
    """A parser that has probabilities."""
    return ConstituencyParser(solver="lbfgs", objective="likelihood", C=1.0, **OPTIONS).fit(columns_of(trees), trees)


@pytest.fixture(scope="module")
def model(parser, tmp_path_factory):
    path = tmp_path_factory.mktemp("brackets") / "trees.wm"
    parser.save(path)
    return path


@pytest.fixture(scope="module")
def file(trees, tmp_path_factory):
    path = tmp_path_factory.mktemp("brackets") / "some.mrg"
    path.write_text("".join(f"{tree}\n" for tree in trees[:5]), encoding="utf-8")
    return path


def test_the_best_trees_in_order(parser, trees):
    X = columns_of(trees[:6])
    ranked, best = parser.predict_best(X, 4), parser.predict(X)
    for each, first in zip(ranked, best, strict=True):
        scores = [score for score, _ in each]
        assert each[0].output == first
        assert len({str(tree) for _, tree in each}) == len(each) == 4
        assert scores == sorted(scores, reverse=True)
    examples = parser.model_.examples(X)
    batch = np.zeros(4, dtype=np.int32)
    nodes = np.concatenate([parser.model_.bracketing.encode(tree) for _, tree in ranked[0]])
    data = examples.features.data
    gold = type(examples)(parser.model_.bracketing, 14, data.indptr[:2], data.keys, nodes[: len(nodes) // 4])
    lost = dots(gold.difference(batch, nodes).psi, parser.solution_.w)
    np.testing.assert_allclose([ranked[0][0].score - score for score, _ in ranked[0]], lost, atol=1e-9)
    with pytest.raises(WidemarginError, match="at least one output, not 0"):
        parser.predict_best(X, 0)


def test_probabilities(parser, trees):
    X = columns_of(trees[:8])
    counts = parser.expected_counts(X)
    n_classes = len(parser.classes_)
    assert counts.shape == (8, n_classes)
    for tree, p, row in zip(trees, parser.predict_proba(X), counts, strict=False):
        n = len(tree.words())
        assert p.shape == (n + 1, n + 1, n_classes)
        begins = np.arange(n)
        np.testing.assert_allclose(p[begins, begins + 1].sum(axis=1), 1.0)  # a word has one label
        np.testing.assert_allclose(p[0, n].sum(), 1.0)  # so has the sentence
        assert np.all(p >= 0.0)
        assert np.all(p.sum(axis=2) <= 1.0 + 1e-9)
        assert not p[np.tril_indices(n + 1)].any()
        np.testing.assert_allclose(p.sum(axis=(0, 1)), row)
    likely = parser.model_.likely(X)[0]
    assert likely["tokens"] == trees[0].words()
    shares = [each["probability"] for each in likely["constituents"]]
    assert shares == sorted(shares, reverse=True)
    top = next(each for each in likely["constituents"] if (each["start"], each["end"]) == (0, len(trees[0].words())))
    assert top["label"] in parser.classes_
    assert top["probability"] == pytest.approx(parser.predict_proba(X)[0][0, top["end"]].max())


def test_probabilities_do_not_depend_on_threads(parser, trees):
    X = columns_of(trees[:9])
    alone, together = parser.model_.predict_proba(X, 1), parser.model_.predict_proba(X, 3)
    assert all(map(np.array_equal, alone, together))
    assert parser.model_.predict_minimum_risk(X, 1) == parser.model_.predict_minimum_risk(X, 3)
    assert parser.model_.predict_best(X, 3, 1) == parser.model_.predict_best(X, 3, 3)


def test_the_least_risk_is_not_above_that_of_the_best_tree(parser, trees):
    X = columns_of(trees)
    bracketing = parser.model_.bracketing

    def right(tree, p):
        nodes = bracketing.encode(tree)
        return sum(p[cell(begin, end), label] for begin, end, label in nodes.tolist())

    risky = parser.predict_minimum_risk(X)
    rows = list(parser.model_.probabilities(X, 1))
    for best, other, p in zip(parser.predict(X), risky, rows, strict=True):
        assert right(other, p) >= right(best, p) - 1e-9
    assert bracket_scores(trees, risky).micro.f1 > 0.9


def test_only_likelihoods_have_probabilities(trees):
    margin = ConstituencyParser(solver="perceptron", **OPTIONS).fit(columns_of(trees[:5]), trees[:5])
    for ask in (margin.predict_proba, margin.predict_minimum_risk, margin.expected_counts):
        with pytest.raises(UnsupportedError, match="gives scores, not probabilities"):
            ask(columns_of(trees[:2]))
    assert len(margin.predict_best(columns_of(trees[:2]), 2)[0]) == 2


def test_answers_on_the_command_line(parser, trees, model: Path, file: Path) -> None:
    X = columns_of(trees[:5])
    answers = [json.loads(line) for line in succeed("predict", model, file, "--best", "3").splitlines()]
    for answer, ranked in zip(answers, parser.predict_best(X, 3), strict=True):
        assert answer["tokens"] == ranked[0].output.words()
        assert answer["tree"] == str(ranked[0].output)
        assert [Tree.parse(each["tree"]) for each in answer["alternatives"]] == [each.output for each in ranked]
        assert [each["score"] for each in answer["alternatives"]] == [each.score for each in ranked]
    answers = [json.loads(line) for line in succeed("predict", model, file, "--probabilities").splitlines()]
    assert answers == parser.model_.likely(X)
    written = succeed("predict", model, file, "--minimum-risk").splitlines()
    assert written == [str(tree) for tree in parser.predict_minimum_risk(X)]


def test_what_trees_of_constituents_do_not_have(model: Path, file: Path) -> None:
    assert "which have no confidence and no constraints" in fail("predict", model, file, "--confidence")
    assert "which have no confidence and no constraints" in fail("predict", model, file, "--best", "2", "--bio")


@pytest.mark.parametrize("error", ["spans", "productions"])
@pytest.mark.parametrize(
    ("solver", "objective"), [("dcd", "positions"), ("dcd", "margin"), ("lbfgs", "softmax-margin"), ("mira(k=3)", None)]
)
def test_objectives_and_errors_train(trees, solver, objective, error):
    fitted = ConstituencyParser(solver=solver, objective=objective, error=error, C=0.3, **OPTIONS)
    fitted.fit(columns_of(trees), trees)
    assert fitted.score(columns_of(trees), trees) > 0.9
