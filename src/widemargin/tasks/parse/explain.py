"""Why a token hangs on this head, by this relation, and not on another.

A single arc is scored while the rest of the predicted tree stays as it is. If the model scores siblings, the arc's
sibling is the one that it has, or would have, in that tree. Its grandparent is the head of its head there; a
grandparent between head and token is left out, because no projective tree has it. A tree is chosen as a whole, so one
of its arcs may score less than another arc that did not fit in.

A model does not store the names of hashed features, but a given sentence brings them back: every template with the
values that it finds there. The votes for an arc add up to its score,

    arc(h, m) + label(h, m, l)   [+ sibling(h, s, m)  [+ grandparent(g, h, m)]]

so they tell why this arc was chosen rather than another (`tasks.parse.examples`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from widemargin._types import FloatVector, IntVector, LongMatrix
from widemargin.errors import WidemarginError
from widemargin.report.explain import Option
from widemargin.structures.dependencies import Sentence
from widemargin.tasks.parse.features import (
    GRANDPARENT,
    GROUPS,
    LABEL,
    MEASURES,
    OUTSIDE,
    SIBLING,
    STEPS,
    TURNS,
    ArcExtractor,
    TreeData,
    arc_slots,
    between,
    label_slots,
    slot_room,
    step_of,
    triple_slots,
)
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.roles import RoleTemplate, spell_roles
from widemargin.text.templates import Atoms
from widemargin.text.trees import Arc


class _Feature(NamedTuple):
    """A feature's template, the place of its (first) weight, and what its name tells of tokens and measures."""

    template: RoleTemplate
    at: int
    nodes: dict[str, int]
    measured: dict[str, str]
    labelled: bool


class ArcVotes:
    """The votes in one `sentence`, columns of it alone, for arcs with these `labels`."""

    def __init__(self, extractor: ArcExtractor, sentence: Columns, w: FloatVector, labels: Sequence[str]) -> None:
        self.n_tokens = sentence.n_tokens
        self._extractor, self._w, self._labels = extractor, w, labels
        self._data = TreeData(sentence.indptr, extractor.keys(sentence), (1 << extractor.hash_bits) - 1, len(labels), 0)
        self._atoms = Atoms(sentence, Resources())

    def scores(self, head: int, modifier: int, sibling: int = 0, grandparent: int | None = None) -> FloatVector:
        """The score of an arc with each of the labels.

        `sibling` is the next modifier towards the head, 0 for none. `grandparent` is the head of the head: 0 for the
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
            (self._spell(feature, label), float(self._w[feature.at + label * feature.labelled]))
            for feature in self._features(head, modifier, sibling, grandparent)
        ]

    def _features(self, head: int, modifier: int, sibling: int, grandparent: int | None) -> Iterator[_Feature]:
        data, (slots, tokens) = self._data, slot_room(self._data, self.n_tokens)
        n_between = between(data.keys, 0, head, modifier, tokens)
        count = arc_slots(data, 0, head, modifier, tokens, n_between, slots)
        groups = [("arc", 0), *(("between", token) for token in tokens[:n_between].tolist())]
        yield from self._features_in(slots[:count], groups, head, modifier)
        count = triple_slots(data, SIBLING, 0, head, sibling or head, modifier, slots)
        yield from self._features_in(slots[:count], [("sibling", sibling)], head, modifier)
        if grandparent is not None:
            count = triple_slots(data, GRANDPARENT, 0, head, modifier, grandparent, slots)
            yield from self._features_in(slots[:count], [("grandparent", grandparent)], head, modifier)
        count = label_slots(data, 0, head, modifier, slots)
        yield from self._features_in(slots[:count], [(name, 0) for name in GROUPS[LABEL:]], head, modifier)

    def _features_in(
        self, slots: IntVector, groups: Iterable[tuple[str, int]], head: int, modifier: int
    ) -> Iterator[_Feature]:
        """The features that use these slots, which are in the order of `groups`: pairs of a name and a third token."""
        read, step = iter(slots.tolist()), step_of(head, modifier)
        of_arc = {name: values[step] for name, values in MEASURES.items()}
        for name, other in groups:
            nodes = {"head": head, "modifier": modifier, "between": other, "sibling": other, "grandparent": other}
            for template in self._extractor.groups[name]:
                slot = next(read)
                if name.startswith("label"):
                    yield _Feature(_with(template, "label"), slot, nodes, of_arc, True)
                    continue
                yield _Feature(template, slot, nodes, {}, False)
                distant, distances = next(read), TURNS if name == "grandparent" else STEPS
                measured = {"distance": distances[distant - slot - 1]}
                yield _Feature(_with(template, "distance"), distant, nodes, measured, False)

    def _spell(self, feature: _Feature, label: int) -> str:
        tokens = {role: node - 1 if node else OUTSIDE[role] for role, node in feature.nodes.items()}
        return spell_roles(self._atoms, feature.template, tokens, feature.measured | {"label": self._labels[label]})


def _with(template: RoleTemplate, measure: str) -> RoleTemplate:
    return replace(template, text=f"{template.text}|{measure}", measures=(*template.measures, measure))


@dataclass(frozen=True)
class ArcExplainer:
    """One sentence with the votes for its arcs, its words, its predicted tree, and all labels of the model."""

    voters: ArcVotes
    words: Sequence[str]
    arcs: Sequence[Arc]
    labels: Sequence[str]

    def option(self, token: int, arc: Arc) -> Option:
        """The arc to a token in words, and the votes for it; the token counts from 1."""
        votes = self.voters.votes(arc.head, token, self.labels.index(arc.label), *self._around(arc.head, token))
        return Option(self.name_of(token, arc), votes)

    def alternative(self, token: int, head: int | None = None, label: str | None = None) -> Arc:
        """The best other arc to a token: from this head or with this label if given, else from the best other head."""
        chosen = self.arcs[token - 1]
        heads = [h for h in range(len(self.arcs) + 1) if h != token]
        if head is not None and head not in heads:
            raise WidemarginError(
                f"token {token} cannot have the head {head}; there are tokens 1 to {len(self.arcs)} and 0, the root"
            )
        if label is not None and label not in self.labels:
            raise WidemarginError(f"the model has no label {label!r}; it has {', '.join(map(repr, self.labels))}")
        if head is not None:
            heads = [head]
        elif label is not None and label != chosen.label:
            heads = [chosen.head]
        elif len(heads) > 1:
            heads.remove(chosen.head)
        candidates = {
            Arc(h, name): float(score)
            for h in heads
            for name, score in zip(self.labels, self._scores(h, token), strict=True)
            if label in (None, name) and (h, name) != chosen
        }
        if not candidates:
            raise WidemarginError(f"the arc {self.name_of(token, chosen)} is the one chosen; name another")
        return max(candidates, key=candidates.__getitem__)

    def margins(self, scores: Sentence) -> list[tuple[Arc, float]]:
        """For every token the best arc from another head, and how much more the chosen arc scores.

        `scores` are the part scores of the sentence: a kernel sums them up for all arcs at once.
        """
        arcs, best = scores.arcs.max(axis=2), scores.arcs.argmax(axis=2)
        np.fill_diagonal(arcs, -np.inf)
        # Only triples that a tree can have are scored; all other entries are uninitialised memory.
        rows, columns = np.nonzero(~np.eye(len(arcs), dtype=bool) & (np.arange(len(arcs)) > 0))
        if len(scores.siblings):
            arcs[rows, columns] += scores.siblings[rows, self._siblings[rows, columns], columns]
        if len(scores.grandparents):
            for head, token in zip(rows.tolist(), columns.tolist(), strict=True):
                grandparent = self._grandparent(head, token)
                if grandparent is not None:
                    arcs[head, token] += scores.grandparents[head, token, grandparent]
        found = []
        for token, chosen in enumerate(self.arcs, 1):
            arcs[chosen.head, token] = -np.inf
            head = int(np.argmax(arcs[:, token]))
            # A single token has no other head, only other labels.
            other = Arc(head, self.labels[best[head, token]]) if len(self.arcs) > 1 else self.alternative(token)
            found.append((other, self._score(token, chosen) - self._score(token, other)))
        return found

    @cached_property
    def _siblings(self) -> LongMatrix:
        """The sibling of every arc, by head and token; the head itself stands for none.

        The sibling is the next token towards the head that hangs on this head in the predicted tree.
        """
        n = len(self.arcs)
        siblings = np.zeros((n + 1, n + 1), dtype=np.int64)
        for head in range(n + 1):
            for tokens in (range(head + 1, n + 1), range(head - 1, 0, -1)):
                last = head
                for token in tokens:
                    siblings[head, token] = last
                    if self.arcs[token - 1].head == head:
                        last = token
        return siblings

    def _score(self, token: int, arc: Arc) -> float:
        return float(self._scores(arc.head, token)[self.labels.index(arc.label)])

    def _scores(self, head: int, token: int) -> FloatVector:
        return self.voters.scores(head, token, *self._around(head, token))

    def _around(self, head: int, token: int) -> tuple[int, int | None]:
        """The sibling, 0 for none, and the grandparent of an arc."""
        sibling = int(self._siblings[head, token])
        return sibling if sibling != head else 0, self._grandparent(head, token)

    def _grandparent(self, head: int, token: int) -> int | None:
        """The head of the head, unless it is between the two, or the token itself; None for the root."""
        grandparent = self.arcs[head - 1].head if head else None
        within = grandparent is not None and min(head, token) <= grandparent <= max(head, token)
        return None if within else grandparent

    def name_of(self, token: int, arc: Arc) -> str:
        """The arc to a token in words."""
        return f"{self._spell_token(arc.head)} → {self._spell_token(token)}, {arc.label}"

    def _spell_token(self, token: int) -> str:
        return f"{token} {self.words[token - 1]}" if token else "0 root"
