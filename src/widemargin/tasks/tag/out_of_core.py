"""Taggers for data larger than memory: labelled sequences are written to arrays on disk, piece by piece."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from widemargin._types import AnyArray, ByteVector, IntVector, LongVector
from widemargin.core.header import many, names, record, whole
from widemargin.core.mapped import SHARE, Pages, RowsFile, VectorFile
from widemargin.core.sparse import Rows, boundaries
from widemargin.core.stored import Stored, packed_strings
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.estimator import assemble_tags, check_passes, costs_of
from widemargin.tasks.tag.features import ChainExamples, ChainFeatures, ChainShape
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.predict import check_scheme, labels_to_learn
from widemargin.tasks.token_training import extractor_for
from widemargin.tasks.training import Compiled, Data
from widemargin.text.alphabet import Alphabet
from widemargin.text.extractor import Extractor, counts_of, new_numbers
from widemargin.text.inputs import check_templates, describe, lengths, prepare, restore
from widemargin.text.labels import Encoded, by_frequency, check_kinds, encode_labels

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


FIELDS = {"labels": names(str, int, at_least=1), "counts": many(whole(at_least=1)), "features": record({})}
"""The fields of the header beside the arrays."""


class TagArrays:
    """Writes features and labels of pieces into files of a folder (`tasks.out_of_core`)."""

    settings: ClassVar[tuple[str, ...]] = ("templates", "lexicons", "clusters", "min_count", "hash_bits", "scheme")

    def __init__(self, parameters: TaggerParameters, folder: Path) -> None:
        check_passes(parameters, at_once=False)
        check_scheme(parameters)
        self.parameters, self.folder = parameters, folder
        self.indptr, self.gold = VectorFile(folder / "indptr", np.int64), VectorFile(folder / "gold", np.int32)
        self.indptr.append(np.zeros(1, dtype=np.int64))
        self.counts: dict[Any, int] = {}
        self.extractor: Extractor | None = None
        self.features: FeatureFiles | None = None

    def add(self, data: Data) -> None:
        """Write a piece."""
        if self.extractor is None:
            self.extractor, X = extractor_for(self.parameters, data)
            self.features = FeatureFiles(self.extractor, self.folder)
        else:
            X = prepare(data.X, self.extractor)
            check_templates(self.extractor, X, data.y)
        assert self.features is not None
        self.indptr.append(self.features.add(X)[1:] + self.gold.size)
        if any(lengths(X)):
            self._add_labels(encode_labels(X, labels_to_learn(self.parameters.scheme, X, data.y)))

    def _add_labels(self, encoded: Encoded) -> None:
        """Write the labels of a piece, numbered as they come."""
        if len(encoded.sets):
            raise UnsupportedError(
                "labels that are unknown, or known in part only, need all data in memory; leave out such sequences"
            )
        for label, count in zip(encoded.labels, np.bincount(encoded.known).tolist(), strict=True):
            self.counts[label] = self.counts.get(label, 0) + count
        check_kinds(self.counts)
        number = {label: k for k, label in enumerate(self.counts)}
        self.gold.append(np.array([number[label] for label in encoded.labels], dtype=np.int32)[encoded.known])

    def settle(self) -> StoredExtractor:
        """Renumber labels and features as if all data had come at once."""
        if self.features is None or not self.counts:
            raise DataError("there is no labelled position to learn from")
        labels = by_frequency(self.counts)
        place = {label: k for k, label in enumerate(labels)}
        numbers: IntVector = np.array([place[label] for label in self.counts], dtype=np.int32)
        for first, part in self.gold.parts():
            self.gold.put(first, numbers[part])
        header, arrays = self.features.settle()
        return StoredExtractor(
            {"labels": labels, "counts": [self.counts[label] for label in labels], "features": header}, arrays
        )

    @staticmethod
    def compiled(parameters: TaggerParameters, stored: Stored, pages: Pages, data: Data) -> Compiled[Tagger]:
        """The written arrays as examples; only the pages that training touches are in memory."""
        header = stored.checked(FIELDS)
        labels, extractor = header["labels"], restore(stored.part("features"))
        counts = np.array(header["counts"], dtype=np.float64)
        if len(counts) != len(labels):
            raise stored.place.damaged(f"it has {len(counts)} counts of {len(labels)} labels")
        examples = StoredChainExamples(
            pages,
            ChainShape(len(labels), extractor.n_features, extractor.n_transition_features),
            pages.vector("indptr", np.int64),
            pages.rows("features"),
            pages.vector("gold", np.int32),
            costs=costs_of(parameters, labels, lambda: counts),
            transition_features=pages.rows("transition_features") if pages.holds("transition_features") else None,
        )
        return assemble_tags(parameters, extractor, labels, examples, data)


class StoredFeatures(ChainFeatures):
    """The features of sequences in mapped files."""

    def summed(self, batches: Sequence[IntVector]) -> None:
        """None: the sums over all sequences would need a copy of all features in memory."""
        return


class StoredChainExamples(ChainExamples):
    """Sequences in mapped files (`core.examples.OnDisk`)."""

    kind: ClassVar[type[ChainFeatures]] = StoredFeatures

    def __init__(self, pages: Pages, *arrays: Any, **more: Any) -> None:
        self.pages = pages
        super().__init__(*arrays, **more)

    def _check(self) -> None:
        """Check as `ChainExamples` does, a share of each file at a time."""
        shape, own, pages, n = self.shape, self.features, self.pages, len(self.gold)
        found = [(own.rows, shape.n_features)]
        if shape.n_transition_features:
            found.append((own.transition_rows, shape.n_transition_features))
        whole = pages.are_boundaries(self.indptr, n) and pages.is_within(self.gold, shape.n_labels)
        for rows, width in found:
            whole &= len(rows.indptr) == n + 1 and pages.are_boundaries(rows.indptr, len(rows.indices))
            whole &= pages.is_within(rows.indices, width) and len(rows.values) in (0, len(rows.indices))
        if not whole:
            raise DataError(f"the arrays in {pages.folder} do not fit together")
