"""CoNLL-X: the ten TAB-separated columns of the dependency parsing tasks of 2006 and 2007 (Buchholz & Marsi 2006).

The first eight mean what those of CoNLL-U mean and have their names, so that a model reads files of either format; the
last two are the head and the relation in a projective version of the tree.
"""

from widemargin.files import conllu
from widemargin.files.raw import RawText
from widemargin.files.table import Table

NAMES = (*conllu.NAMES[:8], "phead", "pdeprel")


def parse(raw: RawText) -> Table:
    """Read CoNLL-X; lines that are not tokens in CoNLL-U, comments above all, are none here either."""
    return conllu.parse(raw, NAMES)
