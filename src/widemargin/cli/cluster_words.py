"""`widemargin cluster-words`: from raw text to clusters of words, for `train --clusters NAME=FILE`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TextIO

from widemargin._jit import now, watched_compiler
from widemargin.cli.options import check_target
from widemargin.cli.output import Printer, print_json
from widemargin.files.pieces import pieces
from widemargin.files.word_clusters import check_writable, write_word_clusters
from widemargin.report.progress import SECONDS_PER_DRAW, Lines, clock, started_bar
from widemargin.tasks.base import Reading, counted_within
from widemargin.tasks.files import check_plain_text, cut_tokens, open_tokens
from widemargin.text.columns import Columns
from widemargin.text.word_clusters import BigramCounter, cluster_bigrams, enough_words

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Steps:
    """Show the progress of clustering in a `with` block: text that is read, then a known number of steps.

    On a terminal it is a live bar, which does not stay; elsewhere a line for every tenth of the steps. It is written to
    standard error unless another stream is given.
    """

    def __init__(self, *, enabled: bool = True, stream: TextIO | None = None) -> None:
        self._enabled, self._stream = enabled, stream
        self._bar: Bar | None = None
        self._lines: Lines | None = None
        self._opened = ExitStack()
        self._next_draw, self._begin, self._told = 0.0, 0.0, 0

    def __enter__(self) -> Self:
        stream = self._stream or sys.stderr
        if self._enabled and stream is not None:
            if stream.isatty():
                self._bar = started_bar(stream, keep=False)
                self._opened.callback(self._bar.stop)
            else:
                self._lines = Lines(stream)
                self._opened.callback(self._lines.end_compiling)
            self._opened.enter_context(watched_compiler(self._on_compiling))
        self._begin = now()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def read(self, n_tokens: int) -> None:
        """So many tokens have been read; nobody knows how many there are."""
        self._draw(f"{n_tokens:,} tokens read", 0, None)
        self._begin = now()

    def tell(self, done: int, total: int) -> None:
        """So many steps of all are done."""
        seconds = now() - self._begin
        self._draw(f"{done:,} of {total:,} steps", done, total, f"{clock(seconds * (total - done) / done)} left")
        tenth = 10 * done // total
        if self._lines is not None and tenth > self._told:
            self._told = tenth
            self._lines.write(f"{10 * tenth} % of {total:,} steps  {seconds:.2f} s")

    def _draw(self, what: str, done: int, total: int | None, time: str = "") -> None:
        if self._bar is not None and monotonic() >= self._next_draw:
            self._next_draw = monotonic() + SECONDS_PER_DRAW
            bar, task = self._bar, self._bar.task_ids[0]
            bar.update(task, description=what, completed=done, total=total, time=time, visible=True)
            bar.refresh()

    def _on_compiling(self, begins: bool) -> None:
        if begins and self._lines is not None:
            self._lines.begin_compiling()
        elif begins:
            self._draw("compiling, first run only", 0, None)


def run(
    *, files: Sequence[str], out: str, clusters: int, min_count: int, as_json: bool, quiet: bool, **reading: Any
) -> None:
    """Count, cluster, write."""
    chosen = Reading(**reading)
    check_plain_text(chosen)
    check_target(out, inputs=files)
    begin, counter, n_tokens = now(), BigramCounter(), 0
    with Steps(enabled=not quiet) as progress:
        for columns in _pieces(files, chosen):
            counter.add(columns)
            n_tokens += columns.n_tokens
            progress.read(n_tokens)
        bigrams = enough_words(counter, clusters, min_count)
        check_writable(bigrams.words)
        found = cluster_bigrams(bigrams, clusters, told=progress.tell)
    write_word_clusters(out, found)
    seconds, n_words = now() - begin, len(found.paths)
    if as_json:
        about = {"tokens": n_tokens, "words": n_words, "clusters": clusters, "information": found.information}
        print_json({"out": out, **about, "seconds": seconds})
    elif not quiet:
        Printer().facts(
            [
                ("clusters", f"{out}, {clusters:,} of {n_words:,} words"),
                ("text", f"{n_tokens:,} tokens"),
                ("information", f"{found.information:.4f} bits about a cluster are in the one before it"),
                ("time", f"{seconds:.1f} s"),
            ]
        )


def _pieces(files: Sequence[str], reading: Reading) -> Iterator[Columns]:
    """The tokens of all files, piece by piece."""
    for file in files:
        for raw in pieces(file, partial(cut_tokens, reading=reading)):
            with counted_within(raw.source, raw.first):
                yield open_tokens(raw, reading, {}).document.columns.only("word")
