"""Features of dependency arcs by templates (McDonald et al. 2005), hashed (`text.roles`).

Four lists of templates: on arcs, on arcs with their label, on pairs of siblings, and on grandparents. The roles are
``head``, ``modifier``, ``between`` (each distinct value among the tokens between the two), ``sibling`` (the next
modifier of the same head towards it) and ``grandparent`` (the head of the head). A feature without labels counts twice:
alone, and combined with a signed distance. It is the distance from head to modifier, from sibling to modifier, or from
grandparent to modifier together with the side of the head. Templates on labels name the measure they use:
``direction`` or ``distance``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from widemargin._types import IntMatrix, LongVector
from widemargin.core.sparse import boundaries
from widemargin.tasks.parse.keys import DIRECTIONS, GROUPS, STEPS, TreeKeys
from widemargin.text.columns import Columns
from widemargin.text.role_keys import RoleHasher, measure_keys
from widemargin.text.roles import RoleTemplate, parse_role_templates

MEASURES = {"distance": STEPS, "direction": DIRECTIONS}
OUTSIDE = {"head": "<root>", "modifier": "<root>", "between": "<none>", "sibling": "<none>", "grandparent": "<root>"}


ARC_TEMPLATES = (
    "head:word|head:xpos",
    "head:word",
    "head:xpos",
    "modifier:word|modifier:xpos",
    "modifier:word",
    "modifier:xpos",
    "head:word|head:xpos|modifier:word|modifier:xpos",
    "head:xpos|modifier:word|modifier:xpos",
    "head:word|modifier:word|modifier:xpos",
    "head:word|head:xpos|modifier:xpos",
    "head:word|head:xpos|modifier:word",
    "head:word|modifier:word",
    "head:xpos|modifier:xpos",
    "head:upos|modifier:upos",
    "head:word|modifier:upos",
    "head:upos|modifier:word",
    "head:lemma|modifier:lemma",
    "head:lemma|modifier:upos",
    "head:upos|modifier:lemma",
    "head:xpos|modifier:xpos|head:xpos[1]|modifier:xpos[-1]",
    "head:xpos|modifier:xpos|head:xpos[-1]|modifier:xpos[-1]",
    "head:xpos|modifier:xpos|head:xpos[1]|modifier:xpos[1]",
    "head:xpos|modifier:xpos|head:xpos[-1]|modifier:xpos[1]",
    "head:upos|modifier:upos|head:upos[1]|modifier:upos[-1]",
    "head:upos|modifier:upos|head:upos[-1]|modifier:upos[-1]",
    "head:upos|modifier:upos|head:upos[1]|modifier:upos[1]",
    "head:upos|modifier:upos|head:upos[-1]|modifier:upos[1]",
    "head:xpos|modifier:xpos|head:xpos[1]",
    "head:xpos|modifier:xpos|head:xpos[-1]",
    "head:xpos|modifier:xpos|modifier:xpos[1]",
    "head:xpos|modifier:xpos|modifier:xpos[-1]",
    "head:feats|modifier:feats",
    "head:upos|modifier:feats",
    "head:feats|modifier:upos",
    "head:upos|modifier:upos|between:upos",
    "head:xpos|modifier:xpos|between:upos",
)
LABEL_TEMPLATES = (
    "modifier:bias|direction",
    "modifier:word|direction",
    "modifier:lemma|modifier:upos|direction",
    "modifier:xpos|direction",
    "modifier:word|modifier:xpos|direction",
    "modifier:feats|modifier:upos|direction",
    "modifier:xpos[-1]|modifier:xpos|direction",
    "modifier:xpos|modifier:xpos[1]|direction",
    "modifier:upos[-1]|modifier:upos|modifier:upos[1]|direction",
    "modifier:word[-1]|modifier:xpos|direction",
    "modifier:xpos|modifier:word[1]|direction",
    "modifier:lemma[-1]|modifier:lemma|direction",
    "modifier:lemma|modifier:lemma[1]|direction",
    "modifier:lemma[-2]|modifier:xpos|direction",
    "modifier:xpos|modifier:lemma[2]|direction",
    "modifier:upos[-2]|modifier:upos[-1]|modifier:upos|direction",
    "modifier:upos|modifier:upos[1]|modifier:upos[2]|direction",
    "head:word|direction",
    "head:lemma|head:upos|direction",
    "head:xpos|direction",
    "head:word|head:xpos|direction",
    "head:feats|head:upos|direction",
    "head:xpos[-1]|head:xpos|head:xpos[1]|direction",
    "head:lemma[-1]|head:lemma|direction",
    "head:lemma|head:lemma[1]|direction",
    "head:lemma[-1]|head:xpos|direction",
    "head:xpos|head:lemma[1]|direction",
    "head:upos[-1]|head:lemma|direction",
    "head:lemma|head:upos[1]|direction",
    "head:upos[-2]|head:upos[-1]|head:upos|direction",
    "head:upos|head:upos[1]|head:upos[2]|direction",
    "head:upos[-2]|head:upos[-1]|head:upos|head:upos[1]|head:upos[2]|direction",
    "head:upos[-3]|head:upos|direction",
    "head:upos|head:upos[3]|direction",
    "head:xpos|modifier:xpos|direction",
    "head:upos|modifier:upos|distance",
    "head:lemma|modifier:xpos|direction",
)
SIBLING_TEMPLATES = (
    "sibling:upos|modifier:upos",
    "head:upos|sibling:upos|modifier:upos",
    "head:xpos|sibling:xpos|modifier:xpos",
    "sibling:word|modifier:word",
    "sibling:word|modifier:upos",
    "sibling:upos|modifier:word",
    "sibling:xpos|modifier:xpos",
    "sibling:lemma|modifier:lemma",
    "head:lemma|sibling:upos|modifier:upos",
    "head:upos|sibling:lemma|modifier:upos",
    "head:upos|sibling:upos|modifier:lemma",
)
GRANDPARENT_TEMPLATES = (
    "grandparent:upos|modifier:upos",
    "grandparent:xpos|modifier:xpos",
    "grandparent:word|modifier:word",
    "grandparent:lemma|modifier:lemma",
    "grandparent:lemma|modifier:upos",
    "grandparent:upos|modifier:lemma",
    "grandparent:upos|head:upos|modifier:upos",
    "grandparent:xpos|head:xpos|modifier:xpos",
    "grandparent:lemma|head:upos|modifier:lemma",
    "grandparent:upos|head:lemma|modifier:lemma",
    "grandparent:upos|head:upos|modifier:lemma",
)


@dataclass(frozen=True)
class ArcExtractor:
    """Keys of arcs.

    Parameters
    ----------
    arc, label, sibling, grandparent : texts of templates
    hash_bits : features share a table of 2^hash_bits weights
    """

    arc: Sequence[str] = ARC_TEMPLATES
    label: Sequence[str] = LABEL_TEMPLATES
    sibling: Sequence[str] = ()
    grandparent: Sequence[str] = ()
    hash_bits: int = 22

    @cached_property
    def groups(self) -> dict[str, tuple[RoleTemplate, ...]]:
        """The templates of each of the `keys.GROUPS`."""
        arc = parse_role_templates(self.arc, ["head", "modifier", "between"], ())
        label = parse_role_templates(self.label, ["head", "modifier"], list(MEASURES))
        sibling = parse_role_templates(self.sibling, ["head", "modifier", "sibling"], ())
        grandparent = parse_role_templates(self.grandparent, ["head", "modifier", "grandparent"], ())
        alone = {
            role: tuple(each for each in label if set(each.roles) <= {role} and "distance" not in each.measures)
            for role in ("head", "modifier")
        }
        return {
            "arc": tuple(each for each in arc if "between" not in each.roles),
            "between": tuple(each for each in arc if "between" in each.roles),
            "sibling": tuple(sorted(sibling, key=_looks_at_head)),
            "grandparent": tuple(sorted(grandparent, key=_looks_at_head)),
            "label": tuple(each for each in label if each not in alone["head"] and each not in alone["modifier"]),
            "label_head": alone["head"],
            "label_modifier": alone["modifier"],
        }

    @property
    def columns_read(self) -> list[str]:
        """The columns that the templates look at."""
        templates = [template for group in self.groups.values() for template in group]
        return sorted(set[str]().union(*(template.columns_read for template in templates)))

    @cached_property
    def _prepared(self) -> tuple[RoleHasher, IntMatrix, LongVector, list[int]]:
        """The keys that all corpora share: the hasher, and `measure`, `edges` and both `…_head` of `TreeKeys`."""
        templates = [template for group in GROUPS for template in self.groups[group]]
        measure = sum(measure_keys(templates, name, values) for name, values in MEASURES.items())
        edges = boundaries(len(self.groups[group]) for group in GROUPS)
        with_head = [
            int(edges[GROUPS.index(group) + 1]) - sum(map(_looks_at_head, self.groups[group]))
            for group in ("sibling", "grandparent")
        ]
        return RoleHasher(templates, OUTSIDE), np.asarray(measure, dtype=np.int32), edges, with_head

    def keys(self, columns: Columns) -> TreeKeys:
        """The keys of all tokens of a corpus."""
        hasher, measure, edges, with_head = self._prepared
        head, modifier, *others = hasher.keys(columns)
        # A template has at most one of the roles between, sibling and grandparent, so one matrix can hold their sum.
        return TreeKeys(head, modifier, sum(others), measure, edges, *with_head)


def _looks_at_head(template: RoleTemplate) -> bool:
    return "head" in template.roles


def without_lemmas(templates: Sequence[str]) -> tuple[str, ...]:
    """The templates with lower-cased words in place of lemmas.

    >>> without_lemmas(["head:lemma|modifier:upos", "head:word"])
    ('head:lower|modifier:upos', 'head:word')
    """
    return tuple(template.replace(":lemma", ":lower") for template in templates)


def readable(templates: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The templates that look only at these columns."""
    parsed = parse_role_templates(templates, list(OUTSIDE), list(MEASURES))
    return tuple(template.text for template in parsed if template.columns_read <= set(names))
