"""Trees of constituents as labelled binary trees, one to one, and back.

A chain of constituents over the same words, such as a sentence that consists of one verb phrase, becomes one node whose
label is the whole chain, ``"S VP"``; labels themselves have no blanks. A constituent with more than two children is
folded from the right: its first child is the left half, and all other children are the right half, a *rest* with a
label that names the constituent. Folded from the left, its last child is the right half, and all others are a rest on
the left. A rest is always the half on that side of its constituent, or of a larger rest of it, so different binary
trees are different trees of constituents. Words in no chain have the empty label.

A binary tree over n words is an array of 2 n − 1 rows (begin, end, label) in preorder (`decoders.cky`). Tags and words
are not part of it. If every tree has the same constituent with a single child on top (``ROOT``, ``S1``, ``TOP``),
encoding removes it and decoding puts it back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from widemargin._types import BoolMatrix, IntMatrix, IntVector
from widemargin.errors import DataError
from widemargin.text.columns import Columns
from widemargin.text.trees import Tree

Fold = Literal["left", "right"]
FOLDS = get_args(Fold)
"""The sides to fold from; the index of a side is also the side of the rests: 0 left, 1 right."""


class Node(NamedTuple):
    """A node of a binary tree: its first word, its chain or the label it is a rest of, and its number of halves."""

    begin: int
    label: str
    is_rest: bool
    n_halves: int


class Labels(NamedTuple):
    """The chains on single words, the chains on longer spans, and the labels that have rests."""

    on_words: frozenset[str]
    on_spans: frozenset[str]
    folded: frozenset[str]

    @classmethod
    def of(cls, trees: Sequence[Tree], root: str | None) -> "Labels":
        """The labels of trees without the constituent `root` on top."""
        on_words, on_spans, folded = {""}, set[str](), set[str]()
        for tree in trees:
            for node in _nodes(tree, root):
                if node.is_rest:
                    folded.add(node.label)
                else:
                    (on_spans if node.n_halves else on_words).add(node.label)
        return cls(frozenset(on_words), frozenset(on_spans), frozenset(folded))


@dataclass(frozen=True)
class Bracketing:
    """The labels of binary trees: first the `chains`, beginning with the empty one, then the rests of `folded`.

    `on_words` and `on_spans` say for each chain whether single words and longer spans may have it.
    """

    root: str | None
    chains: list[str]
    folded: list[str]
    on_words: list[bool]
    on_spans: list[bool]
    fold: Fold = "right"

    @cached_property
    def _codes(self) -> dict[tuple[str, bool], int]:
        """The number of each label; rests are marked by True."""
        labels = [(chain, False) for chain in self.chains] + [(label, True) for label in self.folded]
        return {label: code for code, label in enumerate(labels)}

    @classmethod
    def of(cls, trees: Sequence[Tree], fold: Fold = "right") -> "Bracketing":
        """The labels that these trees need.

        >>> trees = [Tree.parse("(TOP (S (VP (VB take) (NP (NN care)) (RB now))))")]
        >>> found = Bracketing.of(trees)
        >>> found.root, found.chains, found.folded
        ('TOP', ['', 'NP', 'S VP'], ['VP'])
        """
        root = common_root(trees)
        return cls.with_labels(root, Labels.of(trees, root), fold)

    @classmethod
    def with_labels(cls, root: str | None, labels: "Labels", fold: Fold = "right") -> "Bracketing":
        """A bracketing with these labels, sorted."""
        on_words, on_spans, folded = labels
        if not on_spans:
            raise DataError("there is no tree with more than one word to learn from")
        chains = sorted(on_words | on_spans)
        places = [each in on_words for each in chains], [each in on_spans for each in chains]
        return cls(root, chains, sorted(folded), *places, fold)

    def check(self) -> None:
        """Raise an error if no trees could have such labels: the model file is damaged."""
        first, *others = self.chains
        if first != "" or not all(map(_is_label, (part for chain in others for part in chain.split(" ")))):
            raise DataError("the labels are not the empty chain and chains of labels with blanks between them")
        if not all(map(_is_label, self.folded)):
            raise DataError(f"not all of the folded labels {self.folded!r:.60} are labels")
        if not len(self.on_words) == len(self.on_spans) == len(self.chains):
            raise DataError(f"on_words and on_spans do not tell about each of the {len(self.chains)} labels")
        if not self.on_words[0] or self.on_spans[0] or not any(self.on_spans):
            raise DataError("words need the empty label, longer spans another one")

    @property
    def n_labels(self) -> int:
        """How many labels nodes may have."""
        return len(self.chains) + len(self.folded)

    @property
    def names(self) -> list[str]:
        """The names of the labels; the empty chain is a dash."""
        return [chain or "–" for chain in self.chains] + [f"{label} …" for label in self.folded]

    @property
    def rests(self) -> IntVector:
        """For each label, the label of its rests; −1 if it never has any."""
        bottoms = [chain.rpartition(" ")[2] for chain in self.chains]
        return np.array([self._codes.get((label, True), -1) for label in [*bottoms, *self.folded]], dtype=np.int32)

    @property
    def rest_side(self) -> int:
        """The side of halves that are rests: 0 on the left, 1 on the right."""
        return FOLDS.index(self.fold)

    @property
    def allowed(self) -> BoolMatrix:
        """(3, L): which labels may be on words, on longer spans, and on top."""
        rests = [False] * len(self.folded), [True] * len(self.folded)
        return np.array([self.on_words + rests[0], self.on_spans + rests[1], self.on_spans + rests[0]])

    def encode(self, tree: Tree) -> IntMatrix:
        """The nodes of a tree; all its labels must be known."""
        rows = [
            (each.begin, each.n_halves, self._codes[each.label, each.is_rest])
            for each in _nodes(tree, self.root, self.fold)
        ]
        nodes = np.array(rows, dtype=np.int32)
        ends: list[int] = []
        for row in nodes[::-1]:
            if row[1]:
                ends.pop()  # the end of its left half; the right half ends where it does
            else:
                ends.append(row[0] + 1)
            row[1] = ends[-1]
        return nodes

    def decode(self, nodes: IntMatrix, words: Sequence[str], tags: Sequence[str]) -> Tree:
        """The tree of these nodes, with its words and tags."""
        halves: list[list[Tree]] = []
        for begin, end, code in nodes[::-1].tolist():
            if end - begin == 1:
                trees = [Tree(tags[begin], (words[begin],))]
            else:
                trees = halves.pop()
                trees = trees + halves.pop()
            if code < len(self.chains) and code > 0:
                for label in reversed(self.chains[code].split(" ")):
                    trees = [Tree(label, tuple(trees))]
            halves.append(trees)
        if len(halves[0]) != 1:
            raise DataError("no tree is the best one, because the weights are too large or not finite")
        (tree,) = halves[0]
        return tree if self.root is None else Tree(self.root, (tree,))


def as_trees(X: Columns, y: Any) -> list[Tree]:
    """Gold trees, or their texts in brackets, checked to have the words of `X`."""
    if isinstance(y, str | bytes | Mapping) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list of trees, or of their texts in brackets, not {y!r:.60}")
    trees = [Tree.parse(each) if isinstance(each, str) else each for each in y]
    words = X.sequences("word")
    if len(trees) != len(words):
        raise DataError(f"there are {len(words)} sentences, but {len(trees)} trees")
    for i, (tree, sentence) in enumerate(zip(trees, words, strict=True)):
        if not isinstance(tree, Tree):
            raise DataError(f"y[{i}] must be a Tree, or a text in brackets, not {tree!r:.60}")
        if tree.words() != sentence:
            raise DataError(f"the tree of sentence {i} is not over its words")
    return trees


def common_root(trees: Sequence[Tree]) -> str | None:
    """The label that every tree has on top, with a single child; None if there is no such label."""
    labels = {tree.label for tree in trees if tree.word is None and len(tree.children) == 1}
    same = len(labels) == 1 and all(tree.word is None and len(tree.children) == 1 for tree in trees)
    return labels.pop() if same else None


def _nodes(tree: Tree, root: str | None, fold: Fold = "right") -> Iterator[Node]:
    """The nodes of a tree's binary tree in preorder; the labels do not depend on `fold`."""
    # A stack of constituents and of rests; a rest is (label, children of the whole constituent, first, end of its own).
    waiting: list[Tree | tuple[str, tuple[Tree, ...], int, int]] = [tree] if root is None else [*_parts(tree)]
    begin = 0
    while waiting:
        each = waiting.pop()
        if isinstance(each, Tree):
            chain, children = _chain(each)
            node = Node(begin, " ".join(chain), False, min(len(children), 2))
            folded, first, end = chain[-1] if chain else "", 0, len(children)
        else:
            folded, children, first, end = each
            node = Node(begin, folded, True, 2)
        yield node
        begin += node.n_halves == 0
        if end - first == 2:
            waiting += [children[first + 1], children[first]]
        elif children and fold == "right":
            waiting += [(folded, children, first + 1, end), children[first]]
        elif children:
            waiting += [children[end - 1], (folded, children, first, end - 1)]


def _chain(tree: Tree) -> tuple[list[str], tuple[Tree, ...]]:
    """The labels of constituents over the same words, and the children of the lowest; no labels for a tag."""
    chain, children = [], _parts(tree)
    while children:
        chain.append(_check_label(tree.label))
        if len(children) > 1:
            break
        tree = children[0]
        children = _parts(tree)
    return chain, children


def _parts(tree: Tree) -> tuple[Tree, ...]:
    """The constituents and tags right below a constituent; nothing below a tag."""
    return tuple(child for child in tree.children if isinstance(child, Tree))


def _is_label(label: str) -> bool:
    return bool(label) and " " not in label


def _check_label(label: str) -> str:
    if not _is_label(label):
        raise DataError(
            f"a constituent has the label {label!r:.60}; labels cannot contain blanks, and only what is on top of "
            "all trees, with one child each, may have none"
        )
    return label
