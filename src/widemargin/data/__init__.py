"""Generated data to try things on (`generators`, `treebanks`), and your own data by `read`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from widemargin.files.document import Document as Document
    from widemargin.files.document import label_column as label_column
    from widemargin.files.formats import FORMATS as FORMATS
    from widemargin.files.formats import read as read

__all__ = ["FORMATS", "Document", "label_column", "read"]


def __getattr__(name: str) -> object:
    from widemargin.files import document, formats

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(formats if hasattr(formats, name) else document, name)
