"""Files of word clusters: lines `bits TAB word TAB count`, as programs for Brown's algorithm write them.

Lines `word TAB cluster` are read as well.
"""

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from widemargin.core.atomic import replacing
from widemargin.errors import DataError
from widemargin.files.raw import RawText, Source, shorten
from widemargin.files.table import TABS

if TYPE_CHECKING:
    from widemargin.text.word_clusters import WordClusters

BITS = re.compile("[01]+")


def read_word_clusters(source: Source) -> dict[str, str]:
    """The cluster of each word."""
    raw = RawText.load(source)
    rows = [(number, line.rstrip("\r").split("\t")) for number, line in enumerate(raw.lines) if line.strip()]
    for number, row in rows:
        if len(row) not in (2, 3):
            raise raw.fault(
                number,
                f"expected 'bits TAB word TAB count' or 'word TAB cluster': {shorten(raw.lines[number])!r}",
            )
    brown = all(BITS.fullmatch(row[0]) for _, row in rows)
    return {row[1]: row[0] for _, row in rows} if brown else {row[0]: row[1] for _, row in rows}


def write_word_clusters(path: str | os.PathLike[str], clusters: "WordClusters") -> None:
    """Write clusters in the order of the tree, each with its most frequent words first."""
    check_writable(clusters.paths)
    with replacing(path) as stream:
        for word, bits in sorted(
            clusters.paths.items(), key=lambda item: (item[1], -clusters.counts[item[0]], item[0])
        ):
            stream.write(f"{bits}\t{word}\t{clusters.counts[word]}\n")


def check_writable(words: Iterable[str]) -> None:
    """Raise an error about the first word that would not be read back as one field."""
    for word in words:
        if re.search(TABS.unwritable, word):
            raise DataError(f"the word {shorten(word)!r} cannot be written, because it is not one field of a line")
