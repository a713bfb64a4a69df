"""A trained clusterer: features of pairs, and a weight for each.

Model files call its structure ``clusters``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.header import Fields, names, one_of, record
from widemargin.core.sparse import Rows
from widemargin.core.stored import Stored
from widemargin.errors import WidemarginError
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText, Source
from widemargin.report.evaluation import Evaluation
from widemargin.report.explain import Explanation, Option, Question, compared, listed
from widemargin.structures.forest import CorrelationExamples, Documents, ForestExamples
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.cluster.features import PairExtractor
from widemargin.tasks.cluster.files import cluster_evaluation, cut, read_documents
from widemargin.tasks.cluster.pictures import cluster_lines, cluster_pictures, described_items
from widemargin.tasks.clusters import ClusteringModel, predict_clusters
from widemargin.tasks.strongest import Part, strongest

DECODERS: dict[str, type[ForestExamples] | type[CorrelationExamples]] = {
    "forest": ForestExamples,
    "correlation": CorrelationExamples,
}
"""The structures by name."""


@dataclass
class ClusterModel(ClusteringModel):
    """Features of pairs and their weights; `decoder` names the structure."""

    kind = "clusters"
    predicts = "clusters"
    counts: ClassVar[str] = "items"
    fields: ClassVar[Fields] = {
        "labels": names(),
        "features": record({}),
        "decoder": one_of(*DECODERS),
    }

    extractor: PairExtractor
    weights: FloatVector
    decoder: str

    @property
    def w(self) -> FloatVector:
        """All weights."""
        return self.weights

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of features and weights; clusters have no labels."""
        return {"labels": 0, "features": self.extractor.n_features, "weights": len(self.weights)}

    def examples(self, X: Any) -> ForestExamples | CorrelationExamples:
        """Documents as examples to be decoded."""
        return self._examples_of(self.extractor.transform(X))

    def _examples_of(self, documents: Documents) -> ForestExamples | CorrelationExamples:
        return DECODERS[self.decoder](documents, self.extractor.n_features)

    def evaluate(self, X: Any, y: Any, n_threads: int = 1, **options: Any) -> Evaluation:
        """How well the predicted clusters agree with `y`, by all scores, and how long prediction takes."""
        return cluster_evaluation([list(labels) for labels in y], *self.timed(X, n_threads, "clustering"))

    def warm_up(self) -> None:
        """Cluster a document of one item, so that loading compiled kernels does not count."""
        none, ends = np.empty(0, dtype=np.int32), np.zeros(2, dtype=np.int64)
        rows = Rows(np.zeros(1, dtype=np.int64), none, np.empty(0))
        documents = Documents(np.arange(2, dtype=np.int64), ends, none, none, rows)
        predict_clusters(self._examples_of(documents), self.weights)

    # With files at hand.

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Between two documents."""
        return cut(head, reading)

    def read(self, path: Source, reading: Reading, *, gold: bool) -> Corpus:
        """A file of documents."""
        width = {"width": getattr(self.extractor.inner, "width", None)} if self.extractor.kind == "pairs" else {}
        return read_documents(path, reading, {**self.about, **width}, gold=gold)

    def write(self, corpus: Corpus, outputs: Any, reading: Reading) -> str:
        """The file with its clusters replaced."""
        text: str = corpus.document.rewritten(outputs)
        return text

    def draw(self, corpus: Corpus, outputs: Any, *, terminal: bool) -> str:
        """Clusters with their items; mentions of a text are marked in it."""
        items = [described_items(document, len(clusters)) for document, clusters in zip(corpus.X, outputs, strict=True)]
        if terminal:
            return "\n".join(line for each in zip(items, outputs, strict=True) for line in cluster_lines(*each)) + "\n"
        return cluster_pictures(corpus.X, items, outputs)

    # About itself.

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features."""
        names = self.extractor.names()
        return {"features": Part("Features of pairs", strongest(self.weights, top, names.__getitem__))}

    def explain(self, X: Any, question: Question) -> Explanation:
        """The links of a document; with a span i:j, the reasons for and against linking the items i and j."""
        if question.token is not None or question.head is not None or question.label is not None:
            raise WidemarginError(f"the model predicts {self.predicts}; ask for two items by --span I:J")
        documents, one = self.extractor.transform(X), np.zeros(1, dtype=np.int32)
        examples = self._examples_of(documents)
        scores = examples.scored(self.weights, one).scores.own
        items = described_items(X[0], int(documents.items[-1]))
        if question.span is None:
            outputs: Any = examples.decode(self.weights, one)
            joined = examples.structure.flags(examples.sizes, outputs)
            found = sorted(np.flatnonzero(joined).tolist(), key=lambda pair: -scores[pair])
            return listed((_pair(documents, items, pair), float(scores[pair]), "apart") for pair in found)
        i, j = sorted(question.span)
        (at, *_) = [*np.flatnonzero((documents.first == i - 1) & (documents.second == j - 1)).tolist(), None]
        if at is None:
            raise WidemarginError(f"{i} and {j} are not a pair of items of the document, which has {len(items)}")
        linked, apart = self._option(documents, items, at), Option("apart", [])
        return compared(linked, apart) if linked.score > 0.0 else compared(apart, linked)

    def _option(self, documents: Documents, items: Sequence[str], pair: int) -> Option:
        rows, names = documents.features, self.extractor.names()
        places = range(rows.indptr[pair], rows.indptr[pair + 1])
        votes = [(rows.indices[k], rows.values[k] if len(rows.values) else 1.0) for k in places]
        return Option(
            _pair(documents, items, pair),
            [
                (names[f] + ("" if value == 1.0 else f"={value:.3g}"), float(value * self.weights[f]))
                for f, value in votes
            ],
        )

    # Its file.

    def compacted(self) -> Self:
        """The same model without features whose weights are zero."""
        used = self.weights != 0.0
        used[-1] = True
        return replace(self, extractor=self.extractor.keep(used), weights=self.weights[used])

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        described, tensors = self.extractor.describe()
        return {"features": described, "decoder": self.decoder}, tensors | {"weights": self.weights}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        extractor = PairExtractor.restore(stored.part("features"))
        weights = stored.vector("weights", np.float64, extractor.n_features)
        return cls([], extractor, weights, stored.header["decoder"], summary=stored.header["summary"])


def _pair(documents: Documents, items: Sequence[str], pair: int) -> str:
    return f"{items[documents.first[pair]]} – {items[documents.second[pair]]}"
