"""Rows of template features for prediction: a dictionary lookup per token, and one kernel for the rest.

A template of one atom has a feature that depends on a single token, so its number is kept with the token
(`text.vocabulary`), and the kernel only fetches it from the token `offset` positions away. Of a conjunction the keys of
its atoms are kept; the kernel combines them and finds the number of the result. Beyond the ends of a sequence stand
two rows that belong to no token.

A token is what templates read of it: the strings of its columns and, since these depend on its neighbours, its marks
as a part of lexicon entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector, KeyVector, LongVector
from widemargin.core.sparse import Rows
from widemargin.text.alphabet import FeatureIndex, number_of
from widemargin.text.attributes import Attributes, Resources
from widemargin.text.columns import Column, Columns
from widemargin.text.extractor import Features
from widemargin.text.hashing import combine, combined, hash_strings, hash_values
from widemargin.text.templates import AFTER, BEFORE, Atom, Template, check_attributes
from widemargin.text.vocabulary import Tables, Token, Vocabulary

Field = tuple[str, str]
"""A column and an attribute of it."""

BIAS = "bias"
NO_VALUES: FloatVector = np.empty(0)


class Plan(NamedTuple):
    """Templates as arrays: template k has the atoms starts[k] to starts[k + 1].

    An atom reads the token `offset` positions away: its feature number in the column `place` of the table of numbers if
    it is the only atom of its template, else its key in that column of the table of keys.
    """

    seeds: KeyVector
    starts: IntVector
    offsets: IntVector
    places: IntVector

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
                places += [fields.index(_field(atom)) for atom in template.atoms]
        return cls(
            hash_strings([template.text for template in templates]),
            np.cumsum([0, *(len(template.atoms) for template in templates)], dtype=np.int32),
            np.array([atom.offset for atom in atoms], dtype=np.int32),
            np.array(places, dtype=np.int32),
        )


@kernel
def _row_at(tokens: IntVector, t: int, begin: int, end: int) -> int:
    """The row of the token at t of the sequence begin:end; those before and after a sequence are rows 0 and 1."""
    if t < begin:
        return 0
    return 1 if t >= end else tokens[t]


@kernel
def _rows(
    tokens: IntVector,
    indptr: LongVector,
    first: int,
    last: int,
    known: IntMatrix,
    keys: KeyVector,
    seeds: KeyVector,
    starts: IntVector,
    offsets: IntVector,
    places: IntVector,
    slots: KeyVector,
    numbers: IntVector,
    size: int,
) -> tuple[LongVector, IntVector]:
    """The features of the tokens of the sequences first:last, in the order of the templates."""
    n, write = indptr[last] - indptr[first], indptr[0]
    ends, features = np.zeros(n + 1, dtype=np.int64), np.empty(n * len(seeds), dtype=np.int32)
    for i in range(first, last):
        begin, end = indptr[i], indptr[i + 1]
        for t in range(begin, end):
            for k in range(len(seeds)):
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


class Group(NamedTuple):
    """Templates that share an index of features; `alone` are the fields of those with one atom, `seeds` their seeds."""

    plan: Plan
    index: FeatureIndex
    alone: LongVector
    seeds: KeyVector

    @classmethod
    def of(cls, templates: Sequence[Template], index: FeatureIndex, fields: Sequence[Field]) -> "Group":
        """The group of these templates, which read these fields."""
        plan = Plan.of(templates, fields)
        of_one = [k for k, template in enumerate(templates) if len(template.atoms) == 1]
        alone = [fields.index(_field(templates[k].atoms[0])) for k in of_one]
        return cls(plan, index, np.array(alone, dtype=np.int64), plan.seeds[of_one])

    def numbers(self, keys: KeyVector) -> IntMatrix:
        """The features of the templates with one atom, a row per token, of which `keys` has a key for each field."""
        values = keys[self.alone]
        features = np.where(values == 0, values, combine(self.seeds[:, None], values))
        return self.index.lookup(features.ravel()).reshape(values.shape).T


@dataclass(frozen=True, slots=True)
class ReadTokens:
    """Sequences whose tokens have been looked up: the features of any share of them can be had in any thread."""

    indptr: LongVector
    tokens: IntVector
    tables: Tables
    groups: Sequence[Group]

    def features(self, first: int, last: int) -> Features:
        """The features of the sequences first:last."""
        keys, *known = self.tables
        found = [
            _rows(self.tokens, self.indptr, first, last, numbers, keys, *group.plan, *group.index.table)
            for numbers, group in zip(known, self.groups, strict=True)
        ]
        return Features(self.indptr[first : last + 1] - self.indptr[first], *(Rows(*each, NO_VALUES) for each in found))


class TokenReader:
    """Looks up the tokens of sequences, for templates whose features have been numbered.

    Parameters
    ----------
    groups : templates and the index of their features: those of positions, then perhaps those of transitions
    resources : the lexicons and word clusters that templates refer to
    """

    def __init__(self, groups: Sequence[tuple[Sequence[Template], FeatureIndex]], resources: Resources) -> None:
        templates = [template for group, _ in groups for template in group]
        check_attributes(templates, resources)
        # Fields of conjunctions come first, because only their keys are kept.
        templates.sort(key=lambda template: len(template.atoms) == 1)
        fields = list(dict.fromkeys(_field(atom) for template in templates for atom in template.atoms))
        joined = {_field(atom) for template in templates if len(template.atoms) > 1 for atom in template.atoms}
        self._fields, self._n_joined, self._resources = fields, len(joined), resources
        self._marks = [field for field in fields if _is_mark(field)]
        self._columns = sorted({field[0] for field in fields if not _is_mark(field) and field[1] != BIAS})
        self.groups = groups
        self._groups = [Group.of(*group, fields) for group in groups]
        outside = np.repeat(hash_strings([BEFORE, AFTER])[None], len(fields), axis=0)
        self._vocabulary = Vocabulary(self._work_out, self._tables(outside))

    def read(self, X: Columns) -> ReadTokens:
        """The sequences with their tokens looked up."""
        tokens, tables = self._vocabulary.look_up(self._tokens(X) if X.n_tokens else [])
        return ReadTokens(X.indptr, tokens, tables, self._groups)

    def _tokens(self, X: Columns) -> Sequence[Token]:
        """Each token as the tuple of its strings and marks; as a string if it is one."""
        strings: list[list[Any]] = [X.strings(name) for name in self._columns]
        if self._marks:
            attributes = Attributes(X, self._resources)
            strings += [attributes.of(*field).strings() for field in self._marks]
        if len(strings) == 1:
            return strings[0]
        return list(zip(*strings, strict=True)) if strings else [()] * X.n_tokens

    def _work_out(self, tokens: Sequence[Any]) -> Tables:
        strings = [tokens] if len(self._columns) + len(self._marks) == 1 else list(zip(*tokens, strict=True))
        each = np.arange(len(tokens), dtype=np.int32)
        columns = {name: Column(each, list(given)) for name, given in zip(self._columns, strings, strict=False)}
        attributes = Attributes(Columns(columns, np.array([0, len(tokens)])), self._resources)
        marks = dict(zip(self._marks, strings[len(self._columns) :], strict=True))
        values = [marks[field] if field in marks else attributes.of(*field).strings() for field in self._fields]
        keys = hash_values([value for strings in values for value in strings])
        return self._tables(keys.reshape(len(values), len(tokens)))

    def _tables(self, keys: KeyVector) -> Tables:
        """What is kept of tokens, given the keys of their fields, a row per field."""
        return keys[: self._n_joined].T, *(group.numbers(keys) for group in self._groups)


def _field(atom: Atom) -> Field:
    return atom.column, atom.attribute


def _is_mark(field: Field) -> bool:
    return field[1].startswith("lexicon(")
