"""Questions about two mentions: whether they agree, share words, are close to each other, are joined by a copula.

The mentions of pairs are numbers in their document, i before j.
"""

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatVector, LongVector
from widemargin.text.coded import common_members
from widemargin.text.mentions import Described


def agrees(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether number, person and gender may agree; unknown ones agree with everything."""
    agree = np.ones(len(i), dtype=bool)
    for each in (d.number, d.person, d.gender):
        agree &= (each.codes[i] == each.codes[j]) | (each.codes[i] < 0) | (each.codes[j] < 0)
    return agree


def overlap(d: Described, i: AnyArray, j: AnyArray) -> tuple[FloatVector, FloatVector, FloatVector]:
    """The number of content words that two mentions share, that the shorter has, and that it has besides its head."""
    common, sizes = common_members(d.words)
    fewer = np.minimum(sizes[i], sizes[j])
    return common[i, j], fewer, fewer - 1


def closest(wanted: BoolVector, i: AnyArray, j: AnyArray) -> BoolVector:
    """The wanted pair with the largest i, for each j."""
    latest = np.full(int(j.max(initial=-1)) + 1, -1)
    np.maximum.at(latest, j[wanted], i[wanted])
    return wanted & (latest[j] == i)


def copular(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether a copula joins them: one is the subject of the other's head, which has a copula."""
    subject = d.role.is_one_of("nsubj")
    one, other = (
        subject[i] & (d.parent[i] == d.head[j]) & d.copula[j],
        subject[j] & (d.parent[j] == d.head[i]) & d.copula[i],
    )
    found: BoolVector = one | other
    return found


def initials_match(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether the text of one is the initials of the other's capitalised words."""
    number = {name: code for code, name in enumerate(d.text.names)}
    spelt = np.array([number.get(name, -1) for name in d.initials.names] + [-1])[d.initials.codes]
    texts = d.text.codes
    found: BoolVector = ((spelt[i] == texts[j]) & (spelt[i] >= 0)) | ((spelt[j] == texts[i]) & (spelt[j] >= 0))
    return found


def classes(begins: LongVector) -> list[str]:
    """Names of the classes of distances that begin at these numbers."""
    ends = [*(begins[1:] - 1).tolist(), None]
    named = [
        f"{a}" if a == b else f"{a}+" if b is None else f"{a}–{b}" for a, b in zip(begins.tolist(), ends, strict=True)
    ]
    return ["0" if begins[0] == 1 else f"<{begins[0]}", *named]
