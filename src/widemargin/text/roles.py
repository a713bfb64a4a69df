r"""Hashed features of several tokens at once: templates whose parts belong to roles.

A dependency arc joins a head and a modifier, a span has a first and a last token: features of such parts are
conjunctions over tokens in *roles*,

    head:word|modifier:upos            the head's word with the modifier's part of speech
    head:upos[1]|modifier:upos[-1]     the neighbours'
    head:upos|modifier:upos|distance   with a *measure* of the whole part

There are far too many features for an alphabet (n² arcs times a hundred templates). So the weights are one table of
2^bits numbers, and the hash kernel gives each feature a slot in it (Shi et al. 2009; Weinberger et al. 2009). The hash
is *linear*: a feature's slot is the sum of one key per role, cut to `bits` bits. Keys are computed once per token and
role; then each conjunction of a pair of tokens costs one addition.

The key of template t for a token in a role mixes a seed with the values of the atoms that t has in this role, in order:

    key = mix(… mix(mix(seed · p ⊕ value_1) · p ⊕ value_2) …),   cut to its first 29 bits

So the sum of four keys is still a 32-bit number. Keys depend only on the template and the values: they are the same in
every process and on every platform. Everything that depends only on the templates is computed once per model, so that a
single sentence costs little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import IntMatrix, IntVector, KeyVector, LongVector
from widemargin.core.sparse import boundaries
from widemargin.errors import WidemarginError
from widemargin.text import KEY_BITS
from widemargin.text.attributes import Attributes, Resources, check_attribute
from widemargin.text.columns import Columns
from widemargin.text.hashing import combine, combine_pair, hash_strings
from widemargin.text.templates import AFTER, BEFORE, Atoms, Template, by_value, expand_ranges, parse_template, spell

CUT = np.uint64(64 - KEY_BITS)


@dataclass(frozen=True, slots=True)
class RoleTemplate:
    """A conjunction: templates of the tokens in some roles, and some measures."""

    text: str
    roles: dict[str, Template]
    measures: tuple[str, ...] = ()

    @property
    def columns_read(self) -> set[str]:
        """The columns that it reads."""
        atoms = [atom for part in self.roles.values() for atom in part.atoms]
        return {atom.column for atom in atoms if atom.attribute != "bias"}


def parse_role_templates(
    templates: str | Sequence[str], roles: Sequence[str], measures: Sequence[str]
) -> tuple[RoleTemplate, ...]:
    """Templates from their text: a sequence of strings, or one string of templates split at blanks and line ends.

    >>> [each.text for each in parse_role_templates("head:upos[-1..0]|distance", ["head"], ["distance"])]
    ['head:upos[-1]|distance', 'head:upos|distance']
    """
    texts = dict.fromkeys(expand_ranges(templates))
    return tuple({parsed.text: parsed for parsed in (_parse(text, roles, measures) for text in texts)}.values())


def _parse(text: str, roles: Sequence[str], measures: Sequence[str]) -> RoleTemplate:
    parts: dict[str, list[str]] = {}
    measured = []
    for part in text.split("|"):
        role, colon, atom = part.partition(":")
        if not colon and part in measures:
            measured.append(part)
        elif role in roles:
            parts.setdefault(role, []).append(atom)
        else:
            known = ", ".join([*(f"{role}:…" for role in roles), *measures])
            raise WidemarginError(f"the template {text!r} is not understood at {part!r}; its parts can be {known}")
    parsed = {role: parse_template("|".join(parts[role])) for role in roles if role in parts}
    for template in parsed.values():
        if len(by_value(template)) > 1:
            raise WidemarginError(
                f"the template {text!r} is not possible: a token has several values of {template.text}"
            )
    names = [f"{role}:{atom}" for role, template in parsed.items() for atom in template.text.split("|")]
    return RoleTemplate("|".join([*names, *measured]), parsed, tuple(measured))


def spell_roles(
    atoms: Atoms, template: RoleTemplate, tokens: Mapping[str, int | str], measured: Mapping[str, str]
) -> str:
    """The name of a feature, ``template=values``; `tokens` are the roles' token numbers, or texts for no token."""
    values = []
    for role, part in template.roles.items():
        token = tokens[role]
        if not isinstance(token, str):
            token = spell(atoms, part, np.array([token]))[0].partition("=")[2]
        values.append(token)
    return f"{template.text}={'|'.join([*values, *(measured[name] for name in template.measures)])}"


class Program(NamedTuple):
    """Templates as arrays.

    Atom a is the attribute `attribute`[a] of the token `offset`[a] positions away. Step r mixes `seed`[r] with the
    atoms `atoms`[`begin`[r]] … `atoms`[`begin`[r + 1] − 1], the key of template `template`[r] in role `role`[r].
    """

    attribute: IntVector
    offset: LongVector
    role: IntVector
    template: IntVector
    seed: KeyVector
    begin: LongVector
    atoms: IntVector


class Values(NamedTuple):
    """The values of all attributes: `keys`[`codes`[a, t]] is the value of attribute a of token t.

    The values of attribute a end before `ends`[a]; its last two are for tokens before and after a sequence.
    """

    codes: IntMatrix
    keys: KeyVector
    ends: LongVector


class RoleHasher:
    """Computes the keys of templates; sums of keys are slots.

    Parameters
    ----------
    templates : the templates; each has a column of keys
    outside : the roles, and for each the value of a token that does not exist
    resources : the word lists that the templates refer to
    """

    def __init__(
        self, templates: Sequence[RoleTemplate], outside: Mapping[str, str], resources: Resources | None = None
    ) -> None:
        self.resources = resources or Resources()
        used = [
            (r, t, templates[t].roles[role].atoms)
            for r, role in enumerate(outside)
            for t in range(len(templates))
            if role in templates[t].roles
        ]
        atoms = list(dict.fromkeys(atom for _, _, each in used for atom in each))
        named = [(atom.column, atom.attribute) for atom in atoms]
        self._attributes = list(dict.fromkeys(named))
        for _, attribute in self._attributes:
            check_attribute(attribute, self.resources)
        place = {atom: a for a, atom in enumerate(atoms)}
        roles = list(outside)
        self._program = Program(
            np.array([self._attributes.index(each) for each in named], dtype=np.int32),
            np.array([atom.offset for atom in atoms], dtype=np.int64),
            np.array([r for r, _, _ in used], dtype=np.int32),
            np.array([t for _, t, _ in used], dtype=np.int32),
            hash_strings([seed_text(roles[r], templates[t]) for r, t, _ in used]),
            boundaries(len(each) for _, _, each in used),
            np.array([place[atom] for _, _, each in used for atom in each], dtype=np.int32),
        )
        # (roles, templates) the keys of tokens that do not exist
        self._outside = np.zeros((len(roles), len(templates)), dtype=np.int32)
        mixed = combine(self._program.seed, hash_strings(list(outside.values()))[self._program.role])
        self._outside[self._program.role, self._program.template] = cut(mixed)

    def keys(self, columns: Columns) -> IntMatrix:
        """(roles, 1 + tokens, templates) keys of tokens in a role; row 0 stands for no token.

        Templates without a role have the key 0 in it.
        """
        n_roles, n_templates = self._outside.shape
        keys = np.zeros((n_roles, columns.n_tokens + 1, n_templates), dtype=np.int32)
        keys[:, 0] = self._outside
        if columns.n_tokens and self._attributes:
            _fill(self._program, self._values(columns), columns.indptr, keys)
        return keys

    def _values(self, columns: Columns) -> Values:
        """The values of all attributes, hashed in one go."""
        attributes = Attributes(columns, self.resources)
        codes, texts, ends = [], list[str | None](), list[int]()
        for name in self._attributes:
            own, values = attributes.of(*name)
            codes.append(own + np.int32(len(texts)))
            texts += [*values, BEFORE, AFTER]
            ends.append(len(texts))
        keys = hash_strings([text or "" for text in texts])
        if None in texts:
            keys[[text is None for text in texts]] = 0
        return Values(np.stack(codes), keys, np.array(ends))


def seed_text(part: str, template: RoleTemplate) -> str:
    """The text whose hash keeps the keys of a template's parts apart."""
    return f"{part} of {template.text}"


def cut(keys: KeyVector) -> IntMatrix:
    """The first 29 bits of every key."""
    return (keys >> CUT).astype(np.int32)


def measure_keys(templates: Sequence[RoleTemplate], measure: str, names: Sequence[str]) -> IntMatrix:
    """(names, templates) keys of the values of a measure; 0 for templates without it."""
    keys = np.zeros((len(names), len(templates)), dtype=np.int32)
    measured = [t for t, template in enumerate(templates) if measure in template.measures]
    if measured:
        seeds = hash_strings([seed_text(measure, templates[t]) for t in measured])
        keys[:, measured] = cut(combine(seeds, hash_strings(names)[:, None]))
    return keys


@kernel
def _fill(program: Program, values: Values, indptr: LongVector, keys: IntMatrix) -> None:
    """Compute the keys of all tokens in all roles, from the values of all atoms at each token."""
    seen = np.empty(len(program.attribute), dtype=np.uint64)
    for i in range(len(indptr) - 1):
        for token in range(indptr[i], indptr[i + 1]):
            for a in range(len(seen)):
                attribute, at = program.attribute[a], token + program.offset[a]
                if at < indptr[i]:
                    place = values.ends[attribute] - 2
                elif at >= indptr[i + 1]:
                    place = values.ends[attribute] - 1
                else:
                    place = np.int64(values.codes[attribute, at])
                seen[a] = values.keys[place]
            for step in range(len(program.seed)):
                key = program.seed[step]
                for part in range(program.begin[step], program.begin[step + 1]):
                    key = combine_pair(key, seen[program.atoms[part]])
                keys[program.role[step], token + 1, program.template[step]] = key >> CUT
