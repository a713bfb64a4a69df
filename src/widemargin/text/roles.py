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

Keys (`text.role_keys`) are below 2^29, so that the sum of four is still a 32-bit number. They depend only on the
template and the values, so they are the same in every process and on every platform.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from widemargin.errors import WidemarginError
from widemargin.text.templates import Atoms, Template, by_value, expanded, parse_template, spell

KEY_BITS = 29


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
    texts = dict.fromkeys(expanded(templates))
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
