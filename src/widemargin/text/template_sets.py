"""Named sets of templates for common tasks.

`templates="ner"` is a set alone. ``set(ner)`` is a set among other templates, as in ``"set(ner) suffix5"``. Only a
single word stands for the set of this name: ``["pos"]``, ``"pos[0]"`` and ``"pos lower"`` read a column *pos*.

A set also reads all lexicons and word clusters that are given.
"""

import re
from collections.abc import Mapping, Sequence

from widemargin.errors import WidemarginError
from widemargin.text.attributes import Resources
from widemargin.text.templates import DEFAULT_TEMPLATES, split_templates

POS = (
    *DEFAULT_TEMPLATES,
    "lower[-2]|lower[-1]",
    "lower[1]|lower[2]",
    "lower[-1]|lower",
    "lower|lower[1]",
    "lower[-1]|lower[1]",
    "lower[-1]|lower|lower[1]",
)
NER = (
    *DEFAULT_TEMPLATES,
    "shape[-2..-1]",
    "shape[1..2]",
    "longshape[-1..1]",
    "lower[-1]|lower[1]",
)
BIO = (
    *NER,
    "longshape[-1]|longshape",
    "longshape|longshape[1]",
    "longshape[-1]|longshape|longshape[1]",
)
CHUNK = (
    *DEFAULT_TEMPLATES,
    "pos[-2..2]",
    "pos[-2]|pos[-1]",
    "pos[-1]|pos",
    "pos|pos[1]",
    "pos[1]|pos[2]",
    "pos[-2]|pos[-1]|pos",
    "pos[-1]|pos|pos[1]",
    "pos|pos[1]|pos[2]",
)

SETS: Mapping[str, Sequence[str]] = {"default": DEFAULT_TEMPLATES, "pos": POS, "chunk": CHUNK, "ner": NER, "bio": BIO}
"""All sets by name; *chunk* reads a column *pos*."""

ONE_SET = re.compile(r"set\(([^()]*)\)")
BITS = re.compile("[01]+")
PREFIXES = (4, 6, 10)  # of Brown bit strings: from coarse to fine classes


def spelt_out(templates: str | Sequence[str], resources: Resources) -> list[str]:
    """The texts of templates, with all sets replaced by their templates.

    >>> spelt_out("set(default) cluster(brown)", Resources())[-3:]
    ['suffix3[-1]', 'suffix3[1]', 'cluster(brown)']
    >>> spelt_out(["pos"], Resources())
    ['pos']
    """
    texts = split_templates(templates)
    if isinstance(templates, str) and len(texts) == 1 and texts[0] in SETS:
        return templates_of(texts[0], resources)
    return [each for text in texts for each in _of_text(text, resources)]


def _of_text(text: str, resources: Resources) -> list[str]:
    match = ONE_SET.fullmatch(text)
    return [text] if match is None else templates_of(match[1].strip(), resources)


def templates_of(name: str, resources: Resources) -> list[str]:
    """The templates of a set, and some for each lexicon and for all word clusters."""
    if name not in SETS:
        raise WidemarginError(f"there is no set of templates {name!r}; there are {', '.join(SETS)}")
    chosen = [*SETS[name], *(f"lexicon({each})[-1..1]" for each in resources.lexicons)]
    for each, words in resources.clusters.items():
        chosen.append(f"cluster({each})[-1..1]")
        if all(map(BITS.fullmatch, words.values())):
            chosen += [f"cluster({each},{length})" for length in PREFIXES]
    return chosen
