"""Why some words are a certain constituent, or none, and not something else.

A constituent cannot stand by itself, so whole trees are compared: the predicted tree, and the best tree that has a
given constituent or lacks a predicted one. The two options (`report.explain`) are the parts that only one of the trees
has; their scores differ by as much as the trees do, and the difference is never negative. One inside and one outside
pass give, for every node, the score of the best tree that has it (`decoders.cky_searches`).

The votes for all nodes of a tree add up to its score (`tasks.bracket.examples`). Templates vote by the tokens of a span
and of its halves, rules by the labels of the halves. Every vote is for one label of the node.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
from widemargin.core.checks import check_memory, check_time
from widemargin.decoders.cky import best_tree, cell, new_charts, no_marks
from widemargin.decoders.cky_searches import outside, tree_through
from widemargin.errors import WidemarginError
from widemargin.report.explain import Option
from widemargin.structures.constituents import parts_of
from widemargin.tasks.bracket.examples import BracketWeights
from widemargin.tasks.bracket.features import (
    LEFT,
    RIGHT,
    SEQUENCES,
    SPAN,
    STEPS,
    BracketHasher,
    BracketKeys,
    new_slots,
    parse_bracket_templates,
    part_slots,
)
from widemargin.tasks.bracket.model import Bracketer
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.roles import RoleTemplate, spell_roles
from widemargin.text.templates import Atom, Atoms

Place = tuple[int, int, int]
"""Begin, end and label of a node."""

ONLY = np.zeros(1, dtype=np.int32)


class ExplainedNode(NamedTuple):
    """The words begin … end − 1 with a label; if there are several, also the split and the labels of both halves."""

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


def nodes_of(rows: Sequence[Sequence[int]]) -> list[ExplainedNode]:
    """The nodes of a tree from its rows (begin, end, label) in preorder."""
    found = []
    for r, (begin, end, label) in enumerate(rows):
        if end - begin == 1:
            found.append(ExplainedNode(begin, end, label))
            continue
        _, split, left = rows[r + 1]
        found.append(ExplainedNode(begin, end, label, split, left, rows[r + 2 * (split - begin)][2]))
    return found


class SpanVotes:
    """The votes for nodes in one `sentence`, columns of it alone; `names` are those of all labels."""

    def __init__(
        self, templates: Sequence[RoleTemplate], sentence: Columns, weights: BracketWeights, names: Sequence[str]
    ) -> None:
        self._weights, self._names = weights, names
        self._mask = len(weights.table) - len(names)
        self._atoms = Atoms(sentence, Resources())
        self._keys = [(template, BracketHasher([template]).keys(sentence)) for template in templates]

    def votes(self, node: ExplainedNode) -> list[tuple[str, float]]:
        """All votes for a node: features, ``template=values``, and their weights."""
        table, rules, label = *self._weights, node.label
        found = []
        for template, keys in self._keys:
            for slot, begin, end in self._slot(keys, node):
                found.append((self._spell(template, node, begin, end), float(table[slot + label])))
        if node.is_split:
            for side, (name, half) in enumerate((("left half", node.left), ("right half", node.right))):
                found.append((f"{name}={self._names[half]}", float(rules[side, half, label])))
        return found

    def _slot(self, keys: BracketKeys, node: ExplainedNode) -> Iterator[tuple[int, int, int]]:
        """The slot of the only template in `keys`, with the span that it describes; none if it needs a split."""
        slots, parts = new_slots(keys), [(SPAN, node.begin, node.end)]
        if node.is_split:
            parts += [(LEFT, node.begin, node.split), (RIGHT, node.split, node.end)]
        for kind, begin, end in parts:
            for slot in slots[: part_slots(keys, kind, begin, end, self._mask, slots)].tolist():
                yield slot, begin, end

    def _spell(self, template: RoleTemplate, node: ExplainedNode, begin: int, end: int) -> str:
        measured = {"length": str(STEPS[np.searchsorted(STEPS, end - begin, side="right") - 1])}
        for name in set(SEQUENCES).intersection(template.measures):
            codes, _, values = self._atoms.part(Atom(*SEQUENCES[name], 0))
            measured[name] = " ".join(values[code] or "" for code in codes[begin:end].tolist())
        tokens: dict[str, int | str] = {"first": node.begin, "last": node.end - 1, "split": node.split}
        return spell_roles(self._atoms, template, tokens, measured)


class SpanExplainer:
    """One sentence with its predicted tree; `sentence` has the columns of this sentence alone."""

    def __init__(self, parser: Bracketer, sentence: Columns) -> None:
        examples = self._examples = parser.examples(sentence)
        self._check_size()
        weights, self.n_tokens = examples.features.weights(parser.w), sentence.n_tokens
        self._n_chains = len(parser.bracketing.chains)
        self._names = parser.bracketing.names
        self._voters = SpanVotes(parse_bracket_templates(parser.texts), sentence, weights, self._names)
        scores: Any = examples.scored(weights, ONLY).scores
        all_scored = np.empty((0, len(self._names)))
        self._parts = parts_of(scores, 0, all_scored)
        self._filled = parts_of(scores._replace(own=scores.own.copy()), 0, all_scored)
        rows = np.empty((2 * self.n_tokens - 1, 3), dtype=np.int32)
        self._score = best_tree(self.n_tokens, self._filled, no_marks(), rows)
        self.nodes = nodes_of(rows.tolist())
        self._outer = new_charts(self.n_tokens, len(self._names))
        outside(self.n_tokens, self._parts, self._filled, self._outer)
        # The score of the best tree with a node is that outside of the node plus that inside.
        self._through: FloatMatrix = self._outer.nodes + self._filled.span
        self._best_through = self._through.max(axis=1)
        spans = [(i, j) for j in range(1, self.n_tokens + 1) for i in range(j)]
        self._begins, self._ends = np.array(spans, dtype=np.int32).T

    def _check_size(self) -> None:
        """Raise if the sentence is too long to explain."""
        examples, instead = self._examples, "Split the sentence, or leave it out"
        seconds, needed = 3.0 * examples.features.seconds_of_search(), examples.chart_bytes(9)
        check_time(seconds, "explaining, which takes as long as parsing it three times", instead, "sentence")
        check_memory(needed, "explaining, which keeps nine scores for each span and label", instead, "sentence")

    def constituents(self) -> list[tuple[int, int, str]]:
        """Begin, end and label of all predicted constituents; a chain over the same words counts as one."""
        return [
            (node.begin, node.end, self._names[node.label]) for node in self.nodes if 0 < node.label < self._n_chains
        ]

    def label(self, begin: int, end: int) -> str | None:
        """The label predicted for the words begin … end − 1; None if they are not a constituent."""
        return next((label for i, j, label in self.constituents() if (i, j) == (begin, end)), None)

    def alternative(self, begin: int, end: int, label: str | None = None) -> list[ExplainedNode]:
        """The best tree in which the words begin … end − 1 are a constituent `label`.

        Without a label, it is the best tree that lacks their predicted constituent or, if they have none, the best in
        which they are any constituent.
        """
        return self._alternative(begin, end, label)[0]

    def margins(self) -> Iterator[tuple[tuple[int, int, str], float, str]]:
        """Every predicted constituent, its margin over the best tree without it, and the nodes of that tree instead."""
        own = {node[:3] for node in self.nodes}
        for constituent in self.constituents():
            other, score = self._alternative(*constituent[:2])
            instead = [node[:3] for node in other if node[:3] not in own]
            yield constituent, self._score - score, self._spell(instead)

    def _alternative(self, begin: int, end: int, label: str | None = None) -> tuple[list[ExplainedNode], float]:
        chosen = self.label(begin, end)
        if not 0 <= begin < end <= self.n_tokens:
            raise WidemarginError(f"there are no words {begin + 1} to {end} in a sentence of {self.n_tokens} words")
        if label is not None and label not in self._names[1 : self._n_chains]:
            known = ", ".join(repr(name) for name in self._names[1 : self._n_chains])
            raise WidemarginError(f"the model has no constituents {label!r}; it has {known}")
        if label is not None and label == chosen:
            raise WidemarginError(f"the words {begin + 1} to {end} are predicted to be {label}; name another label")
        if label is None and chosen is not None:
            return self._without(begin, end, self._names.index(chosen))
        wanted = [self._names.index(label)] if label is not None else [*range(1, self._n_chains)]
        scores = np.full(len(self._names), -np.inf)
        scores[wanted] = self._through[cell(begin, end), wanted]
        return self._best_with(begin, end, scores)

    def _without(self, begin: int, end: int, label: int) -> tuple[list[ExplainedNode], float]:
        """The best tree without this node: it has the span with another label, or a span that crosses it.

        A binary tree that lacks a span has one that crosses it: otherwise it could have both.
        """
        others = self._through[cell(begin, end)].copy()
        others[label] = -np.inf
        i, j = self._begins, self._ends
        crosses = ((i < begin) & (begin < j) & (j < end)) | ((begin < i) & (i < end) & (end < j))
        crossing = np.where(crosses, self._best_through, -np.inf)
        at = int(crossing.argmax())
        if crossing[at] > others.max():
            return self._best_with(int(i[at]), int(j[at]), self._through[at])
        return self._best_with(begin, end, others)

    def _best_with(self, begin: int, end: int, scores: FloatVector) -> tuple[list[ExplainedNode], float]:
        """The nodes of the best tree with this span, and its score; `scores` are those of the span with each label."""
        label = int(scores.argmax())
        if scores[label] == -np.inf:
            raise WidemarginError("no tree can be like that: the model has not seen any such constituent")
        rows = np.empty((2 * self.n_tokens - 1, 3), dtype=np.int32)
        tree_through(self.n_tokens, begin, end, label, 0, self._parts, self._filled, self._outer, no_marks(), rows)
        return nodes_of(rows.tolist()), float(scores[label])

    def options(self, other: Sequence[ExplainedNode]) -> tuple[Option, Option]:
        """The parts that only the predicted tree has, and those that only the other has."""
        votes, others = self._votes(self.nodes), self._votes(other)
        return self._only(votes, others), self._only(others, votes)

    def _votes(self, nodes: Sequence[ExplainedNode]) -> dict[Place, dict[str, float]]:
        return {node[:3]: dict(self._voters.votes(node)) for node in nodes}

    def _only(self, votes: dict[Place, dict[str, float]], others: dict[Place, dict[str, float]]) -> Option:
        places = [place for place in votes if place not in others]
        own = [vote for place, named in votes.items() for vote in named.items() if vote[0] not in others.get(place, ())]
        return Option(self._spell(places), own)

    def _spell(self, places: Sequence[Place]) -> str:
        return ", ".join(f"{self._names[label]} {begin + 1}:{end}" for begin, end, label in places)
