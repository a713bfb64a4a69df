"""Features of tokens for prediction: a dictionary lookup per token, and one kernel for the rest.

A token is the tuple of everything that templates read of it: the strings of its columns and its marks as a part of
lexicon entries, which depend on its neighbours. Everything that follows from it is computed once (`text.vocabulary`).

The feature of a template with one atom depends on a single token, so its number is kept with that token, and the kernel
only fetches it from the token `offset` positions away. For a conjunction, the keys of its atoms are kept; the kernel
combines them and finds the number of the result. Two more rows stand for positions before and after a sequence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntMatrix, IntVector, KeyMatrix, KeyVector, LongVector
from widemargin.core.sparse import Rows
from widemargin.text.alphabet import FeatureIndex, number_of
from widemargin.text.attributes import Attributes, Resources, WordFunction, function_of, is_mark
from widemargin.text.columns import Columns
from widemargin.text.extractor import FeatureRows
from widemargin.text.hashing import combine_pair, hash_strings, hash_values
from widemargin.text.templates import AFTER, BEFORE, Atom, Template, check_attributes
from widemargin.text.vocabulary import Tables, Token, Vocabulary

Field = tuple[str, str]
"""A column and an attribute of it."""

_ONES: FloatVector = np.empty(0)


def field_of(atom: Atom) -> Field:
    """The field that an atom reads, whatever its offset."""
    return atom.column, atom.attribute


class TemplateArrays(NamedTuple):
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
    def of(cls, templates: Sequence[Template], fields: Sequence[Field]) -> "TemplateArrays":
        """The arrays of templates whose conjunctions read the keys of these fields."""
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
                if starts[k + 1] == a + 1:  # a single atom: its number was looked up once per distinct token
                    number = known[_row_at(tokens, t + offsets[a], begin, end), places[a]]
                else:
                    key, missing = seeds[k], False
                    for b in range(a, starts[k + 1]):
                        value = keys[_row_at(tokens, t + offsets[b], begin, end), places[b]]
                        missing |= value == 0
                        key = combine_pair(key, value)
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
            found[t, k] = -1 if key == 0 else number_of(combine_pair(seeds[k], key), slots, numbers, size)
    return found


@dataclass(frozen=True, slots=True)
class Group:
    """Templates that share an index; `alone` and `seeds` are the fields and seeds of the templates with one atom."""

    arrays: TemplateArrays
    index: FeatureIndex
    alone: LongVector
    seeds: KeyVector

    @classmethod
    def of(cls, templates: Sequence[Template], index: FeatureIndex, fields: Sequence[Field]) -> "Group":
        """The group of these templates, which read these fields."""
        arrays = TemplateArrays.of(templates, fields)
        of_one = [k for k, template in enumerate(templates) if len(template.atoms) == 1]
        alone = [fields.index(field_of(templates[k].atoms[0])) for k in of_one]
        return cls(arrays, index, np.array(alone, dtype=np.int64), arrays.seeds[of_one])

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
        found = _rows(tokens, indptr, first, last, skipped, numbers, keys, *self.arrays, *self.index.table)
        return Rows(*found, _ONES)


BIAS, VALUE = "bias", "value"
NO_OWN: tuple[IntVector, FloatMatrix] = np.empty(0, dtype=np.int32), np.empty((0, 0))
OwnScores = Callable[[IntMatrix], FloatMatrix]
"""A function from feature numbers, a row per token, −1 for none, to a row of scores for each token."""


@dataclass(frozen=True, slots=True)
class ReadTokens:
    """Sequences whose tokens have been looked up; any thread can compute the features of a share of them."""

    indptr: LongVector
    tokens: IntVector
    tables: Tables
    groups: Sequence[Group]
    n_own: int

    @property
    def keys(self) -> KeyMatrix:
        """The keys that are kept, a row per number of a token."""
        return self.tables[0]

    def features(self, first: int, last: int) -> FeatureRows:
        """The features of the sequences first:last, except those that are already in their tokens' own scores."""
        keys, _, *numbers = self.tables
        rows = [
            group.rows(self.tokens, self.indptr, first, last, keys, known, 0 if k else self.n_own)
            for k, (group, known) in enumerate(zip(self.groups, numbers, strict=True))
        ]
        return FeatureRows(self.indptr[first : last + 1] - self.indptr[first], *rows)

    def own(self, first: int, last: int) -> tuple[IntVector, FloatMatrix]:
        """The row number of each token's own scores in the sequences first:last, and the rows; both may be empty."""
        if not self.n_own:
            return NO_OWN
        return self.tokens[self.indptr[first] : self.indptr[last]], self.tables[1]


class TokenReader:
    """Looks up the tokens of sequences, for templates whose features have been numbered.

    Parameters
    ----------
    groups : templates and the index of their features: those of positions, then perhaps those of transitions
    resources : the lexicons and word clusters that templates refer to
    own : scores tokens by the features of leading templates that read only the token; None treats these like all others
    fields : fields whose keys the caller also wants; they come first among `ReadTokens.keys`
    """

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[Template], FeatureIndex]],
        resources: Resources,
        own: OwnScores | None = None,
        fields: Sequence[Field] = (),
    ) -> None:
        templates = [template for group, _ in groups for template in group]
        check_attributes(templates, resources)
        joined = [atom for template in templates if len(template.atoms) > 1 for atom in template.atoms]
        kept = dict.fromkeys([*fields, *map(field_of, joined)])
        every = list(dict.fromkeys([*kept, *(field_of(atom) for template in templates for atom in template.atoms)]))
        self.made_for, self._resources, self._n_kept = (groups, fields), resources, len(kept)
        self._groups = [Group.of(*group, every) for group in groups]
        self._parts = list(dict.fromkeys(_part(*field) for field in every if field[1] != BIAS))
        self._functions = [_function(*field, self._parts, resources) for field in every]
        self._n_own = 0 if own is None else self._groups[0].arrays.n_own
        self._own = own if self._n_own else None
        outside = np.repeat(hash_strings([BEFORE, AFTER])[None], len(every), axis=0)
        self._vocabulary = Vocabulary(self._work_out, self._tables(outside))

    def read(self, X: Columns) -> ReadTokens:
        """The sequences with their tokens looked up."""
        tokens, tables = self._vocabulary.look_up(self._tokens(X) if X.n_tokens else [])
        return ReadTokens(X.indptr, tokens, tables, self._groups, self._n_own)

    def _tokens(self, X: Columns) -> Sequence[Token]:
        """Each token as the tuple of its fields; a single field is not put into a tuple."""
        attributes = Attributes(X, self._resources)
        parts = [
            attributes.of(column, attribute).strings() if is_mark(attribute) else X.strings(column)
            for column, attribute in self._parts
        ]
        if len(parts) == 1:
            return parts[0]
        return list(zip(*parts, strict=True)) if parts else [()] * X.n_tokens

    def _work_out(self, tokens: Sequence[Any]) -> Tables:
        parts = list(zip(*tokens, strict=True)) if len(self._parts) > 1 else [tokens]
        words = [not is_mark(attribute) for _, attribute in self._parts] or [False]
        lower = [[*map(str.lower, each)] if of_words else [] for each, of_words in zip(parts, words, strict=True)]
        values = chain.from_iterable(function(parts[k], lower[k]) for k, function in self._functions)
        return self._tables(hash_values(list(values)).reshape(len(self._functions), len(tokens)))

    def _tables(self, keys: KeyMatrix) -> Tables:
        """The arrays that are kept of tokens, given the keys of their fields, a row per field."""
        numbers = [group.numbers(keys) for group in self._groups]
        leading = np.ascontiguousarray(numbers[0][:, : self._n_own])
        own = np.empty((len(leading), 0)) if self._own is None else self._own(leading)
        return np.ascontiguousarray(keys[: self._n_kept].T), own, *numbers


def _part(column: str, attribute: str) -> Field:
    """The field of a token that an attribute is computed from."""
    return column, attribute if is_mark(attribute) else VALUE


def _function(column: str, attribute: str, parts: Sequence[Field], resources: Resources) -> tuple[int, WordFunction]:
    """The number of the field that an attribute is computed from, and the function that computes it."""
    part = 0 if attribute == BIAS else parts.index(_part(column, attribute))
    return part, function_of(VALUE if is_mark(attribute) else attribute, resources)
