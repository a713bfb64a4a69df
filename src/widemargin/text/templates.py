r"""Feature templates: integer arithmetic on columns of tokens.

A template names attributes of the token at hand or of its neighbours, joined by ``|`` into a conjunction:

    lower                 the lower-cased word
    gram3                 each run of three letters of the word
    suffix3[-1]           the last three letters of the word before
    word[-1]|word         the word before together with this one
    pos[1]|lower          an extra input column of the word after, with this word
    transition:lower[-1]  a feature on the label *pair* instead of the label

Ranges abbreviate several templates: ``prefix1..4``, ``lower[-2..2]``. Positions beyond the sequence's ends have the
values ``<s>`` and ``</s>``. Each distinct string is processed once; the rest is gathering and 64-bit mixing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin._types import IntVector, KeyVector, LongVector
from widemargin.core.header import many, text
from widemargin.errors import WidemarginError
from widemargin.text.alphabet import Alphabet, FeatureIndex
from widemargin.text.attributes import GRAM, MOST_GRAMS, Attributes, Resources, check_attribute
from widemargin.text.columns import Columns
from widemargin.text.hashing import combine, hash_strings, hash_values

DEFAULT_TEMPLATES = (
    "bias",
    "word",
    "lower",
    "shape",
    "prefix1..4",
    "suffix1..4",
    "lower[-2..-1]",
    "lower[1..2]",
    "word[-1]|word",
    "word|word[1]",
    "suffix3[-1]",
    "suffix3[1]",
)
"""The default templates of a tagger: 20, for part-of-speech tags and named entities alike."""

LONGEST, MOST, FARTHEST = 1000, 10_000, 9999
"""How long a template may be, how many there may be, and how far from a token each may look.

Ranges multiply: without a limit, a short text could stand for more templates than there is memory.
"""
TEMPLATES = many(text(at_most=LONGEST), at_most=MOST)
"""Templates in the header of a model file."""

TRANSITION = "transition:"
# A run of digits is tried once, not again from each of its digits.
RANGE = re.compile(r"((?<!\d)\d+|-\d+)\.\.(-?\d+)")
ATOM = re.compile(r"(?:(?P<column>\w+)\.)?(?P<attribute>[A-Za-z_]\w*(?:\([^()|]+\))?)(?:\[(?P<offset>[-+]?\d+)\])?")
ATTRIBUTES = re.compile(
    r"bias|lower|shape|longshape|(prefix|suffix|gram)[1-9]\d*|lexicon\([^,]+\)|cluster\([^,]+(, *[1-9]\d*)?\)"
)
SIZED = re.compile(r"(?:prefix|suffix|gram)(\d+)")
BEFORE, AFTER = "<s>", "</s>"
COLUMNS, SHARE = 8, 2048
"""How many templates, and of how many tokens, are written to the matrix of features together."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One attribute of the token `offset` positions away."""

    column: str
    attribute: str
    offset: int


@dataclass(frozen=True, slots=True)
class Template:
    """A conjunction of atoms; `text` is its canonical form and the first half of its features' names."""

    text: str
    atoms: tuple[Atom, ...]
    on_transition: bool = False


def parse_templates(templates: str | Sequence[str]) -> tuple[Template, ...]:
    """Templates from their text: a sequence of strings, or one string of templates split at blanks and line ends.

    >>> [template.text for template in parse_templates("lower[-1..1] word|pos[1]")]
    ['lower[-1]', 'lower', 'lower[1]', 'word|pos[1]']
    """
    parsed = [each for text in expand_ranges(templates) for each in by_value(parse_template(text))]
    if not parsed:
        raise WidemarginError("there are no templates; give at least one, such as 'word'")
    return tuple(dict.fromkeys(parsed))


def expand_ranges(templates: str | Sequence[str]) -> list[str]:
    """The texts of all templates that some texts with ranges stand for."""
    texts = list(islice((text for each in split_templates(templates) for text in expand(each)), MOST + 1))
    if len(texts) > MOST:
        raise WidemarginError(f"these are more than {MOST:,} templates; use fewer or smaller ranges")
    return texts


def split_templates(templates: str | Sequence[str]) -> list[str]:
    r"""The texts of several templates: a sequence of strings, or one string of templates split at blanks and line ends.

    >>> split_templates("word lower  # of this token\npos[-1]")
    ['word', 'lower', 'pos[-1]']
    """
    if isinstance(templates, str):
        return [word for line in templates.splitlines() for word in line.partition("#")[0].split()]
    return [str(each).strip() for each in templates]


def expand(text: str) -> Iterator[str]:
    """The templates that a text with ranges stands for."""
    if len(text) > LONGEST:
        raise WidemarginError(f"the template {text[:60]!r}… has more than {LONGEST:,} characters")
    match = RANGE.search(text)
    if match is None:
        yield text
        return
    first, last = int(match[1]), int(match[2])
    if not 0 <= last - first < 100:
        raise WidemarginError(f"the range {match[0]!r} in the template {text!r} must go up, by less than 100")
    for number in range(first, last + 1):
        yield from expand(text[: match.start()] + str(number) + text[match.end() :])


def parse_template(text: str) -> Template:
    """One template without ranges."""
    on_transition = text.startswith(TRANSITION)
    atoms, names = [], []
    for part in text.removeprefix(TRANSITION).split("|"):
        match = ATOM.fullmatch(part)
        if match is None:
            raise WidemarginError(
                f"the template {text!r} is not understood at {part!r}; an example is 'suffix3[-1]|word'"
            )
        column, attribute, offset = match["column"] or "word", match["attribute"], int(match["offset"] or 0)
        if not ATTRIBUTES.fullmatch(attribute):
            if match["column"] or "(" in attribute:
                raise WidemarginError(f"the template {text!r} asks for an unknown attribute {attribute!r}")
            column, attribute = attribute, "value"
        if abs(offset) > FARTHEST:
            raise WidemarginError(f"the template {text!r} looks further than {FARTHEST:,} tokens away")
        if (sized := SIZED.fullmatch(attribute)) and int(sized[1]) > 100:
            raise WidemarginError(f"the template {text!r} asks for more than 100 characters")
        atoms.append(Atom(column, attribute, offset))
        names.append(re.sub(r"\[[-+]?\d+\]$", "", part) + (f"[{offset}]" if offset else ""))
    return Template((TRANSITION if on_transition else "") + "|".join(names), tuple(atoms), on_transition)


def by_value(template: Template) -> list[Template]:
    """Templates with the same text, one for each value of an attribute that has several."""
    if not any(GRAM.fullmatch(atom.attribute) for atom in template.atoms):
        return [template]
    if len(template.atoms) > 1 or template.atoms[0].offset or template.on_transition:
        raise WidemarginError(
            f"the template {template.text!r} is not possible: runs of characters are features of the token at hand, "
            "and alone, as in 'gram3'"
        )
    (atom,) = template.atoms
    numbered = (replace(atom, attribute=f"{atom.attribute}#{number}") for number in range(MOST_GRAMS))
    return [replace(template, atoms=(each,)) for each in numbered]


class AtomValues(NamedTuple):
    """An atom's values: a code per token, and a key and a spelling per code; the key is 0 if there is no value.

    ``<s>`` and ``</s>`` follow the attribute's own values.
    """

    codes: IntVector
    keys: KeyVector
    values: list[str | None]


class Atoms:
    """The atoms' values over one set of columns: each attribute and each offset is computed once."""

    def __init__(self, columns: Columns, resources: Resources) -> None:
        self.columns = columns
        self._attributes = Attributes(columns, resources)
        self._unshifted: dict[tuple[str, str], AtomValues] = {}
        self._shifts: dict[int, tuple[IntVector, IntVector, IntVector]] = {}

    def part(self, atom: Atom) -> AtomValues:
        """The values of an atom."""
        name = atom.column, atom.attribute
        if name not in self._unshifted:
            codes, known = self._attributes.of(*name)
            values = [*known, BEFORE, AFTER]
            self._unshifted[name] = AtomValues(codes, hash_values(values), values)
        codes, keys, values = self._unshifted[name]
        if atom.offset:
            source, before, after = self._shift(atom.offset)
            codes = codes[source]
            codes[before], codes[after] = len(values) - 2, len(values) - 1
        return AtomValues(codes, keys, values)

    def _shift(self, offset: int) -> tuple[IntVector, IntVector, IntVector]:
        """For every token the one `offset` away (itself if outside), and the tokens that look past the start or end."""
        if offset not in self._shifts:
            indptr, n = self.columns.indptr, self.columns.n_tokens
            lengths = np.diff(indptr)
            target = np.arange(offset, n + offset)
            before = np.flatnonzero(target < np.repeat(indptr[:-1], lengths))
            after = np.flatnonzero(target >= np.repeat(indptr[1:], lengths))
            target[before], target[after] = before, after
            self._shifts[offset] = target.astype(np.int32), before.astype(np.int32), after.astype(np.int32)
        return self._shifts[offset]


def check_attributes(templates: Sequence[Template], resources: Resources) -> None:
    """Raise a clear error when a template names a lexicon or clusters that were not given."""
    for template in templates:
        for atom in template.atoms:
            check_attribute(atom.attribute, resources)


def template_matrix(
    columns: Columns,
    templates: Sequence[Template],
    resources: Resources,
    index: FeatureIndex,
) -> NDArray[np.int32]:
    """The features of every token, numbered by `index`: a column per template, −1 for no feature."""
    check_attributes(templates, resources)
    numbers = np.empty((columns.n_tokens, len(templates)), dtype=np.int32)
    found = (
        index.intern(keys) if codes is None else index.intern(keys)[codes]
        for keys, codes in _template_keys(Atoms(columns, resources), templates)
    )
    # Several columns at once, share by share, so that each cache line of the matrix is fetched once.
    for t in range(0, len(templates), COLUMNS):
        some = list(islice(found, COLUMNS))
        for first in range(0, columns.n_tokens, SHARE):
            for k, column in enumerate(some, t):
                numbers[first : first + SHARE, k] = column[first : first + SHARE]
    return numbers


def _template_keys(atoms: Atoms, templates: Sequence[Template]) -> Iterator[tuple[KeyVector, IntVector | None]]:
    """For each template the keys of its features, 0 for none: a key per token, or a key per value and a code per token.

    A template with one atom has a key per value, and only for values that occur at its offset.
    """
    if atoms.columns.n_tokens == 0:
        # Without tokens, the names of the columns are unknown and not needed.
        return
    seeds = hash_strings([template.text for template in templates])
    for t, template in enumerate(templates):
        parts = [atoms.part(atom) for atom in template.atoms]
        codes, keys, _ = parts[0]
        if len(parts) == 1:
            present = (np.bincount(codes, minlength=len(keys)) > 0) & (keys != 0)
            yield np.where(present, combine(np.full(len(keys), seeds[t]), keys), np.uint64(0)), codes
        else:
            yield _conjunction(seeds[t], parts), None


def spell(atoms: Atoms, template: Template, tokens: LongVector) -> list[str]:
    """The names of a template's features at the given tokens, such as ``suffix3[-1]=ing``."""
    parts = [atoms.part(atom) for atom in template.atoms]
    columns = [[values[code] or "" for code in codes[tokens].tolist()] for codes, _, values in parts]
    joined = columns[0] if len(columns) == 1 else ["|".join(texts) for texts in zip(*columns, strict=True)]
    return [_name(template, value) for value in joined]


def _name(template: Template, value: str) -> str:
    return f"{template.text}={value}" if value else template.text


def spell_all(atoms: Atoms, templates: Sequence[Template], wanted: Alphabet) -> list[str]:
    """The names of the wanted features, each spelt from where it first occurs."""
    names = [""] * wanted.size
    for template, (keys, codes) in zip(templates, _template_keys(atoms, templates), strict=False):
        found, first = np.unique(wanted.lookup(keys), return_index=True)
        first = first[found >= 0]
        if codes is None:
            spelt = spell(atoms, template, first)
        else:
            values = atoms.part(template.atoms[0]).values
            spelt = [_name(template, values[k] or "") for k in first.tolist()]
        for number, name in zip(found[found >= 0].tolist(), spelt, strict=True):
            names[number] = name
    return names


def _conjunction(seed: np.uint64, parts: Sequence[AtomValues]) -> KeyVector:
    """A key per token for the values of all parts together; 0 if any of them is absent."""
    total = np.full(len(parts[0].codes), seed)
    missing = np.zeros(len(total), dtype=bool)
    for codes, keys, _ in parts:
        values = keys[codes]
        total = combine(total, values)
        missing |= values == 0
    total[missing] = 0
    return total
