"""Features of data that are read piece by piece, numbered as if all data were there at once.

In a piece, features have the numbers of an alphabet that grows. In the end they are renumbered, and rare ones left out.
The order is that of `Extractor.fit` on all data, so training on the arrays gives the same weights bit for bit:

| features | come in the order |
| --- | --- |
| ready-made | of their first occurrence |
| of a template with one attribute | of the first word, among all that the data have, that they occur with |
| of a conjunction | of the first token that has them |

and those of one template before those of the next. A feature's *rank* says so in one number, and the smallest rank of
all its occurrences counts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, ByteVector, IntVector, LongVector
from widemargin.core.mapped import SHARE, RowsFile, VectorFile
from widemargin.core.sparse import boundaries
from widemargin.core.stored import packed_strings
from widemargin.text.alphabet import Alphabet, FeatureIndex
from widemargin.text.attributes import is_mark
from widemargin.text.columns import Columns
from widemargin.text.extractor import Extractor, Features
from widemargin.text.hashing import hash_strings
from widemargin.text.inputs import describe
from widemargin.text.matrices import MatrixExtractor
from widemargin.text.records import RecordExtractor
from widemargin.text.template_extractor import TemplateExtractor, rows_of
from widemargin.text.templates import Atom, Atoms, Template, check_attributes, spell_all, template_columns

RANK_BITS = 48
"""Ranks of one template are below 2^48: words, or tokens, are counted."""
OUTSIDE = (1 << RANK_BITS) - 2
"""The rank of what is before a sequence; what is behind it comes last."""
NAMES = ("names.text", "names.lengths")


class Described(NamedTuple):
    """An extractor as JSON and arrays, as `text.inputs.restore` takes them."""

    header: dict[str, Any]
    arrays: dict[str, AnyArray]


class Growing(Protocol):
    """Appends the features of pieces to files."""

    def add(self, X: Any) -> LongVector:
        """Write the features of a piece; return where its sequences begin."""

    def settle(self) -> Described:
        """Renumber everything that was written; no more can be added."""


class Group:
    """Features that share an alphabet, and the rows of them on disk."""

    def __init__(self, folder: Path, name: str, index: FeatureIndex) -> None:
        self.index, self.rows = index, RowsFile(folder, name)
        self.text, self.lengths = (VectorFile(folder / f"{name}.{part}", kind) for part, kind in NAME_PARTS.items())
        self.counts, self.ranks, self.places = (np.empty(0, dtype=np.int64) for _ in range(3))

    @property
    def has_names(self) -> bool:
        """Whether the features have numbers of their own, and not those of a hash."""
        return isinstance(self.index, Alphabet)

    def make_room(self) -> None:
        """Make room for all features that there are by now."""
        for name, empty in (("counts", 0), ("ranks", np.iinfo(np.int64).max), ("places", -1)):
            known: LongVector = getattr(self, name)
            if self.index.size > len(known):
                larger = np.full(max(self.index.size, 3 * len(known) // 2), empty, dtype=np.int64)
                larger[: len(known)] = known
                setattr(self, name, larger)

    def name(self, names: Sequence[str]) -> None:
        """Write the names of new features, in the order of their numbers."""
        packed = packed_strings("", names)
        self.text.append(packed[".text"])
        self.lengths.append(packed[".lengths"])

    def settle(self, min_count: int) -> tuple[AnyArray, ByteVector, LongVector]:
        """Renumber the rows; return keys and names of the features that stay, in order."""
        keys, order = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        if isinstance(self.index, Alphabet):
            size = self.index.size
            order = np.argsort(self.ranks[:size], kind="stable")
            order = order[self.counts[order] >= min_count]
            keys = self.index.keys()[order]
            numbers = np.full(size, -1, dtype=np.int32)
            numbers[order] = np.arange(len(order), dtype=np.int32)
            self.index = Alphabet()  # its memory is needed
            if len(order) < size or (order[1:] < order[:-1]).any():
                self.rows.renumber(numbers)
        self.rows.drop_ones()
        return keys, *self._names(order)

    def _names(self, order: LongVector) -> tuple[ByteVector, LongVector]:
        """The names of these features; their files are removed."""
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


NAME_PARTS: dict[str, type[np.generic]] = {"text": np.uint8, "lengths": np.int64}


@kernel
def _note(
    numbers: IntVector, orders: LongVector, place: int, step: int, known: tuple[LongVector, LongVector, LongVector]
) -> None:
    """Count the features of a template in one piece, and note their least ranks and where they first occur."""
    counts, ranks, places = known
    for token in range(len(numbers)):
        number = numbers[token]
        if number >= 0:
            counts[number] += 1
            ranks[number] = min(ranks[number], orders[token])
            if places[number] < 0:
                places[number] = place + step * token


class GrowingTemplates:
    """Features of templates over columns of tokens."""

    def __init__(self, extractor: TemplateExtractor, folder: Path) -> None:
        self.extractor = extractor
        self.groups = [(extractor.templates, Group(folder, "features", extractor.index))]
        if extractor.transition_templates:
            on_transitions = Group(folder, "transition_features", extractor.transition_index)
            self.groups.append((extractor.transition_templates, on_transitions))
        check_attributes([each for templates, _ in self.groups for each in templates], extractor.resources)
        self.words: dict[str, Alphabet] = {}
        self.n_tokens = 0

    def add(self, X: Columns) -> LongVector:
        """Write the features of a piece."""
        atoms = Atoms(X, self.extractor.resources)
        codes = {name: self._codes(X, name) for name in self.extractor.columns_read} if X.n_tokens else {}
        for templates, group in self.groups:
            numbers = np.empty((X.n_tokens, len(templates)), dtype=np.int32)
            before = group.index.size
            for t, column in enumerate(template_columns(atoms, templates, group.index)):
                numbers[:, t] = column
                if group.has_names:
                    orders = self._orders(atoms, templates[t], codes) + (t << RANK_BITS)
                    group.make_room()
                    _note(column, orders, t, len(templates), (group.counts, group.ranks, group.places))
            if group.has_names:
                group.name(spell_all(atoms, templates, group.places[before : group.index.size]))
            group.rows.append(rows_of(numbers))
        self.n_tokens += X.n_tokens
        return X.indptr

    def settle(self) -> Described:
        """Renumber everything that was written."""
        found = [group.settle(self.extractor.min_count) for _, group in self.groups]
        if self.groups[0][1].has_names:
            self.extractor.index, self.extractor.transition_index = Alphabet(), Alphabet()
        header, arrays = describe(self.extractor)
        if self.groups[0][1].has_names:
            arrays["keys"] = found[0][0]
            arrays |= dict(zip(NAMES, (np.concatenate([each[k] for each in found]) for k in (1, 2)), strict=True))
            if len(found) > 1:
                arrays["transition_keys"] = found[1][0]
        return Described(header, arrays)

    def _codes(self, X: Columns, name: str) -> LongVector:
        """The numbers of a column's values among those of all pieces."""
        words = self.words.setdefault(name, Alphabet())
        return words.intern(hash_strings(X[name].values)).astype(np.int64)

    def _orders(self, atoms: Atoms, template: Template, codes: dict[str, LongVector]) -> LongVector:
        """The rank of every token's feature among those of its template."""
        if len(template.atoms) > 1:
            return np.arange(self.n_tokens, self.n_tokens + atoms.columns.n_tokens)
        part = atoms.part(template.atoms[0])
        known = codes[template.atoms[0].column] if _is_of_words(template.atoms[0]) else np.arange(len(part.values) - 2)
        return np.concatenate([known, [OUTSIDE, OUTSIDE + 1]])[part.codes]


def _is_of_words(atom: Atom) -> bool:
    """Whether an attribute has a value for every word of its column."""
    return atom.attribute != "bias" and not is_mark(atom.attribute)


class GrowingRecords:
    """Ready-made features, which have the order of the alphabet."""

    def __init__(self, extractor: RecordExtractor, folder: Path) -> None:
        self.extractor, self.group = extractor, Group(folder, "features", extractor.index)

    def add(self, X: Sequence[Any]) -> LongVector:
        """Write the features of a piece."""
        group, before = self.group, self.group.index.size
        names, features = self.extractor.appended(X)
        if group.has_names:
            group.make_room()
            size = group.index.size
            group.ranks[before:size] = np.arange(before, size)
            group.counts[:size] += np.bincount(features.rows.indices, minlength=size)
            group.name(names)
        group.rows.append(features.rows)
        return features.indptr

    def settle(self) -> Described:
        """Drop rare features."""
        keys, text, lengths = self.group.settle(self.extractor.min_count)
        if self.group.has_names:
            self.extractor.index = Alphabet()
        header, arrays = describe(self.extractor)
        if self.group.has_names:
            arrays |= {"keys": keys, **dict(zip(NAMES, (text, lengths), strict=True))}
        return Described(header, arrays)


class GrowingMatrices:
    """Rows of matrices, whose columns have numbers already."""

    def __init__(self, extractor: MatrixExtractor, folder: Path) -> None:
        self.extractor, self.rows = extractor, RowsFile(folder, "features")

    def add(self, X: Sequence[Any]) -> LongVector:
        """Write the features of a piece."""
        found: Features = self.extractor.transform(X) if self.extractor.width else self.extractor.fit(X)
        self.rows.append(found.rows)
        return found.indptr

    def settle(self) -> Described:
        """Nothing is renumbered."""
        return Described(*describe(self.extractor))


def growing(extractor: Extractor, folder: Path) -> Growing:
    """What writes the features of this extractor into files of a folder."""
    if isinstance(extractor, TemplateExtractor):
        return GrowingTemplates(extractor, folder)
    if isinstance(extractor, RecordExtractor):
        return GrowingRecords(extractor, folder)
    assert isinstance(extractor, MatrixExtractor)
    return GrowingMatrices(extractor, folder)
