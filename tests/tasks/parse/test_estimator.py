"""Dependency parsers: training, prediction, model files."""

import numpy as np
import pytest

import widemargin
from helpers import corpus
from widemargin import DependencyParser
from widemargin.core.model_file import read_model, write_model
from widemargin.data.treebanks import treebank
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.files.formats import read
from widemargin.tasks.parse.dependencies import arcs
from widemargin.tasks.parse.metrics import attachment_scores
from widemargin.tasks.parse.model import Parser
from widemargin.text.trees import Arc

QUICK = {"solver": "perceptron", "max_epochs": 4, "hash_bits": 16, "tags": "given"}


@pytest.fixture(scope="module")
def bank():
    return treebank(160, seed=2, non_projective=0.1, several_roots=0.1)


@pytest.fixture(scope="module")
def parser(bank):
    return DependencyParser(**QUICK).fit(bank.columns, bank.arcs)


def is_forest(tree):
    """Whether every token leads to the root."""
    reached = range(len(tree) + 1)
    for _ in tree:
        reached = [tree[m - 1].head if m else 0 for m in reached]
    return not any(reached)


def crossing(tree):
    spans = [sorted((m, arc.head)) for m, arc in enumerate(tree, start=1)]
    return any(i < k < j < m for i, j in spans for k, m in spans)


def roots(tree):
    return sum(arc.head == 0 for arc in tree)


@pytest.mark.parametrize(
    ("decoder", "order"), [("projective", 1), ("projective", 2), ("projective", "grandsiblings"), ("nonprojective", 1)]
)
def test_every_kind_learns_to_parse(bank, decoder, order):
    other = treebank(60, seed=3, non_projective=0.1, several_roots=0.1)
    parser = DependencyParser(decoder=decoder, order=order, **QUICK).fit(bank.columns, bank.arcs)
    found = parser.predict(other.columns)
    assert all(map(is_forest, found))
    assert any(map(crossing, found)) == (decoder == "nonprojective")
    assert any(roots(tree) > 1 for tree in found)
    scores = attachment_scores(other.arcs, found).overall
    assert scores.uas > 0.9
    assert parser.score(other.columns, other.arcs) == scores.las > 0.88


def test_one_root_if_the_data_have_one_or_if_that_is_wanted(bank):
    forced = DependencyParser(single_root=True, **QUICK).fit(bank.columns, bank.arcs)
    assert {roots(tree) for tree in forced.predict(bank.columns)} == {1}
    single = treebank(40, seed=4)
    assert DependencyParser(**QUICK).fit(single.columns, single.arcs).model_.trees.single_root


def test_inputs_may_be_dicts_or_words(bank, parser):
    names = bank.columns.names
    texts = [bank.columns.sequences(name) for name in names]
    X = [
        [dict(zip(names, token, strict=True)) for token in zip(*sentence, strict=True)]
        for sentence in zip(*texts, strict=True)
    ]
    again = DependencyParser(**QUICK).fit(X, [list(map(tuple, tree)) for tree in bank.arcs])
    assert np.array_equal(again.solution_.w, parser.solution_.w)
    words = bank.columns.sequences("word")
    plain = DependencyParser(**QUICK).fit(words, bank.arcs)
    assert plain.model_.columns_read == ["word"]
    assert plain.score(words, bank.arcs) > 0.8


def test_threads_do_not_matter(bank, parser):
    X = bank.columns
    assert parser.model_.predict(X, 1) == parser.model_.predict(X, 2)
    options = {"solver": "dcd", "max_epochs": 2, "hash_bits": 16, "tags": "given"}
    one, two = (DependencyParser(n_jobs=n, **options).fit(X, bank.arcs).solution_.w for n in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("objective", ["margin", "positions", "approximate-slack"])
@pytest.mark.parametrize("decoder", ["projective", "nonprojective"])
def test_objectives(bank, objective, decoder):
    few = treebank(30, seed=5, several_roots=0.1)
    options = {"solver": "sdm", "C": 0.1, "hash_bits": 14, "max_epochs": 12, "tags": "given"}
    parser = DependencyParser(objective=objective, decoder=decoder, **options).fit(few.columns, few.arcs)
    assert parser.score(few.columns, few.arcs) > 0.95


def test_a_certificate(bank):
    few = treebank(40, seed=6)
    solution = (
        DependencyParser(C=0.01, hash_bits=14, tol=1e-3, loss="hinge", max_epochs=200, tags="given")
        .fit(few.columns, few.arcs)
        .solution_
    )
    assert solution.certified
    assert solution.gap <= 1e-3


def test_the_best_epoch_on_development_data_is_kept(bank):
    few, dev = treebank(20, seed=7), treebank(40, seed=8)
    parser = DependencyParser(dev_metric="uas", **QUICK).fit(few.columns, few.arcs, dev=(dev.columns, dev.arcs))
    best = max(epoch.score for epoch in parser.solution_.trace)
    assert attachment_scores(dev.arcs, parser.predict(dev.columns)).overall.uas == pytest.approx(best)


def test_model_files(bank, parser, tmp_path):
    path = tmp_path / "parser.wm"
    parser.save(path)
    again = widemargin.load(path)
    assert isinstance(again, DependencyParser)
    assert again.get_params() == parser.get_params()
    assert again.predict(bank.columns) == parser.predict(bank.columns)
    assert np.array_equal(again.model_.w, parser.model_.w)


@pytest.mark.parametrize(
    "damage",
    [
        {"hash_bits": 40},
        {"hash_bits": "22"},
        {"hash_bits": 12},
        {"decoder": "best"},
        {"order": 2},
        {"order": None},
        {"order": "grandsiblings"},
        {"single_root": 1},
        {"labels": []},
        {"labels": ["a", "a"]},
        {"templates": {}},
        {"templates": {"arc": ["head:"], "label": [], "sibling": []}},
    ],
)
def test_damaged_files_are_refused(parser, tmp_path, damage):
    path = tmp_path / "parser.wm"
    parser.save(path)
    header, tensors = read_model(path)
    write_model(path, {**header, **damage}, dict(tensors))
    with pytest.raises(ModelFileError, match="damaged"):
        Parser.load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoder": "nonprojective", "order": 2}, "no nonprojective decoder of order 2"),
        ({"decoder": "nonprojective", "order": "grandsiblings"}, "no nonprojective decoder of order grandsiblings"),
        ({"order": "grandsiblings", "objective": "likelihood"}, "Softmax needs examples that offer Marginals"),
        ({"decoder": "shift-reduce"}, "decoder must be 'projective' or 'nonprojective'"),
        ({"hash_bits": 0}, "hash_bits"),
        ({"hash_bits": 30}, "hash_bits"),
        ({"label_cost": 2.0}, "a wrong label costs 2"),
        ({"head_cost": 0.0, "label_cost": 0.0}, "must cost something"),
        ({"dev_metric": "f1"}, "dev_metric must be 'las' or 'uas', not 'f1'"),
        ({"arc_templates": "head:word|tail:word"}, "tail:word"),
        ({"arc_templates": "head:colour"}, "no column 'colour'"),
        ({"objective": "slack"}, "Slack needs examples"),
    ],
)
def test_wrong_settings_are_refused(bank, options, message):
    with pytest.raises(WidemarginError, match=message):
        DependencyParser(**{"max_epochs": 1, "hash_bits": 10, "tags": "given", **options}).fit(bank.columns, bank.arcs)


def test_wrong_data_are_refused(parser):
    with pytest.raises(DataError, match="1 sentences, but y has 0"):
        parser.fit([["a"]], [])
    with pytest.raises(DataError, match="no tokens"):
        parser.fit([[]], [[]])
    with pytest.raises(DataError, match="no column"):
        parser.predict([["a"]])


def test_templates_may_be_one_text(bank, tmp_path):
    texts = {
        "arc_templates": "head:word|modifier:word  # words\nmodifier:upos[-1..1]",
        "label_templates": "modifier:word",
    }
    parser = DependencyParser(**texts, **QUICK).fit(bank.columns, bank.arcs)
    assert parser.model_.sizes["templates"] == 5
    parser.save(tmp_path / "parser.wm")
    assert widemargin.load(tmp_path / "parser.wm").predict(bank.columns) == parser.predict(bank.columns)


def test_a_single_word_and_an_empty_sentence():
    parser = DependencyParser(hash_bits=10, max_epochs=2).fit(
        [["a"], [], ["a", "b"]], [[(0, "r")], [], [(2, "x"), (0, "r")]]
    )
    assert parser.predict([[], ["a"]]) == [[], [Arc(0, "r")]]


@pytest.mark.corpus
@pytest.mark.slow
def test_forests_of_a_corpus():
    """cdt-danish has sentences with several roots, and crossing arcs."""
    document = read(corpus("cdt-danish/train.conll"))
    X, gold = document.columns, arcs(document)
    test = read(corpus("cdt-danish/test.conll"))
    parser = DependencyParser(decoder="nonprojective", solver="perceptron", max_epochs=2, tags="given").fit(X, gold)
    found = parser.predict(test.columns)
    assert all(map(is_forest, found))
    assert any(roots(tree) > 1 for tree in found)
    assert any(map(crossing, found))
    assert parser.score(test.columns, arcs(test)) > 0.8


@pytest.mark.corpus
@pytest.mark.slow
def test_english_dependencies():
    """Gold tags, first order: UAS ≥ 86.5 and LAS ≥ 84 on the test part."""
    train, test = (read(corpus(f"ud-english-ewt/{part}.conllu")) for part in ("train", "test"))
    parser = DependencyParser(solver="dcd", C=0.01, max_epochs=4, tol=None, tags="given").fit(
        train.columns, arcs(train)
    )
    gold = arcs(test)
    found = [arc for tree in parser.predict(test.columns) for arc in tree]
    heads = np.array([arc.head for arc in found]) == gold.heads
    assert heads.mean() >= 0.865
    assert (heads & (np.array([arc.label for arc in found]) == gold.labels.strings())).mean() >= 0.84
