"""Features of dependency arcs by templates (McDonald et al. 2005), hashed into one table of weights (`text.roles`).

Four lists of templates: on arcs, on arcs with their label, on pairs of siblings, and on grandparents. The roles are
``head``, ``modifier``, ``between`` (each distinct value among the tokens between the two), ``sibling`` (the next
modifier of the same head towards it) and ``grandparent`` (the head of the head). A feature without labels counts twice:
alone, and combined with a signed distance. It is the distance from head to modifier, from sibling to modifier, or from
grandparent to modifier together with the side of the head. Templates on labels name the measure they use:
``direction`` or ``distance``.

An arc from head h to modifier m has, for every template t, the slot

    (head[h, t] + modifier[m, t] + measure[step, t]) mod 2^bits

where `step` encodes direction and distance of the arc. Features of a third token (one between the two, a sibling or a
grandparent) add its key from `other`. Row 0 of the matrices is the artificial root, or a missing sibling; token s of a
corpus has the row s + 1.

A feature has several weights, side by side from its slot on. A feature with labels has one weight for each label. A
feature without labels has a weight that always counts, then one for each step, or for each turn if it looks at a
grandparent; only the weight of the arc's own step or turn counts. Weights lie side by side because neighbours in memory
are fetched together, and fetching takes most of the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import IntMatrix, IntVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.text.columns import Columns
from widemargin.text.roles import RoleHasher, RoleTemplate, measure_keys, parse_role_templates
from widemargin.text.templates import split_templates

STEPS = ("root", "1", "2", "3", "4", "5+", "10+", "-1", "-2", "-3", "-4", "-5+", "-10+")
DIRECTIONS = ("root", *["right"] * 6, *["left"] * 6)
"""The names of the steps of an arc in templates: its signed distance, or its direction alone."""

TURNS = (
    "root",
    *(f"{where}{side}{far}" for side in ("", "-") for where in ("", "beyond ") for far in ("1", "3+", "6+")),
)
"""The names of the turns of a chain grandparent → head → modifier: the signed distance from grandparent to modifier,
and whether the head is between the two or beyond."""

GROUPS = ("arc", "between", "sibling", "grandparent", "label", "label_head", "label_modifier")
"""Templates by what they look at.

The first four ignore the label of an arc. ``label`` scores arcs with a label. ``label_head`` and ``label_modifier`` do
so by one token and the direction alone, so their scores are computed once per token.
"""
ARC, BETWEEN, SIBLING, GRANDPARENT, LABEL, LABEL_HEAD, LABEL_MODIFIER = range(7)

ANY_STEP = (0, 1, 7)
"""A step of each direction: from the root, to the right, to the left."""

MEASURES = {"distance": STEPS, "direction": DIRECTIONS}
OUTSIDE = {"head": "<root>", "modifier": "<root>", "between": "<none>", "sibling": "<none>", "grandparent": "<root>"}


ARC_TEMPLATES = tuple(
    split_templates("""
    head:word|head:xpos  head:word  head:xpos
    modifier:word|modifier:xpos  modifier:word  modifier:xpos
    head:word|head:xpos|modifier:word|modifier:xpos  head:xpos|modifier:word|modifier:xpos
    head:word|modifier:word|modifier:xpos  head:word|head:xpos|modifier:xpos  head:word|head:xpos|modifier:word
    head:word|modifier:word  head:xpos|modifier:xpos  head:upos|modifier:upos  head:word|modifier:upos
    head:upos|modifier:word  head:lemma|modifier:lemma  head:lemma|modifier:upos  head:upos|modifier:lemma
    head:xpos|modifier:xpos|head:xpos[1]|modifier:xpos[-1]  head:xpos|modifier:xpos|head:xpos[-1]|modifier:xpos[-1]
    head:xpos|modifier:xpos|head:xpos[1]|modifier:xpos[1]  head:xpos|modifier:xpos|head:xpos[-1]|modifier:xpos[1]
    head:upos|modifier:upos|head:upos[1]|modifier:upos[-1]  head:upos|modifier:upos|head:upos[-1]|modifier:upos[-1]
    head:upos|modifier:upos|head:upos[1]|modifier:upos[1]  head:upos|modifier:upos|head:upos[-1]|modifier:upos[1]
    head:xpos|modifier:xpos|head:xpos[1]  head:xpos|modifier:xpos|head:xpos[-1]
    head:xpos|modifier:xpos|modifier:xpos[1]  head:xpos|modifier:xpos|modifier:xpos[-1]  head:feats|modifier:feats
    head:upos|modifier:feats  head:feats|modifier:upos
    head:upos|modifier:upos|between:upos  head:xpos|modifier:xpos|between:upos
    """)
)
LABEL_TEMPLATES = tuple(
    split_templates("""
    modifier:bias|direction  modifier:word|direction  modifier:lemma|modifier:upos|direction
    modifier:xpos|direction  modifier:word|modifier:xpos|direction  modifier:feats|modifier:upos|direction
    modifier:xpos[-1]|modifier:xpos|direction  modifier:xpos|modifier:xpos[1]|direction
    modifier:upos[-1]|modifier:upos|modifier:upos[1]|direction  modifier:word[-1]|modifier:xpos|direction
    modifier:xpos|modifier:word[1]|direction  modifier:lemma[-1]|modifier:lemma|direction
    modifier:lemma|modifier:lemma[1]|direction  modifier:lemma[-2]|modifier:xpos|direction
    modifier:xpos|modifier:lemma[2]|direction  modifier:upos[-2]|modifier:upos[-1]|modifier:upos|direction
    modifier:upos|modifier:upos[1]|modifier:upos[2]|direction
    head:word|direction  head:lemma|head:upos|direction  head:xpos|direction  head:word|head:xpos|direction
    head:feats|head:upos|direction  head:xpos[-1]|head:xpos|head:xpos[1]|direction
    head:lemma[-1]|head:lemma|direction  head:lemma|head:lemma[1]|direction  head:lemma[-1]|head:xpos|direction
    head:xpos|head:lemma[1]|direction  head:upos[-1]|head:lemma|direction  head:lemma|head:upos[1]|direction
    head:upos[-2]|head:upos[-1]|head:upos|direction  head:upos|head:upos[1]|head:upos[2]|direction
    head:upos[-2]|head:upos[-1]|head:upos|head:upos[1]|head:upos[2]|direction  head:upos[-3]|head:upos|direction
    head:upos|head:upos[3]|direction
    head:xpos|modifier:xpos|direction  head:upos|modifier:upos|distance  head:lemma|modifier:xpos|direction
    """)
)
SIBLING_TEMPLATES = tuple(
    split_templates("""
    sibling:upos|modifier:upos
    head:upos|sibling:upos|modifier:upos  head:xpos|sibling:xpos|modifier:xpos
    sibling:word|modifier:word  sibling:word|modifier:upos  sibling:upos|modifier:word  sibling:xpos|modifier:xpos
    sibling:lemma|modifier:lemma
    head:lemma|sibling:upos|modifier:upos  head:upos|sibling:lemma|modifier:upos
    head:upos|sibling:upos|modifier:lemma
    """)
)
GRANDPARENT_TEMPLATES = tuple(
    split_templates("""
    grandparent:upos|modifier:upos  grandparent:xpos|modifier:xpos  grandparent:word|modifier:word
    grandparent:lemma|modifier:lemma  grandparent:lemma|modifier:upos  grandparent:upos|modifier:lemma
    grandparent:upos|head:upos|modifier:upos  grandparent:xpos|head:xpos|modifier:xpos
    grandparent:lemma|head:upos|modifier:lemma  grandparent:upos|head:lemma|modifier:lemma
    grandparent:upos|head:upos|modifier:lemma
    """)
)


class TreeKeys(NamedTuple):
    """The keys of all templates, a column each; group g of the templates has the columns `edges`[g] … `edges`[g + 1].

    Keys of roles and measures that a template lacks are zero. Within the group of siblings, templates that look at the
    head begin at column `sibling_head`; within that of grandparents, at `grandparent_head`.
    """

    head: IntMatrix
    modifier: IntMatrix
    other: IntMatrix
    measure: IntMatrix
    edges: LongVector
    sibling_head: int
    grandparent_head: int


class TreeData(NamedTuple):
    """The features of sentences, whose tokens begin at `indptr`; slots are taken modulo `mask` + 1.

    `n_triples` says which triples have scores: 1 for siblings, 2 for grandparents as well.
    """

    indptr: LongVector
    keys: TreeKeys
    mask: int
    n_labels: int
    n_triples: int


@kernel
def step_of(head: int, modifier: int) -> int:
    """The number of an arc's step in `STEPS`."""
    if head == 0:
        return 0
    distance = abs(head - modifier)
    bucket = distance
    if distance >= 10:
        bucket = 6
    elif distance >= 5:
        bucket = 5
    return bucket if modifier > head else bucket + 6


@kernel
def turn_of(grandparent: int, head_after: bool, modifier: int) -> int:
    """The number of a chain's turn in `TURNS`; `head_after` tells whether the head comes after the modifier."""
    if grandparent == 0:
        return 0
    distance = abs(grandparent - modifier)
    turn = 1 if distance < 3 else (2 if distance < 6 else 3)
    if head_after == (grandparent < modifier):
        turn += 3
    return turn if grandparent < modifier else turn + 6


@kernel
def row_of(first: int, node: int) -> int:
    """The row of node 0 … n of a sentence whose first token is number `first` of the corpus."""
    return first + node if node > 0 else 0


@kernel
def direction_of(step: int) -> int:
    """The number of a step's direction in `ANY_STEP`."""
    return 0 if step == 0 else (1 if step < 7 else 2)


@kernel
def group_slots(
    data: TreeData, group: int, head: int, modifier: int, other: int, step: int, slots: IntVector, count: int
) -> int:
    """Append the places of a group's weights after the first `count` of `slots`; return the new count.

    A feature without labels has two places: its slot, whose weight always counts, and that of the step. A feature with
    labels has only its slot, where the weights of all labels begin. `head`, `modifier` and `other` are rows of keys, 0
    if the group does not look at them.
    """
    keys, mask, labelled = data.keys, data.mask, group >= LABEL
    # Unsigned indices: for signed ones, Numba would compile a test for negative numbers into every access.
    h, m, o, s = np.uint64(head), np.uint64(modifier), np.uint64(other), np.uint64(step)
    for column in range(keys.edges[group], keys.edges[group + 1]):
        t = np.uint64(column)
        slot = (keys.head[h, t] + keys.modifier[m, t] + keys.other[o, t] + keys.measure[s, t]) & mask
        slots[np.uint64(count)] = slot
        if not labelled:
            slots[np.uint64(count + 1)] = slot + 1 + step
        count += 1 if labelled else 2
    return count


@kernel
def slot_room(data: TreeData, longest: int) -> tuple[IntVector, LongVector]:
    """Room for the slots of a part, and for the tokens between two tokens, in sentences of at most this length."""
    edges = data.keys.edges
    most = 2 * edges[LABEL_MODIFIER + 1] + 2 * (edges[BETWEEN + 1] - edges[BETWEEN]) * longest
    return np.empty(most, dtype=np.int32), np.empty(longest + 1, dtype=np.int64)


@kernel
def add_between(keys: TreeKeys, token: int, found: LongVector, count: int) -> int:
    """Append the row of a token to `found`, unless one of the first `count` tokens has the same value of `between`."""
    value, others = keys.edges[BETWEEN], keys.other
    if value == keys.edges[BETWEEN + 1]:
        return count
    own = others[token, value]
    for k in range(count):
        if others[found[k], value] == own:
            return count
    found[count] = token
    return count + 1


@kernel
def between(keys: TreeKeys, first: int, h: int, m: int, found: LongVector) -> int:
    """Write the rows of the tokens between h and m; among tokens with the same value, only the one closest to h."""
    count = 0
    for node in range(h + 1, m):
        count = add_between(keys, first + node, found, count)
    for node in range(h - 1, m, -1):
        count = add_between(keys, first + node, found, count)
    return count


@kernel
def arc_slots(data: TreeData, first: int, h: int, m: int, found: LongVector, n_between: int, slots: IntVector) -> int:
    """Write the slots of an arc that ignore its label; `found` holds the tokens `between`. Return their number."""
    head, step = row_of(first, h), step_of(h, m)
    count = group_slots(data, ARC, head, first + m, 0, step, slots, 0)
    for k in range(n_between):
        count = group_slots(data, BETWEEN, head, first + m, found[k], step, slots, count)
    return count


@kernel
def label_slots(data: TreeData, first: int, h: int, m: int, slots: IntVector) -> int:
    """Write the slots of an arc with a label; return their number."""
    head, step, count = row_of(first, h), step_of(h, m), 0
    for group in range(LABEL, LABEL_MODIFIER + 1):
        count = group_slots(data, group, head, first + m, 0, step, slots, count)
    return count


@kernel
def token_slots(data: TreeData, first: int, node: int, direction: int, group: int, slots: IntVector) -> int:
    """Write the slots of labels that look at one token and the direction of its arc; return their number.

    `group` is LABEL_HEAD or LABEL_MODIFIER. No arc enters the root, and arcs from the root have their own direction.
    """
    if (group == LABEL_MODIFIER and node == 0) or (group == LABEL_HEAD and (node == 0) != (direction == 0)):
        return 0
    row = row_of(first, node)
    head, modifier = (row, 0) if group == LABEL_HEAD else (0, row)
    return group_slots(data, group, head, modifier, 0, ANY_STEP[direction], slots, 0)


@kernel
def triple_slots(data: TreeData, group: int, first: int, h: int, middle: int, end: int, slots: IntVector) -> int:
    """Write the slots of three tokens; return their number.

    SIBLING: `end` is a modifier of h, and `middle` its sibling, or h if it has none; the step is the one between these
    two. GRANDPARENT: `middle` is a modifier of h, which is not the root, and `end` the grandparent; the step is the
    turn of the chain.
    """
    if group == SIBLING:
        other = 0 if middle == h else first + middle
        return group_slots(data, SIBLING, row_of(first, h), first + end, other, step_of(middle, end), slots, 0)
    turn = turn_of(end, h > middle, middle)
    return group_slots(data, GRANDPARENT, first + h, first + middle, row_of(first, end), turn, slots, 0)


@dataclass(frozen=True)
class ArcExtractor:
    """Keys of arcs.

    Parameters
    ----------
    arc, label, sibling, grandparent : texts of templates
    hash_bits : features share a table of 2^hash_bits weights
    """

    arc: Sequence[str] = ARC_TEMPLATES
    label: Sequence[str] = LABEL_TEMPLATES
    sibling: Sequence[str] = ()
    grandparent: Sequence[str] = ()
    hash_bits: int = 22

    @cached_property
    def groups(self) -> dict[str, tuple[RoleTemplate, ...]]:
        """The templates of each of the `keys.GROUPS`."""
        arc = parse_role_templates(self.arc, ["head", "modifier", "between"], ())
        label = parse_role_templates(self.label, ["head", "modifier"], list(MEASURES))
        sibling = parse_role_templates(self.sibling, ["head", "modifier", "sibling"], ())
        grandparent = parse_role_templates(self.grandparent, ["head", "modifier", "grandparent"], ())
        alone = {
            role: tuple(each for each in label if set(each.roles) <= {role} and "distance" not in each.measures)
            for role in ("head", "modifier")
        }
        return {
            "arc": tuple(each for each in arc if "between" not in each.roles),
            "between": tuple(each for each in arc if "between" in each.roles),
            "sibling": tuple(sorted(sibling, key=_looks_at_head)),
            "grandparent": tuple(sorted(grandparent, key=_looks_at_head)),
            "label": tuple(each for each in label if each not in alone["head"] and each not in alone["modifier"]),
            "label_head": alone["head"],
            "label_modifier": alone["modifier"],
        }

    @property
    def columns_read(self) -> list[str]:
        """The columns that the templates look at."""
        templates = [template for group in self.groups.values() for template in group]
        return sorted(set[str]().union(*(template.columns_read for template in templates)))

    @cached_property
    def _prepared(self) -> tuple[RoleHasher, IntMatrix, LongVector, list[int]]:
        """The keys that all corpora share: the hasher, and `measure`, `edges` and both `…_head` of `TreeKeys`."""
        templates = [template for group in GROUPS for template in self.groups[group]]
        measure = sum(measure_keys(templates, name, values) for name, values in MEASURES.items())
        edges = boundaries(len(self.groups[group]) for group in GROUPS)
        with_head = [
            int(edges[GROUPS.index(group) + 1]) - sum(map(_looks_at_head, self.groups[group]))
            for group in ("sibling", "grandparent")
        ]
        return RoleHasher(templates, OUTSIDE), np.asarray(measure, dtype=np.int32), edges, with_head

    def keys(self, columns: Columns) -> TreeKeys:
        """The keys of all tokens of a corpus."""
        hasher, measure, edges, with_head = self._prepared
        head, modifier, *others = hasher.keys(columns)
        # A template has at most one of the roles between, sibling and grandparent, so one matrix can hold their sum.
        return TreeKeys(head, modifier, sum(others), measure, edges, *with_head)


def _looks_at_head(template: RoleTemplate) -> bool:
    return "head" in template.roles


def without_lemmas(templates: Sequence[str]) -> tuple[str, ...]:
    """The templates with lower-cased words in place of lemmas.

    >>> without_lemmas(["head:lemma|modifier:upos", "head:word"])
    ('head:lower|modifier:upos', 'head:word')
    """
    return tuple(template.replace(":lemma", ":lower") for template in templates)


def readable(templates: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The templates that look only at these columns."""
    parsed = parse_role_templates(templates, list(OUTSIDE), list(MEASURES))
    return tuple(template.text for template in parsed if template.columns_read <= set(names))
