"""Links between mentions with hashed features: what the antecedents and the forests decode.

An example is a document, whose parts are the links of all of its mentions in order; or a mention, whose parts are its
links and, after them, a new entity, which has no features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, new_table, with_room
from widemargin.errors import DataError
from widemargin.structures.flat import Counts, Parts, Scores
from widemargin.structures.forest import Layout
from widemargin.structures.support import Found, block_runs, note, nothing_found
from widemargin.tasks.coreference.keys import LinkKeys, add_link_scores, features_per_link, push_alone, push_pair

TINY = 1e-15
"""Shares of a choice that are lost in the rounding of the others."""


@dataclass(frozen=True)
class Links:
    """The mentions of documents and their possible links (`structures.parts.Features`, `structures.forest.ItemPairs`).

    An example is a document, or `by_mention` a mention.
    """

    keys: LinkKeys
    by_mention: bool = False

    @property
    def n_weights(self) -> int:
        """The size of the table of features."""
        return self.keys.mask + 1

    @cached_property
    def mentions(self) -> LongVector:
        """Where the mentions of each example begin."""
        return np.arange(len(self.keys.pairs)) if self.by_mention else self.keys.documents

    @cached_property
    def sizes(self) -> LongVector:
        """The number of choices of a mention, or the number of a document."""
        return np.diff(self.keys.pairs) + 1 if self.by_mention else np.arange(len(self.keys.documents) - 1)

    @cached_property
    def layout(self) -> Layout:
        """Mentions and pairs, document after document."""
        keys = self.keys
        each = np.arange(len(keys.pairs) - 1)
        sizes = np.diff(keys.pairs)
        begin = np.repeat(keys.documents[:-1], np.diff(keys.documents))
        second = np.repeat(each, sizes)
        first = second - (np.repeat(keys.pairs[1:], sizes) - np.arange(keys.pairs[-1]))
        shift = np.repeat(begin, sizes)
        local = [(places - shift).astype(np.int32) for places in (first, second)]
        return Layout(keys.documents, keys.pairs[keys.documents], *local)

    @property
    def work(self) -> FloatVector:
        """The estimated decoding time of each example in microseconds: some nanoseconds to fetch each weight."""
        n_mentions, n_pairs = np.diff(self.mentions), np.diff(self.keys.pairs[self.mentions])
        work: FloatVector = 0.5 * n_mentions + (3e-3 * features_per_link(self.keys) + 0.04) * n_pairs
        return work

    def checked(self, n_weights: int) -> Self:
        """The links; their features are places in a table of this size."""
        if self.n_weights != n_weights:
            raise DataError(f"features are places in a table of {self.n_weights}, but there are {n_weights} weights")
        return self

    def scores(self, w: FloatVector, batch: IntVector, room: Scores) -> Scores:
        """Add the scores of links."""
        _add_scores(self.keys, self.mentions, w, batch, room.starts, room.own)
        return room

    def scores_of_all(self, w: FloatVector) -> FloatVector:
        """The score of every link, mention after mention."""
        room, all_mentions = np.zeros(self.keys.pairs[-1]), np.array([0, len(self.keys.pairs) - 1])
        _add_scores(self.keys, all_mentions, w, np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64), room)
        return room

    def gather(self, batch: IntVector, parts: Parts) -> Rows:
        """The features of links, times their coefficients; those of a document are in order."""
        return _gather(self.keys, self.mentions, batch, parts)

    def gather_counts(self, batch: IntVector, counts: Counts) -> Rows:
        """The same for all choices of mentions."""
        kept, ends = np.abs(counts.own) > TINY, boundaries(counts.sizes)
        numbers = np.arange(len(kept)) - np.repeat(ends[:-1], counts.sizes)
        return self.gather(batch, Parts(boundaries(kept)[ends], numbers[kept], counts.own[kept]))

    def summed(self, batches: Sequence[IntVector]) -> None:
        """None: rows are as good."""
        return

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of all links of the batch."""
        found = nothing_found(self.n_weights)
        return block_runs(found.blocks[: _reads(self.keys, self.mentions, batch, found)], self.n_weights)


@kernel
def _reads(keys: LinkKeys, mentions: LongVector, batch: IntVector, found: Found) -> int:
    """Find the weights of all links of the batch; return how many blocks there are."""
    count = 0
    for i in batch:
        for m in range(mentions[i], mentions[i + 1]):
            for t in range(keys.alone.shape[1]):
                count = note(int(keys.alone[m, t]), 1, found, count)
            for pair in range(keys.pairs[m], keys.pairs[m + 1]):
                a = m - (keys.pairs[m + 1] - pair)
                for g in range(len(keys.edges) - 1):
                    row = keys.rows[pair, g]
                    for t in range(keys.edges[g], keys.edges[g + 1]):
                        place = keys.mention[m, t] + keys.antecedent[a, t] + keys.measure[row, t]
                        count = note(int(place & keys.mask), 1, found, count)
    return count


@kernel
def _add_scores(
    keys: LinkKeys, mentions: LongVector, w: FloatVector, batch: IntVector, starts: LongVector, own: FloatVector
) -> None:
    for k in range(len(batch)):
        at = starts[k]
        for m in range(mentions[batch[k]], mentions[batch[k] + 1]):
            count = keys.pairs[m + 1] - keys.pairs[m]
            add_link_scores(keys, m, w, own[at : at + count])
            at += count


@kernel
def _gather(keys: LinkKeys, mentions: LongVector, batch: IntVector, parts: Parts) -> Rows:
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr, write = np.zeros(len(batch) + 1, dtype=np.int64), parts.indptr[0]
    for k in range(len(batch)):
        m, last = mentions[batch[k]], parts.indptr[k + 1]
        begin, end = keys.pairs[m], keys.pairs[mentions[batch[k] + 1]]
        draft = with_room(draft, write, (last - parts.indptr[k]) * features_per_link(keys))
        fill, summed = write, begin
        for j in range(parts.indptr[k], last):
            pair = begin + parts.numbers[j]
            if pair >= end:
                continue
            while pair >= keys.pairs[m + 1]:
                m += 1
            if summed < keys.pairs[m + 1]:
                # What all links of a mention share is pushed once for all of them; it often cancels out.
                summed, shared = keys.pairs[m + 1], 0.0
                for i in range(j, last):
                    shared += parts.values[i] if begin + parts.numbers[i] < summed else 0.0
                if shared != 0.0:
                    fill = push_alone(keys, m, shared, draft, fill)
            fill = push_pair(keys, m, pair, parts.values[j], draft, fill)
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[k + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())
