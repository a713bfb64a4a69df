"""Features from templates over columns of tokens (the language is in `templates`)."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from widemargin._types import AnyArray, BoolVector
from widemargin.columns import Columns, boundaries
from widemargin.features.alphabet import Alphabet, FeatureIndex, HashedIndex
from widemargin.features.attributes import Resources
from widemargin.features.base import Arrays, Features, NumberedFeatures, packed_strings, selected, stored_alphabet
from widemargin.features.templates import TRANSITION, Atoms, Template, parse_templates, spell, template_matrix
from widemargin.sparse import Rows
from widemargin.strings import pack_strings, unpack_strings


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

    @property
    def n_transition_features(self) -> int:
        """How many features describe a transition."""
        return self.transition_index.size

    def names(self) -> list[str]:
        """The features' names in the order of their numbers, those on transitions last."""
        if isinstance(self.transition_index, HashedIndex):
            return super().names() + [f"{TRANSITION}hashed {row}" for row in range(self.transition_index.size)]
        return super().names()

    def fit(self, X: Columns) -> Features:
        """Number the features of the training sequences."""
        rows, self.index = self._rows(X, self.templates, self._new_index(), intern=True)
        transition_rows = None
        if self.transition_templates:
            transition_rows, self.transition_index = self._rows(
                X, self.transition_templates, self._new_index(), intern=True
            )
        self._spell = partial(self._spell_from, X)
        return Features(X.indptr, rows, transition_rows)

    def transform(self, X: Columns) -> Features:
        """The known features of any sequences."""
        rows, _ = self._rows(X, self.templates, self.index, intern=False)
        transition_rows = None
        if self.transition_templates:
            transition_rows, _ = self._rows(X, self.transition_templates, self.transition_index, intern=False)
        return Features(X.indptr, rows, transition_rows)

    def keep(self, used: BoolVector) -> "TemplateExtractor | None":
        """An extractor of the `used` features only."""
        if not (isinstance(self.index, Alphabet) and isinstance(self.transition_index, Alphabet)):
            return None
        kept = TemplateExtractor(self._texts(), self.resources, min_count=self.min_count)
        kept.index = Alphabet(self.index.keys()[used[: self.n_features]])
        kept.transition_index = Alphabet(self.transition_index.keys()[used[self.n_features :]])
        kept._spell = partial(selected, self.names(), used)
        return kept

    def describe(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Templates, resources, keys and names."""
        header, arrays = self._describe_index()
        resources = {
            "lexicons": {name: list(entries) for name, entries in self.resources.lexicons.items()},
            "clusters": {name: dict(words) for name, words in self.resources.clusters.items()},
        }
        arrays |= pack_strings("resources", [json.dumps(resources)])
        if isinstance(self.transition_index, Alphabet):
            arrays["transition_keys"] = self.transition_index.keys()
        return {**header, "templates": self._texts()}, arrays

    @classmethod
    def restore(cls, header: dict[str, Any], arrays: Arrays) -> "TemplateExtractor":
        """The extractor that `describe` described."""
        resources = Resources(**json.loads(unpack_strings("resources", packed_strings("resources", arrays))[0]))
        extractor = cls(header["templates"], resources, hash_bits=header["hash_bits"])
        extractor._restore_index(arrays)
        if isinstance(extractor.transition_index, Alphabet):
            extractor.transition_index = stored_alphabet(arrays, "transition_keys")
        return extractor

    def _texts(self) -> list[str]:
        return [template.text for template in self.templates + self.transition_templates]

    def _rows(
        self, columns: Columns, templates: Sequence[Template], index: FeatureIndex, *, intern: bool
    ) -> tuple[Rows, FeatureIndex]:
        if columns.n_tokens == 0:
            # Sequences without any token do not show their columns' names, and need none.
            return Rows(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0)), index
        numbers = template_matrix(columns, templates, self.resources, index, intern=intern)
        if intern:
            index, numbers = self._frequent(index, numbers)
        present = numbers >= 0
        if present.all():
            # The usual case when training: the matrix is the rows, without another copy of it.
            n_tokens, n_templates = numbers.shape
            return Rows(np.arange(n_tokens + 1) * n_templates, numbers.ravel(), np.empty(0)), index
        return Rows(boundaries(present.sum(axis=1)), numbers[present], np.empty(0)), index

    def _spell_from(self, training: Columns) -> list[str]:
        """Names such as ``suffix3[-1]=ing``, spelt from where the features first occurred in training."""
        return [
            *self._spell_templates(training, self.templates, self.index),
            *self._spell_templates(training, self.transition_templates, self.transition_index),
        ]

    def _spell_templates(self, training: Columns, templates: Sequence[Template], index: FeatureIndex) -> list[str]:
        if not templates:
            return []
        flat = template_matrix(training, templates, self.resources, index, intern=False).ravel()
        occurrence = np.empty(index.size + 1, dtype=np.int64)
        # Assigned from the last to the first, so that the first occurrence stays; −1 lands in the spare last entry.
        occurrence[flat[::-1]] = np.arange(len(flat) - 1, -1, -1)
        tokens, which = np.divmod(occurrence[:-1], len(templates))
        names = [""] * index.size
        atoms = Atoms(training, self.resources)
        for t, template in enumerate(templates):
            mine = np.flatnonzero(which == t)
            for number, name in zip(mine.tolist(), spell(atoms, template, tokens[mine]), strict=True):
                names[number] = name
        return names
