"""`widemargin train segment`: segmenters."""

from collections.abc import Sequence
from typing import Any

from widemargin.cli.resources import read_penalties
from widemargin.cli.training import train_model
from widemargin.features.segments import SEGMENT_FEATURES
from widemargin.training import SegmenterSettings


def run(
    *, segment_features: Sequence[str] | None, max_length: int | None, penalties: str | None, **options: Any
) -> int | None:
    """Train a segmenter."""
    chosen: dict[str, Any] = {"segment_features": segment_features or list(SEGMENT_FEATURES), "max_length": max_length}
    return train_model(
        SegmenterSettings,
        lambda: chosen | read_penalties(penalties),
        [penalties],
        lexicons_need_templates=not {"lexicon", "similarity"} & set(chosen["segment_features"]),
        **options,
    )
