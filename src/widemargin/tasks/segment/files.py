"""How segmenters read and write files: labels of tokens, spans in JSON lines, and penalties."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.errors import DataError
from widemargin.files.given import costs_in, read_object
from widemargin.files.jsonlines import SPANS
from widemargin.tasks.base import Corpus
from widemargin.tasks.segment import SEGMENT_FEATURES
from widemargin.tasks.strongest import Part, label_parts, strongest, strongest_by_label
from widemargin.tasks.token_files import TokenFiles, TokenReporter
from widemargin.text.columns import Columns
from widemargin.text.spans import bio

if TYPE_CHECKING:
    from widemargin.tasks.segment.model import SegmentModel


class SegmentReporter(TokenReporter):
    """Reports on segmenters."""

    model: "SegmentModel"

    def cells(self, outputs: list[list[Any]], X: Columns) -> list[str]:
        """Segments as a column of BIO labels."""
        sizes = np.diff(X.indptr).tolist()
        return [label for spans, size in zip(outputs, sizes, strict=True) for label in bio(spans, size)]

    def column_to_write(self, corpus: Corpus, wanted: str | None) -> str:
        """The column for labels, as for taggers; but JSON without labels gets spans."""
        document = corpus.document
        if wanted is None and corpus.about["format"] == "jsonl" and document.label not in document.columns:
            return SPANS
        return super().column_to_write(corpus, wanted)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features of tokens and segments, lengths, transitions, first and last labels."""
        weights, labels = self.model.weights, self.model.labels
        of_tokens, of_segments = (strongest_by_label(*each, labels, chosen, top) for each in self.model.named_rows())
        lengths = {
            labels[j]: strongest(weights.length[:, j], top, lambda d: f"{d + 1} token{'s' * (d > 0)}") for j in chosen
        }
        return {
            "features": Part("Features for and against", by_label=of_tokens),
            "segment_features": Part("Features of whole segments for and against", by_label=of_segments),
            "lengths": Part("Lengths for and against", by_label=lengths),
            **label_parts(weights, labels, chosen, top),
        }


class SegmentFiles(TokenFiles):
    """Files with segments to learn."""

    reporter = SegmentReporter

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """Replace the file of penalties by the parameters in it."""
        penalties = given.pop("penalties")
        return super().parameters(given) | ({} if penalties is None else read_penalties(penalties))

    def lexicons_need_templates(self, given: Mapping[str, Any]) -> bool:
        """Whether no feature of whole segments uses the lexicons."""
        return not {"lexicon", "similarity"} & set(given.get("segment_features", SEGMENT_FEATURES))


def read_penalties(path: str) -> dict[str, dict[Any, float]]:
    """Read penalties from JSON: costs under "precision", "recall" and "confusion"."""
    content = read_object(path, "penalties")
    for name, value in content.items():
        if name not in ("precision", "recall", "confusion") or not isinstance(value, dict):
            raise DataError(
                f'{path}: {name!r} is not an object of costs under one of "precision", "recall", "confusion"'
            )
    return {name: costs_in(path, value) for name, value in content.items()}
