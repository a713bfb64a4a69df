"""Every extractor by the name that model files know it by."""

from typing import Any

from widemargin._types import AnyArray
from widemargin.features.base import Arrays, Extractor
from widemargin.features.matrices import MatrixExtractor
from widemargin.features.records import RecordExtractor
from widemargin.features.template_extractor import TemplateExtractor

KINDS: dict[str, type[TemplateExtractor] | type[RecordExtractor] | type[MatrixExtractor]] = {
    "templates": TemplateExtractor,
    "records": RecordExtractor,
    "matrix": MatrixExtractor,
}


def describe(extractor: Extractor) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """An extractor as JSON and arrays."""
    header, arrays = extractor.describe()
    kind = next(name for name, cls in KINDS.items() if isinstance(extractor, cls))
    return {"kind": kind, **header}, arrays


def restore(header: dict[str, Any], arrays: Arrays) -> Extractor:
    """The extractor that `describe` described."""
    return KINDS[header["kind"]].restore(header, arrays)
