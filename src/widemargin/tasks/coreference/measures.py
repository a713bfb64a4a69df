"""What links measure of a mention and its antecedent together: a value of a short list for each measure.

sentences, mentions     how far apart they are
string, bare, head      the same words, the same words without determiner, the same lemma of the head, or others
words                   how many words of content the shorter one shares with the other
number, person, gender  the same, others, or unknown
agreement               whether none of these three is another
relation                one inside the other, in apposition, or said to be it by a copula
initials                whether one is the initials of the other
closest                 whether no closer mention has the same head, or agrees with a pronoun
"""

from typing import Any

import numpy as np

from widemargin._types import AnyArray, IntVector
from widemargin.text.coded import Coded, same
from widemargin.text.mention_pairs import agrees, classes, closest, copular, initials_match, overlap
from widemargin.text.mentions import Described

SENTENCES, MENTIONS = np.array([1, 2, 3, 4, 5, 9, 17]), np.array([2, 3, 4, 5, 9, 17, 33, 65, 129])
"""Where the classes of distances begin; the first class is 0 sentences, or 1 mention."""
SAME, KNOWN, YES = ("other", "same"), ("unknown", "other", "same"), ("no", "yes")

MEASURES: dict[str, tuple[str, ...]] = {
    "sentences": tuple(classes(SENTENCES)),
    "mentions": ("1", *classes(MENTIONS)[1:]),
    "string": SAME,
    "bare": SAME,
    "head": SAME,
    "words": ("none", "some", "all"),
    "number": KNOWN,
    "person": KNOWN,
    "gender": KNOWN,
    "agreement": YES,
    "relation": ("none", "inside", "apposition", "copula"),
    "initials": YES,
    "closest": ("no", "head", "agreement"),
}
"""The values of each measure."""


def measured(d: Described, i: AnyArray, j: AnyArray) -> dict[str, IntVector]:
    """The number of the value of each measure, for pairs of mentions, i before j."""
    pronoun = d.kind.is_one_of("pronoun")
    neither = ~pronoun[i] & ~pronoun[j]
    shared, fewer, _ = overlap(d, i, j)
    agreeing, inside = agrees(d, i, j), d.end[i] >= d.end[j]
    heads = same(d.lemma, i, j)
    relation = np.where(inside, 1, 0)
    relation[(d.parent[j] == d.head[i]) & d.role.is_one_of("appos")[j]] = 2
    relation[copular(d, i, j) & ~inside] = 3
    close = np.where(closest(heads & neither, i, j), 1, 0)
    close[closest(agreeing & pronoun[j] & ~inside, i, j)] = 2
    found: dict[str, Any] = {
        "sentences": np.searchsorted(SENTENCES, d.sentence[j] - d.sentence[i], "right"),
        "mentions": np.searchsorted(MENTIONS, j - i, "right"),
        "string": same(d.text, i, j),
        "bare": same(d.bare, i, j),
        "head": heads,
        "words": np.where(shared == 0, 0, np.where(shared == fewer, 2, 1)),
        "number": _known(d.number, i, j),
        "person": _known(d.person, i, j),
        "gender": _known(d.gender, i, j),
        "agreement": agreeing,
        "relation": relation,
        "initials": initials_match(d, i, j),
        "closest": close,
    }
    return {name: np.asarray(values, dtype=np.int32) for name, values in found.items()}


def _known(answers: Coded, i: AnyArray, j: AnyArray) -> AnyArray:
    unknown = (answers.codes[i] < 0) | (answers.codes[j] < 0)
    return np.where(unknown, 0, np.where(answers.codes[i] == answers.codes[j], 2, 1))
