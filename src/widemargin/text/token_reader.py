"""Features of tokens for prediction: a dictionary lookup per token, and one kernel for the rest (`text.token_rows`).

A token is the tuple of everything that templates read of it: the strings of its columns and its marks as a part of
lexicon entries, which depend on its neighbours. Everything that follows from it is computed once (`text.vocabulary`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, IntMatrix, IntVector, KeyMatrix, LongVector
from widemargin.text.alphabet import FeatureIndex
from widemargin.text.attributes import Attributes, Resources, WordFunction, function_of, is_mark
from widemargin.text.columns import Columns
from widemargin.text.extractor import Features
from widemargin.text.hashing import hash_strings, hash_values
from widemargin.text.templates import AFTER, BEFORE, Template, check_attributes
from widemargin.text.token_rows import Field, Group, field_of
from widemargin.text.vocabulary import Tables, Token, Vocabulary

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

    def features(self, first: int, last: int) -> Features:
        """The features of the sequences first:last, except those that are already in their tokens' own scores."""
        keys, _, *numbers = self.tables
        rows = [
            group.rows(self.tokens, self.indptr, first, last, keys, known, 0 if k else self.n_own)
            for k, (group, known) in enumerate(zip(self.groups, numbers, strict=True))
        ]
        return Features(self.indptr[first : last + 1] - self.indptr[first], *rows)

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
        self._n_own = 0 if own is None else self._groups[0].plan.n_own
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
