"""CoNLL-X: the ten TAB-separated columns of the dependency parsing tasks of 2006 and 2007 (Buchholz & Marsi 2006).

The first eight have the names and meanings of those in CoNLL-U, so that a model reads files of either format; the
last two are the head and the relation in a projective version of the tree.
"""

from widemargin.files import conllu
from widemargin.files.raw import RawText
from widemargin.files.table import TokenTable

cut = conllu.cut
NAMES = (*conllu.NAMES[:8], "phead", "pdeprel")


def parse(raw: RawText) -> TokenTable:
    """Read CoNLL-X; lines that are not tokens in CoNLL-U, such as comments, are not tokens here either."""
    return conllu.parse(raw, NAMES)
