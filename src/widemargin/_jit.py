"""The one kernel decorator: how the library's hot loops are compiled, and where the compiled code is kept.

Numba's cache watches only the file of the outermost kernel, so editing a callee in another file would leave a stale
caller behind. The cache directory is therefore named by a digest of all the package's sources, which also lets two
versions live side by side and serves installations that cannot be written to.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

config: Any = numba.config


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


def _source_digest() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_directory() -> str | None:
    """The folder of compiled kernels; None if none can be written, so that every process compiles them anew."""
    base = Path(config.CACHE_DIR) if config.CACHE_DIR else _user_cache() / "widemargin"
    directory = base / f"widemargin-{_source_digest()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return str(directory)
    except (OSError, RuntimeError):
        return None


_DIRECTORY = _cache_directory()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` without the GIL, cached across processes.

    `fastmath` is limited to reassociation and contraction, which let sums vectorise: the full flag assumes that there
    are no infinities, but constraints are written as −inf.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = _DIRECTORY or before
    try:
        compiled = numba.njit(
            cache=_DIRECTORY is not None, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
        )(function)
    finally:
        config.CACHE_DIR = before
    return cast("Callable[P, R]", compiled)
