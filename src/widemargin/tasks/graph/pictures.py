"""Labelled graphs as pictures: grids as maps of labels, other graphs as nodes and edges; errors are marked."""

import colorsys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import cos, pi, sin
from typing import Any, NamedTuple

import numpy as np

from widemargin.report import svg
from widemargin.report.svg import Picture, Text, number
from widemargin.report.text import printable
from widemargin.tasks.clusters import COLOURS
from widemargin.tasks.graph.inputs import ONE, Graph, as_cells
from widemargin.text.partial import COLLECTIONS

CELL, SIZE, RADIUS, LETTER = 16.0, 260.0, 9.0, 11.0
WRONG, PALE = "#000000", "#dfe3e8"
ACROSS = 640.0


class Drawn(NamedTuple):
    """A graph with the labels to be drawn.

    `shape` is that of a grid, or None. `places` are the places of nodes between 0 and 1. `right` says of each node
    whether its label is right, None where that is unknown.
    """

    name: str
    labels: list[str]
    right: list[bool | None]
    shape: tuple[int, int] | None
    places: list[tuple[float, float]]
    edges: list[tuple[int, int]]

    @classmethod
    def of(cls, name: str, graph: Graph, members: Mapping[str, Any], labels: Any, gold: Any) -> "Drawn":
        """A graph with these labels, by the object of its line."""
        types = sorted(graph.nodes, key=lambda kind: (len(kind), kind))
        found = [printable(str(label)) for label in as_cells([graph], [labels], types)[0]]
        cells = [None] * len(found) if gold is None else as_cells([graph], [gold], types)[0]
        right = [
            None if g is None else label in map(str, g) if isinstance(g, COLLECTIONS) else label == str(g)
            for g, label in zip(cells, found, strict=True)
        ]
        sizes = graph.counts(types)
        offset = dict(zip(types, (np.cumsum(sizes) - sizes).tolist(), strict=True))
        edges = [
            (offset[one] + u, offset[other] + v)
            for (one, other), each in graph.edges.items()
            for u, v in each.ends.tolist()
        ]
        shape = _shape(members.get("shape"), len(found)) if ONE in graph.nodes else None
        return cls(name, found, right, shape, _places(members.get("positions"), len(found)), edges)


def _shape(given: Any, n: int) -> tuple[int, int] | None:
    """The rows and columns of a grid of n nodes; None if it is none."""
    match given:
        case [int(rows), int(columns)] if rows > 0 and rows * columns == n:
            return rows, columns
    return None


def _places(positions: Any, n: int) -> list[tuple[float, float]]:
    """The places of nodes within a square; on a circle unless they are given."""
    try:
        given = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (n, 2) or not np.isfinite(given).all():
        return [(0.5 - 0.5 * cos(2 * pi * v / n), 0.5 - 0.5 * sin(2 * pi * v / n)) for v in range(n)]
    low, high = given.min(axis=0), given.max(axis=0)
    spread = max(float((high - low).max()), 1e-300)
    return [(x, y) for x, y in ((given - low) / spread).tolist()]


def colours_of(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each label; of many, the first, which is the most frequent, is pale."""
    if len(labels) <= len(COLOURS):
        return dict(zip(labels, COLOURS, strict=False))
    found = {labels[0]: PALE}
    for k, label in enumerate(labels[1:]):
        red, green, blue = colorsys.hls_to_rgb(k / (len(labels) - 1), (0.38, 0.6, 0.48)[k % 3], 0.62)
        found[label] = "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
    return found


def graph_lines(drawn: Sequence[Drawn]) -> Iterator[str]:
    """Grids as a letter for each label, row by row; other graphs as a line for each node. Errors have a mark."""
    for k, graph in enumerate(drawn):
        if k:
            yield ""
        yield printable(graph.name)
        if graph.shape is None:
            for v, (label, right) in enumerate(zip(graph.labels, graph.right, strict=True)):
                yield f"{v:>5} {label}" + ("  ✗" if right is False else "")
            continue
        rows, columns = graph.shape
        width = max(map(len, graph.labels))
        for r in range(rows):
            row = range(r * columns, (r + 1) * columns)
            cells = (f"{graph.labels[v]:>{width}}" + ("✗" if graph.right[v] is False else " ") for v in row)
            yield "".join(cells).rstrip()


def graph_pictures(drawn: Sequence[Drawn], labels: Sequence[str]) -> str:
    """All graphs as an SVG page, with the colours of labels below."""
    known = [printable(label) for label in labels]
    colours = colours_of([*known, *dict.fromkeys(each for g in drawn for each in g.labels if each not in known)])
    pictures = [_map(graph, colours) if graph.shape else _net(graph, colours) for graph in drawn]
    return svg.page([*_in_rows(pictures), _legend(colours, errors=any(False in graph.right for graph in drawn))])


def _in_rows(pictures: Sequence[Picture]) -> list[Picture]:
    """Pictures side by side, as many as fit."""
    rows, row, width = list[Picture](), list[Picture](), 0.0
    for picture in pictures:
        if row and width + picture.width > ACROSS:
            rows.append(_joined(row))
            row, width = [], 0.0
        row.append(picture)
        width += picture.width + svg.BETWEEN
    return [*rows, _joined(row)] if row else rows


def _joined(row: Sequence[Picture]) -> Picture:
    body, x = "", 0.0
    for picture in row:
        body += f'<g transform="translate({number(x)} 0)">\n{picture.body}</g>\n'
        x += picture.width + svg.BETWEEN
    return Picture(x - svg.BETWEEN, max(picture.height for picture in row), body)


def _heading(graph: Drawn, width: float) -> tuple[str, float]:
    wrong = sum(right is False for right in graph.right)
    text = graph.name if None in graph.right else f"{graph.name}: {wrong} wrong"
    return svg.texts([Text(width / 2, LETTER, text)], size=LETTER, colour=svg.FAINT), max(
        width, svg.width_of(text, LETTER)
    )


def _map(graph: Drawn, colours: Mapping[str, str]) -> Picture:
    """A square for each node; wrong ones are framed and crossed."""
    assert graph.shape is not None
    rows, columns = graph.shape
    body, width = _heading(graph, columns * CELL)
    squares, marks = "", ""
    for v, (label, right) in enumerate(zip(graph.labels, graph.right, strict=True)):
        x, y = v % columns * CELL, v // columns * CELL + LETTER + 8
        squares += f'<rect x="{number(x)}" y="{number(y)}" width="{CELL:g}" height="{CELL:g}" fill="{colours[label]}">'
        squares += f"<title>{v}: {escape(label)}</title></rect>\n"
        if right is False:
            marks += f'<path d="M{number(x + 3)} {number(y + 3)}l{CELL - 6:g} {CELL - 6:g}m0 {6 - CELL:g}'
            marks += f'l{6 - CELL:g} {CELL - 6:g}"/>\n'
    crossed = f'<g stroke="{svg.PAPER}" stroke-width="4" fill="none">\n{marks}</g>\n'
    crossed += f'<g stroke="{WRONG}" stroke-width="1.8" fill="none">\n{marks}</g>\n'
    shapes = f'<g stroke="{svg.PAPER}" stroke-width="1">\n{squares}</g>\n'
    return Picture(width, rows * CELL + LETTER + 8, body + shapes + (crossed if marks else ""))


def _net(graph: Drawn, colours: Mapping[str, str]) -> Picture:
    """A disc for each node and a line for each edge; wrong nodes have a ring."""
    body, width = _heading(graph, SIZE)
    at = [
        (RADIUS + 4 + x * (SIZE - 2 * RADIUS - 8), LETTER + 12 + RADIUS + y * (SIZE - 2 * RADIUS - 8))
        for x, y in graph.places
    ]
    body += svg.lines(
        f"M{number(at[u][0])} {number(at[u][1])}L{number(at[v][0])} {number(at[v][1])}" for u, v in graph.edges
    )
    for v, (label, right) in enumerate(zip(graph.labels, graph.right, strict=True)):
        x, y = at[v]
        ring = f' stroke="{WRONG}" stroke-width="3"' if right is False else f' stroke="{svg.PAPER}" stroke-width="1.5"'
        body += f'<circle cx="{number(x)}" cy="{number(y)}" r="{RADIUS:g}" fill="{colours[label]}"{ring}>'
        body += f"<title>{v}: {escape(label)}</title></circle>\n"
    lowest = max((y for _, y in at), default=0.0)
    return Picture(width, lowest + RADIUS + 4, body)


def _legend(colours: Mapping[str, str], *, errors: bool) -> Picture:
    """The colour of each label, and the mark of errors."""
    body, x, y = "", 0.0, 0.0
    for label, colour in colours.items():
        width = 18 + svg.width_of(label, LETTER) + 14
        if x and x + width > ACROSS:
            x, y = 0.0, y + 20
        body += f'<rect x="{number(x)}" y="{number(y)}" width="12" height="12" fill="{colour}"/>\n'
        body += f'<text x="{number(x + 18)}" y="{number(y + 10)}" font-size="{LETTER:g}" fill="{svg.INK}"'
        body += f' text-anchor="start">{escape(label)}</text>\n'
        x += width
    if errors:
        y += 22
        body += f'<text x="0" y="{number(y + 10)}" font-size="{LETTER:g}" fill="{svg.FAINT}" text-anchor="start">'
        body += "crossed, or with a ring: wrong</text>\n"
    return Picture(ACROSS, y + 14, body)
