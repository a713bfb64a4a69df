"""Coreference as a choice of each mention: an antecedent before it, or a new entity (Durrett & Klein 2013).

    ⟨w, φ(m, a)⟩ for a link back to the antecedent a, and 0 for starting an entity

A mention of an entity is right with any earlier mention of the same entity as its antecedent; which one is latent, so
the completions are the right antecedents, or a new entity where there is none. Errors are weighted by their kind
(`ErrorCosts`). Every mention is an example of its own: choices do not depend on each other, so a
document's argmax, errors and sums are those of its mentions one by one. Blocks of one mention have few distinct
violators and a tight certificate; a block of one document would take a cut for every combination of them.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, IntVector, LongVector
from widemargin.core.sparse import boundaries, sums
from widemargin.errors import DataError
from widemargin.structures.classes import Choices
from widemargin.structures.costs import KindCosts
from widemargin.structures.examples import Hidden
from widemargin.tasks.coreference.links import Links

NEW = 0
"""The output for a mention that starts an entity; others count how many mentions back the antecedent is."""


class ErrorCosts(NamedTuple):
    """The cost of each kind of error; the defaults are those of Durrett & Klein (2013).

    `false_anaphor` is for a link that should not be, `false_new` for one that is missing, and `wrong_link` for one to
    another entity.
    """

    false_anaphor: float = 0.1
    false_new: float = 3.0
    wrong_link: float = 1.0


RIGHT, FALSE_ANAPHOR, FALSE_NEW, WRONG_LINK = range(4)
"""The kinds of choices."""


class AntecedentExamples(Hidden):
    """Mentions with their gold entities (or without, for prediction only).

    Outputs and completions are an int32 per mention: 0 for starting an entity, k for the antecedent k mentions before.
    Before they are completed, the gold choices are the closest right antecedents.

    Parameters
    ----------
    links : the mentions and their possible links
    entities : the number of each mention's gold entity, in its document; None if mentions are only to be decoded
    costs : what each kind of error costs
    """

    limits: KindCosts

    def __init__(self, links: Links, entities: IntVector | None = None, *, costs: ErrorCosts | None = None) -> None:
        self.keys, self.entities, self.error_costs = (
            links.keys,
            entities,
            ErrorCosts(*map(float, costs or ErrorCosts())),
        )
        if not all(0.0 <= cost < np.inf for cost in self.error_costs):
            raise DataError(f"errors must cost at least 0, not {min(self.error_costs):g}")
        pairs, right = links.keys.pairs, links.layout.within(entities)
        self.anaphoric = sums(right, pairs) > 0
        wrong = np.where(self.anaphoric, WRONG_LINK, FALSE_ANAPHOR).astype(np.int8)
        kinds = np.where(right, np.int8(RIGHT), np.repeat(wrong, np.diff(pairs)))
        kinds = np.insert(kinds, pairs[1:], np.where(self.anaphoric, FALSE_NEW, RIGHT))
        structure, features = Choices(), Links(links.keys, by_mention=True)
        limits = np.array([0.0, -np.inf, -np.inf, -np.inf])
        self.limits = KindCosts(structure, features.sizes, kinds, limits)
        known = KindCosts(structure, features.sizes, kinds, np.array([0.0, *self.error_costs]))
        super().__init__(structure, features, known, np.empty(0, dtype=np.int32))
        self.gold = self.first_completions()

    def first_completions(self) -> IntVector:
        """The closest right antecedents."""
        everyone = np.arange(self.n_examples, dtype=np.int32)
        closest: IntVector = self.structure.best(self._costs(everyone, self.limits))
        return closest

    def is_right(self, m: int, back: int) -> bool:
        """Whether a choice of mention m is right."""
        in_reach = 0 <= back < self.sizes[m]
        return bool(in_reach and self.limits.kinds[self.limits.begins[m + 1] - 1 - back] == RIGHT)

    def unreachable(self) -> Mapping[str, BoolVector]:
        """Mentions of an entity whose earlier mentions are all too far away."""
        if self.entities is None:
            return {}
        documents = self.keys.documents
        seen = np.zeros(self.n_examples, dtype=bool)
        for begin, end in pairwise(documents.tolist()):
            _, first = np.unique(self.entities[begin:end], return_index=True)
            seen[begin:end] = True
            seen[begin + first] = False
        return {"all antecedents are further away than max_antecedents": seen & ~self.anaphoric}

    def entities_of(self, outputs: IntVector) -> IntVector:
        """The entities that the choices of all mentions stand for: a number per mention, from 0 in each document."""
        return _entities(self.keys.documents, outputs)


@kernel
def _entities(documents: LongVector, outputs: IntVector) -> IntVector:
    entities = np.empty(len(outputs), dtype=np.int32)
    for i in range(len(documents) - 1):
        count = 0
        for m in range(documents[i], documents[i + 1]):
            if outputs[m] == NEW:
                entities[m] = count
                count += 1
            else:
                entities[m] = entities[m - outputs[m]]
    return entities


def link_boundaries(sizes: LongVector, most: int | None) -> LongVector:
    """Where the pairs of each mention begin, in documents with these numbers of mentions.

    A mention has a pair with each mention before it, at most with the `most` closest ones.

    >>> link_boundaries(np.array([4, 2]), 2).tolist()
    [0, 0, 1, 3, 5, 5, 6]
    """
    before = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(n) for n in sizes)])
    # A limit beyond every document may be too large for an array.
    return boundaries(before if most is None or most > len(before) else np.minimum(before, most))
