"""Generated data to try things on (`generators`, `treebanks`), and your own data by `read` and `from_frame`."""

from typing import TYPE_CHECKING

from widemargin._lazy import lazy_names

if TYPE_CHECKING:
    from widemargin.data.frames import FrameSequences as FrameSequences
    from widemargin.data.frames import from_frame as from_frame
    from widemargin.files.document import Document as Document
    from widemargin.files.document import label_column as label_column
    from widemargin.files.formats import FORMATS as FORMATS
    from widemargin.files.formats import read as read

__getattr__, __dir__, __all__ = lazy_names(
    "widemargin",
    {
        "data.frames": ["FrameSequences", "from_frame"],
        "files.document": ["Document", "label_column"],
        "files.formats": ["FORMATS", "read"],
    },
)
