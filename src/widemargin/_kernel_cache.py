"""Compiled kernels on disk, checked before they are trusted.

Numba's own cache unpickles whatever it finds and runs it: a damaged file ends in an error or a crash, and a file that
somebody else has put there runs with the user's rights. So kernels are kept in a directory that only the user can write
to, one file for each kernel and signature, and every file begins with a digest of the rest. A file that is damaged or
was not made here is dropped, and its kernel is compiled again. Nothing that goes wrong with the cache ends a run.

Numba's cache also watches only the file of the outermost kernel: editing a callee elsewhere would leave a stale caller
behind. Here the key of a kernel covers its own source file and all files of the package that this one imports, directly
or not: everything that a kernel calls or reads comes from there. Editing a task does not affect the kernels of others.
"""

import hashlib
import logging
import os
import pickle
import re
import stat
import sys
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import numba
from numba.core.serialize import dumps

from widemargin._temporary import renaming

logging.getLogger("widemargin").addHandler(logging.NullHandler())  # programs decide what is shown
LOG = logging.getLogger(__name__)
MAGIC = b"widemargin kernel\n"
DIGEST_SIZE = 32


def private_directory(path: Path) -> Path | None:
    """Make `path` a directory that only this user can write to; None, with a line in the log, if it cannot be one."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(path.lstat()):
            return path
        reason = "others can write to it"
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    LOG.warning("compiled kernels are not kept, and not read from %s: %s", path, reason)
    return None


def _is_private(found: os.stat_result) -> bool:
    """Whether nobody but this user can write to a file or directory; Windows keeps users apart by folders instead."""
    if sys.platform == "win32":
        return True
    writable_by_others = stat.S_ISLNK(found.st_mode) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.geteuid() and not writable_by_others


class KernelCache:
    """The compiled versions of one function; Numba asks for them and hands over new ones.

    `way` is the module that compiles; it packs and unpacks kernels.
    """

    def __init__(self, function: Callable[..., Any], directory: Path, way: Any) -> None:
        self.function, self.directory, self.way = function, directory, way
        self.name = f"{function.__module__}.{function.__qualname__}"

    @cached_property
    def origin(self) -> tuple[Any, ...]:
        """Everything that the function is made from; computed on first use, since few imported functions are called."""
        code, closure = self.function.__code__, self.function.__closure__ or ()
        values = dumps(tuple(cell.cell_contents for cell in closure))
        constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
        named = repr((code.co_names, constants)).encode()  # all that tells apart two functions in one line
        made_from = [hashlib.sha256(each).hexdigest() for each in (code.co_code, named, values)]
        return (
            numba.__version__,
            self.way.__name__,
            sys.implementation.cache_tag,
            self.name,
            code.co_firstlineno,
            *made_from,
            sources_digest(code.co_filename),
        )

    @property
    def cache_path(self) -> str:
        """The directory, for Numba's statistics."""
        return str(self.directory)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature, or None if it must be compiled."""
        key = self._key(sig, target_context.codegen())
        content = checked_content(self._path(key))
        if content is None:
            return None
        kept, parts = pickle.loads(content)
        return self.way.unpack(target_context, *parts) if kept == key else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel, unless it holds addresses of this process or the disk is full."""
        if data.library.has_dynamic_globals or data.lifted:
            LOG.warning("the kernel %s cannot be kept: it refers to objects of this process", self.name)
            return
        key = self._key(sig, data.codegen)
        try:
            write_content(self._path(key), dumps((key, self.way.pack(data))))
        except OSError as error:
            _cannot_write(self.directory, error.strerror or str(error))

    def enable(self) -> None:
        """Part of Numba's interface; the cache is always enabled."""

    def disable(self) -> None:
        """Part of Numba's interface; the cache is always enabled."""

    def flush(self) -> None:
        """Part of Numba's interface: kernels compiled again replace those kept."""

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple(), self.origin

    def _path(self, key: tuple[Any, ...]) -> Path:
        readable = self.name.replace("<", "").replace(">", "")
        return self.directory / f"{readable}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.kernel"


def checked_content(path: Path) -> bytes | None:
    """The content of a file; None if it does not exist or cannot be trusted, in which case it is removed."""
    try:
        with path.open("rb") as stream:
            private, content = _is_private(os.fstat(stream.fileno())), stream.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        LOG.warning("the compiled kernel %s cannot be read (%s) and is compiled again", path, error.strerror)
        return None
    begin = len(MAGIC) + DIGEST_SIZE
    if private and content[:begin] == MAGIC + _digest(path, content[begin:]):
        return content[begin:]
    LOG.warning("the compiled kernel %s is damaged or was not made here, and is compiled again", path)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _cannot_write(path.parent, error.strerror or str(error))
    return None


def write_content(path: Path, content: bytes) -> None:
    """Write a file that `checked_content` accepts."""
    with renaming(path, "wb", private=True) as stream:
        stream.write(MAGIC + _digest(path, content) + content)


def _digest(path: Path, content: bytes) -> bytes:
    """A digest of a file with its name, since a kernel under the name of another would crash as well."""
    digest = hashlib.blake2b(path.name.encode(), digest_size=DIGEST_SIZE)
    digest.update(content)
    return digest.digest()


PACKAGE = Path(__file__).parent
IMPORT = re.compile(rb"^from widemargin([\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


@cache
def sources_digest(path: str) -> str:
    """A digest of a source file and of every file of the package that it imports at its top, directly or not."""
    found, waiting = {path: _source(path)}, [path]
    while waiting:
        for each in _imports_of(waiting.pop()):
            if each not in found:
                found[each] = _source(each)
                waiting.append(each)
    digest = hashlib.sha256()
    for each in sorted(found):
        digest.update(hashlib.sha256(found[each]).digest())
    return digest.hexdigest()


@cache
def _imports_of(path: str) -> list[str]:
    """The files of the package that a source file may import at its top."""
    files = []
    for module, names in IMPORT.findall(_source(path)):
        folder = PACKAGE.joinpath(*module.decode().split("."))
        files += [folder.with_suffix(".py"), folder / "__init__.py"]
        files += [folder / f"{name}.py" for name in re.findall(r"\w+", names.decode())]
    return [str(file) for file in files if file.is_file()]


@cache
def _source(path: str) -> bytes:
    """The source file of a function; nothing if it has none, as in a notebook."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


@cache  # says it once, not for every kernel
def _cannot_write(directory: Path, reason: str) -> None:
    LOG.warning("compiled kernels cannot be kept in %s: %s", directory, reason)
