"""Files of segments: BIO columns, XML fields, spans in JSON lines."""

from collections.abc import Mapping
from typing import Any

from widemargin.errors import DataError
from widemargin.files.costs import costs_in, read_object
from widemargin.tasks.segment.parameters import SEGMENT_FEATURES
from widemargin.tasks.token_files import TokenFiles


class SegmentFiles(TokenFiles):
    """Files whose segments a segmenter learns to find."""

    def parameters(self, given: dict[str, Any]) -> dict[str, Any]:
        """The file of penalties as the three parameters that it holds."""
        penalties = given.pop("penalties")
        return super().parameters(given) | ({} if penalties is None else read_penalties(penalties))

    def lexicons_need_templates(self, given: Mapping[str, Any]) -> bool:
        """Not where whole segments are looked up in them."""
        return not {"lexicon", "similarity"} & set(given.get("segment_features", SEGMENT_FEATURES))


def read_penalties(path: str) -> dict[str, dict[Any, float]]:
    """Penalties from JSON: costs by label under "precision" and "recall", and under "confusion"."""
    content = read_object(path, "penalties")
    for name, value in content.items():
        if name not in ("precision", "recall", "confusion") or not isinstance(value, dict):
            raise DataError(
                f'{path}: {name!r} is not an object of costs under one of "precision", "recall", "confusion"'
            )
    return {name: costs_in(path, value) for name, value in content.items()}
