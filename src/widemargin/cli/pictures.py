"""Pictures of predicted trees: an SVG file, or lines on the terminal."""

import sys
from collections.abc import Sequence

from widemargin.columns import Columns
from widemargin.data.document import write_text
from widemargin.report.draw_arcs import arcs_lines, arcs_picture
from widemargin.report.draw_brackets import brackets_lines, brackets_picture
from widemargin.report.svg import page
from widemargin.report.text import encodable
from widemargin.trees import Arc, Tree

TAGS = ("upos", "xpos", "pos")  # the first of these columns that there is is shown below the words

Parse = Tree | Sequence[Arc]


def draw(target: str, X: Columns, parses: Sequence[Parse]) -> None:
    """Draw trees of sentences into an SVG file, or as lines on standard output if the target is -."""
    words, tags = X.sequences("word"), _tags(X)
    if target == "-":
        for i, parse in enumerate(parses):
            lines = brackets_lines(parse) if isinstance(parse, Tree) else arcs_lines(words[i], parse, tags[i])
            sys.stdout.writelines(encodable(line, sys.stdout.encoding) + "\n" for line in [*lines, ""])
        return
    pictures = (
        brackets_picture(parse) if isinstance(parse, Tree) else arcs_picture(words[i], parse, tags[i])
        for i, parse in enumerate(parses)
    )
    write_text(target, page(pictures))


def _tags(X: Columns) -> list[list[str]]:
    """Of every sentence the tags, from the first column that has any; else none."""
    for name in TAGS:
        if name in X.columns and set(X[name].values) - {"_", ""}:
            return X.sequences(name)
    return [[] for _ in range(X.n_sequences)]
