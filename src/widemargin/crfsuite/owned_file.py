"""A model file that belongs to an estimator.

Either it has a name and stays, or it is temporary and goes when its owner goes; pickling then keeps its contents.
"""

import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class OwnedFile:
    """The file `name`; None as long as a temporary file has not been needed."""

    def __init__(self, name: str | None = None, *, keep: bool = False) -> None:
        self.name, self.keep = name, keep
        self.is_temporary = name is None
        self._removal: Any = None

    @contextmanager
    def replaced(self) -> Iterator[str]:
        """The name to write the next contents to; unless an error occurs, they are then those of the file."""
        if not self.is_temporary:
            assert self.name is not None
            yield self.name
            return
        stream, name = tempfile.mkstemp(".crfsuite", "model")
        os.close(stream)
        try:
            yield name
        except BaseException:
            _remove(name)
            raise
        if self._removal is not None:
            self._removal()
        self.name = name
        if not self.keep:
            self._removal = weakref.finalize(self, _remove, name)

    def __getstate__(self) -> dict[str, Any]:
        contents = None
        if self.is_temporary and self.name is not None:
            with suppress(OSError):
                contents = Path(self.name).read_bytes()
        return {"name": None if self.is_temporary else self.name, "keep": self.keep, "contents": contents}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OwnedFile.__init__(self, state["name"], keep=state["keep"])
        if state["contents"] is not None:
            with self.replaced() as name:
                Path(name).write_bytes(state["contents"])


def _remove(name: str) -> None:
    with suppress(OSError):
        Path(name).unlink()
