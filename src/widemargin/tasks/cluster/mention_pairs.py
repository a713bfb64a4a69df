"""Features of two mentions in the manner of Ng & Cardie (2002).

Strings and heads that match, with and without determiners; names, initials, words in common; pronouns and what they
agree with; distances in sentences and mentions; apposition, copula and nesting. Of two mentions, the first is the one
that begins earlier, or is longer.
"""

import numpy as np

from widemargin._types import AnyArray
from widemargin.text.coded import Coded, Column, crossed, same
from widemargin.text.mention_pairs import agrees, classes, closest, copular, initials_match, overlap
from widemargin.text.mentions import Mentions, described

SENTENCES, BETWEEN = np.array([1, 2, 3, 5, 9, 17]), np.array([1, 2, 4, 8, 16, 32, 64])
"""Where the classes of distances begin, in sentences and in mentions."""


def compare_mentions(mentions: Mentions, i: AnyArray, j: AnyArray) -> dict[str, Column]:
    """The features of the pairs (i, j) of one document, i before j."""
    d = described(mentions)
    kinds = crossed(d.kind.at(i), d.kind.at(j))
    pronoun = d.kind.is_one_of("pronoun")
    neither, both = ~pronoun[i] & ~pronoun[j], pronoun[i] & pronoun[j]
    apart = Coded(
        np.searchsorted(SENTENCES, d.sentence[j] - d.sentence[i], "right").astype(np.int32), classes(SENTENCES)
    )
    between = Coded(np.searchsorted(BETWEEN, j - i, "right").astype(np.int32), classes(BETWEEN))
    same_head, same_bare = same(d.lemma, i, j) & neither, same(d.bare, i, j) & neither
    names = d.kind.is_one_of("name")
    nested = d.end[i] >= d.end[j]
    shared, fewer, rest = overlap(d, i, j)
    agreeing = agrees(d, i, j)
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
        "the same head, the closest one": closest(same_head, i, j),
        "the same head, other modifiers": same_head & (rest > 0) & (shared <= 1),
        "different heads": kinds.where(neither & ~same(d.lemma, i, j)),
        "names with a word in common": names[i] & names[j] & (shared > 0) & ~same_bare,
        "names without a word in common": names[i] & names[j] & (shared == 0),
        "words of one in the other": kinds.where(neither & (fewer > 0) & (shared == fewer) & ~same_bare),
        "a word in common": neither & (shared > 0) & ~same_head,
        "one is the initials of the other": initials_match(d, i, j),
        "pronouns": crossed(d.pronoun.at(i), d.pronoun.at(j)),
        "the same pronoun, sentences apart": apart.where(both & same(d.pronoun, i, j)),
        "pronoun after": crossed(d.pronoun.at(j), d.kind.at(i), d.number.at(i)).where(~pronoun[i]),
        "pronoun before": crossed(d.kind.at(j), apart).where(pronoun[i] & ~pronoun[j]),
        "pronoun, the closest that agrees": crossed(d.pronoun.at(j), d.kind.at(i)).where(
            closest(agreeing & pronoun[j] & ~nested, i, j)
        ),
        "pronoun, the closest subject": closest(agreeing & pronoun[j] & d.role.is_one_of("nsubj")[i] & ~nested, i, j),
        "numbers": crossed(d.number.at(i), d.number.at(j), d.kind.at(j)),
        "persons": crossed(d.person.at(i), d.person.at(j)).where(d.person.codes[i] != d.person.codes[j]),
        "genders": crossed(d.gender.at(i), d.gender.at(j)),
        "apposition": (d.parent[j] == d.head[i]) & d.role.is_one_of("appos")[j],
        "copula": copular(d, i, j) & ~nested,
        "nested": crossed(d.kind.at(i), d.kind.at(j)).where(nested),
        "in one sentence": crossed(d.role.at(i), d.kind.at(j)).where((d.sentence[i] == d.sentence[j]) & ~nested),
    }
