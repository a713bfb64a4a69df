"""The weights of labelled graphs, and the features, costs and limits that examples are made of.

    score(y) = Σ_v ⟨W_{y_v}, x_v⟩ + Σ_{uv} ⟨V_{y_u y_v}, x_uv⟩

Each type of nodes has its own W, each pair of types that edges join its own V. The columns of V of a feature are tied
in one of four ways: any pair of labels has its own weight; (a, b) has that of (b, a), or minus that; or equal labels
share one and others have none (Potts). Between nodes of different types pairs are never symmetric or antisymmetric.

All weights are one vector: for each type its features × its states, with a row for the bias, then for each pair of
types and each tie its features × its columns.

A label may have several hidden states, and some types have states without labels (`GraphScheme.states`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from widemargin._types import FloatVector, LongMatrix, LongVector
from widemargin.core.sparse import Rows, boundaries, stack, take_rows, with_entries
from widemargin.errors import DataError
from widemargin.structures.flat import places_of
from widemargin.structures.graph import Graphs, shape_of
from widemargin.structures.graph_batch import Shape
from widemargin.structures.part_rows import Items, Kinds, TiedRows
from widemargin.tasks.graph.inputs import ONE, Graph, Pair, stacked
from widemargin.text.matrices import MatrixExtractor

Tie = Literal["any", "symmetric", "antisymmetric", "potts"]
TIES: tuple[Tie, ...] = ("any", "symmetric", "antisymmetric", "potts")


class Block(NamedTuple):
    """Weights of one type of nodes, or of one pair of types and one tie: `features` × `width`, from `first` on.

    `chosen` are the columns of the input that are features here; with a `bias`, another feature follows them.
    """

    first: int
    width: int
    chosen: LongVector
    bias: bool
    columns: LongVector
    signs: FloatVector

    @property
    def features(self) -> int:
        """How many rows of weights there are."""
        return len(self.chosen) + self.bias

    @property
    def end(self) -> int:
        """Where the weights end."""
        return self.first + self.features * self.width


class GraphScheme(NamedTuple):
    """What weights there are.

    Parameters
    ----------
    n_labels : how many labels there are
    n_states : how many hidden states each label has
    states : for each type its states: label · n_states + k for the state k of a label, −1 − k where there are no labels
    widths : for each type, how many features its nodes have
    pairs : for each pair of types that edges join, how many features these have
    tie : how pairs of labels are tied
    symmetric, antisymmetric : the columns of edge features that are tied otherwise
    intercept : whether there are biases
    """

    n_labels: int
    n_states: int
    states: dict[str, LongVector]
    widths: dict[str, int]
    pairs: dict[Pair, int]
    tie: Tie
    symmetric: tuple[int, ...]
    antisymmetric: tuple[int, ...]
    intercept: bool

    @property
    def types(self) -> list[str]:
        """The types of nodes."""
        return list(self.states)

    def labels_of(self, kind: str) -> LongVector:
        """The label of each state of a type; −1 for none."""
        states = self.states[kind]
        return np.where(states >= 0, states // self.n_states, -1)

    def state_names(self, kind: str, labels: Sequence[str]) -> list[str]:
        """The names of the states of a type, by those of the labels."""
        S, states = self.n_states, self.states[kind].tolist()
        return [labels[s // S] + (f" ({s % S + 1})" if S > 1 else "") if s >= 0 else f"state {-s}" for s in states]

    def blocks(self) -> tuple[dict[str, Block], dict[tuple[Pair, Tie], Block]]:
        """The blocks of weights of all types, then of all pairs of types."""
        nodes, edges, first = {}, {}, 0
        for kind, states in self.states.items():
            n = len(states)
            nodes[kind] = Block(first, n, np.arange(self.widths[kind]), self.intercept, np.arange(n), np.ones(n))
            first = nodes[kind].end
        for pair, width in self.pairs.items():
            ties = self.ties(pair)
            for tie in TIES:
                chosen = np.flatnonzero(ties == TIES.index(tie))
                bias = tie == self._plain_tie(pair) and (self.intercept or width == 0)
                if len(chosen) or bias:
                    columns, signs = tied(tie, self.states[pair[0]], self.states[pair[1]])
                    edges[pair, tie] = Block(first, int(columns.max(initial=-1)) + 1, chosen, bias, columns, signs)
                    first = edges[pair, tie].end
        return nodes, edges

    @property
    def n_weights(self) -> int:
        """How many weights there are; counted, since a damaged file may claim more than fit into memory."""
        total = sum((self.widths[kind] + self.intercept) * len(states) for kind, states in self.states.items())
        for pair, width in self.pairs.items():
            plain, same = self._plain_tie(pair), pair[0] == pair[1]
            of_tie: dict[Tie, int] = {
                "symmetric": len(set(self.symmetric)),
                "antisymmetric": len(set(self.antisymmetric)),
            }
            if not same:
                of_tie = {}
            rest = width - sum(of_tie.values()) + (self.intercept or width == 0)
            of_tie[plain] = of_tie.get(plain, 0) + rest
            total += sum(n * self._n_columns(tie, pair) for tie, n in of_tie.items())
        return total

    def _n_columns(self, tie: Tie, pair: Pair) -> int:
        left, right = self.states[pair[0]], self.states[pair[1]]
        n = len(left)
        if tie == "potts":
            return int(np.isin(left, right).any())
        return {"any": n * len(right), "symmetric": n * (n + 1) // 2, "antisymmetric": n * (n - 1) // 2}[tie]

    def fault(self) -> str:
        """The fault of a scheme read from a file; empty if there is none."""
        known = self.n_labels * self.n_states
        for kind, states in self.states.items():
            hidden = np.array_equal(states, -1 - np.arange(len(states)))
            if not hidden and (states.min() < 0 or states.max() >= known or len(np.unique(states)) < len(states)):
                return f"the states of the type {kind!r:.60} are not those of {self.n_labels} labels"
        for pair, width in self.pairs.items():
            if not set(pair) <= set(self.states):
                return f"it has edges between {pair[0]!r:.60} and {pair[1]!r:.60}, which are not both types of nodes"
            if any(column >= width for column in (*self.symmetric, *self.antisymmetric)) and pair[0] == pair[1]:
                return f"pairs are tied for columns that edges do not have: they have {width}"
        if set(self.symmetric) & set(self.antisymmetric):
            return "a column of edge features is both symmetric and antisymmetric"
        return ""

    def ties(self, pair: Pair) -> LongVector:
        """The number of the tie of each feature of these edges."""
        found = np.full(self.pairs[pair], TIES.index(self._plain_tie(pair)))
        if pair[0] == pair[1]:
            found[list(self.symmetric)], found[list(self.antisymmetric)] = 1, 2
        return found

    def _plain_tie(self, pair: Pair) -> Tie:
        return self.tie if pair[0] == pair[1] or self.tie == "potts" else "any"


def tied(tie: Tie, left: LongVector, right: LongVector) -> tuple[LongVector, FloatVector]:
    """The column and the sign of every pair of states; −1 for no column.

    >>> tied("symmetric", np.arange(2), np.arange(2))[0].tolist()
    [0, 1, 1, 2]
    """
    n, a, b = len(left), *np.indices((len(left), len(right))).reshape(2, -1)
    signs = np.ones(len(a))
    if tie == "any":
        return np.arange(len(a)), signs
    if tie == "potts":
        return np.where(left[a] == right[b], 0, -1), signs
    apart = int(tie == "antisymmetric")
    low, high = np.minimum(a, b), np.maximum(a, b)
    numbers = np.full((n, n), -1)
    numbers[np.triu_indices(n, apart)] = np.arange(n * (n + 1 - 2 * apart) // 2)
    return numbers[low, high], np.where(a > b, -1.0, 1.0) if apart else signs


class Compiled(NamedTuple):
    """Graphs as arrays: the shape of each example, where its nodes begin among all, and features."""

    shapes: list[Shape]
    sizes: LongVector
    nodes: LongVector
    types: LongVector
    features: TiedRows


def compiled_graphs(scheme: GraphScheme, graphs: Sequence[Graph]) -> Compiled:
    """Graphs as arrays; equal shapes are kept once."""
    check_types(scheme, graphs)
    nodes, edges = scheme.blocks()
    counts = np.array([graph.counts(scheme.types) for graph in graphs], dtype=np.int64).reshape(-1, len(scheme.types))
    offsets = np.cumsum(counts, axis=1) - counts
    type_number = {kind: t for t, kind in enumerate(scheme.types)}
    n_states = np.array([len(states) for states in scheme.states.values()])
    known: dict[tuple[bytes, bytes], int] = {}
    shapes, sizes, n_own = list[Shape](), list[int](), list[int]()
    for i, graph in enumerate(graphs):
        ends = np.concatenate([np.empty((0, 2), np.int64), *_ends(scheme, graph, offsets[i], type_number)])
        widths = np.repeat(n_states, counts[i])
        key = widths.tobytes(), ends.tobytes()
        if key not in known:
            known[key] = len(shapes)
            shapes.append(shape_of(widths, ends))
        sizes.append(known[key])
        n_own.append(shapes[sizes[-1]].n_own)
    of = _Items([shapes[size] for size in sizes])
    for t, (kind, block) in enumerate(nodes.items()):
        rows = _rows([graph.nodes.get(kind) for graph in graphs], scheme.widths[kind], "features of nodes")
        of.add(t, rows, block, counts[:, t], offsets[:, t], edges=False)
    begin, number = np.zeros(len(graphs), dtype=np.int64), len(nodes)
    for pair, width in scheme.pairs.items():
        given = [graph.edges.get(pair) for graph in graphs]
        n_edges = np.array([0 if each is None else len(each.ends) for each in given], dtype=np.int64)
        features = [_edge_features(each, i, width) for i, each in enumerate(given)]
        rows = _rows(features, width, "features of edges") if width else no_features(int(n_edges.sum()))
        for tie in TIES:
            if (pair, tie) in edges:
                of.add(number, rows, edges[pair, tie], n_edges, begin, edges=True)
                number += 1
        begin = begin + n_edges
    types = np.repeat(np.tile(np.arange(len(scheme.types)), len(graphs)), counts.ravel())
    of_each, kinds = np.array(sizes, dtype=np.int64), kinds_of([*nodes.values(), *edges.values()])
    features_of_all = TiedRows(of_each, np.array(n_own, dtype=np.int64), of.items(), kinds, scheme.n_weights)
    return Compiled(shapes, of_each, boundaries(counts.sum(axis=1)), types, features_of_all)


def check_types(scheme: GraphScheme, graphs: Sequence[Graph]) -> None:
    """Raise about nodes and edges of types without weights."""
    for i, graph in enumerate(graphs):
        for kind, nodes in graph.nodes.items():
            if nodes.shape[0] and kind not in scheme.states:
                known = ", ".join(map(repr, scheme.states))
                raise DataError(f"graph {i} has nodes of the type {kind!r}; the model knows {known}")
        for pair, edges in graph.edges.items():
            if len(edges.ends) and pair not in scheme.pairs:
                what = "edges" if pair[0] == pair[1] == ONE else f"edges {pair[0]} → {pair[1]}"
                raise DataError(f"graph {i} has {what}, but the training data have none")


def _ends(scheme: GraphScheme, graph: Graph, offset: LongVector, number: dict[str, int]) -> Iterator[LongMatrix]:
    for pair in scheme.pairs:
        if pair in graph.edges:
            yield graph.edges[pair].ends + offset[[number[pair[0]], number[pair[1]]]]


def _edge_features(edges: Any, i: int, width: int) -> Any:
    if edges is None or not len(edges.ends):
        return None
    if (edges.features is None) != (width == 0):
        raise DataError(f"graph {i} has edges {'with' if width == 0 else 'without'} features, unlike others")
    return edges.features


def no_features(n: int) -> Rows:
    """Rows without entries."""
    return Rows(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))


def _rows(matrices: Sequence[Any], width: int, what: str) -> Rows:
    matrix, width = stacked(matrices, width, what)
    rows = MatrixExtractor(width).rows(matrix)
    return rows._replace(values=rows.values if len(rows.values) else np.ones(len(rows.indices)))


def kinds_of(blocks: Sequence[Block]) -> Kinds:
    """The blocks as kinds of items."""
    return Kinds(
        np.array([block.first for block in blocks], dtype=np.int64),
        np.array([block.width for block in blocks], dtype=np.int64),
        boundaries([len(block.columns) for block in blocks]),
        np.concatenate([block.columns for block in blocks]).astype(np.int64),
        np.concatenate([block.signs for block in blocks]),
    )


class _Items:
    """Collects items kind by kind, and puts them in the order of their examples and places."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.at_node = np.concatenate([np.empty(0, np.int64), *(shape.at_node for shape in shapes)])
        self.at_edge = np.concatenate([np.empty(0, np.int64), *(shape.at_edge for shape in shapes)])
        self.nodes = boundaries([len(shape.widths) for shape in shapes])
        self.edges = boundaries([len(shape.ends) for shape in shapes])
        self.found: list[tuple[Rows, LongVector, LongVector, LongVector]] = []

    def add(
        self, number: int, rows: Rows, block: Block, counts: LongVector, offsets: LongVector, *, edges: bool
    ) -> None:
        """Add items of the kind `number`: `counts` of them in each example, the first of which is `offsets`."""
        at, begins = (self.at_edge, self.edges) if edges else (self.at_node, self.nodes)
        places = at[places_of(begins[:-1] + offsets, counts)]
        examples = np.repeat(np.arange(len(counts)), counts)
        self.found.append((_chosen(rows, block), np.full(len(places), number), places, examples))

    def items(self) -> Items:
        """All items."""
        kinds, places, examples = (np.concatenate([each[k] for each in self.found]) for k in (1, 2, 3))
        order = np.lexsort((kinds, places, examples))
        rows = take_rows(stack([each[0] for each in self.found]), order)
        n_examples = len(self.nodes) - 1
        begins = boundaries(np.bincount(examples, minlength=n_examples))
        return Items(begins, kinds[order].astype(np.int64), places[order], rows)


def _chosen(rows: Rows, block: Block) -> Rows:
    """The features of a block, renumbered, and its bias."""
    if len(rows.indices):
        width = int(max(block.chosen.max(initial=-1), rows.indices.max(initial=-1))) + 1
        place = np.full(width, -1, dtype=np.int32)
        place[block.chosen] = np.arange(len(block.chosen), dtype=np.int32)
        numbers = place[rows.indices]
        rows = with_entries(rows._replace(indices=numbers), numbers >= 0)
    if not block.bias:
        return rows
    ends = rows.indptr[1:]
    return Rows(
        rows.indptr + np.arange(len(rows.indptr)),
        np.insert(rows.indices, ends, np.int32(len(block.chosen))).astype(np.int32),
        np.insert(rows.values, ends, 1.0),
    )


def states_in(structure: Graphs, sizes: LongVector, outputs: FloatVector) -> LongVector:
    """The states of all nodes, end to end."""
    return np.concatenate([np.empty(0, np.int64), *structure.labels(sizes, outputs)])
