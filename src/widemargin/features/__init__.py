"""Features: from tokens in columns, ready-made feature records or matrices to sparse rows."""

from widemargin.features.attributes import Resources
from widemargin.features.base import Extractor, Features
from widemargin.features.inputs import as_columns, choose_extractor
from widemargin.features.matrices import MatrixExtractor
from widemargin.features.records import RecordExtractor
from widemargin.features.template_extractor import TemplateExtractor
from widemargin.features.templates import DEFAULT_TEMPLATES, parse_templates

__all__ = [
    "DEFAULT_TEMPLATES",
    "Extractor",
    "Features",
    "MatrixExtractor",
    "RecordExtractor",
    "Resources",
    "TemplateExtractor",
    "as_columns",
    "choose_extractor",
    "parse_templates",
]
