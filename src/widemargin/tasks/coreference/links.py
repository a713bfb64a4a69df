"""Links between mentions with hashed features, as pairs of documents: what the antecedents and the forests decode."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatVector, IntVector, LongMatrix
from widemargin.core.sparse import Draft, Rows, coalesce, new_table, with_room
from widemargin.decoders.kruskal import Flags
from widemargin.errors import DataError
from widemargin.structures.pairs import Layout
from widemargin.structures.support import Found, block_runs, note, nothing_found
from widemargin.tasks.coreference.keys import LinkKeys, features_per_link, link_scores, push_alone, push_pair


@dataclass(frozen=True)
class Links:
    """The mentions of documents and their possible links (`structures.pairs.ItemPairs`)."""

    keys: LinkKeys

    @property
    def n_mentions(self) -> int:
        """The number of mentions in all documents."""
        return len(self.keys.pairs) - 1

    @cached_property
    def layout(self) -> Layout:
        """Mentions and pairs, document after document."""
        keys = self.keys
        each = np.arange(self.n_mentions)
        sizes = np.diff(keys.pairs)
        begin = np.repeat(keys.documents[:-1], np.diff(keys.documents))
        second = np.repeat(each, sizes)
        first = second - (np.repeat(keys.pairs[1:], sizes) - np.arange(keys.pairs[-1]))
        shift = np.repeat(begin, sizes)
        local = [(places - shift).astype(np.int32) for places in (first, second)]
        return Layout(keys.documents, keys.pairs[keys.documents], *local)

    @property
    def work_of_mentions(self) -> FloatVector:
        """The estimated decoding time of each mention in microseconds: some nanoseconds to fetch each weight."""
        work: FloatVector = (0.5 + 3e-3 * features_per_link(self.keys) * np.diff(self.keys.pairs)).astype(np.float64)
        return work

    @property
    def work(self) -> FloatVector:
        """The estimated decoding time of each document in microseconds."""
        total = np.concatenate([[0.0], np.cumsum(self.work_of_mentions)])[self.keys.documents]
        work: FloatVector = np.diff(total) + 0.04 * np.diff(self.layout.pairs)
        return work

    def checked(self, n_weights: int) -> Self:
        """The links; their features are places in a table of this size."""
        if self.keys.mask != n_weights - 1:
            raise DataError(
                f"features are places in a table of {self.keys.mask + 1}, but there are {n_weights} weights"
            )
        return self

    def scores(self, w: FloatVector, batch: IntVector) -> FloatVector:
        """The scores of the pairs of the batch's documents, document after document."""
        return _scores(self.keys, w, self.mentions_of(batch))

    def differences(self, batch: IntVector, gold: Flags, links: Flags) -> Rows:
        """Features of gold links less those of other ones, for each document of the batch."""
        return _differences(self.keys, batch, gold, links)

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of all links of the batch's documents."""
        return self.support_of_mentions(self.mentions_of(batch))

    def support_of_mentions(self, mentions: AnyArray) -> LongMatrix:
        """The weights of all links of these mentions."""
        found = nothing_found(self.keys.mask + 1)
        return block_runs(found.blocks[: _reads(self.keys, mentions, found)], self.keys.mask + 1)

    def mentions_of(self, batch: IntVector) -> IntVector:
        """The mentions of these documents."""
        begin, end = self.keys.documents[batch], self.keys.documents[batch + 1]
        ranges = [np.arange(a, b, dtype=np.int32) for a, b in zip(begin, end, strict=True)]
        return np.concatenate([np.empty(0, dtype=np.int32), *ranges])


@kernel
def _reads(keys: LinkKeys, mentions: IntVector, found: Found) -> int:
    """Find the weights of all links of these mentions; return how many blocks there are."""
    count = 0
    for m in mentions:
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
def _scores(keys: LinkKeys, w: FloatVector, mentions: IntVector) -> FloatVector:
    n = len(mentions) - len(mentions)
    for m in mentions:
        n += keys.pairs[m + 1] - keys.pairs[m]
    scores = np.empty(n)
    at = 0
    for m in mentions:
        count = keys.pairs[m + 1] - keys.pairs[m]
        link_scores(keys, m, w, scores[at : at + count])
        at += count
    return scores


@kernel
def _differences(keys: LinkKeys, batch: IntVector, gold: Flags, links: Flags) -> Rows:
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    indptr = np.zeros(len(batch) + 1, dtype=np.int64)
    at = write = keys.documents[0]
    for position in range(len(batch)):
        first, last = keys.documents[batch[position]], keys.documents[batch[position] + 1]
        begin, end = keys.pairs[first], keys.pairs[last]
        differ = 0
        for pair in range(begin, end):
            differ += gold[pair] != links[at + pair - begin]
        draft = with_room(draft, write, differ * features_per_link(keys))
        fill = write
        for m in range(first, last):
            for pair in range(keys.pairs[m], keys.pairs[m + 1]):
                sign = float(gold[pair]) - float(links[at + pair - begin])
                if sign != 0.0:
                    fill = push_alone(keys, m, sign, draft, fill)
                    fill = push_pair(keys, m, pair, sign, draft, fill)
        write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        at += end - begin
        indptr[position + 1] = write
    return Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy())
