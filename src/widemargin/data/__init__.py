"""Generated data to try things on (`generators`, `treebanks`), and your own data by `read` and `from_frame`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from widemargin.data.frames import FrameSequences as FrameSequences
    from widemargin.data.frames import from_frame as from_frame
    from widemargin.files.document import Document as Document
    from widemargin.files.document import label_column as label_column
    from widemargin.files.formats import FORMATS as FORMATS
    from widemargin.files.formats import read as read

_PLACES = {
    "FORMATS": "widemargin.files.formats",
    "Document": "widemargin.files.document",
    "FrameSequences": "widemargin.data.frames",
    "from_frame": "widemargin.data.frames",
    "label_column": "widemargin.files.document",
    "read": "widemargin.files.formats",
}
__all__ = ["FORMATS", "Document", "FrameSequences", "from_frame", "label_column", "read"]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
