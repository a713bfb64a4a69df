"""Texts as trees in brackets, in which mentions can be detected: a file is one document without marked entities.

Predictions are written in columns, one token per line: word, tag, parse column as in CoNLL-2012, coreference.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin.errors import DataError
from widemargin.files.brackets import parse
from widemargin.files.mentions import new_brackets
from widemargin.files.raw import RawText
from widemargin.text.mentions import Mentions
from widemargin.text.trees import Tree

Span = tuple[int, int]


class MentionTrees(NamedTuple):
    """The only document of a file."""

    X: list[Mentions]
    y: list[list[str]]
    names: Sequence[str] = ()
    facts: Mapping[str, Any] = {}

    def marked(self, spans: Sequence[Sequence[Span]], outputs: Sequence[Sequence[int]]) -> str:
        """The text in columns, with these clusters of these mentions."""
        lines = []
        for document, found, clusters in zip(self.X, spans, outputs, strict=True):
            brackets = new_brackets(len(document.sentence), found, clusters)
            columns = (document.columns[name] for name in ("word", "xpos", "parse"))
            for token, fields in enumerate(zip(*columns, strict=True)):
                if token and document.sentence[token] != document.sentence[token - 1]:
                    lines.append("")
                lines.append("\t".join([*fields, "|".join(brackets[token]) or "-"]))
        return "".join(f"{line}\n" for line in lines)


def read(raw: RawText, *, gold: bool) -> MentionTrees:
    """Read trees; there are no entities to learn from, so `gold` is an error."""
    if gold:
        raise DataError(f"{raw.source} holds trees in brackets, which mark no entities; mentions can only be detected")
    trees = parse(raw).trees
    tagged = [tree.tagged() for tree in trees]
    columns = {
        "word": [word for tokens in tagged for word, _ in tokens],
        "xpos": [tag for tokens in tagged for _, tag in tokens],
        "parse": [piece for tree in trees for piece in pieces(tree)],
    }
    sentence = np.repeat(np.arange(len(trees)), [len(tokens) for tokens in tagged])
    return MentionTrees([Mentions(columns, sentence, [])], [[]])


def pieces(tree: Tree) -> list[str]:
    """The parse column: for each word, the constituents that begin with it, a star, and those that end with it.

    >>> pieces(Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"))
    ['(S(NP*', '*)', '(VP*))']
    """
    if tree.word is not None:
        return ["*"]
    found = [piece for child in tree.children if isinstance(child, Tree) for piece in pieces(child)]
    found[0] = f"({tree.label or 'TOP'}{found[0]}"
    found[-1] += ")"
    return found
