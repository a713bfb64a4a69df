"""Trees of constituents as pictures: from the top down in SVG, indented for terminals.

In SVG all words stand on one line at the bottom. Every constituent has its own strip of the picture, wide enough for
its label and for the strips of its children. It is one level above its highest child, so texts do not meet, and no line
runs through a text.

On a terminal constituents are indented below their parent; an only child shares its parent's line.
"""

from typing import NamedTuple

from widemargin.report import svg
from widemargin.report.svg import Picture, Text, number
from widemargin.report.text import printable
from widemargin.text.trees import Tree

LEVEL = 40.0  # between two lines of labels
GAP = 18.0  # between two words
STEM = 12.0  # from a label down to the bar above its children
NAMELESS = "()"  # stands for an empty label


class NodeKind(NamedTuple):
    """The looks of a text."""

    size: float
    colour: str
    weight: str = "normal"


WORD, TAG, PHRASE = NodeKind(17.0, svg.INK), NodeKind(13.0, svg.FAINT), NodeKind(13.0, svg.ACCENT, "bold")


class DrawnNode(NamedTuple):
    """A word, tag or constituent, and where its children are in the list of all nodes."""

    text: str
    kind: NodeKind
    children: list[int]


def brackets_picture(tree: Tree) -> Picture:
    """A tree, for `svg.page`."""
    nodes = _nodes(tree)
    levels, rooms, strips = [0] * len(nodes), [0.0] * len(nodes), [0.0] * len(nodes)
    for i, (text, kind, children) in reversed(list(enumerate(nodes))):  # children before their parents
        levels[i] = 1 + max((levels[child] for child in children), default=-1)
        strips[i] = sum(rooms[child] for child in children) + GAP * (len(children) - 1)
        rooms[i] = max(strips[i], svg.width_of(text, kind.size))
    floor = LEVEL * levels[0] + PHRASE.size
    xs, ys = [rooms[0] / 2] * len(nodes), [floor - LEVEL * level for level in levels]
    written: dict[NodeKind, list[Text]] = {PHRASE: [], TAG: [], WORD: []}
    branches = []
    for i, (text, kind, children) in enumerate(nodes):
        written[kind].append(Text(xs[i], ys[i], text))
        left = xs[i] - strips[i] / 2
        for child in children:
            xs[child] = left + rooms[child] / 2
            left += rooms[child] + GAP
        if children:
            ends = [(xs[child], ys[child] - nodes[child].kind.size) for child in children]
            branches.append(_branches(xs[i], ys[i] + 5, ends))
    body = svg.title(" ".join(tree.words())) + svg.lines(branches)
    for (size, colour, weight), each in written.items():
        body += svg.texts(each, size=size, colour=colour, weight=weight)
    return Picture(rooms[0], floor + 5, body)


def _branches(x: float, top: float, ends: list[tuple[float, float]]) -> str:
    """The lines from a label down to a bar with round corners, and from there to the children."""
    stem = f"M{number(x)} {number(top)}V"
    if len(ends) == 1:
        return stem + number(ends[0][1])
    first, *middle, last = ends
    bar = number(top + STEM)
    others = "".join(f"M{number(x)} {bar}V{number(y)}" for x, y in middle)
    return stem + bar + svg.bow(first, last, top + STEM) + others


def brackets_lines(tree: Tree) -> list[str]:
    r"""A tree as lines for a terminal.

    >>> print(*brackets_lines(Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")), sep="\n")
    S
    ├─ NP
    │  ├─ DT the
    │  └─ NN dog
    └─ VP ─ VBZ barks
    """
    nodes, found = _nodes(tree), []
    waiting = [(0, "", "")]
    while waiting:
        i, line, margin = waiting.pop()
        line += nodes[i].text
        while len(nodes[i].children) == 1:
            i = nodes[i].children[0]
            line += (" " if nodes[i].kind is WORD else " ─ ") + nodes[i].text
        found.append(line)
        for child in reversed(nodes[i].children):
            last = child == nodes[i].children[-1]
            waiting.append((child, margin + ("└─ " if last else "├─ "), margin + ("   " if last else "│  ")))
    return found


def _nodes(tree: Tree) -> list[DrawnNode]:
    """All nodes of the tree, each before those below it, from left to right."""
    nodes: list[DrawnNode] = []
    waiting: list[tuple[Tree | str, int]] = [(tree, -1)]
    while waiting:
        each, parent = waiting.pop()
        if parent >= 0:
            nodes[parent].children.append(len(nodes))
        if isinstance(each, Tree):
            waiting += [(child, len(nodes)) for child in reversed(each.children)]
            nodes.append(DrawnNode(printable(each.label) or NAMELESS, PHRASE if each.word is None else TAG, []))
        else:
            nodes.append(DrawnNode(printable(each), WORD, []))
    return nodes
