"""The files that a command writes, checked before it does any work."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from widemargin.errors import WidemarginError


def check_target(path: str, *, inputs: Iterable[str | None] = ()) -> None:
    """Raise an error now, not after an hour of work, if the file `path` cannot be written or is one of the inputs."""
    target = Path(path)
    if target.is_dir():
        raise WidemarginError(f"{path} is a folder; give the name of a file to write")
    if target.exists() and any(each is not None and _same(target, each) for each in inputs):
        raise WidemarginError(f"{path} is read by this command; give another name to the file to write")
    if target.exists() and not target.is_file():
        return  # a device or a pipe, which needs no new file
    folder = Path(os.path.realpath(path)).parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WidemarginError(f"{path} cannot be written into {folder}: {error.strerror}") from error


def check_folder(path: str, files: Iterable[str], *, inputs: Sequence[str | None] = ()) -> None:
    """Check `files` in the folder `path`, which need not exist yet, in the same way."""
    folder = Path(path)
    if folder.is_dir():
        for name in files:
            check_target(str(folder / name), inputs=inputs)
        return
    above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not above.is_dir():
        raise WidemarginError(f"{above} is a file; {path} cannot be made a folder")
    check_target(str(above / folder.name))


def _same(target: Path, other: str) -> bool:
    return os.path.exists(other) and target.samefile(other)
