"""Who votes for a constituent: the features of the nodes of one sentence's binary trees by name, with their weights.

The votes for all nodes of a tree add up to its score (`tasks.bracket.linear`). Templates vote by what they find at a
span and at the halves into which it is split, rules by the labels of the halves, all with the label of the node itself.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from widemargin.tasks.bracket.features import SEQUENCES, STEPS, BracketHasher
from widemargin.tasks.bracket.linear import BracketWeights
from widemargin.tasks.bracket.slots import LEFT, RIGHT, SPAN, BracketKeys, new_slots, part_slots
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.roles import RoleTemplate, spell_roles
from widemargin.text.templates import Atom, Atoms


class Node(NamedTuple):
    """The words begin … end − 1 with a label; of several words, also the split and the labels of both halves."""

    begin: int
    end: int
    label: int
    split: int = 0
    left: int = 0
    right: int = 0

    @property
    def is_split(self) -> bool:
        """Whether there is more than one word."""
        return self.end - self.begin > 1


def nodes_of(rows: Sequence[Sequence[int]]) -> list[Node]:
    """The nodes of a tree from its rows (begin, end, label) in preorder."""
    found = []
    for r, (begin, end, label) in enumerate(rows):
        if end - begin == 1:
            found.append(Node(begin, end, label))
            continue
        _, split, left = rows[r + 1]
        found.append(Node(begin, end, label, split, left, rows[r + 2 * (split - begin)][2]))
    return found


class SpanVotes:
    """The votes in one sentence.

    Parameters
    ----------
    templates : the templates of the features of nodes
    sentence : columns of this sentence alone
    weights : the weights of the model
    names : the names of all labels
    """

    def __init__(
        self, templates: Sequence[RoleTemplate], sentence: Columns, weights: BracketWeights, names: Sequence[str]
    ) -> None:
        self._weights, self._names = weights, names
        self._mask = len(weights.table) - len(names)
        self._atoms = Atoms(sentence, Resources())
        self._keys = [(template, BracketHasher([template]).keys(sentence)) for template in templates]

    def votes(self, node: Node) -> list[tuple[str, float]]:
        """All votes for a node: features, ``template=values``, and their weights."""
        table, rules, label = *self._weights, node.label
        found = []
        for template, keys in self._keys:
            for slot, begin, end in self._slot(keys, node):
                found.append((self._spelt(template, node, begin, end), float(table[slot + label])))
        if node.is_split:
            for side, (name, half) in enumerate((("left half", node.left), ("right half", node.right))):
                found.append((f"{name}={self._names[half]}", float(rules[side, half, label])))
        return found

    def _slot(self, keys: BracketKeys, node: Node) -> Iterator[tuple[int, int, int]]:
        """The slot of the one template of `keys`, and the span that it looks at; nothing where there is no split."""
        slots, parts = new_slots(keys), [(SPAN, node.begin, node.end)]
        if node.is_split:
            parts += [(LEFT, node.begin, node.split), (RIGHT, node.split, node.end)]
        for kind, begin, end in parts:
            for slot in slots[: part_slots(keys, kind, begin, end, self._mask, slots)].tolist():
                yield slot, begin, end

    def _spelt(self, template: RoleTemplate, node: Node, begin: int, end: int) -> str:
        measured = {"length": str(STEPS[np.searchsorted(STEPS, end - begin, side="right") - 1])}
        for name in set(SEQUENCES).intersection(template.measures):
            codes, _, values = self._atoms.part(Atom(*SEQUENCES[name], 0))
            measured[name] = " ".join(values[code] or "" for code in codes[begin:end].tolist())
        tokens: dict[str, int | str] = {"first": node.begin, "last": node.end - 1, "split": node.split}
        return spell_roles(self._atoms, template, tokens, measured)
