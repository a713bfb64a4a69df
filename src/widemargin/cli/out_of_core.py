"""`train` on more data than fit into memory: reading in pieces, and a report on disk space and memory."""

import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from widemargin.cli.output import spelt_size
from widemargin.core.examples import OnDisk
from widemargin.tasks import Task
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.out_of_core import Stream, check_able, compile_stream
from widemargin.tasks.parameters import Parameters
from widemargin.tasks.training import Compiled, Data


class OutOfCore:
    """Data that are read in pieces, and the size of their arrays."""

    def __init__(self, task: Task, path: str, reading: Reading, cache: str | None) -> None:
        for kind in task.kinds.values():
            check_able(kind)
        self.task, self.stream, self.n_bytes = task, Stream(path, reading, cache), 0

    def beginning(self) -> Corpus:
        """The first piece, as a sample of the data; empty for a pipe, which can be read only once."""
        if self.stream.source == "-":
            return Corpus(None, None, {}, {}, None)
        return next(self.stream.corpora(self.task))

    def compile(self, parameters: Parameters, data: Data) -> Compiled[Any]:
        """Compile all data."""
        compiled = compile_stream(parameters, data._replace(X=self.stream, y=None))
        assert isinstance(compiled.examples, OnDisk)
        self.n_bytes = compiled.examples.pages.n_bytes
        return compiled

    def results(self) -> dict[str, Any]:
        """The size and the folder of the arrays, and the peak of resident memory."""
        kept = self.stream.cache is not None
        folder = str(self.stream.cache) if kept else tempfile.gettempdir()
        return {"arrays": {"bytes": self.n_bytes, "folder": folder, "kept": kept}, "peak_memory": peak_memory()}


def facts(results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The results of `OutOfCore.results` as text."""
    if "arrays" in results:
        size, folder, kept = results["arrays"].values()
        yield "arrays", f"{spelt_size(size)} in {folder}, {'kept' if kept else 'removed'}"
    if results.get("peak_memory"):
        yield "memory", f"{spelt_size(results['peak_memory'])} at most, with mapped files"


def peak_memory() -> int | None:
    """The peak of this process's resident memory in bytes; None if the system does not report it."""
    try:
        with open("/proc/self/status", encoding="ascii") as stream:
            return next(1024 * int(line.split()[1]) for line in stream if line.startswith("VmHWM:"))
    except (OSError, StopIteration, ValueError):
        return None
