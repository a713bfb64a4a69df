"""Vectors on disk: first written piece by piece, then mapped into memory, where kernels read them as usual.

Mapped pages count as resident memory, though the system can drop them at any moment. `Pages` drops them itself once
they exceed a budget, so that resident memory does not grow with the data. A thread does so, because a kernel may touch
all pages before it returns. Pages that are needed again come from the system's cache of files, or from the disk if
memory is short.
"""

import mmap
import os
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from time import sleep
from typing import Any, BinaryIO
from weakref import WeakSet, ref

import numpy as np

from widemargin._types import AnyArray, IntVector, LongVector
from widemargin.core.atomic import writing
from widemargin.core.sparse import Rows
from widemargin.errors import ModelFileError

SHARE = 1 << 20
"""How many entries are read at a time; vectors on disk may be larger than memory."""
AT_ONCE = 1 << 16
"""How many bytes are written at once. Linux keeps bytes that are written together as one large page and maps all of it:
with a megabyte at once, reading a few hundred sequences in random order would load the whole file.
"""
MOST_PAGES = 1 << 29
"""How many bytes of mapped files may be resident before some are dropped."""
PORTIONS, SECONDS_BETWEEN_LOOKS = 16, 0.01
PARTS: dict[str, type[np.generic]] = {"indptr": np.int64, "indices": np.int32, "values": np.float64}


class VectorFile:
    """A vector on disk that grows at its end."""

    def __init__(self, path: Path, dtype: type[np.generic]) -> None:
        self.path, self.dtype, self.size = path, np.dtype(dtype), 0
        with writing(path):
            path.touch(exist_ok=False)

    def append(self, values: AnyArray) -> None:
        """Write values behind the last one."""
        self.put(self.size, values)
        self.size += len(values)

    def put(self, first: int, values: AnyArray) -> None:
        """Write values from the entry `first` on."""
        rest = np.ascontiguousarray(values, dtype=self.dtype).view(np.uint8).data
        with writing(self.path), self.path.open("r+b", buffering=0) as stream:
            stream.seek(first * self.dtype.itemsize)
            while len(rest):
                rest = rest[stream.write(rest[:AT_ONCE]) :]

    def part(self, first: int, last: int) -> AnyArray:
        """A copy of the entries first:last."""
        return np.fromfile(self.path, self.dtype, last - first, offset=first * self.dtype.itemsize)

    def parts(self) -> Iterator[tuple[int, AnyArray]]:
        """All entries, `SHARE` at a time, each time with the number of the first one."""
        for first in range(0, self.size, SHARE):
            yield first, self.part(first, min(first + SHARE, self.size))

    def cut(self, size: int) -> None:
        """Keep the first entries only."""
        os.truncate(self.path, size * self.dtype.itemsize)
        self.size = size


class RowsFile:
    """Sparse rows on disk (`core.sparse.Rows`), three vectors; values are written only if some are not 1."""

    def __init__(self, folder: Path, name: str) -> None:
        self.indptr, self.indices, self.values = (
            VectorFile(folder / f"{name}.{part}", dtype) for part, dtype in PARTS.items()
        )
        self.indptr.append(np.zeros(1, dtype=np.int64))

    def append(self, rows: Rows) -> None:
        """Write more rows behind the last one."""
        before = self.indices.size
        if len(rows.values) and not self.values.size:
            self._append_ones(before)
        self.indptr.append(rows.indptr[1:] + before)
        self.indices.append(rows.indices)
        if len(rows.values):
            self.values.append(rows.values)
        elif self.values.size:
            self._append_ones(len(rows.indices))

    def renumber(self, numbers: IntVector) -> None:
        """Replace every index by its new number, and drop the entries whose number is −1; in place, share by share."""
        read = write = 0
        for first in range(0, self.indptr.size - 1, SHARE // 16):
            ends = self.indptr.part(first, min(first + SHARE // 16 + 1, self.indptr.size))
            # The first end of this share is the last of the share before, which has moved already.
            ends[0] = read
            new = numbers[self.indices.part(read, int(ends[-1]))]
            kept = new >= 0
            if self.values.size:
                self.values.put(write, self.values.part(read, int(ends[-1]))[kept])
            self.indices.put(write, new[kept])
            left = np.concatenate([[0], np.cumsum(kept)])[ends - read] + write
            self.indptr.put(first, left)
            read, write = int(ends[-1]), int(left[-1])
        self.indices.cut(write)
        self.values.cut(write if self.values.size else 0)

    def drop_ones(self) -> None:
        """Drop the values if all are 1 by now."""
        if all((part == 1.0).all() for _, part in self.values.parts()):
            self.values.cut(0)

    def _append_ones(self, n: int) -> None:
        for first in range(0, n, SHARE):
            self.values.append(np.ones(min(SHARE, n - first)))


class Pages:
    """Files that are mapped into memory: those of a folder, and temporary ones for vectors computed from them.

    The files must have the given `digests`; None accepts any.
    """

    def __init__(self, folder: Path, digests: Mapping[str, str] | None = None) -> None:
        self.folder, self.digests, self.n_bytes, self._next = folder, digests, 0, 0
        self._maps: WeakSet[mmap.mmap] = WeakSet()
        self._others = _resident_files()
        if self._others and hasattr(mmap, "MADV_DONTNEED"):
            Thread(target=_watch, args=[ref(self)], daemon=True).start()

    def contents(self) -> Any:
        """Nothing, for digests (`core.contents`): only the vectors count, not their folder."""
        return ()

    def vector(self, name: str, dtype: type[np.generic]) -> AnyArray:
        """The vector in a file, for reading only: changes are lost when its pages are dropped."""
        path = self.folder / name
        try:
            with path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size % np.dtype(dtype).itemsize:
                    raise ModelFileError(f"{path} is damaged: it is truncated")
                # The digest of the open file, not of the path: another process may replace the file at any moment.
                if self.digests is not None and _digest(stream) != self.digests.get(name):
                    raise ModelFileError(f"{path} is damaged: it is not as it was written")
                if not size:
                    return np.empty(0, dtype=dtype)  # no empty file can be mapped
                # Not read-only: for such arrays, kernels would be compiled once more.
                content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:
            raise ModelFileError(f"{path} is damaged: it cannot be read: {error.strerror or error}") from error
        self.n_bytes += len(content)
        return self._mapped_vector(content, dtype)

    def room(self, size: int, dtype: Any) -> AnyArray:
        """A vector to write to, in a nameless file beside the folder that vanishes with the vector."""
        n_bytes, beside = max(size, 1) * np.dtype(dtype).itemsize, self.folder.parent
        with writing(beside), TemporaryFile(dir=beside) as stream:
            # The disk space is reserved now: running out of it later would kill the process.
            getattr(os, "posix_fallocate", lambda file, _, n: os.truncate(file, n))(stream.fileno(), 0, n_bytes)
            content = mmap.mmap(stream.fileno(), n_bytes)
        return self._mapped_vector(content, dtype)[:size]

    def _mapped_vector(self, content: mmap.mmap, dtype: Any) -> AnyArray:
        """A vector whose pages count towards the budget."""
        if hasattr(mmap, "MADV_RANDOM"):
            content.madvise(mmap.MADV_RANDOM)  # sequences are visited in random order: reading ahead is useless
        self._maps.add(content)
        return np.frombuffer(content, dtype=dtype)

    def holds(self, name: str) -> bool:
        """Whether a `RowsFile` wrote rows of this name."""
        first = f"{name}.indptr"
        return (self.folder / first).exists() if self.digests is None else first in self.digests

    def rows(self, name: str) -> Rows:
        """The rows that a `RowsFile` wrote; their entries fit together."""
        rows = Rows(*(self.vector(f"{name}.{part}", dtype) for part, dtype in PARTS.items()))
        if len(rows.values) not in (0, len(rows.indices)):
            raise ModelFileError(f"{self.folder / name}.values is damaged: not every entry has one")
        self.check_boundaries(f"{name}.indptr", rows.indptr, len(rows.indices))
        return rows

    def boundaries(self, name: str, n: int) -> LongVector:
        """The vector in a file, which leads from 0 up to n."""
        indptr: LongVector = self.vector(name, np.int64)
        self.check_boundaries(name, indptr, n)
        return indptr

    def give_back(self) -> None:
        """Drop mapped pages from memory, portion by portion, until they are within the budget."""
        for _ in range(PORTIONS):
            if _resident_files() - self._others <= MOST_PAGES:
                break
            self.drop(self._next)
            self._next = (self._next + 1) % PORTIONS

    def drop(self, portion: int) -> None:
        """Drop a portion of all mapped pages; one that is touched again is read again from its file."""
        for each in list(self._maps):
            step = -(-len(each) // (PORTIONS * mmap.PAGESIZE)) * mmap.PAGESIZE
            begin, end = min(portion * step, len(each)), min((portion + 1) * step, len(each))
            if begin < end:
                each.madvise(mmap.MADV_DONTNEED, begin, end - begin)

    def check_boundaries(self, name: str, indptr: LongVector, n: int) -> None:
        """Raise unless a vector leads from 0 up to n, because kernels do not check."""
        shares = (indptr[first : first + SHARE + 1] for first in range(0, len(indptr), SHARE))
        rising = all((share[1:] >= share[:-1]).all() for share in shares)
        if not (len(indptr) and indptr[0] == 0 and indptr[-1] == n and rising):
            raise ModelFileError(f"{self.folder / name} is damaged: it does not lead from 0 up to {n}")


def _watch(pages: "ref[Pages]") -> None:
    """Drop pages above the budget again and again, until nobody refers to `pages`."""
    while (found := pages()) is not None:
        found.give_back()
        del found
        sleep(SECONDS_BETWEEN_LOOKS)


def _resident_files() -> int:
    """How many bytes of files are resident in this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[2]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


def digest_of(path: str | os.PathLike[str]) -> str:
    """A digest of the contents of a file."""
    with open(path, "rb") as stream:
        return _digest(stream)


def _digest(stream: BinaryIO) -> str:
    """A digest of an open file."""
    found = blake2b(digest_size=16)
    while block := stream.read(SHARE):
        found.update(block)
    return found.hexdigest()
