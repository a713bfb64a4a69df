"""Features of data that are read piece by piece, written to files of a folder.

New features of a piece get the next numbers of growing alphabets. At the end, features are renumbered by their counts
in all pieces, and rare ones are left out. So the rows are the same as those of `Extractor.fit` on all data at once.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray, ByteVector, LongVector
from widemargin.core.mapped import SHARE, RowsFile, VectorFile
from widemargin.core.sparse import Rows, boundaries
from widemargin.core.stored import packed_strings
from widemargin.text.alphabet import Alphabet
from widemargin.text.extractor import Extractor, counts_of, new_numbers
from widemargin.text.inputs import describe

GROUPS = ("features", "transition_features")
"""The names of the files of rows: those of positions, and those of transitions."""


class StoredExtractor(NamedTuple):
    """An extractor as JSON and arrays, for `text.inputs.restore`."""

    header: dict[str, Any]
    arrays: dict[str, AnyArray]


class FeatureFiles:
    """Appends the features of pieces to files."""

    def __init__(self, extractor: Extractor, folder: Path) -> None:
        self.extractor, self.folder, self.rows = extractor, folder, list[RowsFile]()
        self.known = [KnownFeatures(folder, name) for name, _ in zip(GROUPS, extractor.alphabets, strict=False)]

    def add(self, X: Any) -> LongVector:
        """Write the features of a piece; return where its sequences begin."""
        features, spell = self.extractor.extend(X)
        self.rows = self.rows or [RowsFile(self.folder, name) for name, _ in zip(GROUPS, features.groups, strict=False)]
        for file, rows in zip(self.rows, features.groups, strict=True):
            file.append(rows)
        alphabets = self.extractor.alphabets
        counted = zip(self.known, alphabets, features.groups, strict=False)
        new = [known.count(alphabet, rows) for known, alphabet, rows in counted]
        names = spell(new) if new else []
        for known, alphabet in zip(self.known, new, strict=True):
            known.name(names[: alphabet.size])
            names = names[alphabet.size :]
        return features.indptr

    def settle(self) -> StoredExtractor:
        """Renumber everything that was written; nothing can be added after this."""
        orders = self.extractor.settle([known.counts for known in self.known])
        for file, known, order in zip(self.rows, self.known, orders, strict=False):
            numbers = new_numbers(order, len(known.counts))
            if len(order) < len(numbers) or (order[1:] < order[:-1]).any():
                file.renumber(numbers)
        for file in self.rows:
            file.drop_ones()
        header, arrays = describe(self.extractor)
        if orders:
            names = [known.names(order) for known, order in zip(self.known, orders, strict=True)]
            text, lengths = (np.concatenate(each) for each in zip(*names, strict=True))
            arrays |= {"names.text": text, "names.lengths": lengths}
        return StoredExtractor(header, arrays)


class KnownFeatures:
    """The count of each feature of an alphabet, and its name, which is on disk."""

    def __init__(self, folder: Path, name: str) -> None:
        self.text, self.lengths = (
            VectorFile(folder / f"{name}.text", np.uint8),
            VectorFile(folder / f"{name}.lengths", np.int64),
        )
        self.counts: LongVector = np.empty(0, dtype=np.int64)

    def count(self, alphabet: Alphabet, rows: Rows) -> Alphabet:
        """Count the features of a piece; return those that are new."""
        before, counts = len(self.counts), counts_of(rows, alphabet.size)
        counts[:before] += self.counts
        self.counts = counts
        return Alphabet(alphabet.keys()[before:])

    def name(self, names: list[str]) -> None:
        """Write the names of new features, in the order of their numbers."""
        packed = packed_strings("", names)
        self.text.append(packed[".text"])
        self.lengths.append(packed[".lengths"])

    def names(self, order: LongVector) -> tuple[ByteVector, LongVector]:
        """The names of these features, as packed strings; their files are removed."""
        text, lengths = (each.part(0, each.size) for each in (self.text, self.lengths))
        begin, sizes = boundaries(lengths)[:-1][order], lengths[order]
        ends, out = boundaries(sizes), np.empty(int(sizes.sum()), dtype=np.uint8)
        for first in range(0, len(order), SHARE // 16):
            last = min(first + SHARE // 16, len(order))
            here = np.arange(ends[first], ends[last])
            out[here] = text[here + np.repeat(begin[first:last] - ends[first:last], sizes[first:last])]
        for each in (self.text, self.lengths):
            each.path.unlink()
        return out, sizes
