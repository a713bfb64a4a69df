"""Coreference as a choice for each mention: an earlier mention as antecedent, or a new entity (Durrett & Klein 2013).

    ⟨w, φ(m, a)⟩ for a link back to the antecedent a, and 0 for a new entity

Any earlier mention of the same entity is a right antecedent. Which one is hidden: completions choose a right
antecedent, or a new entity if there is none. Errors are weighted by their kind (`ErrorCosts`). Every mention is an
example of its own, because choices do not depend on each other: argmax, errors and sums of a document are those of its
mentions one by one. A block of one mention has few distinct violators and a tight certificate; a block of one document
would need a cut for every combination of them.

The features of links are hashed. A link from mention m back to its antecedent a has, for every template t, the slot
(`text.roles`)

    (mention[m, t] + antecedent[a, t] + measure[row, t]) mod 2^bits

where the row stands for the measures of the two together: their distance, whether their heads agree, and so on.
Templates with the same measures are a group, and a pair has one row per group. Templates of m alone are features of
every link of m: they decide between any link and a new entity, which scores 0.

If an example is a document, its parts are the links of all of its mentions in order. If it is a mention, its parts are
its links, then a new entity, which has no features.
"""

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, new_table, sums, with_room
from widemargin.errors import DataError
from widemargin.structures.classes import Choices
from widemargin.structures.costs import KindCosts
from widemargin.structures.examples import Hidden
from widemargin.structures.flat import Counts, Parts, Scores
from widemargin.structures.forest import PairLayout
from widemargin.structures.hashed import HashedFeatures, Sink, add_single, flush, push

NEW = 0
"""The output for a mention that starts an entity; k > 0 stands for the antecedent k mentions back."""


class LinkKeys(NamedTuple):
    """Keys of all templates, a column each, and for each pair its rows of `measure`, one per group of templates.

    `alone` has the keys of templates of one mention. Group g has the columns `edges`[g] … `edges`[g + 1]. The mentions
    of document i are `documents`[i] … `documents`[i + 1]. The pairs of mention m are `pairs`[m] … `pairs`[m + 1], one
    for each possible antecedent, the closest last.
    """

    mention: IntMatrix
    antecedent: IntMatrix
    measure: IntMatrix
    alone: IntMatrix
    rows: AnyArray
    edges: LongVector
    documents: LongVector
    pairs: LongVector
    mask: int

    @property
    def n_features(self) -> int:
        """The number of features of a link, with those of the mention alone."""
        return self.alone.shape[1] + self.mention.shape[1]


@kernel
def link_slots(keys: LinkKeys, m: int, pair: int, slots: IntVector) -> None:
    """Write the slots of a link's features: those of the mention alone, then the others by template."""
    n_alone, a = keys.alone.shape[1], np.uint64(m - (keys.pairs[m + 1] - pair))
    i, p, mask = np.uint64(m), np.uint64(pair), keys.mask
    for t in range(n_alone):
        slots[np.uint64(t)] = keys.alone[i, np.uint64(t)]
    for g in range(len(keys.edges) - 1):
        row = np.uint64(keys.rows[p, np.uint64(g)])
        for t in range(keys.edges[g], keys.edges[g + 1]):
            j = np.uint64(t)
            slots[np.uint64(n_alone + t)] = (keys.mention[i, j] + keys.antecedent[a, j] + keys.measure[row, j]) & mask


@kernel
def _add_scores(
    keys: LinkKeys, mentions: LongVector, w: FloatVector, batch: IntVector, starts: LongVector, own: FloatVector
) -> None:
    for k in range(len(batch)):
        at = starts[k]
        for m in range(mentions[batch[k]], mentions[batch[k] + 1]):
            # Features of the mention alone are the same for all of its links, so they are summed up once.
            alone = 0.0
            for slot in keys.alone[m]:
                alone += w[np.uint64(slot)]
            for pair in range(keys.pairs[m], keys.pairs[m + 1]):
                # The same slots as in `link_slots`, whose weights are added at once instead of being listed.
                a, i, p, total = np.uint64(m - (keys.pairs[m + 1] - pair)), np.uint64(m), np.uint64(pair), 0.0
                for g in range(len(keys.edges) - 1):
                    row = np.uint64(keys.rows[p, np.uint64(g)])
                    for t in range(keys.edges[g], keys.edges[g + 1]):
                        j = np.uint64(t)
                        place = (keys.mention[i, j] + keys.antecedent[a, j] + keys.measure[row, j]) & keys.mask
                        total += w[np.uint64(place)]
                own[at] += alone + total
                at += 1


@kernel
def _gather(keys: LinkKeys, mentions: LongVector, batch: IntVector, parts: Parts) -> Rows:
    n_alone, slots = keys.alone.shape[1], np.empty(keys.alone.shape[1] + keys.mention.shape[1], dtype=np.int32)
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr, write = np.zeros(len(batch) + 1, dtype=np.int64), parts.indptr[0]
    for k in range(len(batch)):
        m, last = mentions[batch[k]], parts.indptr[k + 1]
        begin, end = keys.pairs[m], keys.pairs[mentions[batch[k] + 1]]
        # Entries are written behind those of the examples before, in any order; `coalesce` then sorts and sums them.
        draft = with_room(draft, write, (last - parts.indptr[k]) * len(slots))
        fill, summed = write, begin
        for j in range(parts.indptr[k], last):
            pair = begin + parts.numbers[j]
            if pair >= end:
                continue
            while pair >= keys.pairs[m + 1]:
                m += 1
            link_slots(keys, m, pair, slots)
            if summed < keys.pairs[m + 1]:
                # Features of the mention alone are pushed once with the sum over its links, which is often 0.
                summed, shared = keys.pairs[m + 1], 0.0
                for i in range(j, last):
                    shared += parts.values[i] if begin + parts.numbers[i] < summed else 0.0
                if shared != 0.0:
                    fill = push(slots[:n_alone], 0, shared, draft, fill)
            fill = push(slots[n_alone:], 0, parts.values[j], draft, fill)
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[k + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())


@kernel
def _visit(keys: LinkKeys, mentions: LongVector, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
    n_alone, slots = keys.alone.shape[1], np.empty(keys.alone.shape[1] + keys.mention.shape[1], dtype=np.int32)
    for k in range(len(batch)):
        at = counts.starts[k]
        for m in range(mentions[batch[k]], mentions[batch[k] + 1]):
            shared = 0.0
            for pair in range(keys.pairs[m], keys.pairs[m + 1]):
                link_slots(keys, m, pair, slots)
                add_single(slots[n_alone:], counts.own[at], sink)
                shared += counts.own[at]
                at += 1
            add_single(keys.alone[m], shared, sink)
        flush(sink, 1, psi, k)


class Links(HashedFeatures):
    """The mentions of documents and their possible links (`structures.parts.Features`, `structures.forest.ItemPairs`).

    An example is a document or, with `by_mention`, a mention.
    """

    def __init__(self, keys: LinkKeys, *, by_mention: bool = False) -> None:
        # Sizes tell the structure about examples: how many choices a mention has, or which document it is.
        sizes = np.diff(keys.pairs) + 1 if by_mention else np.arange(len(keys.documents) - 1)
        super().__init__(sizes, keys.mask + 1, 1)
        self.keys, self.mentions = keys, np.arange(len(keys.pairs)) if by_mention else keys.documents

    @cached_property
    def layout(self) -> PairLayout:
        """Mentions and pairs, document after document."""
        keys = self.keys
        each = np.arange(len(keys.pairs) - 1)
        sizes = np.diff(keys.pairs)
        begin = np.repeat(keys.documents[:-1], np.diff(keys.documents))
        second = np.repeat(each, sizes)
        first = second - (np.repeat(keys.pairs[1:], sizes) - np.arange(keys.pairs[-1]))
        shift = np.repeat(begin, sizes)
        local = [(places - shift).astype(np.int32) for places in (first, second)]
        return PairLayout(keys.documents, keys.pairs[keys.documents], *local)

    @property
    def work(self) -> FloatVector:
        """The estimated decoding time of each example in microseconds; fetching a weight takes a few nanoseconds."""
        per_link = 3e-3 * self.keys.n_features + 0.04
        work: FloatVector = 0.5 * np.diff(self.mentions) + per_link * np.diff(self.keys.pairs[self.mentions])
        return work

    def checked(self, n_weights: int) -> Self:
        """The links themselves; raise unless the table has this many weights."""
        if self.n_weights != n_weights:
            raise DataError(f"features are places in a table of {self.n_weights}, but there are {n_weights} weights")
        return self

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of links."""
        _add_scores(self.keys, self.mentions, w, batch, room.starts, room.own)
        return room

    def scores_of_all(self, w: FloatVector) -> FloatVector:
        """The score of every link, mention by mention."""
        room, all_mentions = np.zeros(self.keys.pairs[-1]), np.array([0, len(self.keys.pairs) - 1])
        _add_scores(self.keys, all_mentions, w, np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64), room)
        return room

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """The features of links, times their coefficients; parts must be sorted within a document."""
        return _gather(self.keys, self.mentions, batch, parts)

    def visit(self, batch: IntVector, counts: Counts, sink: Sink, psi: Rows) -> None:
        """Add the features of all links."""
        _visit(self.keys, self.mentions, batch, counts, sink, psi)

    def n_parts(self, batch: IntVector) -> LongVector:
        """The number of links of each example."""
        n_links: LongVector = self.keys.pairs[self.mentions[batch + 1]] - self.keys.pairs[self.mentions[batch]]
        return n_links

    @cached_property
    def places(self) -> tuple[LongVector, LongVector]:
        """Every feature has one weight."""
        single = np.diff(self.keys.pairs[self.mentions]) * self.keys.n_features
        return single, np.zeros_like(single)


def link_features(keys: LinkKeys, m: int, pair: int) -> IntVector:
    """The slots of a link's features."""
    slots = np.empty(keys.n_features, dtype=np.int32)
    link_slots(keys, m, pair, slots)
    return slots


class ErrorCosts(NamedTuple):
    """The cost of each kind of error; the defaults are those of Durrett & Klein (2013).

    `false_anaphor` is for a link of a mention that starts an entity, `false_new` for a missing link, and `wrong_link`
    for a link to another entity.
    """

    false_anaphor: float = 0.1
    false_new: float = 3.0
    wrong_link: float = 1.0


RIGHT, FALSE_ANAPHOR, FALSE_NEW, WRONG_LINK = range(4)
"""The kinds of choices."""


class AntecedentExamples(Hidden):
    """Mentions with their gold entities (or without, for prediction only).

    Outputs and completions are an int32 per mention: 0 for a new entity, k for the antecedent k mentions back. The
    first completions are the closest right antecedents.

    Parameters
    ----------
    links : the mentions and their possible links
    entities : the number of each mention's gold entity in its document; None for prediction only
    costs : the cost of each kind of error
    """

    limits: KindCosts

    def __init__(self, links: Links, entities: IntVector | None = None, *, costs: ErrorCosts | None = None) -> None:
        self.keys, self.layout, self.entities = links.keys, links.layout, entities
        self.error_costs = ErrorCosts(*map(float, costs or ErrorCosts()))
        if not all(0.0 <= cost < np.inf for cost in self.error_costs):
            raise DataError(f"errors must cost at least 0, not {min(self.error_costs):g}")
        pairs, right = links.keys.pairs, self.layout.within(entities)
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
        """Mentions whose right antecedents are all too far back."""
        if self.entities is None:
            return {}
        documents = self.keys.documents
        seen = np.zeros(self.n_examples, dtype=bool)
        for begin, end in pairwise(documents.tolist()):
            _, first = np.unique(self.entities[begin:end], return_index=True)
            seen[begin:end] = True
            seen[begin + first] = False
        return {"all antecedents are further away than max_antecedents": seen & ~self.anaphoric}

    def trees(self, outputs: IntVector) -> IntVector:
        """The entities that follow from the choices of all mentions: a number per mention, from 0 in each document."""
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

    A mention has a pair with each of the `most` closest mentions before it.

    >>> link_boundaries(np.array([4, 2]), 2).tolist()
    [0, 0, 1, 3, 5, 5, 6]
    """
    before = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(n) for n in sizes)])
    # A larger limit changes nothing, and may not fit into int64.
    return boundaries(before if most is None or most > len(before) else np.minimum(before, most))
