"""Training on more data than fit into memory, on one machine.

Data are read once, piece by piece. Each piece is compiled with features and labels numbered as they come, and its
arrays are appended to files in a folder. At the end, features and labels are renumbered as if all data had come at
once, and the files are mapped into memory (`core.mapped`). Training on them gives the same weights as training in
memory, bit for bit. A kind of model that can do so has a class of arrays (`tasks.arrays.Arrays`).

A temporary folder is removed as soon as its files are mapped: the system keeps their contents until training is over.
A folder named by the user is a cache: the next run on the same files with the same features reads its arrays. An entry
of the cache is a folder whose name is a digest of data and settings:

    cache/<digest>/arrays.wm      labels, features, sizes and digests of the files (JSON and tensors, as in model files)
    cache/<digest>/…              a file per array, nothing but numbers

An entry is written under another name and renamed as a whole, so there is never half an entry. Its files are mapped
before the renaming; files of an older entry are compared with their digests as they are mapped. So no other process or
thread can exchange them. A damaged entry is written again, with a warning. Nothing in a cache is ever executed.
"""

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from errno import EEXIST, ENOTEMPTY
from functools import partial
from glob import glob
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

from widemargin._temporary import temporary_folder
from widemargin._version import __version__
from widemargin.core.header import Place, mapping, row, text, whole
from widemargin.core.mapped import Pages, digest_of
from widemargin.core.model_file import read_model, write_model
from widemargin.core.stop import Callback
from widemargin.core.stored import Stored
from widemargin.errors import DataError, ModelFileError, UnsupportedError, WidemarginError
from widemargin.tasks import Kind, Task, kind_of, kinds
from widemargin.tasks.base import DATA, Piece, Reading, counted_within
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.training import Compiled, Data

LOG = logging.getLogger(__name__)

HEADER = "arrays.wm"
STRUCTURE, VERSION = "arrays", 2
POSITIONS = 1 << 17
"""The number of tokens, or of entries of matrices, in a piece of data that do not come in files."""


@dataclass(frozen=True)
class Stream:
    """Data that are read once.

    Parameters
    ----------
    source : a file, several, or patterns such as ``"corpus/*.conllu"``; ``"-"`` is the standard input; or an iterable
        of pairs (x, y)
    reading : how files are read, as on the command line
    cache : a folder that keeps the arrays; None removes them
    """

    source: Any
    reading: Reading = field(default_factory=Reading)
    cache: str | os.PathLike[str] | None = None

    def paths(self) -> list[str] | None:
        """The files; None if data do not come in files."""
        given = self.source
        if isinstance(given, str | os.PathLike):
            given = [given]
        if not (isinstance(given, list | tuple) and given and isinstance(given[0], str | os.PathLike)):
            return None
        return list(chain.from_iterable(map(_files, map(os.fspath, given))))

    def pieces(self, task: Task, **own: Any) -> Iterator[Piece]:
        """The files, piece by piece; later ones are read in the same way as the first. `own` are the task's options."""
        files, reading, about = task.load_files(), self.reading, dict[str, Any]()
        for path in self.paths() or ():
            first = None
            for piece in files.pieces(path, reading, about, **own):
                first = first or piece.corpus
                yield piece
            if first is not None and not about:
                about = first.about.copy()
                about.pop("width", None)  # the next file may be wider
                if "label" in task.reads:
                    reading = reading._replace(label=reading.label or about["label"])


def _files(given: str) -> list[str]:
    """The files that a path or a pattern names, in order."""
    if given == "-" or os.path.exists(given):
        return [given]
    found = sorted(glob(given))
    if not found:
        raise DataError(f"{given} cannot be read: there is no such file, and no file is named like it")
    return found


def check_able(kind: Kind) -> None:
    """Raise unless models of this kind can learn out of core."""
    if not kind.arrays:
        able = ", ".join(each.name for _, each in kinds() if each.arrays)
        raise UnsupportedError(f"{kind.name} needs all data in memory; only {able} can learn out of core")


def compile_stream(parameters: Parameters, data: Data) -> Compiled[Any]:
    """Compile the `Stream` in `data.X` to arrays on disk."""
    stream: Stream = data.X
    task, name, kind = kind_of(parameters)
    check_able(kind)
    own = {name: True} if len(task.kinds) > 1 else {}
    write = partial(_write, task, kind, own, parameters, stream, data.told)
    stored, compiled = _from_cache(kind, parameters, stream, data, write)
    found = {"data": stored.header["data"]}
    if "format" not in found["data"]:
        return compiled
    return replace(compiled, model=lambda solution, summary: compiled.model(solution, summary | found))


def _from_cache(
    kind: Kind, parameters: Parameters, stream: Stream, data: Data, write: Callable[[Path], None]
) -> tuple[Stored, Compiled[Any]]:
    """The arrays of a cache entry, or of a folder written now, which becomes an entry if the data have a key.

    Whatever other runs do to the cache meanwhile, a run has the arrays that it wrote, or those of one whole entry.
    """
    open_ = partial(_open, kind, parameters, data)
    if stream.cache is None:
        cache, key = Path(tempfile.gettempdir()), None
    else:
        cache, key = Path(stream.cache), _key(kind, parameters, stream)
    entry = cache / (key or "")
    damaged = False
    if key and entry.exists():
        try:
            return open_(entry)
        except (ModelFileError, OSError) as error:
            LOG.warning("%s; it is made anew", error)
            damaged = True
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WidemarginError(f"the folder {cache} cannot be made: {error.strerror or error}") from error
    with temporary_folder(cache) as folder:
        write(folder)
        opened = open_(folder)  # before it is published: mapped files cannot be exchanged
        if key:
            _publish(folder, entry, damaged)
    return opened


def _publish(folder: Path, entry: Path, damaged: bool) -> None:
    """Make a folder an entry of the cache, unless another run was quicker."""
    try:
        if damaged:
            with temporary_folder(entry.parent) as aside, suppress(FileNotFoundError):
                entry.rename(aside / entry.name)  # removed together with `aside`
        folder.rename(entry)
    except OSError as error:
        if error.errno not in (ENOTEMPTY, EEXIST):
            raise WidemarginError(f"the entry {entry} cannot be made: {error.strerror or error}") from error


def _write(
    task: Task,
    kind: Kind,
    own: dict[str, Any],
    parameters: Parameters,
    stream: Stream,
    told: Sequence[Callback],
    folder: Path,
) -> None:
    """Read all data, and write the arrays."""
    arrays = kind.arrays()(parameters, folder)
    about, size, n_examples = dict[str, Any](), dict[str, int](), 0
    if stream.paths() is None:
        for X, y in _batches(stream.source):
            with _numbering(n_examples):
                arrays.add(Data(X, y))
            n_examples += len(X)
            _tell(told, n_examples, folder)
    for corpus, source, first in stream.pieces(task, **own):
        about = about or corpus.about
        with counted_within(source, first):
            arrays.add(Data(corpus.X, corpus.y))
        size = {what: size.get(what, 0) + count for what, count in corpus.size.items()}
        _tell(told, next(iter(size.values())), folder)
    header, tensors = arrays.settle()
    about |= {"width": header["width"]} if "width" in about else {}
    files = {each.name: [each.stat().st_size, digest_of(each)] for each in folder.iterdir()}
    facts = {"structure": STRUCTURE, "version": VERSION, "data": about | size, "files": files, **header}
    write_model(folder / HEADER, facts, tensors)


def _batches(source: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Pairs (x, y) in pieces."""
    if isinstance(source, str | bytes | Mapping) or not isinstance(source, Iterable):
        raise DataError(f"files, or an iterable of pairs (x, y), are wanted, not {source!r:.60}")
    X, y, size = list[Any](), list[Any](), 0
    for n, pair in enumerate(source):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and hasattr(pair[0], "__len__")):
            raise DataError(f"example {n} must be a pair (x, y), not {pair!r:.60}")
        X.append(pair[0])
        y.append(pair[1])
        size += pair[0].size if hasattr(pair[0], "size") else len(pair[0])
        if size >= POSITIONS:
            yield X, y
            X, y, size = [], [], 0
    if X:
        yield X, y


@contextmanager
def _numbering(first: int) -> Iterator[None]:
    """Add the number of the first example of a piece to errors about it, since they count within the piece."""
    try:
        yield
    except WidemarginError as error:
        if not first:
            raise
        raise type(error)(f"in the examples from number {first} on: {error}") from error


def _tell(told: Sequence[Callback], n_examples: int, folder: Path) -> None:
    written = sum(each.stat().st_size for each in folder.iterdir()) if told else 0
    for callback in told:
        callback.on_read(n_examples, written / 1e6)


def _key(kind: Kind, parameters: Parameters, stream: Stream) -> str | None:
    """A digest of the data and of all settings that the arrays depend on; None if data can be read only once."""
    paths = stream.paths()
    if paths is None or not all(map(os.path.isfile, paths)):
        return None
    settings = {name: getattr(parameters, name) for name in kind.arrays().settings}
    try:
        files = [(Path(path).suffix, digest_of(path)) for path in paths]
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror}") from error
    known = [kind.name, stream.reading, settings, files]
    spelt = json.dumps(
        known, sort_keys=True, default=lambda each: dict(each) if isinstance(each, Mapping) else list(each)
    )
    return blake2b(spelt.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _open(kind: Kind, parameters: Parameters, data: Data, folder: Path) -> tuple[Stored, Compiled[Any]]:
    """The arrays in a folder, and the facts beside them; every file is compared with its digest when it is mapped."""
    stored = Stored(Place(f"the cache {folder}"), *read_model(folder / HEADER))
    if stored.checked({"structure": text(), "version": whole()})["version"] != VERSION:
        raise stored.place.error(f"is of another version, not of widemargin {__version__}")
    stored.checked({"structure": text(), "data": DATA, "files": mapping(row(whole(at_least=0), text()))})
    pages = Pages(folder, {name: digest for name, (_, digest) in stored.header["files"].items()})
    return stored, kind.arrays().compiled(parameters, stored, pages, data)
