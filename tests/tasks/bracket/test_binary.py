"""Trees of constituents and binary trees are the same thing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import corpus
from widemargin.errors import DataError
from widemargin.tasks.bracket.binary import FOLDS, Bracketing, common_root
from widemargin.text.trees import Tree

pytestmark = pytest.mark.interpreted

words = st.builds(lambda tag, word: Tree(tag, (word,)), st.sampled_from("DN"), st.sampled_from(["a", "b", "c"]))
constituents = st.recursive(
    words,
    lambda children: st.builds(
        Tree, st.sampled_from(["NP", "VP", "S"]), st.lists(children, min_size=1, max_size=4).map(tuple)
    ),
    max_leaves=9,
)
two = Tree.parse("(S (NP (D a) (N b)))")


def back(bracketing, tree):
    return bracketing.decode(bracketing.encode(tree), tree.words(), tree.tags())


folds = st.sampled_from(FOLDS)


@given(st.lists(constituents, max_size=5), st.booleans(), folds)
def test_round_trip(trees, rooted, fold):
    trees = [two, *trees]
    if rooted:
        trees = [Tree("TOP", (tree,)) for tree in trees]
    bracketing = Bracketing.of(trees, fold)
    assert bracketing.root == "TOP" or not rooted
    assert [back(bracketing, tree) for tree in trees] == trees


@given(constituents, folds)
def test_nodes_are_a_binary_tree_in_preorder_with_allowed_labels(tree, fold):
    bracketing = Bracketing.of([two, tree], fold)
    nodes = bracketing.encode(tree)
    n = len(tree.words())
    assert len(nodes) == 2 * n - 1
    assert nodes[0, :2].tolist() == [0, n]
    words, spans, top = bracketing.allowed
    assert (words if n == 1 else top)[nodes[0, 2]]
    for r, (begin, end, label) in enumerate(nodes.tolist()):
        assert (spans if end - begin > 1 else words)[label]
        if end - begin > 1:
            left, right = nodes[r + 1], nodes[r + 2 * (nodes[r + 1, 1] - begin)]
            assert left[0] == begin
            assert left[1] == right[0]
            assert right[1] == end
            rest, other = (left, right) if fold == "left" else (right, left)
            assert other[2] < len(bracketing.chains)
            assert rest[2] < len(bracketing.chains) or rest[2] == bracketing.rests[label]


def test_different_trees_have_different_nodes():
    texts = ["(S (N a) (N b) (N c) (N d))", "(S (N a) (S (N b) (N c) (N d)))", "(S (N a) (N b) (S (N c) (N d)))"]
    trees = [Tree.parse(text) for text in texts]
    bracketing = Bracketing.of(trees)
    assert len({bracketing.encode(tree).tobytes() for tree in trees}) == len(trees)


def test_a_root_is_taken_off_only_where_all_trees_have_it_over_one_child():
    assert common_root([Tree.parse("(TOP (NP (D a) (N b)))"), Tree.parse("(TOP (N b))")]) == "TOP"
    assert common_root([Tree.parse("(TOP (NP (D a) (N b)))"), Tree.parse("(TOP (D a) (N b))")]) is None
    assert common_root([Tree.parse("(TOP (N b))"), Tree.parse("(N b)")]) is None
    assert common_root([]) is None


def test_trees_that_cannot_be_told():
    with pytest.raises(DataError, match="more than one word"):
        Bracketing.of([Tree.parse("(N b)")])
    with pytest.raises(DataError, match="may have none"):
        Bracketing.of([Tree.parse("(S ( (D a) (N b)) (N c))")])
    with pytest.raises(DataError, match="blank"):
        Bracketing.of([Tree("N P", two.children), two])


@pytest.mark.corpus
def test_round_trip_of_a_treebank():
    trees = [Tree.parse(line) for line in corpus("genia-treebank/dev.ptb").read_text(encoding="utf-8").splitlines()]
    bracketing = Bracketing.of(trees)
    assert bracketing.root == "S1"
    assert all(back(bracketing, tree) == tree for tree in trees)
    assert np.array_equal(bracketing.allowed[0][:1], [True])


@pytest.mark.parametrize("fold", FOLDS)
def test_a_flat_tree_is_folded_in_a_step_a_child(fold):
    """Rests share the children of their constituent: copies would take tens of gigabytes here."""
    n = 100_000
    tree = Tree("S", (Tree("N", ("a",)),) * n)
    nodes = Bracketing.of([tree], fold).encode(tree)
    rests = nodes[nodes[:, 2] == nodes[1 if fold == "left" else 2, 2], :2]
    assert rests[:2].tolist() == ([[0, n - 1], [0, n - 2]] if fold == "left" else [[1, n], [2, n]])
    assert len(nodes) == 2 * n - 1
