"""`widemargin cluster-words`: from raw text to clusters of words, for `train --clusters NAME=FILE`."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from widemargin._jit import now
from widemargin.cli.output import Printer, print_json
from widemargin.cli.targets import check_target
from widemargin.files.pieces import pieces
from widemargin.files.word_clusters import check_writable, write_word_clusters
from widemargin.report.steps import Steps
from widemargin.tasks.base import Reading, counted_within
from widemargin.tasks.files import check_plain_text, cut_tokens, open_tokens
from widemargin.text.bigrams import BigramCounter
from widemargin.text.columns import Columns
from widemargin.text.word_clusters import clustered, enough_words


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
        found = clustered(bigrams, clusters, told=progress.tell)
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
