"""Files that are either written completely or not touched at all.

Output goes to a temporary file in the same folder, which is renamed onto the target only once it is complete and on
disk: a crash, a full disk or Ctrl-C leaves the previous file as it was. Devices and pipes (`/dev/null`, `/dev/stdout`)
cannot be renamed onto and are written directly.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO, overload

from widemargin._temporary import open_file, renaming
from widemargin.errors import WidemarginError


@overload
def replacing(path: str | os.PathLike[str], mode: Literal["w"] = "w") -> AbstractContextManager[TextIO]: ...
@overload
def replacing(path: str | os.PathLike[str], mode: Literal["wb"]) -> AbstractContextManager[BinaryIO]: ...
def replacing(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> AbstractContextManager[Any]:
    """Open a stream whose contents become the file `path` when the block ends without an error.

    Text is UTF-8 and its line ends are written as given. The block should do nothing but write: an `OSError` inside it
    is reported as a failure to write `path`.

    Raises
    ------
    WidemarginError
        If the file cannot be written: a missing folder, no permission, a full disk.
    """
    return _replacing(Path(path), mode)


@contextmanager
def _replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    # Tests the path as given: when /dev/stdout is a pipe, it resolves to something that is not a path.
    with writing(path):
        is_special = path.exists() and not path.is_file()
        with open_file(path, mode) if is_special else renaming(Path(os.path.realpath(path)), mode) as stream:
            yield stream


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Report an `OSError` of the block as a failure to write `path`."""
    try:
        yield
    except OSError as error:
        raise WidemarginError(f"{path} cannot be written: {error.strerror or error}") from error
