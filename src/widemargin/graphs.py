"""Graphs for `GraphLabeler`: of pictures, of their segments, and of networkx.

Graphs are (node features, edges, edge features). The features of the edges of a grid say which way they go, a column
for each direction. Leave them out, ``grid(picture)[:2]``, if pairs of labels count the same in all directions.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, LongMatrix
from widemargin.errors import DataError, WidemarginError


class PlainGraph(NamedTuple):
    """A graph as `GraphLabeler` takes it."""

    nodes: FloatMatrix
    edges: LongMatrix
    edge_features: FloatMatrix


STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""From a pixel to its neighbours: right, down, and down to both sides."""


def grid(picture: Any, neighbours: Literal[4, 8] = 4) -> PlainGraph:
    """The pixels of a picture, row by row, joined to their 4 or 8 neighbours.

    Parameters
    ----------
    picture : (rows, columns) or (rows, columns, features) what is known of each pixel
    neighbours : 4 joins pixels side by side, right before down; 8 joins corners as well

    Returns
    -------
    graph : node features; edges, from the upper or left pixel to the other; edge features, a column per direction

    Examples
    --------
    >>> nodes, edges, directions = grid([[0.1, 0.9], [0.8, 0.2]])
    >>> edges.tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    >>> directions.tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    if neighbours not in (4, 8):
        raise WidemarginError(f"a pixel has 4 or 8 neighbours, not {neighbours!r}")
    given = np.asarray(picture, dtype=np.float64)
    if given.ndim not in (2, 3) or 0 in given.shape[:2]:
        raise DataError(f"a picture has rows, columns and perhaps features; this one has the shape {given.shape}")
    rows, columns = given.shape[:2]
    number = np.arange(rows * columns).reshape(rows, columns)
    edges, directions = [], []
    steps = STEPS[: neighbours // 2]
    for d, (down, right) in enumerate(steps):
        here = number[: rows - down, max(-right, 0) : columns - max(right, 0)]
        there = number[down:, max(right, 0) : columns + min(right, 0)]
        edges.append(np.stack([here.ravel(), there.ravel()], axis=1))
        directions.append(np.full(here.size, d))
    return PlainGraph(
        given.reshape(rows * columns, -1), np.concatenate(edges), np.eye(len(steps))[np.concatenate(directions)]
    )


def superpixels(segmentation: Any, features: Any = None, neighbours: Literal[4, 8] = 4) -> PlainGraph:
    """The segments of a picture, joined where they touch.

    Parameters
    ----------
    segmentation : (rows, columns) the number of the segment of each pixel, 0, 1, …, as scikit-image's `slic` gives them
    features : of pixels, (rows, columns, features): nodes have their means over each segment; None for no features
    neighbours : whether pixels touch side by side only, or at corners as well

    Returns
    -------
    graph : node features; edges, from the smaller number to the larger; as edge features the length of the common
        border, and how much of it has one segment above the other, both over √ the pixels of the smaller segment

    Examples
    --------
    >>> segments = [[0, 0, 1], [0, 2, 1]]
    >>> superpixels(segments).edges.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    given = np.asarray(segmentation)
    if given.ndim != 2 or not given.size or given.dtype.kind not in "iu" or given.min() < 0:
        raise DataError(
            f"a segmentation is a matrix of numbers of segments from 0 on, not {given.dtype} of the shape {given.shape}"
        )
    sizes = np.bincount(given.ravel())
    if not sizes.all():
        raise DataError(f"the segmentation has no segment {int(np.flatnonzero(sizes == 0)[0])}")
    pixels = grid(np.zeros(given.shape), neighbours)
    ends = np.sort(given.ravel()[pixels.edges].astype(np.int64), axis=1)
    apart = ends[:, 0] != ends[:, 1]
    keys, places = np.unique(ends[apart, 0] * len(sizes) + ends[apart, 1], return_inverse=True)
    edges = np.stack([keys // len(sizes), keys % len(sizes)], axis=1)
    vertical = 1.0 - pixels.edge_features[apart, 0]
    borders = np.stack([np.bincount(places, each, len(keys)) for each in (np.ones(len(places)), vertical)], axis=1)
    smaller = np.sqrt(sizes[edges].min(axis=1))[:, None] if len(edges) else np.empty((0, 1))
    return PlainGraph(_means(given, sizes, features), edges, borders / smaller)


def _means(segmentation: AnyArray, sizes: AnyArray, features: Any) -> FloatMatrix:
    if features is None:
        return np.empty((len(sizes), 0))
    given = np.asarray(features, dtype=np.float64)
    if given.shape[:2] != segmentation.shape:
        raise DataError(f"the segmentation has the shape {segmentation.shape}, but the features {given.shape}")
    flat = given.reshape(segmentation.size, -1)
    sums = [np.bincount(segmentation.ravel(), column, len(sizes)) for column in flat.T]
    return np.stack(sums, axis=1) / sizes[:, None]


def from_networkx(
    graphs: Iterable[Any], nodes: Sequence[str], edges: Sequence[str] = (), label: str | None = None
) -> Any:
    """Graphs of networkx as X; with the name of the attribute `label`, also y.

    Parameters
    ----------
    graphs : the graphs, directed or not; nodes are taken in their order
    nodes, edges : the attributes that are features; each is a number, or a vector
    label : the attribute with the label of each node, None where it is unknown; it may be missing

    Returns
    -------
    X, or (X, y) : a list of graphs, and the list of the labels of their nodes
    """
    X, y = [], []
    for i, graph in enumerate(graphs):
        place = {node: k for k, node in enumerate(graph.nodes)}
        rows = [_row(data, nodes, f"graph {i}: node {node!r}") for node, data in graph.nodes(data=True)]
        ends = [(place[u], place[v]) for u, v in graph.edges()]
        found: tuple[Any, ...] = (_matrix(rows, f"graph {i}: nodes"), np.array(ends, dtype=np.int64).reshape(-1, 2))
        if edges:
            of_edges = [_row(data, edges, f"graph {i}: edge {u!r} – {v!r}") for u, v, data in graph.edges(data=True)]
            found = (*found, _matrix(of_edges, f"graph {i}: edges"))
        X.append(found)
        if label is not None:
            y.append([data.get(label) for _, data in graph.nodes(data=True)])
    return X if label is None else (X, y)


def _row(data: Any, names: Sequence[str], what: str) -> list[float]:
    row: list[float] = []
    for name in names:
        if name not in data:
            raise DataError(f"{what} has no attribute {name!r}")
        try:
            row += np.asarray(data[name], dtype=np.float64).ravel().tolist()
        except (TypeError, ValueError):
            raise DataError(f"{what}: {name!r} is {data[name]!r:.60}, not a number or a vector of numbers") from None
    return row


def _matrix(rows: list[list[float]], what: str) -> FloatMatrix:
    for k, (one, two) in enumerate(pairwise(rows)):
        if len(one) != len(two):
            raise DataError(f"{what} have {len(one)} and {len(two)} features: those of number {k + 1} differ")
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1) if rows else np.empty((0, 0))
