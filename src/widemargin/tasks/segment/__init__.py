"""Cut sequences into labelled segments: a semi-Markov model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, TokenParameters, parameter

SEGMENT_FEATURES = ("string", "lower", "shape", "ends", "lexicon", "similarity")
"""The features of whole segments (`tasks.segment.features`)."""


@dataclass(kw_only=True, repr=False, eq=False)
class SegmenterParameters(LatentParameters, TokenParameters):
    """Parameters of segmenters."""

    hidden: ClassVar[str] = "unknown labels"

    segment_features: Sequence[str] = parameter(
        SEGMENT_FEATURES,
        "Features of whole segments; any wrong name lists them all.",
        given_as="names",
        metavar="A,B,…",
    )
    segment_min_count: int = parameter(
        2, "Leave out features of whole segments rarer than this in the training data.", given_as="whole number"
    )
    max_length: "int | Mapping[str, int] | None" = parameter(
        None,
        "Refuse data with longer segments. By default the limit is the longest segment of each label.",
        in_python="A dict sets a limit for each label.",
        given_as="whole number",
        metavar="N",
    )
    precision: "Mapping[str, float] | None" = parameter(
        None, 'The cost of a wrong segment, by label. By default 1, and 0 for "O" (tokens outside).', option=None
    )
    recall: "Mapping[str, float] | None" = parameter(
        None, 'The cost of a missed segment, by label. By default 1, and 0 for "O".', option=None
    )
    confusion: "Mapping[Any, float] | None" = parameter(
        None,
        "The cost of a wrong label on a right segment, {(gold, predicted): cost} or {gold: cost}. By default that of "
        "a wrong segment plus a missed one.",
        option=None,
    )
    dev_metric: Literal["f1", "accuracy", "sequence_accuracy"] = parameter(
        "f1", "The development score: F1 of segments, or the share of right tokens or sequences."
    )


@dataclass(kw_only=True)
class SegmentOptions:
    """Command-line options that are not training parameters."""

    penalties: str | None = parameter(
        None, 'Error costs as JSON: {"recall": {"title": 2}, "precision": {}}.', metavar="FILE"
    )


def _model() -> type[Any]:
    from widemargin.tasks.segment.model import SegmentModel

    return SegmentModel


def _estimator() -> type[Any]:
    from widemargin.tasks.segment.estimator import Segmenter

    return Segmenter


def _arrays() -> type[Any]:
    from widemargin.tasks.segment.out_of_core import SegmentArrays

    return SegmentArrays


def _files() -> Any:
    from widemargin.tasks.segment.files import SegmentFiles

    return SegmentFiles()


TASK = Task(
    {"segment": Kind("Segmenter", SegmenterParameters, _model, _estimator, arrays=_arrays)},
    does="Learn to cut sequences into labelled segments.\n\nThe labels of the data mark segments in BIO, or are XML "
    "fields, or spans in JSON.",
    example="--train citations.xml --max-length 40 --out citations.wm",
    files=_files,
    options=SegmentOptions,
    reads=("label", "format", "columns", "unknown", "alternatives"),
)
