"""Features of two mentions in the manner of Ng & Cardie (2002).

Strings and heads that match, with and without determiners; names, initials, words in common; pronouns and what they
agree with; distances in sentences and mentions; apposition, copula and nesting. Of two mentions, the first is the one
that begins earlier, or is longer.
"""

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatVector, LongVector
from widemargin.text.coded import Coded, Column, common_members, crossed, same
from widemargin.text.mentions import Described, Mentions, described

SENTENCES, BETWEEN = np.array([1, 2, 3, 5, 9, 17]), np.array([1, 2, 4, 8, 16, 32, 64])
"""Where the classes of distances begin, in sentences and in mentions."""


def compare_mentions(mentions: Mentions, i: AnyArray, j: AnyArray) -> dict[str, Column]:
    """The features of the pairs (i, j) of one document, i before j."""
    d = described(mentions)
    kinds = crossed(d.kind.at(i), d.kind.at(j))
    pronoun = d.kind.is_one_of("pronoun")
    neither, both = ~pronoun[i] & ~pronoun[j], pronoun[i] & pronoun[j]
    apart = Coded(
        np.searchsorted(SENTENCES, d.sentence[j] - d.sentence[i], "right").astype(np.int32), _classes(SENTENCES)
    )
    between = Coded(np.searchsorted(BETWEEN, j - i, "right").astype(np.int32), _classes(BETWEEN))
    same_head, same_bare = same(d.lemma, i, j) & neither, same(d.bare, i, j) & neither
    names = d.kind.is_one_of("name")
    nested = d.end[i] >= d.end[j]
    shared, fewer, rest = _overlap(d, i, j)
    agreeing = _agrees(d, i, j)
    return {
        "kinds": kinds,
        "sentences apart": crossed(d.kind.at(j), d.kind.at(i), apart),
        "mentions apart": crossed(d.kind.at(j), between),
        "determiners": crossed(d.determiner.at(i), d.determiner.at(j)).where(neither),
        "roles": crossed(d.role.at(i), d.role.at(j)),
        "the same string": same(d.text, i, j) & neither,
        "the same string without determiner": crossed(d.kind.at(j), apart).where(same_bare),
        "the same head": crossed(d.kind.at(j), d.determiner.at(j)).where(same_head & ~same_bare),
        "the same head, sentences apart": apart.where(same_head),
        "the same head, the closest one": _closest(same_head, i, j),
        "the same head, other modifiers": same_head & (rest > 0) & (shared <= 1),
        "different heads": kinds.where(neither & ~same(d.lemma, i, j)),
        "names with a word in common": names[i] & names[j] & (shared > 0) & ~same_bare,
        "names without a word in common": names[i] & names[j] & (shared == 0),
        "words of one in the other": kinds.where(neither & (fewer > 0) & (shared == fewer) & ~same_bare),
        "a word in common": neither & (shared > 0) & ~same_head,
        "one is the initials of the other": _initials_match(d, i, j),
        "pronouns": crossed(d.pronoun.at(i), d.pronoun.at(j)),
        "the same pronoun, sentences apart": apart.where(both & same(d.pronoun, i, j)),
        "pronoun after": crossed(d.pronoun.at(j), d.kind.at(i), d.number.at(i)).where(~pronoun[i]),
        "pronoun before": crossed(d.kind.at(j), apart).where(pronoun[i] & ~pronoun[j]),
        "pronoun, the closest that agrees": crossed(d.pronoun.at(j), d.kind.at(i)).where(
            _closest(agreeing & pronoun[j] & ~nested, i, j)
        ),
        "pronoun, the closest subject": _closest(agreeing & pronoun[j] & d.role.is_one_of("nsubj")[i] & ~nested, i, j),
        "numbers": crossed(d.number.at(i), d.number.at(j), d.kind.at(j)),
        "persons": crossed(d.person.at(i), d.person.at(j)).where(d.person.codes[i] != d.person.codes[j]),
        "genders": crossed(d.gender.at(i), d.gender.at(j)),
        "apposition": (d.parent[j] == d.head[i]) & d.role.is_one_of("appos")[j],
        "copula": _copular(d, i, j) & ~nested,
        "nested": crossed(d.kind.at(i), d.kind.at(j)).where(nested),
        "in one sentence": crossed(d.role.at(i), d.kind.at(j)).where((d.sentence[i] == d.sentence[j]) & ~nested),
    }


def _agrees(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether number, person and gender could be the same: those that are unknown could."""
    agree = np.ones(len(i), dtype=bool)
    for each in (d.number, d.person, d.gender):
        agree &= (each.codes[i] == each.codes[j]) | (each.codes[i] < 0) | (each.codes[j] < 0)
    return agree


def _overlap(d: Described, i: AnyArray, j: AnyArray) -> tuple[FloatVector, FloatVector, FloatVector]:
    """How many words of content two mentions share, how many the shorter has, and how many it has besides its head."""
    common, sizes = common_members(d.words)
    fewer = np.minimum(sizes[i], sizes[j])
    return common[i, j], fewer, fewer - 1


def _closest(wanted: BoolVector, i: AnyArray, j: AnyArray) -> BoolVector:
    """Of the wanted pairs of each j, the one with the largest i."""
    latest = np.full(int(j.max(initial=-1)) + 1, -1)
    np.maximum.at(latest, j[wanted], i[wanted])
    return wanted & (latest[j] == i)


def _copular(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether one is said to be the other: it is the subject of the other's head, which has a copula."""
    subject = d.role.is_one_of("nsubj")
    one, other = (
        subject[i] & (d.parent[i] == d.head[j]) & d.copula[j],
        subject[j] & (d.parent[j] == d.head[i]) & d.copula[i],
    )
    found: BoolVector = one | other
    return found


def _initials_match(d: Described, i: AnyArray, j: AnyArray) -> BoolVector:
    """Whether the text of one is the initials of the other's capitalised words."""
    number = {name: code for code, name in enumerate(d.text.names)}
    spelt = np.array([number.get(name, -1) for name in d.initials.names] + [-1])[d.initials.codes]
    texts = d.text.codes
    found: BoolVector = ((spelt[i] == texts[j]) & (spelt[i] >= 0)) | ((spelt[j] == texts[i]) & (spelt[j] >= 0))
    return found


def _classes(begins: LongVector) -> list[str]:
    """Names of the classes of distances that begin at these numbers."""
    ends = [*(begins[1:] - 1).tolist(), None]
    named = [
        f"{a}" if a == b else f"{a}+" if b is None else f"{a}–{b}" for a, b in zip(begins.tolist(), ends, strict=True)
    ]
    return ["0" if begins[0] == 1 else f"<{begins[0]}", *named]
