"""Files of documents to cluster: records, pairs, or mentions in texts, each in a module of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from widemargin.errors import WidemarginError
from widemargin.files import mentions as mention_files
from widemargin.files.formats import guess
from widemargin.files.pieces import Cut, every_line
from widemargin.files.raw import RawText, Source
from widemargin.report.evaluation import Evaluation
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.cluster import pair_files, record_files
from widemargin.tasks.files import Files, Likeness

READERS: dict[str, Callable[..., Any]] = {
    "jsonl": record_files.read,
    "svmlight": pair_files.read,
    "conllu": mention_files.read,
    "conll": mention_files.read,
}
"""The reader of each format: from the text, its format, names of columns and facts about the training data."""


class ClusterFiles(Files):
    """Files with clusters to learn from."""

    def read(self, path: str, reading: Reading, about: Mapping[str, Any], *, gold: bool, **own: Any) -> Corpus:
        """The documents of a file, and the cluster of every item."""
        return read_documents(path, reading, about, gold=gold)

    def likeness(self, raw: RawText, reading: Reading) -> Likeness:
        """JSON lines of records."""
        is_records = (reading.format or guess(raw)) == "jsonl" and record_files.are_records(raw)
        return Likeness.LIKELY if is_records else Likeness.NONE

    def compared(self, gold: Corpus, predicted: Corpus, **options: Any) -> Evaluation:
        """All scores of clusters."""
        from widemargin.tasks.cluster.evaluation import cluster_evaluation

        return cluster_evaluation(gold.y, predicted.y, {})


def cut(head: RawText, reading: Reading) -> Cut | None:
    """How to cut a file into pieces; None if lines of one document may be anywhere in it."""
    chosen = reading.format or guess(head)
    if chosen == "jsonl":
        return every_line if record_files.is_nested(head) else None
    return None if chosen == "svmlight" else mention_files.cut


def read_documents(
    path: Source, reading: Reading | None = None, about: Mapping[str, Any] | None = None, *, gold: bool = True
) -> Corpus:
    """The documents of a file, and the cluster of every item if `gold`; `about` are facts about similar files."""
    reading = reading or Reading()
    raw = RawText.load(path)
    chosen = reading.format or guess(raw)
    if chosen not in READERS:
        raise WidemarginError(f"documents to cluster are read from {', '.join(READERS)} files, not {chosen}")
    if reading.label is not None or reading.text:
        raise WidemarginError("clusters have their own place in each format; leave out --label and --text")
    names: Sequence[str] | None = reading.columns
    if names is not None and chosen != "conll":
        raise WidemarginError(
            f"{raw.source} is read as {chosen}, where columns have names already; leave out --columns"
        )
    document = READERS[chosen](raw, chosen, names, about or {}, gold=gold)
    facts = {"format": chosen, **({"columns": list(document.names)} if chosen == "conll" else {}), **document.facts}
    size = {"documents": len(document.X), "items": sum(document.sizes)}
    return Corpus(document.X, document.y if gold else None, facts, size, document)
