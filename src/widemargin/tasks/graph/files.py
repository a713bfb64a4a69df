"""Files of graphs: JSON lines, a graph per line; and how good predicted labels are.

    {"nodes": [[0.5, 1.0], …], "edges": [[0, 1], …], "edge_features": [[1.0], …], "labels": ["a", null, …]}

`nodes` holds the features of each node, `edges` pairs of numbers of nodes from 0 on. `edge_features` may be missing,
and so may `labels` where they are to be predicted. A label of null or "_" is unknown, a list holds the right one. For
pictures, `shape` is [rows, columns] if the nodes are those of a grid, row by row, and `positions` is [x, y] of each
node. Nodes of several types are given by their types:

    {"nodes": {"word": [[…], …], "line": […]}, "labels": {"word": ["a", …], "line": […]},
     "edges": [{"from": "word", "to": "line", "ends": [[0, 0], …], "features": [[…], …]}, …]}

Everything else in an object is kept. Predictions replace `labels`.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin.errors import DataError
from widemargin.files.formats import guess
from widemargin.files.jsonlines import json_object, with_member
from widemargin.files.pieces import Cut, every_line
from widemargin.files.raw import RawText, Source, shorten
from widemargin.metrics import quotient, scores_from_counts
from widemargin.report.evaluation import Evaluation, by_support, plain, score_table
from widemargin.report.text import share
from widemargin.tasks.base import Corpus, Reading, Tally
from widemargin.tasks.files import Files, Likeness, TallyReporter, alone_in_list, check_no_tokens, time_call
from widemargin.tasks.graph.inputs import ONE, Graph, as_cells, as_graphs, graph_of
from widemargin.tasks.graph.pictures import Drawn, graph_lines, graph_pictures
from widemargin.tasks.strongest import Part, pair_name, strongest
from widemargin.text.partial import COLLECTIONS

if TYPE_CHECKING:
    from widemargin.tasks.graph.model import GraphModel

UNKNOWN = "_"
NODES, RIGHT, EDGES, BOTH = ("nodes",), ("right",), ("edges",), ("both ends right",)
LABELS = ("found rightly", "found", "wanted")
"""The names of all counts: of nodes and edges, and of labels in three ways."""


class GraphReporter(TallyReporter):
    """Reports on labellers of graphs."""

    model: "GraphModel"

    counts = "nodes"

    def count(self, X: Any, y: Any, n_threads: int, **options: Any) -> Tally:
        """Counts of right and wrong labels."""
        given = as_graphs(X)
        outputs, seconds = time_call("decoding", self.model.predict, given, n_threads)
        return Tally(label_counts(given, y, outputs, hidden=self._hidden()), seconds)

    def score(self, tally: Tally, calibration: Mapping[str, float]) -> Evaluation:
        """How many labels are right."""
        return counted_evaluation(tally.counts, tally.seconds)

    def _hidden(self) -> list[str]:
        """The types whose nodes have no labels."""
        return [kind for kind, states in self.model.scheme.states.items() if states[0] < 0]

    def warm_up(self) -> None:
        """Label a node without features, so that loading compiled kernels does not count."""
        kind, width = next(iter(self.model.scheme.widths.items()))
        self.model.predict([Graph({kind: np.zeros((1, width))}, {}, named=False)])

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Every line is a graph."""
        return every_line

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file of graphs, with as many features as those of the training data."""
        scheme = self.model.scheme
        widths = scheme.widths | {_key(pair): width for pair, width in scheme.pairs.items()}
        return read_graphs(path, reading, {"widths": widths}, gold=gold)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The file with its labels replaced."""
        return str(corpus.document.rewrite(outputs, self._hidden()))

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """Grids as maps of labels, other graphs as nodes and edges; wrong labels are marked if the file tells them."""
        drawn = corpus.document.drawn(outputs)
        if terminal:
            return "".join(f"{line}\n" for line in graph_lines(drawn))
        return graph_pictures(drawn, [str(label) for label in self.model.labels])

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One graph of a file alone, counted from 1."""
        return alone_in_list(corpus, number, "graph")

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features of nodes for and against each label, and of edges for pairs of labels."""
        model, scheme, parts = self.model, self.model.scheme, dict[str, Part]()
        nodes, edges = scheme.blocks()
        labels = [str(label) for label in model.labels]
        for kind, block in nodes.items():
            W = model.weights[block.first : block.end].reshape(block.features, block.width)
            names, of = _names(block), f" of {kind}" if kind else ""
            states = scheme.state_names(kind, labels)
            by_label = {
                states[s]: strongest(W[:, s], top, names.__getitem__)
                for s, label in enumerate(scheme.labels_of(kind).tolist())
                if label < 0 or label in chosen
            }
            parts[f"nodes{of}"] = Part(f"Features{of} for and against", by_label=by_label)
        for (pair, tie), block in edges.items():
            V = model.weights[block.first : block.end].reshape(block.features, block.width)
            left, right = (scheme.labels_of(kind) for kind in pair)
            both = np.stack(np.broadcast_arrays(left[:, None], right), axis=-1).reshape(-1, 2)
            first = np.array([int(np.flatnonzero(block.columns == column)[0]) for column in range(block.width)], int)
            told = np.isin(both[first], [*chosen, -1]).any(axis=1) if block.width else np.empty(0, bool)
            name, names = _pair_names(scheme, pair, tie, labels), _names(block)
            of = f" {pair[0]} – {pair[1]}" if pair != (ONE, ONE) else ""
            told_names = [f"{feature}: {name(each)}" for feature in names for each in first.tolist()]
            found = strongest(np.where(told, V, 0.0).ravel(), top, told_names.__getitem__)
            parts[f"edges{of}, {tie}"] = Part(f"Edges{of}, {tie} pairs", found)
        return parts


def _names(block: Any) -> list[str]:
    return [f"column {j}" for j in block.chosen.tolist()] + ["bias"] * block.bias


def _pair_names(scheme: Any, pair: tuple[str, str], tie: str, labels: list[str]) -> Any:
    left, right = scheme.state_names(pair[0], labels), scheme.state_names(pair[1], labels)
    if tie == "potts":
        return lambda k: "equal labels"
    if left == right:
        return pair_name(left, "–" if tie == "symmetric" else "→")
    return lambda k: f"{left[k // len(right)]} → {right[k % len(right)]}"


class GraphFiles(Files):
    """Files with graphs to learn from."""

    reporter = GraphReporter

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """The graphs of a file, and the labels of their nodes."""
        return read_graphs(path, reading, about, gold=gold)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """JSON lines with nodes."""
        first = next((line for line in raw.lines if line.strip()), "")
        is_graph = (reading.format or guess(raw)) == "jsonl" and '"nodes"' in first
        return Likeness.LIKELY if is_graph else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """How many labels are right."""
        outputs = [_plain_labels(labels) for labels in predicted.y]
        return counted_evaluation(label_counts(gold.X, gold.y, outputs, hidden=[]), {})


class GraphFile(NamedTuple):
    """The graphs of a file, their lines, and their labels as far as the file has any."""

    raw: RawText
    lines: list[int]
    X: list[Graph]
    objects: list[dict[str, Any]]

    def rewrite(self, outputs: Sequence[Any], hidden: Sequence[str]) -> str:
        """The file with these labels."""
        written = list(self.raw.lines)
        for line, labels in zip(self.lines, outputs, strict=True):
            if isinstance(labels, Mapping):
                value: Any = {kind: each.tolist() for kind, each in labels.items() if kind not in hidden}
            else:
                value = labels.tolist()
            written[line] = with_member(written[line], "labels", value)
        return self.raw.text(written)

    def drawn(self, outputs: Sequence[Any]) -> list[Drawn]:
        """The graphs with labels, as pictures show them."""
        found = []
        for line, graph, members, labels in zip(self.lines, self.X, self.objects, outputs, strict=True):
            gold = None if members.get("labels") is None else _gold(self.raw, line, graph, members)
            name = str(members.get("id", self.raw.first + line + 1))
            found.append(Drawn.of(name, graph, members, labels, gold))
        return found


def read_graphs(path: Source, reading: Reading, about: Mapping[str, Any], *, gold: bool) -> Corpus:
    """The graphs of a file; features of nodes must be as many as in `about`, or else as in the first graph."""
    check_no_tokens(reading, "graphs", ["jsonl"])
    raw = RawText.load(path)
    lines = [number for number, line in enumerate(raw.lines) if line.strip()]
    objects = [json_object(raw, number) for number in lines]
    if not objects and not raw.first:
        raise DataError(f"{raw.source} has no graphs")
    X = [_graph(raw, number, members) for number, members in zip(lines, objects, strict=True)]
    widths: dict[str, int] = raw.judge_once("widths", lambda: dict(about.get("widths", {})))
    for number, graph in zip(lines, X, strict=True):
        _check_widths(raw, number, graph, widths)
    y = None
    if gold:
        y = [_gold(raw, number, graph, each) for number, graph, each in zip(lines, X, objects, strict=True)]
    size = {"graphs": len(X), "nodes": sum(graph.n_nodes for graph in X)}
    return Corpus(X, y, {"format": "jsonl", "widths": dict(widths)}, size, GraphFile(raw, lines, X, objects))


def _graph(raw: RawText, number: int, members: dict[str, Any]) -> Graph:
    for key, needed in (("nodes", True), ("edges", False), ("edge_features", False)):
        value = members.get(key)
        if value is None and needed:
            raise raw.fault(number, f'the object has no "{key}"')
        if not isinstance(value, list | dict | None) or (isinstance(value, dict) and key != "nodes"):
            raise raw.fault(number, f'"{key}" is {_shown(value)} where a list is wanted')
    nodes, edges, features = members["nodes"], members.get("edges") or [], members.get("edge_features")
    name = f"{raw.source}, line {raw.first + number + 1}"
    if isinstance(nodes, dict):
        for kind, rows in nodes.items():
            _check_rows(raw, number, f'"nodes" of {shorten(kind)}', rows)
        return graph_of({"nodes": nodes, "edges": _typed_edges(raw, number, edges)}, name)
    _check_rows(raw, number, '"nodes"', nodes)
    _check_rows(raw, number, '"edges"', edges)
    if features is not None:
        _check_rows(raw, number, '"edge_features"', features)
    return graph_of((nodes, edges, features), name)


def _typed_edges(raw: RawText, number: int, edges: Any) -> dict[tuple[str, str], Any]:
    found = {}
    for each in edges:
        if not isinstance(each, dict) or not {"from", "to", "ends"} <= each.keys():
            raise raw.fault(number, f'{_shown(each)} is not {{"from": type, "to": type, "ends": [[0, 1], …]}}')
        _check_rows(raw, number, '"ends"', each["ends"])
        if each.get("features") is not None:
            _check_rows(raw, number, '"features"', each["features"])
        pair = str(each["from"]), str(each["to"])
        if pair in found:
            raise raw.fault(number, f"edges from {shorten(pair[0])} to {shorten(pair[1])} are given twice")
        found[pair] = each["ends"], each.get("features")
    return found


def _check_rows(raw: RawText, number: int, what: str, rows: Any) -> None:
    """Raise about the first row that is no list of numbers, or not as long as the first one."""
    if not isinstance(rows, list):
        raise raw.fault(number, f"{what} is {_shown(rows)} where a list is wanted")
    for k, row in enumerate(rows):
        if not isinstance(row, list) or not all(type(value) in (int, float) for value in row):
            raise raw.fault(number, f"{what}: row {k} is {_shown(row)}, not a list of numbers")
        if len(row) != len(rows[0]):
            raise raw.fault(number, f"{what}: row {k} has {len(row)} numbers, but row 0 has {len(rows[0])}")


def _check_widths(raw: RawText, number: int, graph: Graph, widths: dict[str, int]) -> None:
    for kind, features in graph.nodes.items():
        width = widths.setdefault(kind, int(features.shape[1]))
        if features.shape[1] != width:
            of = f" of {shorten(kind)}" if kind else ""
            raise raw.fault(number, f"nodes{of} have {features.shape[1]} features, where others have {width}")
    for pair, edges in graph.edges.items():
        if len(edges.ends):
            of = f" {shorten(' → '.join(pair))}" if pair != (ONE, ONE) else ""
            found = 0 if edges.features is None else int(edges.features.shape[1])
            width = widths.setdefault(_key(pair), found)
            if found != width:
                raise raw.fault(number, f"edges{of} have {found} features, where others have {width}")


def _key(pair: tuple[str, str]) -> str:
    """The name of a pair of types in facts about a file; a tab is in no name of a type."""
    return "\t".join(pair)


def _labels(members: dict[str, Any]) -> Any:
    """The labels of a graph as cells; None if it has none."""
    labels = members.get("labels")
    if isinstance(labels, dict):
        return {kind: _cells(each) for kind, each in labels.items()}
    return None if labels is None else _cells(labels)


def _cells(labels: Any) -> Any:
    if not isinstance(labels, list):
        return labels
    return [None if label == UNKNOWN else frozenset(label) if isinstance(label, list) else label for label in labels]


def _gold(raw: RawText, number: int, graph: Graph, members: dict[str, Any]) -> Any:
    """The labels of a graph, checked."""
    if members.get("labels") is None:
        raise raw.fault(number, 'the object has no "labels"')
    if not isinstance(members["labels"], list | dict):
        raise raw.fault(number, f'"labels" is {_shown(members["labels"])} where a list is wanted')
    try:
        labels = _labels(members)
        as_cells([graph], [labels], sorted(graph.nodes))
    except TypeError:
        raise raw.fault(number, f'"labels" holds lists of lists: {_shown(members["labels"])}') from None
    except DataError as error:
        raise raw.fault(number, str(error).replace("graph 0", "it").replace("y[0]", '"labels"')) from None
    return labels


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False))


def _plain_labels(labels: Any) -> Any:
    return {kind: np.array(each) for kind, each in labels.items()} if isinstance(labels, dict) else np.array(labels)


def label_counts(given: Sequence[Graph], y: Any, outputs: Sequence[Any], *, hidden: Sequence[str]) -> Counter[Any]:
    """The counts for `counted_evaluation`; counts of several pieces of data can be added."""
    counts: Counter[Any] = Counter()
    for graph, gold, output in zip(given, y, outputs, strict=True):
        types = sorted((kind for kind in graph.nodes if kind not in hidden), key=lambda kind: (len(kind), kind))
        labelled = graph._replace(nodes={kind: graph.nodes[kind] for kind in types})
        cells = as_cells([labelled], [gold], types)[0]
        found = output
        if isinstance(output, Mapping):
            found = {kind: labels for kind, labels in output.items() if kind not in hidden}
        predicted = [None if p is None else str(p) for p in as_cells([labelled], [found], types)[0]]
        right = [_is_right(g, p) for g, p in zip(cells, predicted, strict=True)]
        _count_labels(counts, cells, predicted, right)
        _count_edges(counts, labelled, types, right)
    return counts


def _is_right(gold: Any, predicted: str | None) -> bool | None:
    if gold is None or predicted is None:
        return None
    return predicted in map(str, gold) if isinstance(gold, COLLECTIONS) else predicted == str(gold)


def _count_labels(
    counts: Counter[Any], gold: Sequence[Any], predicted: Sequence[Any], right: Sequence[bool | None]
) -> None:
    for g, p, is_right in zip(gold, predicted, right, strict=True):
        if is_right is None:
            continue
        wanted = p if is_right else str(min(g)) if isinstance(g, COLLECTIONS) else str(g)
        counts.update([NODES, (LABELS[1], p), (LABELS[2], wanted)])
        if is_right:
            counts.update([RIGHT, (LABELS[0], p)])


def _count_edges(counts: Counter[Any], graph: Graph, types: Sequence[str], right: Sequence[bool | None]) -> None:
    sizes = graph.counts(types)
    offset = dict(zip(types, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    for (one, other), edges in graph.edges.items():
        if one not in offset or other not in offset:
            continue
        for u, v in edges.ends.tolist():
            ends = right[offset[one] + u], right[offset[other] + v]
            if None not in ends:
                counts.update([EDGES, BOTH] if all(ends) else [EDGES])


def counted_evaluation(counts: Counter[Any], seconds: dict[str, float]) -> Evaluation:
    """How many labels are right, by the counts of `label_counts`."""
    by_kind = ({key[1]: n for key, n in counts.items() if key[0] == what} for what in LABELS)
    scores = scores_from_counts(*by_kind)
    right, both = quotient(counts[RIGHT], counts[NODES]), quotient(counts[BOTH], counts[EDGES])
    results: dict[str, Any] = {"accuracy": right, "edges_right": both, "by_label": plain(scores.by_label)}
    facts = [("accuracy", share(right)), ("edges with both ends right", share(both))]
    tables = [score_table("By label", "label", by_support(scores.by_label))]
    return Evaluation(results, "accuracy", facts, tables, seconds)
