"""Trees of constituents in brackets, as in the Penn Treebank: one per line, or each on several lines.

A tree may have a root without a label, `( (S …))`. Words and tags are taken as they are: a bracket among the words is
written `-LRB-` or `-RRB-`. By default, two things that parsers do not predict are removed. Traces (silent words with
the tag `-NONE-`) go together with constituents that hold nothing else. Labels of constituents lose their functions and
indices (`NP-SBJ-1`, `NP=2`): everything from the first hyphen or equals sign on.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice
from operator import is_

from widemargin.core.sparse import boundaries
from widemargin.errors import DataError
from widemargin.files.document import Document
from widemargin.files.raw import RawText
from widemargin.text.columns import Column, Columns, split
from widemargin.text.trees import Tree, trees_in

EMPTY = "-NONE-"

_FUNCTION = re.compile(r"(?<=.)[-=].*", re.DOTALL)
_FIRST_LINE = re.compile(r"\s*\((\s*\(|[^\s()]+(\s*\(|\s+[^\s()]+\s*\)|\s*$))")


@dataclass(frozen=True)
class Brackets(Document):
    """A file of trees, with the columns `word` and `pos`; `trees[i]` is the tree of sequence i."""

    trees: list[Tree]

    def _with_column(self, lines: Sequence[str], name: str, values: Sequence[str]) -> list[str]:
        if name not in ("pos", "label"):
            raise DataError(f"{self.raw.source} has no column {name!r} to write; only 'pos', the tags, can be replaced")
        tags = split(values, self.columns.indptr)
        return [*(str(retag(tree, each)) for tree, each in zip(self.trees, tags, strict=True)), ""]


def parse(raw: RawText, *, strip_functions: bool = True, strip_empty: bool = True) -> Brackets:
    """Read trees in brackets; a tree that holds only traces disappears with them.

    Parameters
    ----------
    raw : the file
    strip_functions : whether to cut function tags and indices off the labels of constituents
    strip_empty : whether to leave out traces

    >>> document = parse(RawText.of("( (S (NP-SBJ (-NONE- *)) (VP (VB go)) (. !)))"))
    >>> print(document.trees[0], document.columns["word"].strings())
    ( (S (VP (VB go)) (. !))) ['go', '!']
    """
    trees = list(_trees(raw))
    if strip_empty:
        trees = [kept for tree in trees if (kept := without_empty(tree)) is not None]
    if strip_functions:
        trees = list(map(without_functions, trees))
    return Brackets(raw, columns_of(trees, raw.source), "pos", trees)


def cut(lines: Sequence[str]) -> int:
    """The number of lines of whole trees (`files.pieces`): up to the last line after which no bracket is open."""
    depths = list(accumulate(line.count("(") - line.count(")") for line in lines))
    closed = (k for k in range(len(lines), 0, -1) if depths[k - 1] <= 0)
    end = next(closed, 0)
    return end if any(map(str.strip, islice(lines, end))) else 0


def columns_of(trees: Sequence[Tree], source: str = "input") -> Columns:
    """The words and tags of trees as columns."""
    tagged = [tree.tagged() for tree in trees]
    word, pos = (Column.of([token[part] for tokens in tagged for token in tokens]) for part in (0, 1))
    return Columns({"word": word, "pos": pos}, boundaries(map(len, tagged)), source)


def text_of(trees: Iterable[Tree]) -> str:
    """Trees as the text of a file, one per line."""
    return "".join(f"{tree}\n" for tree in trees)


def is_bracketed(line: str) -> bool:
    """Whether a line looks like the beginning of a tree rather than a token that is a bracket.

    >>> is_bracketed("( (S (UH Yes)))"), is_bracketed("(TOP"), is_bracketed("( -LRB- O")
    (True, True, False)
    """
    return _FIRST_LINE.match(line) is not None


def without_empty(tree: Tree) -> Tree | None:
    """The tree without traces and constituents that hold nothing else; None if nothing is left."""
    if tree.word is not None:
        return None if tree.label == EMPTY else tree
    children = tuple(kept for child in _below(tree) if (kept := without_empty(child)) is not None)
    return _with_parts(tree, tree.label, children) if children else None


def without_functions(tree: Tree) -> Tree:
    """The tree without function tags and indices on the labels of constituents.

    >>> print(without_functions(Tree.parse("(S (NP-SBJ-1 (-LRB- -LRB-)) (NP=2 (PRP-X it)))")))
    (S (NP (-LRB- -LRB-)) (NP (PRP-X it)))
    """
    if tree.word is not None:
        return tree
    return _with_parts(tree, _without_function(tree.label), tuple(map(without_functions, _below(tree))))


def retag(tree: Tree, tags: Sequence[str]) -> Tree:
    """The tree with these tags on its words, one per word."""
    left = iter(tags)

    def change(part: Tree) -> Tree:
        if part.word is not None:
            return Tree(next(left), part.children)
        return Tree(part.label, tuple(map(change, _below(part))))

    return change(tree)


@lru_cache(maxsize=4096)
def _without_function(label: str) -> str:
    return label if label.startswith("-") else _FUNCTION.sub("", label)


def _with_parts(tree: Tree, label: str, children: tuple[Tree, ...]) -> Tree:
    """The tree with this label and these children; `tree` itself if they are its own."""
    unchanged = label == tree.label and len(children) == len(tree.children) and all(map(is_, children, tree.children))
    return tree if unchanged else Tree(label, children)


def _below(tree: Tree) -> Iterator[Tree]:
    return (child for child in tree.children if isinstance(child, Tree))


def _trees(raw: RawText) -> Iterator[Tree]:
    ends = list(accumulate(len(line) + 1 for line in raw.lines))

    def fault(at: int, complaint: str) -> DataError:
        return raw.fault(bisect_right(ends, at), complaint)

    return trees_in("\n".join(raw.lines), fault)
