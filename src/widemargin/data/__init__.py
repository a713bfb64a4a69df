"""Corpora of labelled tokens: reading them into columns, and writing them back with a column replaced."""

from widemargin.data.atomic import replacing
from widemargin.data.document import Document, label_column
from widemargin.data.formats import FORMATS, read

__all__ = ["FORMATS", "Document", "label_column", "read", "replacing"]
