"""Syntax trees in the user's form: arcs of dependency trees, and trees of constituents in brackets.

A dependency tree of n tokens is a list of n arcs; tokens count from 1, and the head 0 is the root. A tree of
constituents is a label with its children; the lowest constituents are tags, each with one word as its child.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from widemargin.errors import DataError

DEEPEST = 150
"""The deepest tree allowed: real sentences do not come near this depth, and Python's stack is finite."""

_PIECES = re.compile(
    r"""
    \( {blank}* ({text}+) {blank}+ ({text}+) {blank}* \)  # a tag and its word
    | \( {blank}* ({text}*)                                # the beginning of a constituent
    | ({text}+)                                            # a word without a tag
    | \)
    """.format(blank=r"[\ \t\r\n]", text=r"[^()\ \t\r\n]"),
    re.VERBOSE,
)
_UNWRITABLE = re.compile(r"[() \t\r\n]")
_WRITTEN = {"(": "-LRB-", ")": "-RRB-"}


class Arc(NamedTuple):
    """The head of a token and the relation to it; heads are token numbers from 1, or 0 for the root."""

    head: int
    label: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A constituent, or a tag and its word.

    >>> tree = Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> tree.words(), tree.tags()
    (['the', 'dog', 'barks'], ['DT', 'NN', 'VBZ'])
    """

    label: str
    children: "tuple[Tree | str, ...]"

    @classmethod
    def parse(cls, text: str) -> "Tree":
        """The one tree in brackets that `text` holds, on one line or several.

        >>> print(Tree.parse("( (S (UH yes)))"))
        ( (S (UH yes)))
        """

        def fault(at: int, complaint: str) -> DataError:
            return DataError(f"line {text.count(chr(10), 0, at) + 1} of the tree: {complaint}")

        found = list(trees_in(text, fault))
        if len(found) != 1:
            raise DataError(f"expected one tree in brackets, found {len(found)}")
        return found[0]

    def __str__(self) -> str:
        """The tree in brackets on one line; brackets in words become -LRB- and -RRB-, and blanks underscores."""
        children = (str(child) if isinstance(child, Tree) else _write(child) for child in self.children)
        return f"({_write(self.label)} {' '.join(children)})"

    @property
    def word(self) -> str | None:
        """The word of a tag; None for a constituent."""
        only = self.children[0]
        return only if isinstance(only, str) else None

    def constituents(self) -> "Iterator[Tree]":
        """The tree and everything below it, tags included: parents before children, from left to right."""
        waiting: list[Tree] = [self]
        while waiting:
            tree = waiting.pop()
            yield tree
            waiting.extend(child for child in reversed(tree.children) if isinstance(child, Tree))

    def tagged(self) -> list[tuple[str, str]]:
        """The words from left to right, each with its tag."""
        return [(word, tree.label) for tree in self.constituents() if (word := tree.word) is not None]

    def words(self) -> list[str]:
        """The words from left to right."""
        return [word for word, _ in self.tagged()]

    def tags(self) -> list[str]:
        """The tag of every word."""
        return [tag for _, tag in self.tagged()]


def arc_columns(trees: Iterable[Sequence[Arc]]) -> dict[str, list[str]]:
    """Trees as the columns `head` and `deprel`, sentences end to end."""
    flat = [arc for tree in trees for arc in tree]
    return {"head": [str(arc.head) for arc in flat], "deprel": [arc.label for arc in flat]}


def trees_in(text: str, fault: Callable[[int, str], DataError]) -> Iterator[Tree]:
    """The trees of a text in brackets, one after the other.

    `fault` turns a place in the text and a complaint into an error.
    """
    opened: list[tuple[int, str, list[Tree]]] = []
    leaves: dict[tuple[str, str], Tree] = {}  # repeated words share one tree, which saves memory
    for found in _PIECES.finditer(text):
        tag, word, label, stray = found.groups()
        if not opened and (stray or found[0] == ")"):
            raise fault(found.start(), f"{found[0]!r:.60} is outside of all brackets")
        if stray:
            raise fault(found.start(), f"the word {stray!r:.60} in the bracket of {opened[-1][1]!r:.60} has no tag")
        if label is not None:
            if len(opened) == DEEPEST:
                raise fault(found.start(), f"brackets nest deeper than {DEEPEST}")
            opened.append((found.start(), label, []))
            continue
        if word:
            tree = leaves.get((tag, word)) or leaves.setdefault((tag, word), Tree(tag, (word,)))
        else:
            begin, label, children = opened.pop()
            if not children:
                raise fault(begin, f"the bracket of {label!r:.60} holds nothing")
            tree = Tree(label, tuple(children))
        if opened:
            opened[-1][2].append(tree)
        else:
            yield tree
    if opened:
        begin, label, _ = opened[0]
        raise fault(begin, f"the bracket of {label!r:.60} is never closed")


def _write(text: str) -> str:
    return _UNWRITABLE.sub(lambda found: _WRITTEN.get(found[0], "_"), text)
