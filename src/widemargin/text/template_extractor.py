"""Features from templates over columns of tokens (the language is in `templates`)."""

import json
from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._types import AnyArray, BoolVector, LongVector
from widemargin.core.header import many, mapping, record, text
from widemargin.core.sparse import Rows, boundaries
from widemargin.core.stored import Stored, packed_strings
from widemargin.text.alphabet import Alphabet, FeatureIndex, HashedIndex
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.extractor import HASH_BITS, Features, NumberedFeatures, selected, stored_alphabet
from widemargin.text.shared import Vocabulary, counted
from widemargin.text.templates import (
    TEMPLATES,
    TRANSITION,
    Atoms,
    Template,
    check_attributes,
    parse_templates,
    spell_all,
    template_matrix,
)
from widemargin.text.token_reader import OwnScores, ReadTokens, TokenReader
from widemargin.text.token_rows import Field

FIELDS = {**HASH_BITS, "templates": TEMPLATES}
RESOURCES = record({"lexicons": mapping(many(text())), "clusters": mapping(mapping(text()))})
"""The fields of a template extractor in the header of a model file; lexicons and clusters are in a tensor of JSON."""


class TemplateExtractor(NumberedFeatures):
    """Templates over columns of tokens.

    Parameters
    ----------
    templates : texts of templates
    resources : the lexicons and word clusters that templates refer to
    min_count, hash_bits : see `NumberedFeatures`
    """

    def __init__(
        self,
        templates: str | Sequence[str],
        resources: Resources | None = None,
        *,
        min_count: int = 1,
        hash_bits: int | None = None,
    ) -> None:
        super().__init__(min_count=min_count, hash_bits=hash_bits)
        parsed = parse_templates(templates)
        self.templates = tuple(template for template in parsed if not template.on_transition)
        self.transition_templates = tuple(template for template in parsed if template.on_transition)
        self.resources = resources or Resources()
        self.transition_index: FeatureIndex = self._new_index() if self.transition_templates else Alphabet()
        self._training: Columns | None = None
        self._first = self._transition_first = np.empty(0, dtype=np.int64)

    @property
    def n_transition_features(self) -> int:
        """How many features describe a transition."""
        return self.transition_index.size

    @property
    def columns_read(self) -> list[str]:
        """The columns that the templates look at."""
        templates = self.templates + self.transition_templates
        return sorted({atom.column for template in templates for atom in template.atoms if atom.attribute != "bias"})

    def names(self) -> list[str]:
        """The features' names in the order of their numbers, those on transitions last."""
        if isinstance(self.index, HashedIndex):
            on_transitions = range(self.n_transition_features if self.transition_templates else 0)
            return super().names() + [f"{TRANSITION}hashed {row}" for row in on_transitions]
        if self._training is None:
            return super().names()
        return [
            *self._spelt(self.templates, self._first),
            *self._spelt(self.transition_templates, self._transition_first),
        ]

    def fit(self, X: Columns) -> Features:
        """Number the features of the training sequences."""
        rows, self.index, self._first = self._numbered(X, self.templates)
        transition_rows = None
        if self.transition_templates:
            transition_rows, self.transition_index, self._transition_first = self._numbered(
                X, self.transition_templates
            )
        self._training = X.only(*self.columns_read) if X.n_tokens else X
        return Features(X.indptr, rows, transition_rows)

    def survey(self, X: Columns) -> list[Vocabulary]:
        """The features of `X`, and those on transitions, with how often they occur; none if they are hashed."""
        if self.hash_bits is not None:
            return []
        everything = copy(self)
        everything.min_count = 1
        _, rows, on_transitions = everything.fit(X)
        names, n = everything.names(), everything.n_features
        assert isinstance(everything.index, Alphabet)
        found = [counted(everything.index, rows.indices, names[:n])]
        if on_transitions is not None and isinstance(everything.transition_index, Alphabet):
            found.append(counted(everything.transition_index, on_transitions.indices, names[n:]))
        return found

    def adopt(self, vocabularies: Sequence[Vocabulary]) -> None:
        """Number the features as a survey of all data found them, instead of by `fit`."""
        super().adopt(vocabularies)
        self._training = None
        if len(vocabularies) > 1:
            self.transition_index = Alphabet(vocabularies[1].frequent(self.min_count).keys)

    def transform(self, X: Columns) -> Features:
        """The known features of any sequences."""
        return self.read(X).features(0, X.n_sequences)

    def read(self, X: Columns, fields: Sequence[Field] = ()) -> ReadTokens:
        """The sequences with their tokens, and the keys of `fields` of these, looked up; kernels do the rest."""
        if self._reader is None or self._reader.made_for != (self._groups, fields):
            self._reader = self.reader(fields=fields)
        found: ReadTokens = self._reader.read(X)
        return found

    def reader(self, own: OwnScores | None = None, fields: Sequence[Field] = ()) -> TokenReader:
        """A reader for the features as they are numbered now (`text.token_rows`)."""
        return TokenReader(self._groups, self.resources, own, fields)

    @property
    def _alphabets(self) -> list[Alphabet]:
        on_transitions = [self.transition_index] if self.transition_templates else []
        return [*super()._alphabets, *(each for each in on_transitions if isinstance(each, Alphabet))]

    @property
    def _groups(self) -> list[tuple[tuple[Template, ...], FeatureIndex]]:
        groups = [(self.templates, self.index)]
        return [*groups, (self.transition_templates, self.transition_index)] if self.transition_templates else groups

    def keep(self, used: BoolVector) -> "TemplateExtractor | None":
        """An extractor of the `used` features only."""
        if not (isinstance(self.index, Alphabet) and isinstance(self.transition_index, Alphabet)):
            return None
        kept = copy(self)
        here, there = used[: self.n_features], used[self.n_features :]
        kept.index = Alphabet(self.index.keys()[here])
        kept.transition_index = Alphabet(self.transition_index.keys()[there])
        if self._training is None:
            kept._spell = partial(selected, self.names(), used)
        else:
            kept._first, kept._transition_first = self._first[here], self._transition_first[there]
        return kept

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Templates, resources, keys and names."""
        header, arrays = self._describe_index()
        resources = {
            "lexicons": {name: list(entries) for name, entries in self.resources.lexicons.items()},
            "clusters": {name: dict(words) for name, words in self.resources.clusters.items()},
        }
        arrays |= packed_strings("resources", [json.dumps(resources)])
        if isinstance(self.transition_index, Alphabet):
            arrays["transition_keys"] = self.transition_index.keys()
        return {**header, "templates": self.texts}, arrays

    @classmethod
    def restore(cls, stored: Stored) -> "TemplateExtractor":
        """The extractor that `describe` described."""
        header, known = stored.checked(FIELDS), stored.json("resources", RESOURCES)
        resources = Resources(known["lexicons"], known["clusters"])
        extractor = cls(header["templates"], resources, hash_bits=header["hash_bits"])
        check_attributes(extractor.templates + extractor.transition_templates, resources)
        if isinstance(extractor.transition_index, Alphabet):
            stored.vector("transition_keys", np.uint64, None if extractor.transition_templates else 0)
            extractor.transition_index = stored_alphabet(stored, "transition_keys")
        extractor._restore_index(stored, extractor.n_transition_features)
        return extractor

    @property
    def texts(self) -> list[str]:
        """The templates as texts, those on transitions last."""
        return list(dict.fromkeys(template.text for template in self.templates + self.transition_templates))

    def _numbered(self, columns: Columns, templates: Sequence[Template]) -> tuple[Rows, FeatureIndex, LongVector]:
        """The rows of training sequences, a fresh index of their features, and where each feature first occurs."""
        index = self._new_index()
        numbers = template_matrix(columns, templates, self.resources, index)
        index, numbers = self._frequent(index, numbers)
        first = np.empty(index.size + 1, dtype=np.int64)
        # Assigned from the last to the first, so that the first occurrence stays; −1 lands in the spare last entry.
        first[numbers.ravel()[::-1]] = np.arange(numbers.size - 1, -1, -1)
        return rows_of(numbers), index, first[:-1]

    def _spelt(self, templates: Sequence[Template], first: LongVector) -> list[str]:
        """Names such as ``suffix3[-1]=ing``, spelt from where the features first occurred in training."""
        return [] if self._training is None else spell_all(Atoms(self._training, self.resources), templates, first)


def rows_of(numbers: NDArray[np.int32]) -> Rows:
    """A matrix with a row of feature numbers per token, −1 for none, as sparse rows of ones."""
    present = numbers >= 0
    if present.all():
        # The usual case in training: the matrix already is the rows, and need not be copied.
        n_tokens, n_templates = numbers.shape
        return Rows(np.arange(n_tokens + 1) * n_templates, numbers.ravel(), np.empty(0))
    return Rows(boundaries(present.sum(axis=1)), numbers[present], np.empty(0))
