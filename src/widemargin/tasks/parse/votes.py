"""Who votes for an arc: the features of one sentence's arcs by name, with their weights.

Hashed features have no names in a model, but for a given sentence they can be spelt again: every template with the
values that it finds there. The votes for an arc add up to its score,

    arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)  [+ grandparent(g, h, m)]]

so that they tell why the arc was chosen, and not another (`tasks.parse.examples`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from widemargin._types import FloatVector
from widemargin.tasks.parse.features import MEASURES, OUTSIDE, ArcExtractor
from widemargin.tasks.parse.keys import GROUPS, TURNS, TreeData, between, group_slots, step_of, turn_of
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.roles import RoleTemplate, spell_roles
from widemargin.text.templates import Atoms


class _Feature(NamedTuple):
    template: RoleTemplate
    at: int
    nodes: dict[str, int]
    step: int
    labelled: bool
    distant: bool = False

    @property
    def distance(self) -> str:
        """The value of the distance that this feature may be combined with."""
        return TURNS[self.step] if "grandparent" in self.template.roles else MEASURES["distance"][self.step]


class ArcVotes:
    """The votes in one sentence.

    Parameters
    ----------
    extractor : the extractor of the features of arcs
    sentence : columns of this sentence alone
    w : the weights
    labels : the labels that arcs may have
    """

    def __init__(self, extractor: ArcExtractor, sentence: Columns, w: FloatVector, labels: Sequence[str]) -> None:
        self.n_tokens = sentence.n_tokens
        self._extractor, self._w, self._labels = extractor, w, labels
        self._data = TreeData(sentence.indptr, extractor.keys(sentence), (1 << extractor.hash_bits) - 1, len(labels))
        self._atoms = Atoms(sentence, Resources())

    def scores(self, head: int, modifier: int, sibling: int = 0, grandparent: int | None = None) -> FloatVector:
        """The score of an arc with each of the labels.

        The token `sibling` is the next towards the head, 0 for none; `grandparent` is the head of the head, 0 for the
        root, None for none.
        """
        scores = np.zeros(len(self._labels))
        for feature in self._features(head, modifier, sibling, grandparent):
            end = len(self._labels) if feature.labelled else 1
            scores += self._w[feature.at : feature.at + end]
        return scores

    def biases(self, head: int, modifier: int) -> FloatVector:
        """The part of the scores that depends on the direction and the distance of an arc, not on its tokens."""
        scores = np.zeros(len(self._labels))
        for feature in self._features(head, modifier, 0, None):
            if feature.labelled and not feature.template.columns_read:
                scores += self._w[feature.at : feature.at + len(self._labels)]
        return scores

    def votes(
        self, head: int, modifier: int, label: int, sibling: int = 0, grandparent: int | None = None
    ) -> list[tuple[str, float]]:
        """All votes for an arc with a label: features, ``template=values``, and their weights."""
        return [
            (self._spelt(feature, label), float(self._w[feature.at + label * feature.labelled]))
            for feature in self._features(head, modifier, sibling, grandparent)
        ]

    def _features(self, head: int, modifier: int, sibling: int, grandparent: int | None) -> Iterator[_Feature]:
        ends = {"head": head, "modifier": modifier}
        for group, name in enumerate(GROUPS):
            templates = self._extractor.groups[name]
            step, labelled = step_of(head, modifier), name.startswith("label")
            others = [0]
            if name == "between":
                others = self._between(head, modifier)
            elif name == "sibling":
                others, step = [sibling], step_of(sibling or head, modifier)
            elif name == "grandparent":
                others = [] if grandparent is None else [grandparent]
                step = turn_of(grandparent or 0, head > modifier, modifier)
            for other in others:
                nodes = {**ends, "between": other, "sibling": other, "grandparent": other}
                slots = np.empty(len(templates), dtype=np.int32)
                group_slots(self._data, group, head, modifier, other, step, slots, 0)
                for template, slot in zip(templates, slots.tolist(), strict=True):
                    yield _Feature(template, slot, nodes, step, labelled)
                    if not labelled:  # once more with the distance
                        yield _Feature(template, slot + 1 + step, nodes, step, labelled, distant=True)

    def _between(self, head: int, modifier: int) -> list[int]:
        """The tokens between the two; of those with the same value, the one nearest to the head."""
        found = np.empty(self.n_tokens, dtype=np.int64)
        return found[: between(self._data.keys, 0, head, modifier, found)].tolist()

    def _spelt(self, feature: _Feature, label: int) -> str:
        tokens = {role: node - 1 if node else OUTSIDE[role] for role, node in feature.nodes.items()}
        measured = {name: values[feature.step] for name, values in MEASURES.items()}
        measured |= {"label": self._labels[label], "distance": feature.distance}
        template = feature.template
        for measure in ("label",) * feature.labelled + ("distance",) * feature.distant:
            template = replace(template, text=f"{template.text}|{measure}", measures=(*template.measures, measure))
        return spell_roles(self._atoms, template, tokens, measured)
