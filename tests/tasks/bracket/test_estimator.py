"""Parsers of constituents: training, prediction, model files."""

import numpy as np
import pytest

import widemargin
from helpers import corpus
from widemargin import ConstituencyParser
from widemargin.core.model_file import read_model, write_model
from widemargin.data.treebanks import treebank
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.files.brackets import columns_of
from widemargin.tasks.bracket.model import Bracketer
from widemargin.text.trees import Tree

BITS = 16


@pytest.fixture(scope="module")
def bank():
    return treebank(120, seed=1)


@pytest.fixture(scope="module")
def parser(bank):
    parser = ConstituencyParser(solver="perceptron", max_epochs=4, hash_bits=BITS, tags="given")
    return parser.fit(columns_of(bank.trees[:80]), bank.trees[:80])


def test_it_learns_to_parse(bank, parser):
    X, y = columns_of(bank.trees[80:]), bank.trees[80:]
    trees = parser.predict(X)
    assert [tree.tagged() for tree in trees] == [tree.tagged() for tree in y]
    assert {tree.label for tree in trees} == {"TOP"}
    assert parser.score(X, y) > 0.9


def test_inputs_and_outputs_may_be_plain(bank, parser):
    trees = bank.trees[:80]
    X = [(tree.words(), tree.tags()) for tree in trees]
    plain = ConstituencyParser(solver="perceptron", max_epochs=4, hash_bits=BITS, tags="given").fit(
        X, list(map(str, trees))
    )
    assert np.array_equal(plain.solution_.w, parser.solution_.w)
    assert plain.predict(X) == parser.predict(columns_of(trees))


def test_threads_do_not_matter(bank, parser):
    X = columns_of(bank.trees)
    assert parser.model_.predict(X, 1) == parser.model_.predict(X, 2)


def test_the_best_epoch_on_development_data_is_kept(bank):
    trees, dev = bank.trees[:40], (columns_of(bank.trees[80:]), bank.trees[80:])
    parser = ConstituencyParser(solver="perceptron", max_epochs=3, hash_bits=BITS, tags="given")
    parser.fit(columns_of(trees), trees, dev=dev)
    best = max(epoch.score for epoch in parser.solution_.trace)
    assert parser.score(*dev) == pytest.approx(best)
    exact = ConstituencyParser(solver="perceptron", max_epochs=1, hash_bits=BITS, tags="given", dev_metric="exact")
    assert 0.0 <= exact.fit(columns_of(trees), trees, dev=dev).solution_.trace[-1].score <= 1.0


def test_a_saved_parser_predicts_the_same(bank, parser, tmp_path):
    X = columns_of(bank.trees[80:])
    parser.save(tmp_path / "parser.wm")
    loaded = widemargin.load(tmp_path / "parser.wm")
    assert isinstance(loaded, ConstituencyParser)
    assert loaded.predict(X) == parser.predict(X)
    assert loaded.get_params() == parser.get_params()
    assert loaded.model_.columns_read == ["pos", "word"]


def test_rich_templates_and_folding_from_the_left_are_kept_in_the_file(bank, tmp_path):
    X, y = columns_of(bank.trees[80:]), bank.trees[80:]
    parser = ConstituencyParser(
        solver="perceptron", max_epochs=2, hash_bits=BITS, tags="given", templates="rich", fold="left"
    ).fit(columns_of(bank.trees[:40]), bank.trees[:40])
    assert parser.score(X, y) > 0.85
    parser.save(tmp_path / "parser.wm")
    loaded = widemargin.load(tmp_path / "parser.wm")
    assert loaded.model_.bracketing == parser.model_.bracketing
    assert set(loaded.model_.texts) > {"words", "last:shape|split:shape[-2]|split:pos[-1]"}
    assert loaded.predict(X) == parser.predict(X)
    with pytest.raises(WidemarginError, match="fold must be 'left' or 'right', not 'top'"):
        ConstituencyParser(fold="top").fit(X, y)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["NP", ""]},
        {"labels": ["", "NP", "NP"]},
        {"hash_bits": 40},
        {"hash_bits": BITS + 1.0},
        {"hash_bits": BITS - 3},
        {"folded": [1]},
        {"folded": ["NP", "NP"]},
        {"on_spans": [True]},
        {"on_words": None},
        {"root": 3},
        {"fold": "top"},
        {"templates": ["nobody:word"]},
        {"templates": []},
    ],
)
def test_damaged_model_files_are_refused(parser, tmp_path, change):
    path = tmp_path / "parser.wm"
    parser.save(path)
    header, tensors = read_model(path)
    write_model(path, header | change, tensors)
    with pytest.raises(ModelFileError, match="damaged"):
        Bracketer.load(path)


def test_what_cannot_be_trained_on_is_refused():
    trees = [Tree.parse("(S (N a) (N b))")]
    X = columns_of(trees)
    with pytest.raises(DataError, match="1 sentences, but 2 trees"):
        ConstituencyParser().fit(X, trees * 2)
    with pytest.raises(DataError, match="not over its words"):
        ConstituencyParser().fit(X, ["(S (N a) (N c))"])
    with pytest.raises(DataError, match="must be a Tree"):
        ConstituencyParser().fit(X, [3])
    with pytest.raises(DataError, match="2 words, but 1 tags"):
        ConstituencyParser().fit([(["a", "b"], ["N"])], trees)
    with pytest.raises(DataError, match="'pos'"):
        ConstituencyParser().fit([["a", "b"]], trees)
    with pytest.raises(WidemarginError, match="hash_bits"):
        ConstituencyParser(hash_bits=60).fit(X, trees)
    with pytest.raises(WidemarginError, match="dev_metric"):
        ConstituencyParser(hash_bits=BITS, dev_metric="best").fit(X, trees, dev=(X, trees))


@pytest.mark.corpus
@pytest.mark.slow
def test_a_treebank():
    trees = [
        Tree.parse(line) for line in corpus("genia-treebank/train.ptb").read_text(encoding="utf-8").splitlines()[:500]
    ]
    parser = ConstituencyParser(solver="perceptron", max_epochs=3, hash_bits=22, tags="given")
    parser.fit(columns_of(trees[:400]), trees[:400])
    assert parser.score(columns_of(trees[400:]), trees[400:]) > 0.75
