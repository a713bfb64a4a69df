"""Files of segments: BIO columns, XML fields, spans in JSON lines."""

from collections.abc import Mapping
from typing import Any

from widemargin.errors import DataError
from widemargin.files.costs import costs_in, read_object
from widemargin.tasks.segment.parameters import SEGMENT_FEATURES
from widemargin.tasks.token_files import TokenFiles


class SegmentFiles(TokenFiles):
    """Files with segments to learn."""

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
