"""Graphs and their labels as users give them, checked.

| x | nodes |
| --- | --- |
| (node features, edges) or (node features, edges, edge features) | of one type; edges are pairs of their numbers |
| {"nodes": {type: features}, "edges": {(type, type): edges, or (edges, edge features)}} | of several types |
| ([features of each type], [edges of each pair of types], [edge features of each]) | of the types 0, 1, … |

Edges between nodes of two types hold the number of the first end among the nodes of its type, then that of the second.
The pairs of types of the last form are (0, 0), (0, 1), … row by row.

Labels are strings or whole numbers; None, or a masked entry, is unknown, a set holds the right one. They are given for
all nodes in order, type after type, in an array of any shape; for several types also as {type: labels} or as a list for
each type. Types without labels are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import LongMatrix, LongVector
from widemargin.errors import DataError
from widemargin.text.partial import Cell, checked_cell

ONE = ""
"""The type of nodes if there is only one."""

Pair = tuple[str, str]


class Edges(NamedTuple):
    """Edges between nodes of two types, by their numbers among the nodes of these types; features, or None."""

    ends: LongMatrix
    features: Any


class Graph(NamedTuple):
    """A graph as given: the features of its nodes by type, its edges by types, and whether outputs are a dict."""

    nodes: dict[str, Any]
    edges: dict[Pair, Edges]
    named: bool

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all types."""
        return sum(int(features.shape[0]) for features in self.nodes.values())

    def counts(self, types: Sequence[str]) -> LongVector:
        """The number of nodes of each of these types."""
        return np.array([self.nodes[name].shape[0] if name in self.nodes else 0 for name in types], dtype=np.int64)


def as_graphs(X: Any) -> list[Graph]:
    """Graphs in any of the forms, checked one by one."""
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__"):
        raise DataError(f"X must be a list of graphs, not {X!r:.60}")
    return [x if isinstance(x, Graph) else graph_of(x, f"graph {i}") for i, x in enumerate(X)]


def graph_of(x: Any, name: str) -> Graph:
    """A graph in any of the forms, checked; errors call it `name`."""
    if isinstance(x, Mapping):
        return _named(x, name)
    if not isinstance(x, tuple) and hasattr(x, "nodes") and hasattr(x, "edges"):
        raise DataError(f"{name} is a graph of networkx; widemargin.graphs.from_networkx makes X and y of such graphs")
    if not isinstance(x, tuple | list) or len(x) not in (2, 3):
        raise DataError(
            f"{name} must be (node features, edges) or (node features, edges, edge features), not {_shown(x)}"
            + ("; widemargin.graphs.grid makes graphs of pictures" if getattr(x, "ndim", 0) in (2, 3) else "")
        )
    features = x[2] if len(x) == 3 else None
    if _is_list_of_matrices(x[0]):
        return _listed(x[0], x[1], features, name)
    nodes = _matrix(x[0], f"{name}: node features")
    _check_count(nodes.shape[0], name)
    edges = _edges(x[1], features, (nodes.shape[0], nodes.shape[0]), (ONE, ONE), name)
    return Graph({ONE: nodes}, {(ONE, ONE): edges}, named=False)


def _named(x: Mapping[Any, Any], name: str) -> Graph:
    if not isinstance(x.get("nodes"), Mapping) or not isinstance(x.get("edges", {}), Mapping):
        raise DataError(f'{name} must be {{"nodes": {{type: features}}, "edges": {{(type, type): edges}}}}')
    for kind in x["nodes"]:
        if not isinstance(kind, str) or not kind or "\t" in kind:
            raise DataError(f"{name}: a type of nodes has a name, not {kind!r:.60}")
    nodes = {kind: _matrix(each, f"{name}: features of {kind!r}") for kind, each in x["nodes"].items()}
    _check_count(sum(each.shape[0] for each in nodes.values()), name)
    edges = {}
    for pair, given in x.get("edges", {}).items():
        if not isinstance(pair, tuple) or len(pair) != 2 or not all(kind in nodes for kind in pair):
            raise DataError(f"{name}: edges join two of the types {', '.join(map(repr, nodes))}, not {pair!r:.60}")
        ends, features = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        edges[pair] = _edges(ends, features, (nodes[pair[0]].shape[0], nodes[pair[1]].shape[0]), pair, name)
    return Graph(nodes, edges, named=True)


def _listed(given: Any, edges: Any, features: Any, name: str) -> Graph:
    """Types by their numbers, as PyStruct's NodeTypeEdgeFeatureGraphCRF has them."""
    n = len(given)
    nodes = {str(k): _matrix(each, f"{name}: features of type {k}") for k, each in enumerate(given)}
    for what, each in (("edges", edges), ("edge features", features)):
        if each is not None and len(each) != n * n:
            wanted = f"{n} types have {n * n} lists of {what}, (0, 0), (0, 1), …"
            raise DataError(f"{name}: {wanted}, but there are {len(each)}")
    _check_count(sum(each.shape[0] for each in nodes.values()), name)
    found = {}
    for k in range(n * n):
        pair = str(k // n), str(k % n)
        if edges[k] is not None and len(edges[k]):
            own = None if features is None else features[k]
            found[pair] = _edges(edges[k], own, (nodes[pair[0]].shape[0], nodes[pair[1]].shape[0]), pair, name)
    return Graph(nodes, found, named=False)


def _edges(given: Any, features: Any, sizes: tuple[int, int], pair: Pair, name: str) -> Edges:
    where = name if pair == (ONE, ONE) else f"{name}, {pair[0]} → {pair[1]}"
    ends = np.asarray(given)
    if ends.size == 0:
        ends = np.empty((0, 2), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise DataError(f"{where}: edges must be pairs of numbers of nodes, not {_shown(given)}")
    ends = ends.astype(np.int64)
    outside = np.flatnonzero(((ends < 0) | (ends >= np.array(sizes))).any(axis=1))
    if len(outside):
        u, v = ends[outside[0]].tolist()
        known = " and ".join(f"0 … {size - 1}" for size in dict.fromkeys(sizes))
        raise DataError(f"{where}: edge {outside[0]} joins {u} and {v}, but the nodes are {known}")
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1]) if pair[0] == pair[1] else ends[:0]
    if len(loops):
        raise DataError(f"{where}: edge {loops[0]} joins the node {ends[loops[0], 0]} with itself")
    if features is not None:
        features = _matrix(features, f"{where}: edge features", n_rows=len(ends))
        if features.shape[0] != len(ends):
            raise DataError(f"{where}: there are {len(ends)} edges, but {features.shape[0]} rows of edge features")
    return Edges(ends, features)


def _check_count(n: int, name: str) -> None:
    if n == 0:
        raise DataError(f"{name} has no nodes")


def _matrix(given: Any, what: str, n_rows: int | None = None) -> Any:
    """A matrix of finite numbers, dense or sparse."""
    matrix = given
    if not hasattr(given, "tocsr"):
        try:
            matrix = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"{what} must be a matrix of numbers, not {_shown(given)}") from None
        if matrix.size == 0 and matrix.ndim == 1 and n_rows in (None, 0):
            matrix = matrix.reshape(0, 0)
    if matrix.ndim != 2:
        raise DataError(f"{what} have the shape {matrix.shape}; a matrix with a row for each is wanted")
    values = matrix.data if hasattr(matrix, "tocsr") else matrix
    if not np.all(np.isfinite(values)):
        dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
        row, column = np.argwhere(~np.isfinite(dense))[0]
        raise DataError(f"{what}: row {row}, column {column} is {dense[row, column]}")
    return matrix


def _is_list_of_matrices(given: Any) -> bool:
    return isinstance(given, list | tuple) and len(given) > 0 and all(getattr(each, "ndim", 0) == 2 for each in given)


def _shown(given: Any) -> str:
    shape = getattr(given, "shape", None)
    return f"an array of the shape {shape}" if shape is not None else f"{given!r:.60}"


def as_cells(graphs: Sequence[Graph], y: Any, types: Sequence[str]) -> list[list[Cell]]:
    """The label of every node of each graph, in the order of `types`; None where it is unknown."""
    if isinstance(y, str | bytes | Mapping) or not hasattr(y, "__len__"):
        raise DataError(f"y must be a list with the labels of each graph, not {y!r:.60}")
    if len(y) != len(graphs):
        raise DataError(f"X has {len(graphs)} graphs, but y has {len(y)}")
    return [list(_cells(graph, labels, types, i)) for i, (graph, labels) in enumerate(zip(graphs, y, strict=True))]


def _cells(graph: Graph, given: Any, types: Sequence[str], i: int) -> Iterator[Cell]:
    counts = dict(zip(types, graph.counts(types).tolist(), strict=True))
    if isinstance(given, Mapping):
        for kind in given:
            if kind not in counts:
                raise DataError(f"graph {i} has labels of {kind!r:.60}, but no such nodes")
        for kind, n in counts.items():
            yield from _of_type(_flat(given[kind], i), n, i, kind) if kind in given else [None] * n
    elif ONE not in graph.nodes and isinstance(given, list | tuple) and _are_by_type(given, list(counts.values())):
        for labels, (kind, n) in zip(given, counts.items(), strict=True):
            yield from _of_type(_flat(labels, i), n, i, kind) if labels is not None else [None] * n
    else:
        yield from _of_type(_flat(given, i), graph.n_nodes, i, ONE)


def _are_by_type(given: Sequence[Any], counts: list[int]) -> bool:
    """Whether these are the labels of each type, rather than of each node."""
    if len(given) != len(counts):
        return False
    sized = zip(given, counts, strict=True)
    return all(each is None or (isinstance(each, list | tuple | np.ndarray) and len(each) == n) for each, n in sized)


def _flat(given: Any, i: int) -> list[Any]:
    """Labels in a list; masked ones are None."""
    if isinstance(given, np.ma.MaskedArray):
        return given.ravel().tolist()
    if isinstance(given, np.ndarray):
        return given.ravel().tolist()
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__len__"):
        raise DataError(f"y[{i}] must be a list of labels, not {given!r:.60}")
    found = list(given)
    return np.concatenate([np.asarray(row) for row in found]).tolist() if _is_grid(found) else found


def _is_grid(rows: list[Any]) -> bool:
    """Whether these are the rows of a picture rather than sets of labels."""
    return bool(rows) and all(isinstance(row, np.ndarray) and row.ndim == 1 for row in rows)


def _of_type(labels: list[Any], n: int, i: int, kind: str) -> Iterator[Cell]:
    if len(labels) != n:
        of = f" of the type {kind!r}" if kind else ""
        raise DataError(f"graph {i} has {n} nodes{of}, but {len(labels)} labels")
    for v, label in enumerate(labels):
        if type(label) is str or type(label) is int or label is None:
            yield label
            continue
        try:
            yield checked_cell(label, i, v)
        except DataError as error:
            raise DataError(str(error).replace("sequence", "graph").replace("position", "node")) from None


def stacked(matrices: Sequence[Any], width: int | None, what: str) -> tuple[Any, int]:
    """The matrices of all graphs, one below the other, and their width; `matrices` has None where a graph has none."""
    from scipy import sparse  # slow to import

    for i, matrix in enumerate(matrices):
        if matrix is None or (matrix.shape[0] == 0 and matrix.shape[1] == 0):
            continue
        if width is None:
            width = int(matrix.shape[1])
        if matrix.shape[1] != width:
            raise DataError(f"graph {i} has {matrix.shape[1]} {what}, where others have {width}")
    width = width or 0
    found = [m for m in matrices if m is not None and m.shape[0]]
    if any(hasattr(m, "tocsr") for m in found):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(m) for m in found], format="csr")), width
    return np.concatenate([np.empty((0, width)), *found]), width
