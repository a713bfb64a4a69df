"""The hashed features of dependency arcs: keys whose sums are the slots of features in one table of weights.

An arc from head h to modifier m has, for every template t, the slot (`text.roles`)

    (head[h, t] + modifier[m, t] + measure[step, t]) mod 2^bits

where `step` tells direction and distance of the arc. Features of a third token, one between the two, a sibling or a
grandparent, have `other` as a further addend. Row 0 of the matrices is the artificial root, or a missing sibling; token
s of a corpus has the row s + 1.

A feature has several weights, side by side from its slot on. A feature with labels has a weight for each label. A
feature without has a weight that always counts, then one for each step, of which only that of the arc counts; those
of grandparents have one for each turn instead.
Neighbours in memory are fetched together, and fetching takes most of the time.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, LongVector

STEPS = ("root", "1", "2", "3", "4", "5+", "10+", "-1", "-2", "-3", "-4", "-5+", "-10+")
DIRECTIONS = ("root", *["right"] * 6, *["left"] * 6)
"""The names of the steps of an arc in templates: its signed distance, or its direction alone."""

TURNS = (
    "root",
    *(f"{where}{side}{far}" for side in ("", "-") for where in ("", "beyond ") for far in ("1", "3+", "6+")),
)
"""The names of the turns of a chain, grandparent → head → modifier: the signed distance of its ends, and whether the
head is between or beyond them."""

GROUPS = ("arc", "between", "sibling", "grandparent", "label", "label_head", "label_modifier")
"""Templates by what they look at.

The first four score arcs whatever their label; ``label`` scores arcs with a label, ``label_head`` and
``label_modifier`` do so by one token and the direction alone, which is worked out once per token.
"""
ARC, BETWEEN, SIBLING, GRANDPARENT, LABEL, LABEL_HEAD, LABEL_MODIFIER = range(7)


class TreeKeys(NamedTuple):
    """The keys of all templates, a column each; group g of the templates has the columns `edges`[g] … `edges`[g + 1].

    Keys of roles and measures that a template does not have are zero. Templates of siblings that look at the head have
    the columns from `sibling_head` on, those of grandparents from `grandparent_head` on.
    """

    head: IntMatrix
    modifier: IntMatrix
    other: IntMatrix
    measure: IntMatrix
    edges: LongVector
    sibling_head: int
    grandparent_head: int


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
def steps_from(node: int, n: int, steps: LongVector) -> None:
    """Write the steps from a node to the tokens 1 … n of its sentence."""
    for m in range(1, n + 1):
        steps[m] = step_of(node, m)


@kernel
def add_arcs(
    keys: TreeKeys,
    t: int,
    key: int,
    modifier: int,
    steps: LongVector,
    w: FloatVector,
    mask: int,
    row: FloatVector,
) -> None:
    """Add the weights of a template's features to a row of arcs, whose modifiers have the rows from `modifier` on.

    `key` is the sum of the keys of all other roles. Sums that do not wait for one another let fetches overlap.
    """
    for m in range(len(row)):
        slot = np.uint64((key + keys.modifier[np.uint64(modifier + m), np.uint64(t)]) & mask)
        step = np.uint64(1 + steps[np.uint64(m)])
        row[np.uint64(m)] += w[slot] + w[slot + step]
