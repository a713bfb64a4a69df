"""Files and folders that appear whole or not at all: they are written under a temporary name, then renamed.

Whoever ends the process on the spot (`os._exit`) calls `remove_all` first, since no clean-up code runs then. The
command line imports this before anything else, so it imports little itself.
"""

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_unfinished: set[Path] = set()
_lock = threading.Lock()  # held while a temporary file is created or renamed


@contextmanager
def renaming(target: Path, mode: str, *, private: bool = False) -> Iterator[IO[Any]]:
    """Open a stream whose contents become the file `target` when the block ends without an error.

    A `private` file is readable only by this user and easily made again, so it is not forced onto the disk.
    """
    temporary = _unused_name(target.parent)
    try:
        with _lock:
            _unfinished.add(temporary)
            stream = open_file(temporary, mode.replace("w", "x"), 0o600 if private else 0o666)
        with stream:
            yield stream
            stream.flush()
            if not private:
                os.fsync(stream.fileno())
        if target.exists() and not private:
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        with _lock:
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _unfinished.discard(temporary)


@contextmanager
def temporary_folder(within: Path) -> Iterator[Path]:
    """A new folder that is removed when the block ends, unless it has been renamed by then."""
    temporary = _unused_name(within)
    try:
        with _lock:
            _unfinished.add(temporary)
            temporary.mkdir(mode=0o700)
        yield temporary
    finally:
        # Waits if `remove_all` holds the lock: the process is ending then, and a missing folder is no error.
        with _lock:
            shutil.rmtree(temporary, ignore_errors=True)
        _unfinished.discard(temporary)


def _unused_name(folder: Path) -> Path:
    return folder / f".widemargin-{os.urandom(8).hex()}.tmp"


def remove_all() -> None:
    """Remove all temporary files and folders of this process, which must end: no new one can be made afterwards."""
    # A signal handler may interrupt the very code that holds the lock; waiting longer would not help then.
    _lock.acquire(timeout=1.0)
    for temporary in list(_unfinished):
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def open_file(path: Path, mode: str, permissions: int = 0o666) -> IO[Any]:
    """Open a file; text is UTF-8, with line ends as they are given."""
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, permissions), **text)
