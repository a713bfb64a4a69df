"""Features from templates over columns of tokens (the language is in `templates`)."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin._types import AnyArray
from widemargin.core.header import many, mapping, record, text
from widemargin.core.sparse import Rows, boundaries
from widemargin.core.stored import Stored, packed_strings
from widemargin.text.alphabet import Alphabet, FeatureIndex, HashedIndex
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.extractor import HASH_BITS, Extended, FeatureRows, NumberedFeatures, stored_alphabet
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
from widemargin.text.token_reader import Field, OwnScores, ReadTokens, TokenReader

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
        if self.transition_templates:
            self.indexes.append(self._new_index())

    @property
    def transition_index(self) -> FeatureIndex:
        """The index of the features of transitions."""
        return self.indexes[1] if self.transition_templates else Alphabet()

    @property
    def n_transition_features(self) -> int:
        """How many features describe a transition."""
        return self.transition_index.size

    @property
    def columns_read(self) -> list[str]:
        """The columns that the templates read."""
        templates = self.templates + self.transition_templates
        return sorted({atom.column for template in templates for atom in template.atoms if atom.attribute != "bias"})

    def names(self) -> list[str]:
        """The features' names in the order of their numbers, those on transitions last."""
        if isinstance(self.index, HashedIndex):
            on_transitions = range(self.n_transition_features if self.transition_templates else 0)
            return super().names() + [f"{TRANSITION}hashed {row}" for row in on_transitions]
        return super().names()

    def extend(self, X: Columns) -> Extended:
        """The features of more training sequences; new ones get the next numbers, for the time being."""
        matrices = (template_matrix(X, templates, self.resources, index) for templates, index in self._groups)
        read = X.only(*self.columns_read) if X.n_tokens else X
        groups = [templates for templates, _ in self._groups]
        return Extended(
            FeatureRows(X.indptr, *map(rows_of, matrices)), partial(_spell_names, read, groups, self.resources)
        )

    def transform(self, X: Columns) -> FeatureRows:
        """The known features of any sequences."""
        return self.read(X).features(0, X.n_sequences)

    def read(self, X: Columns, fields: Sequence[Field] = ()) -> ReadTokens:
        """The sequences with their tokens, and the tokens' keys of `fields`, looked up; kernels do the rest."""
        if self._reader is None or self._reader.made_for != (self._groups, fields):
            self._reader = self.reader(fields=fields)
        found: ReadTokens = self._reader.read(X)
        return found

    def reader(self, own: OwnScores | None = None, fields: Sequence[Field] = ()) -> TokenReader:
        """A reader for the features as they are numbered now."""
        return TokenReader(self._groups, self.resources, own, fields)

    @property
    def _groups(self) -> list[tuple[tuple[Template, ...], FeatureIndex]]:
        return list(zip((self.templates, self.transition_templates), self.indexes, strict=False))

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
        more = []
        if isinstance(extractor.transition_index, Alphabet):  # empty without templates for transitions
            stored.vector("transition_keys", np.uint64, None if extractor.transition_templates else 0)
            more = [stored_alphabet(stored, "transition_keys")] if extractor.transition_templates else []
        extractor._restore_index(stored, *more)
        return extractor

    @property
    def texts(self) -> list[str]:
        """The templates as texts, those on transitions last."""
        return list(dict.fromkeys(template.text for template in self.templates + self.transition_templates))


def _spell_names(
    X: Columns, groups: Sequence[Sequence[Template]], resources: Resources, alphabets: Sequence[Alphabet]
) -> list[str]:
    """Names such as ``suffix3[-1]=ing``, spelt from occurrences of the features in training data."""
    atoms = Atoms(X, resources)
    return [
        name for group, alphabet in zip(groups, alphabets, strict=True) for name in spell_all(atoms, group, alphabet)
    ]


def rows_of(numbers: NDArray[np.int32]) -> Rows:
    """A matrix with a row of feature numbers per token, −1 for none, as sparse rows of ones."""
    present = numbers >= 0
    if present.all():
        # The usual case in training: the matrix already holds the rows, so no copy is needed.
        n_tokens, n_templates = numbers.shape
        return Rows(np.arange(n_tokens + 1) * n_templates, numbers.ravel(), np.empty(0))
    return Rows(boundaries(present.sum(axis=1)), numbers[present], np.empty(0))
