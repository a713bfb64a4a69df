"""Constituents as a structure: features against strings, errors, decoding against all trees."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax

from helpers import STRUCTURES
from helpers.brackets import PlainBrackets, is_possible, labelled, productions
from widemargin import ConstituencyParser
from widemargin.core.sparse import boundaries, dots
from widemargin.decoders.cky import cell
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.bracket.binary import FOLDS
from widemargin.tasks.bracket.examples import BracketExamples
from widemargin.tasks.bracket.features import columns_read, parse_bracket_templates
from widemargin.testing import check_structure
from widemargin.text.trees import Tree

pytestmark = pytest.mark.interpreted

TEXTS = [
    "(TOP (S (NP (D the) (A big) (N dog)) (VP (V sees) (NP (D the) (N cat)))))",
    "(TOP (S (NP (N dogs)) (V bark) (R now)))",
    "(TOP (S (VP (V go) (NP (N home)))))",
    "(TOP (NP (N dog)))",
    "(TOP (NP (D the) (NP (N cat)) (A big)))",
]
TEMPLATES = [
    "length",
    "tags",
    "words",
    "first:word[-1]",
    "last:pos[1]",
    "split:word|split:pos[-1]",
    "first:pos|last:word",
    "first:pos|length",
    "first:pos[1]|last:pos[-1]|length|tags",
    "first:word|split:pos",
    "split:pos[-1]|last:pos|length",
    "first:pos|split:pos|tags",
]


@pytest.fixture(scope="module", params=FOLDS)
def model(request):
    return PlainBrackets(TEXTS, TEMPLATES, hash_bits=8, fold=request.param)


def random_nodes(model, i, rng):
    """A tree of example i that is possible."""
    w = rng.normal(size=model.examples.n_weights)
    return model.examples.decode(w, np.array([i], dtype=np.int32))


def difference(gold, other):
    return {feature: n for feature in gold | other if (n := gold[feature] - other[feature])}


@pytest.mark.parametrize("i", range(len(TEXTS)))
def test_differences_are_those_of_features_written_as_strings(i):
    model = PlainBrackets(TEXTS, TEMPLATES, hash_bits=20)
    rng = np.random.default_rng(i)
    batch, slots = np.array([i], dtype=np.int32), {}
    for _ in range(8):
        nodes = random_nodes(model, i, rng)
        errors, psi = model.examples.difference(batch, nodes)
        gold = [tuple(node) for node in model.gold[i].tolist()]
        found = [tuple(node) for node in nodes.tolist()]
        assert errors[0] == len(set(found) - set(gold)) == len(set(gold) - set(found))
        wanted = difference(model.features(i, gold), model.features(i, found))
        assert sorted(psi.values.tolist()) == sorted(map(float, wanted.values()))
        for value in set(wanted.values()):
            # No two features share a slot here, so which has which can be told apart by many trees.
            here = set(psi.indices[psi.values == value].tolist())
            for feature in (feature for feature, n in wanted.items() if n == value):
                slots[feature] = slots.get(feature, here) & here
                assert slots[feature]


def test_missed_constituents_may_cost_more():
    model = PlainBrackets(TEXTS, TEMPLATES, hash_bits=16, missing_cost=2.5)
    rng, n_chains = np.random.default_rng(0), len(model.bracketing.chains)
    for i in range(len(TEXTS)):
        nodes = random_nodes(model, i, rng)
        wrong = {tuple(node) for node in nodes.tolist()} - {tuple(node) for node in model.gold[i].tolist()}
        cost = sum(1.0 if 0 < label < n_chains else 2.5 for _, _, label in wrong)
        assert model.examples.difference(np.array([i], dtype=np.int32), nodes).errors[0] == pytest.approx(cost)
    with pytest.raises(WidemarginError, match="missing_cost"):
        PlainBrackets(TEXTS, TEMPLATES, hash_bits=16, missing_cost=0.0)


def test_productions_that_gold_lacks_are_errors():
    """A word's production is its label; that of a longer node is its label, its split and the labels of its halves."""

    def all_productions(nodes):
        return {*productions(nodes), *((i, j, label) for i, j, label in nodes if j - i == 1)}

    model = PlainBrackets(TEXTS, TEMPLATES, hash_bits=16, missing_cost=2.5, error="productions")
    rng, n_chains, more = np.random.default_rng(0), len(model.bracketing.chains), 0
    spans = PlainBrackets(TEXTS, TEMPLATES, hash_bits=16, missing_cost=2.5)
    for i in [*range(len(TEXTS))] * 4:
        nodes, batch = random_nodes(model, i, rng), np.array([i], dtype=np.int32)
        wrong = all_productions(nodes.tolist()) - all_productions(model.gold[i].tolist())
        cost = sum(1.0 if 0 < label < n_chains else 2.5 for _, _, label, *_ in wrong)
        error = model.examples.difference(batch, nodes).errors[0]
        assert error == pytest.approx(cost)
        assert error >= spans.examples.difference(batch, nodes).errors[0]
        more += error > spans.examples.difference(batch, nodes).errors[0]
    assert more > 0
    with pytest.raises(WidemarginError, match="there is no error 'words'; there are 'spans' and 'productions'"):
        PlainBrackets(TEXTS, TEMPLATES, hash_bits=16, error="words")


def test_scores_are_linear_in_the_features(model):
    """⟨w, ψ⟩ is by how much gold scores above a tree, for decoding finds nothing better than what it claims."""
    check_structure(model.examples, gold=np.concatenate(model.gold), n_draws=4)


@pytest.mark.parametrize("i", [2, 3, 4])
def test_decoding_finds_the_best_of_all_possible_trees(model, i):
    rng = np.random.default_rng(i)
    batch = np.array([i], dtype=np.int32)
    outputs = model.outputs(i)
    for scale in (0.0, 1.0, 3.0):
        w = rng.normal(size=model.examples.n_weights)

        def value(nodes, w=w, scale=scale):
            errors, psi = model.examples.difference(batch, nodes)
            return scale * errors[0] - psi.values @ w[psi.indices]

        assert value(model.examples.decode(w, batch, error_scale=scale)) == pytest.approx(max(map(value, outputs)))


def test_probabilities_of_constituents_and_the_least_risk(model):
    """Against the sums over all possible trees."""
    rng, everything, other = np.random.default_rng(0), np.arange(len(TEXTS), dtype=np.int32), 0
    for i, scale in product([2, 3, 4], [0.1, 0.5, 1.0, 100.0]):
        outputs, w = model.outputs(i), rng.normal(scale=scale, size=model.examples.n_weights)
        _, psi = model.examples.difference(np.full(len(outputs), i, dtype=np.int32), np.concatenate(outputs))
        p = softmax(-dots(psi, w))
        found = model.examples.probabilities(w, np.array([i], dtype=np.int32))[0]
        expected = np.zeros_like(found)
        for probability, nodes in zip(p, outputs, strict=True):
            expected[[cell(begin, end) for begin, end, _ in nodes.tolist()], nodes[:, 2]] += probability
        np.testing.assert_allclose(found, expected, atol=1e-9)

        def rights(nodes, expected=expected):
            return sum(expected[cell(begin, end), label] for begin, end, label in nodes.tolist())

        begin, end = boundaries(model.examples.lengths)[i : i + 2]
        tree = model.examples.decode_least_risk(w, everything)[begin:end]
        assert is_possible(model.bracketing, tree.tolist())
        assert rights(tree) == pytest.approx(max(map(rights, outputs)))
        other += rights(outputs[int(p.argmax())]) < rights(tree) - 1e-9
    assert other > 0, "the most probable tree had the least risk each time, so this tests little"


@pytest.mark.parametrize("i", [2, 3, 4])
def test_max_marginals_are_the_scores_of_the_best_trees_through_nodes(model, i):
    w, one = np.random.default_rng(i).normal(size=model.examples.n_weights), np.array([i], dtype=np.int32)
    found, outputs = model.examples.max_marginals(w, one), model.outputs(i)
    best = np.full(found.shape, -np.inf)
    scores = model.examples.scores(w, np.repeat(one, len(outputs)), np.concatenate(outputs))
    for score, nodes in zip(scores, outputs, strict=True):
        for begin, end, label in nodes.tolist():
            best[cell(begin, end), label] = max(best[cell(begin, end), label], score)
    np.testing.assert_allclose(found, best)


@pytest.mark.parametrize("error", ["spans", "productions"])
def test_costs_in_units_and_at_most(error):
    model = PlainBrackets(TEXTS, TEMPLATES, hash_bits=8, missing_cost=2.5, error=error)
    costs, everything = model.examples.costs, np.arange(len(TEXTS), dtype=np.int32)
    units, unit = costs.whole()
    for seed in range(4):
        nodes = model.examples.decode(np.random.default_rng(seed).normal(size=model.examples.n_weights), everything)
        errors = costs.errors(everything, nodes)
        np.testing.assert_allclose(unit * units.errors(everything, nodes), errors)
        assert np.all(errors <= costs.most())
    assert unit == 0.5


def test_every_decoded_tree_is_one_of_constituents(model):
    rng = np.random.default_rng(1)
    for i, tree in enumerate(model.trees):
        for _ in range(10):
            nodes = random_nodes(model, i, rng)
            assert is_possible(model.bracketing, nodes.tolist())
            decoded = model.bracketing.decode(nodes, tree.words(), tree.tags())
            assert decoded.tagged() == tree.tagged()
            assert np.array_equal(model.bracketing.encode(decoded), nodes)


def test_small_structures_list_all_their_trees():
    small = STRUCTURES["brackets"]()
    for i, n in enumerate(small.examples.sizes.tolist()):
        assert 1 < len(list(small.outputs(i))) < len(labelled(n, small.examples.structure.n_labels))


def test_long_sentences():
    n = 130
    text = "(S " + " ".join(f"(N w{k % 7})" for k in range(n)) + ")"
    model = PlainBrackets(["(S (N a) (NP (N b) (N c)))", text], ["first:word|last:word", "tags", "split:word"], 10)
    rng = np.random.default_rng(0)
    nodes = random_nodes(model, 1, rng)
    assert len(nodes) == 2 * n - 1
    assert Counter(end - begin for begin, end, _ in nodes.tolist())[1] == n


def test_templates_that_are_about_both_halves_are_refused():
    for text in ("first:pos|split:pos|last:pos", "split:pos|length"):
        with pytest.raises(WidemarginError, match="more than one half"):
            parse_bracket_templates(text)
    with pytest.raises(WidemarginError, match="no templates"):
        parse_bracket_templates("")


def test_columns_read():
    assert columns_read(parse_bracket_templates("tags first:lower|length split:lemma")) == ["lemma", "pos", "word"]


def test_sentences_without_words_and_gold_of_another_size_are_refused(model):
    data, bracketing = model.examples.features.data, model.bracketing
    with pytest.raises(DataError, match="sentence 1 has no words"):
        BracketExamples(bracketing, 10, np.array([0, 2, 2]), data.keys)
    with pytest.raises(DataError, match="nodes of gold trees"):
        BracketExamples(bracketing, 10, data.indptr, data.keys, model.examples.gold[1:])


def test_sentences_that_would_take_too_long_are_refused():
    n = 5_000
    tree = Tree("S", (Tree("N", ("a",)),) * n)
    with pytest.raises(UnsupportedError, match=r"sentence 2 would take about .* seconds for parsing.*cube"):
        ConstituencyParser().fit([(["a"] * 2, ["N"] * 2), (["a"] * n, ["N"] * n)], ["(S (N a) (N a))", tree])
