"""Rows of template features by one kernel, for tokens whose contributions are already known (`text.token_reader`).

The feature of a template with one atom depends on a single token, so its number is kept with that token, and the kernel
only fetches it from the token `offset` positions away. For a conjunction, the keys of its atoms are kept; the kernel
combines them and finds the number of the result. Two more rows stand for positions before and after a sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector, KeyMatrix, KeyVector, LongVector
from widemargin.core.sparse import Rows
from widemargin.text.alphabet import FeatureIndex, number_of
from widemargin.text.hashing import combined, hash_strings
from widemargin.text.templates import Atom, Template

Field = tuple[str, str]
"""A column and an attribute of it."""

_ONES: FloatVector = np.empty(0)


def field_of(atom: Atom) -> Field:
    """The field that an atom reads, whatever its offset."""
    return atom.column, atom.attribute


class Plan(NamedTuple):
    """Templates as arrays: template k has the atoms starts[k] to starts[k + 1].

    An atom reads the token `offset` positions away: its feature number in the column `place` of the table of numbers if
    it is the only atom of its template, else its key in that column of the table of keys.
    """

    seeds: KeyVector
    starts: IntVector
    offsets: IntVector
    places: IntVector

    @property
    def n_own(self) -> int:
        """How many leading templates read only the token itself."""
        alone = (np.diff(self.starts) == 1) & (self.offsets[self.starts[:-1]] == 0)
        return len(alone) if alone.all() else int(np.argmin(alone))

    @classmethod
    def of(cls, templates: Sequence[Template], fields: Sequence[Field]) -> "Plan":
        """The plan of templates whose conjunctions read the keys of these fields."""
        atoms, places, n_alone = list[Atom](), list[int](), 0
        for template in templates:
            atoms += template.atoms
            if len(template.atoms) == 1:
                places.append(n_alone)
                n_alone += 1
            else:
                places += [fields.index(field_of(atom)) for atom in template.atoms]
        return cls(
            hash_strings([template.text for template in templates]),
            np.cumsum([0, *(len(template.atoms) for template in templates)], dtype=np.int32),
            np.array([atom.offset for atom in atoms], dtype=np.int32),
            np.array(places, dtype=np.int32),
        )


@kernel
def _row_at(tokens: IntVector, t: int, begin: int, end: int) -> int:
    """The row of the token at t of the sequence begin:end; row 0 is for positions before it, row 1 for those after."""
    if t < begin:
        return 0
    return 1 if t >= end else tokens[t]


@kernel
def _rows(
    tokens: IntVector,
    indptr: LongVector,
    first: int,
    last: int,
    skipped: int,
    known: IntMatrix,
    keys: KeyMatrix,
    seeds: KeyVector,
    starts: IntVector,
    offsets: IntVector,
    places: IntVector,
    slots: KeyVector,
    numbers: IntVector,
    size: int,
) -> tuple[LongVector, IntVector]:
    """The features of the tokens of the sequences first:last, in the order of the templates after those `skipped`."""
    # Absent values (key 0) still enter the hash, which is then discarded: cheaper than a branch for every atom.
    n, write = indptr[last] - indptr[first], indptr[0]
    ends, features = np.zeros(n + 1, dtype=np.int64), np.empty(n * (len(seeds) - skipped), dtype=np.int32)
    for i in range(first, last):
        begin, end = indptr[i], indptr[i + 1]
        for t in range(begin, end):
            for k in range(skipped, len(seeds)):
                a, number = starts[k], -1
                if starts[k + 1] == a + 1:
                    number = known[_row_at(tokens, t + offsets[a], begin, end), places[a]]
                else:
                    key, missing = seeds[k], False
                    for b in range(a, starts[k + 1]):
                        value = keys[_row_at(tokens, t + offsets[b], begin, end), places[b]]
                        missing |= value == 0
                        key = combined(key, value)
                    if not missing:
                        number = number_of(key, slots, numbers, size)
                if number >= 0:
                    features[write] = number
                    write += 1
            ends[t + 1 - indptr[first]] = write
    return ends, features[:write]


@kernel
def _numbers(
    keys: KeyMatrix, alone: LongVector, seeds: KeyVector, slots: KeyVector, numbers: IntVector, size: int
) -> IntMatrix:
    """For each token, the numbers of the features of the fields `alone`, −1 for none."""
    found = np.empty((keys.shape[1], len(alone)), dtype=np.int32)
    for t in range(keys.shape[1]):
        for k in range(len(alone)):
            key = keys[alone[k], t]
            found[t, k] = -1 if key == 0 else number_of(combined(seeds[k], key), slots, numbers, size)
    return found


@dataclass(frozen=True, slots=True)
class Group:
    """Templates that share an index; `alone` and `seeds` are the fields and seeds of the templates with one atom."""

    plan: Plan
    index: FeatureIndex
    alone: LongVector
    seeds: KeyVector

    @classmethod
    def of(cls, templates: Sequence[Template], index: FeatureIndex, fields: Sequence[Field]) -> "Group":
        """The group of these templates, which read these fields."""
        plan = Plan.of(templates, fields)
        of_one = [k for k, template in enumerate(templates) if len(template.atoms) == 1]
        alone = [fields.index(field_of(templates[k].atoms[0])) for k in of_one]
        return cls(plan, index, np.array(alone, dtype=np.int64), plan.seeds[of_one])

    def numbers(self, keys: KeyMatrix) -> IntMatrix:
        """The features of the templates with one atom, a row per token, given a row of keys per field."""
        return _numbers(keys, self.alone, self.seeds, *self.index.table)

    def rows(
        self,
        tokens: IntVector,
        indptr: LongVector,
        first: int,
        last: int,
        keys: KeyMatrix,
        numbers: IntMatrix,
        skipped: int = 0,
    ) -> Rows:
        """The features of the sequences first:last, without those of the first `skipped` templates.

        `keys` has a row per token and a column per field; `numbers` is the result of the method `numbers`.
        """
        found = _rows(tokens, indptr, first, last, skipped, numbers, keys, *self.plan, *self.index.table)
        return Rows(*found, _ONES)
