"""Features of constituents (after Hall, Durrett & Klein 2014): templates of tokens in three roles (`text.roles`).

    first:pos[-1]|last:pos[1]    the tags before and after a span
    first:pos|last:pos|length    its first and last tag with how long it is, in steps
    tags                         the sequence of its tags
    shapes, words                the sequence of its words' shapes, of its words in lower case
    split:word[-1]|last:pos      the word before the split into halves with the last tag of the right half

`split` is the first token of the right half. Templates with `split` describe a half: the left one together with
`first`, the right one together with `last`. All other templates describe the whole span. Measures are those of the
described span or half. Every feature is combined with the label of the constituent.

A feature is a slot s of the table, and its weights for the labels are w[s], …, w[s + L − 1]. The slot of a pair of
tokens is a sum of keys (`text.roles`): of the token at either end, of the length, and of the *sequences* of tags,
shapes or words. With a key x_t per token, the sequence from i to j has the key

    Σ_{i ≤ t < j} x_t r^(i − t)  =  (S_j − S_i) r^i,   S_j = Σ_{t < j} x_t r^(−t)   (mod 2³¹, r odd)

so it costs a difference and two products whatever its length. Scoring, gathering and explaining all use the kernels
here to enumerate the features of a token, of a pair of tokens, or of a part.
"""

from collections.abc import Sequence
from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, IntMatrix, IntVector, KeyVector, LongMatrix, LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError
from widemargin.text import KEY_BITS
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.hashing import hash_strings
from widemargin.text.roles import RoleHasher, RoleTemplate, measure_keys, parse_role_templates
from widemargin.text.templates import Atom, Atoms, split_templates

ROLES = ("first", "last", "split")
SEQUENCES = {"tags": ("pos", "value"), "shapes": ("word", "shape"), "words": ("word", "lower")}
MEASURES = ("length", *SEQUENCES)
PAIRS = (("first", "last"), ("first", "split"), ("split", "last"))
GROUPS = (*((role,) for role in ROLES), *PAIRS)
"""Templates by the roles that they look at: a single one, or both ends of a span, a left half or a right half."""

STEPS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 31, 41)
"""The bins of lengths: each begins with one of these numbers."""

DEFAULT_BRACKET_TEMPLATES = tuple(
    split_templates("""
    length  tags  shapes
    first:word  last:word  first:word[-1]  last:word[1]  first:pos[-1..0]  last:pos[0..1]
    first:pos|length  last:pos|length  first:pos[-1]|first:pos  last:pos|last:pos[1]
    first:pos|first:pos[1]  last:pos[-1]|last:pos
    first:pos[-2]|first:pos[-1]|first:pos  last:pos|last:pos[1]|last:pos[2]
    first:pos[-1]|first:word  last:word|last:pos[1]  first:word[-1]|first:word  last:word|last:word[1]
    first:pos|last:pos  first:pos|last:pos|length  first:pos[-1]|first:pos|last:pos  first:pos|last:pos|last:pos[1]
    first:word|last:word  first:word|last:pos  first:pos|last:word  first:pos[-1]|last:pos[1]
    first:word[-1]|last:pos[1]  first:pos[-1]|last:word[1]  first:pos[-1]|first:pos|last:pos|last:pos[1]
    split:word[-1..0]  split:pos[-1..0]  split:pos[-1]|split:pos  split:word[-1]|split:pos  split:pos[-1]|split:word
    first:pos|split:pos  first:pos|split:pos[-1]|split:pos  first:word|split:word
    split:pos|last:pos  split:pos[-1]|split:pos|last:pos  split:word|last:word
    """)
)
"""The default templates of a constituency parser; tags are in the column ``pos``."""

RICH = "rich"
"""The name of the following templates."""

RICH_BRACKET_TEMPLATES = (
    *DEFAULT_BRACKET_TEMPLATES,
    *split_templates("""
    # one token more
    first:word[1]  last:word[-1]  first:word|first:word[1]  last:word[-1]|last:word  first:word[-2]  last:word[2]
    split:word[-1]|split:word  split:pos[-2]|split:pos[-1]|split:pos  split:pos[-1]|split:pos|split:pos[1]
    # shapes of words
    first:suffix3[-1..0]  last:suffix3[0..1]  first:prefix3  last:prefix3  first:shape  last:shape
    first:shape[-1]|first:shape  last:shape|last:shape[1]
    split:suffix3[-1..0]  split:shape[-1]|split:shape  split:suffix3[-1]|split:pos  split:pos[-1]|split:suffix3
    # words of both ends
    words
    first:pos|last:word[1]  first:word|last:word[1]  first:suffix3|last:suffix3
    first:pos|split:word  first:word|split:pos
    split:word[-1]|last:pos  split:pos|last:word
    # conjuncts are alike: begin or end of either half, with the word before the split
    split:pos[-2]|split:pos[-1]|last:pos  split:word[-2]|split:pos[-1]|last:word
    split:suffix3[-2]|split:pos[-1]|last:suffix3  split:shape[-2]|split:pos[-1]|last:shape
    first:shape|split:pos[-1]|split:shape  first:suffix3|split:pos[-1]|split:suffix3
    # halves as a whole
    first:pos|split:pos|length
    split:pos|last:pos|length
    first:pos|split:pos|tags
    split:pos[-1]|last:pos|tags
    """),
)
"""More templates, for folding from the left: in a coordination, the conjunction is then the word before the split."""

MODULUS_MASK = 2**31 - 1
SPAN, LEFT, RIGHT = range(3)
"""The kinds of parts with features, in the order of `structures.constituents`."""

_MULTIPLIER = np.uint64(0x9E3779B1)
_INVERSE = np.uint64(pow(0x9E3779B1, -1, 2**64))


class PairKeys(NamedTuple):
    """Keys of features of two tokens and the sequences between them, a column per template.

    A slot is the sum of row t of `begin` for spans that begin with token t, row t of `end` for spans whose last token
    is t, and row t of `length` for spans of t tokens (longer spans use the last row), plus the key of each sequence q
    times row q of `factors`.
    """

    begin: IntMatrix
    end: IntMatrix
    length: IntMatrix
    factors: LongMatrix


class BracketKeys(NamedTuple):
    """The keys of a corpus: of single tokens (tokens, templates), of pairs, and of sequences (names, tokens + 1)."""

    first: IntMatrix
    last: IntMatrix
    split: IntMatrix
    spans: PairKeys
    lefts: PairKeys
    rights: PairKeys
    sums: LongMatrix
    powers: LongVector

    @property
    def of_tokens(self) -> int:
        """The number of templates of single tokens."""
        return sum(each.shape[1] for each in (self.first, self.last, self.split))

    @property
    def of_pairs(self) -> int:
        """The number of templates of pairs of tokens."""
        return sum(each.begin.shape[1] for each in (self.spans, self.lefts, self.rights))


@kernel
def single_slots(keys: IntMatrix, token: int, mask: int, slots: IntVector) -> int:
    """Write the slots of the features of one token; return their number, one per template."""
    for template in range(keys.shape[1]):
        slots[template] = keys[token, template] & mask
    return keys.shape[1]


@kernel
def pair_slots(keys: BracketKeys, pairs: PairKeys, begin: int, end: int, mask: int, slots: IntVector) -> int:
    """Write the slots of the features of the tokens begin … end − 1; return their number."""
    steps, n_templates = min(end - begin, len(pairs.length) - 1), pairs.begin.shape[1]
    for template in range(n_templates):
        ends = pairs.begin[begin, template] + pairs.end[end - 1, template]
        slots[template] = (ends + pairs.length[steps, template]) & mask
    for q in range(len(keys.sums)):
        sequence = ((keys.sums[q, end] - keys.sums[q, begin]) * keys.powers[begin]) & MODULUS_MASK
        for template in range(n_templates):
            slots[template] = (slots[template] + sequence * pairs.factors[q, template]) & mask
    return n_templates


@kernel
def part_slots(keys: BracketKeys, kind: int, begin: int, end: int, mask: int, slots: IntVector) -> int:
    """Write the slots of all features of a span or half, the tokens begin … end − 1; return their number.

    Features of the split alone belong to the left half.
    """
    if kind == RIGHT:
        return pair_slots(keys, keys.rights, begin, end, mask, slots)
    if kind == LEFT:
        n = single_slots(keys.split, end, mask, slots)
        return n + pair_slots(keys, keys.lefts, begin, end, mask, slots[n:])
    n = single_slots(keys.first, begin, mask, slots)
    n += single_slots(keys.last, end - 1, mask, slots[n:])
    return n + pair_slots(keys, keys.spans, begin, end, mask, slots[n:])


@kernel
def new_slots(keys: BracketKeys) -> IntVector:
    """Room for the slots of a part."""
    singles = keys.first.shape[1] + keys.last.shape[1] + keys.split.shape[1]
    pairs = keys.spans.begin.shape[1] + keys.lefts.begin.shape[1] + keys.rights.begin.shape[1]
    return np.empty(singles + pairs, dtype=np.int32)


def parse_bracket_templates(templates: str | Sequence[str]) -> tuple[RoleTemplate, ...]:
    """Templates of constituents from their text."""
    parsed = parse_role_templates(templates, ROLES, MEASURES)
    if not parsed:
        raise WidemarginError("there are no templates; give at least one, such as 'first:word|last:word'")
    for template in parsed:
        roles = set(template.roles)
        if roles == set(ROLES) or (roles == {"split"} and template.measures):
            raise WidemarginError(
                f"the template {template.text!r} is about more than one half; combine 'split' with 'first' or 'last', "
                "not with both, and with measures only together with one of these"
            )
    return parsed


def columns_read(templates: Sequence[RoleTemplate]) -> list[str]:
    """The columns of tokens to read: those of the templates, and the words and tags of trees."""
    atoms = [atom.column for each in templates for part in each.roles.values() for atom in part.atoms]
    measured = [SEQUENCES[name][0] for each in templates for name in each.measures if name in SEQUENCES]
    return sorted({"word", "pos", *atoms, *measured})


class BracketHasher:
    """Computes the keys of corpora for templates from `parse_bracket_templates`."""

    def __init__(self, templates: Sequence[RoleTemplate]) -> None:
        groups: dict[tuple[str, ...], list[RoleTemplate]] = {group: [] for group in GROUPS}
        for template in templates:
            groups[_group(template)].append(template)
        in_order = [template for group in groups.values() for template in group]
        edges = boundaries(map(len, groups.values())).tolist()
        self._columns = dict(zip(groups, starmap(slice, pairwise(edges)), strict=True))
        self._hasher = RoleHasher(in_order, dict.fromkeys(ROLES, "outside"))
        used = {name for template in templates for name in template.measures}
        self._sequences = [name for name in SEQUENCES if name in used]
        self._measures = {
            group: (_lengths(of), _factors(of, self._sequences)) for group, of in groups.items() if len(group) > 1
        }

    def keys(self, columns: Columns) -> BracketKeys:
        """The keys of all tokens of a corpus."""
        keys = dict(zip(ROLES, self._hasher.keys(columns)[:, 1:], strict=True))

        def pair_keys(begin: str, end: str) -> PairKeys:
            ends = keys[end][:, self._columns[begin, end]]
            # The last token of a left half is the one before the split, so its row holds the keys of the split.
            shifted = np.roll(ends, -1, axis=0) if end == "split" else np.ascontiguousarray(ends)
            return PairKeys(
                np.ascontiguousarray(keys[begin][:, self._columns[begin, end]]), shifted, *self._measures[begin, end]
            )

        first, last, split = (np.ascontiguousarray(keys[role][:, self._columns[role,]]) for role in ROLES)
        spans, lefts, rights = starmap(pair_keys, PAIRS)
        return BracketKeys(first, last, split, spans, lefts, rights, *_sequences(columns, self._sequences))


def _group(template: RoleTemplate) -> tuple[str, ...]:
    """The group of `GROUPS` that a template belongs to."""
    roles = tuple(template.roles)
    if len(roles) == 1 and not template.measures:
        return roles
    # A template has its roles in the order of `ROLES`, a pair in the order of tokens; so sets are compared.
    return next((pair for pair in PAIRS if set(pair) == set(roles)), ("first", "last"))


def _lengths(templates: Sequence[RoleTemplate]) -> IntMatrix:
    """The keys of lengths: a row for each length up to the last of `STEPS`."""
    keys = measure_keys(templates, "length", [str(step) for step in STEPS])
    return keys[np.searchsorted(STEPS, np.maximum(np.arange(STEPS[-1] + 1), 1), side="right") - 1]


def _factors(templates: Sequence[RoleTemplate], sequences: Sequence[str]) -> LongMatrix:
    """A row for each sequence: an odd factor for templates that use it, 0 for others."""
    factors = np.zeros((len(sequences), len(templates)), dtype=np.int64)
    for q, name in enumerate(sequences):
        for t, template in enumerate(templates):
            if name in template.measures:
                factors[q, t] = int(hash_strings([f"{name} of {template.text}"])[0] >> np.uint64(64 - KEY_BITS)) | 1
    return factors


def _sequences(columns: Columns, sequences: Sequence[str]) -> tuple[LongMatrix, LongVector]:
    """S_t for each of the sequences, and r^t, all modulo 2³¹ (above)."""
    n = columns.n_tokens
    atoms, sums = Atoms(columns, Resources()), np.zeros((len(sequences), n + 1), dtype=np.uint64)
    for q, name in enumerate(sequences):
        codes, keys, _ = atoms.part(Atom(*SEQUENCES[name], 0))
        terms: KeyVector = keys[codes] * _powers(_INVERSE, n)
        sums[q, 1:] = np.cumsum(terms, dtype=np.uint64)
    return _cut(sums), _cut(_powers(_MULTIPLIER, n + 1))


def _powers(base: np.uint64, n: int) -> KeyVector:
    powers = np.full(n, base)
    powers[:1] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _cut(numbers: KeyVector) -> AnyArray:
    return (numbers & np.uint64(MODULUS_MASK)).astype(np.int64)
