"""Files of documents to cluster: records, pairs, or mentions in texts (`files.mentions`).

**Records in JSON lines** have one of two forms.

    {"id": "a", "records": [{"name": …}, …], "clusters": [1, 1, 2]}         a document per line
    {"document": "a", "name": …, "cluster": 1}                              a record per line

In the second form, records with the same `document` belong together, wherever they are in the file; without this key,
the file is one document. The key `id` of a record is not compared. Predictions replace `clusters` or `cluster`.

**Pairs in svmlight lines** have the document and the two items after ``#``.

    +1 3:1 17:0.25  # letter-4 0 2

says that the items 0 and 2 of the document letter-4 belong together; −1 (or 0) says that they do not. Items are whole
numbers; a document has the items that its lines name, in the order of these numbers. Pairs with +1 hold clusters
together; a pair with −1 inside a cluster is an error. Predictions replace the labels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin.clusterings import Labels, check_items, clustering_scores, conll_f1, mitre_loss, pair_loss
from widemargin.core.sparse import Rows
from widemargin.decoders.kruskal import components
from widemargin.errors import DataError
from widemargin.files import mentions as mention_files
from widemargin.files.formats import guess
from widemargin.files.jsonlines import json_object, with_member
from widemargin.files.pieces import Cut, every_line
from widemargin.files.raw import RawText, Source, shorten
from widemargin.files.svmlight import SvmlightData, parse
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Question
from widemargin.report.text import share
from widemargin.structures.forest import Documents
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.cluster.features import Pairs
from widemargin.tasks.cluster.pictures import cluster_lines, cluster_pictures, described_items, explain_pairs
from widemargin.tasks.clusters import ClusteringReporter, evaluation_of_clusters, open_document, predict_clusters
from widemargin.tasks.files import Files, Likeness
from widemargin.tasks.strongest import Part, strongest

if TYPE_CHECKING:
    from widemargin.tasks.cluster.model import ClusterModel

NOT_FIELDS = ("document", "cluster", "id")
LABELS = {"+1": True, "1": True, "-1": False, "0": False}


class RecordFile(NamedTuple):
    """The documents of a file, and for each its lines: a single one if it is `nested`, else one per record."""

    raw: RawText
    X: list[list[Any]]
    y: list[list[Any]] | None
    lines: list[list[int]]
    nested: bool
    names: Sequence[str] = ()

    @property
    def sizes(self) -> list[int]:
        """The number of items of each document."""
        return list(map(len, self.X))

    @property
    def facts(self) -> dict[str, Any]:
        """Facts for the model to remember: none."""
        return {}

    def rewrite(self, outputs: Sequence[Sequence[int]]) -> str:
        """The file with these clusters."""
        written = list(self.raw.lines)
        for lines, clusters in zip(self.lines, outputs, strict=True):
            if self.nested:
                written[lines[0]] = with_member(written[lines[0]], "clusters", list(clusters))
                continue
            for line, cluster in zip(lines, clusters, strict=True):
                written[line] = with_member(written[line], "cluster", cluster)
        return self.raw.text(written)


def read_records(
    raw: RawText, chosen: str, names: Sequence[str] | None, about: Mapping[str, Any], *, gold: bool
) -> RecordFile:
    """Read JSON lines of either form."""
    objects = {number: json_object(raw, number) for number, line in enumerate(raw.lines) if line.strip()}
    if not objects and not raw.first:
        raise DataError(f"{raw.source} has no records")
    nested = raw.judge_once("nested", lambda: "records" in next(iter(objects.values())))
    return _read_nested(raw, objects, gold=gold) if nested else _read_flat(raw, objects, gold=gold)


def is_nested(head: RawText) -> bool:
    """Whether every line is a document."""
    return "records" in _first(head)


def are_records(head: RawText) -> bool:
    """Whether the first line is a document of records, or a record with a cluster."""
    return bool({"records", "cluster"} & _first(head).keys())


def _first(head: RawText) -> dict[str, Any]:
    number = next((number for number, line in enumerate(head.lines) if line.strip()), None)
    return {} if number is None else json_object(head, number)


def _read_nested(raw: RawText, objects: Mapping[int, dict[str, Any]], *, gold: bool) -> RecordFile:
    X, y = [], []
    for number, members in objects.items():
        records = _list(raw, number, members, "records")
        for record in records:
            _check_record(raw, number, record)
        X.append([_fields(record) for record in records])
        if gold:
            clusters = _list(raw, number, members, "clusters")
            if len(clusters) != len(records):
                raise raw.fault(number, f'"clusters" has {len(clusters)} items, but "records" has {len(records)}')
            y.append([_cluster(raw, number, cluster) for cluster in clusters])
    return RecordFile(raw, X, y if gold else None, [[number] for number in objects], nested=True)


def _read_flat(raw: RawText, objects: Mapping[int, dict[str, Any]], *, gold: bool) -> RecordFile:
    X: dict[Any, list[Any]] = {}
    y: dict[Any, list[Any]] = {}
    lines: dict[Any, list[int]] = {}
    for number, record in objects.items():
        if not record:
            raise raw.fault(number, "the record is empty")
        _check_record(raw, number, record)
        document = record.get("document")
        if isinstance(document, list | dict):
            raise raw.fault(number, f'"document" is {shorten(repr(document))}, not a name')
        if gold and "cluster" not in record:
            raise raw.fault(number, 'the object has no "cluster"')
        X.setdefault(document, []).append(_fields(record))
        y.setdefault(document, []).append(_cluster(raw, number, record.get("cluster")))
        lines.setdefault(document, []).append(number)
    return RecordFile(raw, list(X.values()), list(y.values()) if gold else None, list(lines.values()), nested=False)


def _list(raw: RawText, number: int, members: dict[str, Any], key: str) -> list[Any]:
    if key not in members:
        raise raw.fault(number, f'the object has no "{key}"')
    if not isinstance(members[key], list):
        raise raw.fault(number, f'"{key}" is {shorten(repr(members[key]))} where a list is wanted')
    found: list[Any] = members[key]
    return found


def _check_record(raw: RawText, number: int, record: Any) -> None:
    if isinstance(record, str):
        return
    if not isinstance(record, dict):
        raise raw.fault(number, f"{shorten(repr(record))} is not a record: an object or a string is wanted")
    for name, value in _fields(record).items():
        strings = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not (value is None or strings or isinstance(value, str | int | float)):
            raise raw.fault(number, f'the field "{shorten(name)}" is {shorten(repr(value))}, not a text or a number')


def _fields(record: Any) -> Any:
    return record if isinstance(record, str) else {k: v for k, v in record.items() if k not in NOT_FIELDS}


def _cluster(raw: RawText, number: int, cluster: Any) -> Any:
    if isinstance(cluster, list | dict):
        raise raw.fault(number, f"the cluster {shorten(repr(cluster))} is not a name or a number")
    return cluster


class PairFile(NamedTuple):
    """The documents of a file, and for each the numbers of its pairs among the examples of the file."""

    data: SvmlightData
    X: list[Pairs]
    y: list[list[int]] | None
    examples: list[list[int]]
    facts: dict[str, Any]
    names: Sequence[str] = ()

    @property
    def sizes(self) -> list[int]:
        """The number of items of each document."""
        return [document.n or 0 for document in self.X]

    def rewrite(self, outputs: Sequence[Sequence[int]]) -> str:
        """The file with new labels: +1 for pairs in one cluster, −1 for others."""
        labels = [""] * len(self.data.labels)
        for document, examples, clusters in zip(self.X, self.examples, outputs, strict=True):
            for example, (i, j) in zip(examples, document.pairs.tolist(), strict=True):
                labels[example] = "+1" if clusters[i] == clusters[j] else "-1"
        return self.data.relabel(labels)


def read_pairs(
    raw: RawText, chosen: str, names: Sequence[str] | None, about: Mapping[str, Any], *, gold: bool
) -> PairFile:
    """Read pairs; features with larger indices than those of the training data are left out."""
    from scipy import sparse  # slow to import

    data = parse(raw)
    width = data.width if about.get("width") is None else about["width"]
    rows = data.matrix(width).rows
    features = sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(len(rows.indptr) - 1, width))
    of_document: dict[str, list[int]] = {}
    pairs = []
    for example, line in enumerate(data.lines.tolist()):
        document, i, j = _pair(raw, line)
        of_document.setdefault(document, []).append(example)
        pairs.append((i, j))
    X, y = [], []
    for examples in of_document.values():
        given = np.array([pairs[example] for example in examples])
        items, numbers = np.unique(given, return_inverse=True)
        numbers = numbers.reshape(-1, 2)
        X.append(Pairs(numbers, features[examples], len(items)))
        if gold:
            y.append(_clusters(data, examples, numbers, items))
    return PairFile(data, X, y if gold else None, list(of_document.values()), {"width": width})


def _pair(raw: RawText, line: int) -> tuple[str, int, int]:
    """The document and the two items that a line names."""
    words = raw.lines[line].partition("#")[2].split()
    numbers = [word for word in words[1:] if word.isascii() and word.isdecimal() and len(word) < 10]
    if len(words) != 3 or len(numbers) != 2 or int(numbers[0]) == int(numbers[1]):
        found = shorten(raw.lines[line].strip())
        raise raw.fault(line, f"a document and two different items, as in '# d 0 1', must be at the end: {found!r}")
    return words[0], int(numbers[0]), int(numbers[1])


def _clusters(data: SvmlightData, examples: Sequence[int], numbers: Any, items: Any) -> list[int]:
    """The clusters that the positive pairs of a document hold together."""
    together = []
    for example in examples:
        labels = data.labels[example]
        if len(labels) != 1 or labels[0] not in LABELS:
            raise data.raw.fault(int(data.lines[example]), f"the label is {','.join(labels)!r}, not +1 or -1")
        together.append(LABELS[labels[0]])
    first, second = (numbers[:, k].astype(np.int32) for k in (0, 1))
    clusters = components(first, second, np.array(together, dtype=np.int8), len(items))
    for example, positive, i, j in zip(examples, together, first, second, strict=True):
        if not positive and clusters[i] == clusters[j]:
            raise data.raw.fault(
                int(data.lines[example]),
                f"the items {items[i]} and {items[j]} are apart here, but other pairs put them together",
            )
    found: list[int] = clusters.tolist()
    return found


READERS: dict[str, Callable[..., Any]] = {
    "jsonl": read_records,
    "svmlight": read_pairs,
    "conllu": mention_files.read,
    "conll": mention_files.read,
}
"""The reader of each format; it takes the text, its format, names of columns and facts about the training data."""


class ClusterReporter(ClusteringReporter):
    """Reports on clusterers."""

    model: "ClusterModel"

    counts = "items"
    asked = ("span",)
    ask_for = "two items by --span I:J"

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well the predicted clusters agree with `y`, by all scores, and how long prediction takes."""
        return cluster_evaluation([list(labels) for labels in y], *self.timed_clusters(X, n_threads, "clustering"))

    def warm_up(self) -> None:
        """Cluster a document of one item, so that loading compiled kernels does not count."""
        none, ends = np.empty(0, dtype=np.int32), np.zeros(2, dtype=np.int64)
        rows = Rows(np.zeros(1, dtype=np.int64), none, np.empty(0))
        documents = Documents(np.arange(2, dtype=np.int64), ends, none, none, rows)
        predict_clusters(self.model.examples_of(documents), self.model.weights)

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Between two documents; None if the lines of a document may be scattered."""
        chosen = reading.format or guess(head)
        if chosen == "jsonl":
            return every_line if is_nested(head) else None
        return None if chosen == "svmlight" else mention_files.cut

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file of documents."""
        extractor = self.model.extractor
        width = {"width": getattr(extractor.inner, "width", None)} if extractor.kind == "pairs" else {}
        return read_documents(path, reading, {**self.model.about, **width}, gold=gold)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The file with its clusters replaced."""
        return str(corpus.document.rewrite(outputs))

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """Clusters with their items; mentions of a text are marked in it."""
        items = [described_items(document, len(clusters)) for document, clusters in zip(corpus.X, outputs, strict=True)]
        if terminal:
            return "\n".join(line for each in zip(items, outputs, strict=True) for line in cluster_lines(*each)) + "\n"
        return cluster_pictures(corpus.X, items, outputs)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features."""
        names = self.model.extractor.names()
        return {"features": Part("Features of pairs", strongest(self.model.weights, top, names.__getitem__))}

    def answer(self, X: Any, question: Question) -> Explanation:
        """The links of a document; with a span i:j, the reasons for and against linking the items i and j."""
        return explain_pairs(self.model, X, question)


class ClusterFiles(Files):
    """Files with clusters to learn from."""

    reporter = ClusterReporter

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """The documents of a file, and the cluster of every item."""
        return read_documents(path, reading, about, gold=gold)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """JSON lines of records."""
        is_records = (reading.format or guess(raw)) == "jsonl" and are_records(raw)
        return Likeness.LIKELY if is_records else Likeness.NONE

    def compare(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """All scores of clusters."""
        return cluster_evaluation(gold.y, predicted.y, {})


def read_documents(
    path: Source, reading: Reading | None = None, about: Mapping[str, Any] | None = None, *, gold: bool = True
) -> Corpus:
    """The documents of a file, and the cluster of every item if `gold`; `about` are facts about similar files."""
    reading = reading or Reading()
    raw, chosen = open_document(path, reading, READERS, "documents to cluster", "clusters")
    document = READERS[chosen](raw, chosen, reading.columns, about or {}, gold=gold)
    facts = {"format": chosen, **({"columns": list(document.names)} if chosen == "conll" else {}), **document.facts}
    size = {"documents": len(document.X), "items": sum(document.sizes)}
    return Corpus(document.X, document.y if gold else None, facts, size, document)


def cluster_evaluation(gold: Sequence[Labels], outputs: Sequence[Labels], seconds: dict[str, float]) -> Evaluation:
    """How well clusters agree, by all scores."""
    check_items(gold, outputs)
    scores = clustering_scores(gold, outputs)
    losses = {"mitre_loss": mitre_loss(gold, outputs), "pair_loss": pair_loss(gold, outputs)}
    facts = [
        ("B³", share(scores["b3"].f1)),
        ("MITRE loss", share(losses["mitre_loss"])),
        ("pair loss", share(losses["pair_loss"])),
        ("CoNLL", f"{share(conll_f1(scores))}, the mean of MUC, B³ and CEAF by clusters"),
    ]
    return evaluation_of_clusters(scores, "b3_f1", facts, seconds, losses)
