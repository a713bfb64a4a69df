"""Dependency trees as pictures: arcs above the words in SVG; on terminals one word per line, with a tree beside them.

In SVG an arc is a bar with a leg at either end. Shorter arcs come first, each on the lowest level above those already
drawn over the same words. So bars never meet, and arcs cross in the picture only where they cross in the tree. The legs
at a word stand side by side, those of the longest arcs in the middle.

On a terminal every word with dependents has a column, to the right of its head's column, where a line joins them:

     ╭─── 1  They   PRON  nsubj
    ─┼─── 2  drew   VERB  root
     │ ╭─ 3  fine   ADJ   amod
     ╰─┴─ 4  lines  NOUN  obj

This fits sentences of any length. Where a tree is not projective, an interrupted line runs below another.
"""

from collections.abc import Sequence
from itertools import pairwise

from widemargin.errors import WidemarginError
from widemargin.report import svg
from widemargin.report.svg import CORNER, Picture, Text, number
from widemargin.report.text import cells, pad, printable
from widemargin.text.trees import Arc

WORD_SIZE, TAG_SIZE, LABEL_SIZE = 17.0, 11.0, 12.0
LEVEL = 25.0  # between the bars of two levels
PORT = 11.0  # between two legs at a word
GAP = 22.0  # between two words
TIP = 3.5  # half the width of an arrow's head
# The character of a word's column in a row, by whether the line goes on upwards and downwards.
JOINTS = {
    "word": {(False, True): "┬", (True, False): "┴", (True, True): "┼"},
    "dependent": {(False, True): "╭", (True, False): "╰", (True, True): "├"},
}


def arcs_picture(words: Sequence[str], arcs: Sequence[Arc], tags: Sequence[str] = ()) -> Picture:
    """The tree of a sentence, for `svg.page`."""
    _check(words, arcs, tags)
    if not words:
        return Picture(0.0, 0.0, "")
    levels = arc_levels(arcs)
    legs = _legs(arcs)
    xs, width = _places(words, arcs, tags, legs)
    floor = LEVEL * max(levels) + LABEL_SIZE
    paths, tips, labels = [], [], []
    standing = [(xs[end] + legs[m, end], levels[m]) for m, end in legs]
    for m, (arc, level) in enumerate(zip(arcs, levels, strict=True)):
        y, tip = floor - LEVEL * level, xs[m] + legs[m, m]
        tips.append(f"M{number(tip)} {number(floor)}l{-TIP:g} {-2 * TIP:g}h{2 * TIP:g}z")
        if arc.head == 0:
            paths.append(f"M{number(tip)} {number(y)}V{number(floor - TIP)}")
            labels.append(Text(tip, y - 4, arc.label))
            continue
        foot = xs[arc.head - 1] + legs[m, arc.head - 1]
        paths.append(svg.bow((foot, floor), (tip, floor - TIP), y))
        left, right = sorted((foot, tip))
        crossing = sorted(x for x, above in standing if left < x < right and above > level)
        begin, end = max(pairwise([left, *crossing, right]), key=lambda stretch: stretch[1] - stretch[0])
        labels.append(Text((begin + end) / 2, y + 4, arc.label))
    body = svg.title(" ".join(words)) + svg.lines(paths) + svg.filled_paths(tips)
    body += svg.cards(labels, size=LABEL_SIZE) + svg.texts(labels, size=LABEL_SIZE, colour=svg.ACCENT)
    body += svg.texts(map(Text, xs, [floor + WORD_SIZE + 2] * len(xs), words), size=WORD_SIZE, colour=svg.INK)
    bottom = floor + WORD_SIZE + 2 + 2 * TAG_SIZE - 4
    body += svg.texts(map(Text, xs, [bottom] * len(tags), tags), size=TAG_SIZE, colour=svg.FAINT)
    return Picture(width, bottom if tags else floor + WORD_SIZE + 6, body)


def arc_levels(arcs: Sequence[Arc]) -> list[int]:
    """The level of every arc, counted from 1; all arcs from the root are on the highest.

    >>> arc_levels([Arc(2, "det"), Arc(3, "nsubj"), Arc(0, "root"), Arc(3, "punct")])
    [1, 1, 2, 1]
    >>> arc_levels([Arc(3, "det"), Arc(3, "amod"), Arc(0, "root")])
    [2, 1, 3]
    """
    spans = {m: sorted((arc.head - 1, m)) for m, arc in enumerate(arcs) if arc.head}
    levels, sky = [0] * len(arcs), [0] * len(arcs)  # the highest level over the gap after every word
    for m, (begin, end) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        levels[m] = 1 + max(sky[begin:end])
        sky[begin:end] = [levels[m]] * (end - begin)
    top = 1 + max(levels, default=0)
    return [level or top for level in levels]


def _legs(arcs: Sequence[Arc]) -> dict[tuple[int, int], float]:
    """The distance of each leg from the middle of its word, by arc and word."""
    at: list[list[tuple[int, int, int]]] = [[] for _ in arcs]
    for m, (head, _) in enumerate(arcs):
        # From left to right: arcs to the left, the shortest first; from the root; to the right, the longest first.
        for end, other in ((m, head - 1), (head - 1, m)) if head else ():
            at[end].append((1 if other > end else -1, -other, m))
        if head == 0:
            at[m].append((0, 0, m))
    return {
        (m, end): PORT * (i - (len(standing) - 1) / 2)
        for end, standing in enumerate(at)
        for i, (_, _, m) in enumerate(sorted(standing))
    }


def _places(
    words: Sequence[str], arcs: Sequence[Arc], tags: Sequence[str], legs: dict[tuple[int, int], float]
) -> tuple[list[float], float]:
    """The middles of the words, far enough apart that texts do not meet and labels fit on bars; and the whole width."""
    rooms = [svg.width_of(word, WORD_SIZE) for word in words]
    for m, tag in enumerate(tags):
        rooms[m] = max(rooms[m], svg.width_of(tag, TAG_SIZE))
    for (_, end), leg in legs.items():
        rooms[end] = max(rooms[end], 2 * abs(leg))
    labels = [svg.width_of(arc.label, LABEL_SIZE) for arc in arcs]
    rooms = [max(room, label) if arc.head == 0 else room for room, label, arc in zip(rooms, labels, arcs, strict=True)]
    xs: list[float] = []
    for here in range(len(words)):
        x = xs[-1] + (rooms[here - 1] + rooms[here]) / 2 + GAP if xs else rooms[here] / 2
        for m, end in legs:
            there = m if arcs[m].head - 1 == here else arcs[m].head - 1
            if end == here and 0 <= there < here:
                bar = labels[m] + 2 * CORNER + 6
                x = max(x, xs[there] + legs[m, there] - legs[m, here] + bar)
        xs.append(x)
    return xs, xs[-1] + rooms[-1] / 2


def arcs_lines(words: Sequence[str], arcs: Sequence[Arc], tags: Sequence[str] = ()) -> list[str]:
    r"""The tree of a sentence as lines for a terminal, one per word.

    >>> tree = [Arc(2, "nsubj"), Arc(0, "root"), Arc(4, "amod"), Arc(2, "obj")]
    >>> print(*arcs_lines(["They", "drew", "fine", "lines"], tree), sep="\n")
     ╭─── 1  They   nsubj
    ─┼─── 2  drew   root
     │ ╭─ 3  fine   amod
     ╰─┴─ 4  lines  obj
    """
    order = _check(words, arcs, tags)
    rows = _tree_rows(arcs, order)
    numbers = [str(m).rjust(len(str(len(words)))) for m in range(1, len(words) + 1)]
    columns = [[printable(each) for each in column] for column in (numbers, words, tags) if column]
    for column in columns:
        width = max(map(cells, column))
        rows = [f"{row}{pad(each, width)}  " for row, each in zip(rows, column, strict=True)]
    return [row + printable(arc.label) for row, arc in zip(rows, arcs, strict=True)]


def _tree_rows(arcs: Sequence[Arc], order: Sequence[int]) -> list[str]:
    """The tree drawn to the left of the words; `order` has heads before their dependents."""
    family = [[m] for m in range(len(arcs))]
    for m, arc in enumerate(arcs):
        if arc.head:
            family[arc.head - 1].append(m)
    column_of = [-1] * len(arcs)
    taken: list[list[tuple[int, int]]] = []
    for m in order:
        if len(family[m]) > 1:
            first, last = min(family[m]), max(family[m])
            column = column_of[arcs[m].head - 1] + 1 if arcs[m].head else 0
            while column < len(taken) and any(a <= last and first <= b for a, b in taken[column]):
                column += 1
            taken += [[] for _ in range(column + 1 - len(taken))]
            taken[column].append((first, last))
            column_of[m] = column
    width = 2 * len(taken) + 1
    begins = [2 * column_of[arc.head - 1] + 1 if arc.head else 0 for arc in arcs]
    grid = [list(" " * begin + "─" * (width - begin) + " ") for begin in begins]
    for m, members in enumerate(family):
        first, last = min(members), max(members)
        for row in range(first, last + 1) if first < last else ():
            kind = "word" if row == m else "dependent"
            joint = JOINTS[kind][row > first, row < last] if row in members else "│"
            grid[row][2 * column_of[m] + 1] = joint
    return ["".join(row) for row in grid]


def _check(words: Sequence[str], arcs: Sequence[Arc], tags: Sequence[str]) -> list[int]:
    """Raise an error unless the arcs are a tree; return the words, each after its head."""
    if len(arcs) != len(words) or (tags and len(tags) != len(words)):
        raise WidemarginError(f"{len(words)} words need as many arcs and tags, not {len(arcs)} and {len(tags)}")
    below: list[list[int]] = [[] for _ in range(len(arcs) + 1)]
    for m, (head, _) in enumerate(arcs):
        if not 0 <= head <= len(arcs):
            raise WidemarginError(f"the head of word {m + 1} is {head}, but there are {len(arcs)} words")
        below[head].append(m)
    order = below[0]
    for m in order:  # which grows meanwhile
        order += below[m + 1]
    if len(order) < len(arcs):
        stray = min(set(range(len(arcs))) - set(order))
        raise WidemarginError(f"word {stray + 1} does not hang on the root: the arcs are no tree")
    return order
