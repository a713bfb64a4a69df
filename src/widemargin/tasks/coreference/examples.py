"""Coreference as a choice of each mention: an antecedent before it, or a new entity (Durrett & Klein 2013).

    ⟨w, φ(m, a)⟩ for a link back to the antecedent a, and 0 for starting an entity

A mention of an entity is right with any earlier mention of the same entity as its antecedent; which one is latent, so
the completions are the right antecedents, or a new entity where there is none. Errors are weighted by their kind
(`truth`). Every mention is an example of its own: choices do not depend on each other, so a
document's argmax, errors and sums are those of its mentions one by one. Blocks of one mention have few distinct
violators and a tight certificate; a block of one document would take a cut for every combination of them.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Self

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolVector, FloatVector, IntVector, LongMatrix, LongVector
from widemargin.core.examples import Differences, Scale, per_example
from widemargin.core.sparse import Draft, Rows, boundaries, coalesce, new_table, sums, with_room
from widemargin.errors import DataError
from widemargin.tasks.coreference.keys import LinkKeys, features_per_link, link_scores, push_alone, push_pair
from widemargin.tasks.coreference.links import Links
from widemargin.tasks.coreference.marginals import expectation
from widemargin.tasks.coreference.truth import NEW, ErrorCosts, Truth, cost_of_new, cost_of_wrong


@kernel
def _decode(keys: LinkKeys, truth: Truth, w: FloatVector, batch: IntVector, scales: FloatVector) -> IntVector:
    """The best choices; of equal ones a new entity, then the closest antecedent."""
    outputs = np.zeros(len(batch), dtype=np.int32)
    scores = np.empty(_most_pairs(keys, batch))
    for position in range(len(batch)):
        m, scale = batch[position], scales[position]
        begin, n = keys.pairs[m], keys.pairs[m + 1] - keys.pairs[m]
        link_scores(keys, m, w, scores)
        best, wrong = scale * cost_of_new(truth, m), scale * cost_of_wrong(truth, m)
        for back in range(1, n + 1):
            score = scores[n - back] + (0.0 if truth.right[begin + n - back] else wrong)
            if score > best:
                best = score
                outputs[position] = back
    return outputs


@kernel
def _complete(keys: LinkKeys, truth: Truth, w: FloatVector, batch: IntVector) -> IntVector:
    """The best of the right choices."""
    outputs = np.zeros(len(batch), dtype=np.int32)
    scores = np.empty(_most_pairs(keys, batch))
    for position in range(len(batch)):
        m = batch[position]
        if not truth.anaphoric[m]:
            continue
        begin, n = keys.pairs[m], keys.pairs[m + 1] - keys.pairs[m]
        link_scores(keys, m, w, scores)
        best = -np.inf
        for back in range(1, n + 1):
            if truth.right[begin + n - back] and scores[n - back] > best:
                best = scores[n - back]
                outputs[position] = back
    return outputs


@kernel
def _most_pairs(keys: LinkKeys, batch: IntVector) -> int:
    most = 0
    for m in batch:
        most = max(most, keys.pairs[m + 1] - keys.pairs[m])
    return most


@kernel
def _difference(keys: LinkKeys, truth: Truth, batch: IntVector, gold: IntVector, outputs: IntVector) -> Differences:
    """Errors of the choices `outputs`, and the features of the `gold` choices less theirs."""
    each = features_per_link(keys)
    draft = Draft(np.empty(64, dtype=np.int32), np.empty(64), new_table(32))
    errors, indptr = np.zeros(len(batch)), np.zeros(len(batch) + 1, dtype=np.int64)
    write = keys.pairs[0]
    for position in range(len(batch)):
        m, chosen, back = batch[position], outputs[position], gold[batch[position]]
        end = keys.pairs[m + 1]
        if chosen == NEW:
            errors[position] = cost_of_new(truth, m)
        elif not truth.right[end - chosen]:
            errors[position] = cost_of_wrong(truth, m)
        if chosen != back:
            draft = with_room(draft, write, 2 * each)
            fill = write
            if (chosen == NEW) != (back == NEW):
                fill = push_alone(keys, m, 1.0 if chosen == NEW else -1.0, draft, fill)
            if back != NEW:
                fill = push_pair(keys, m, end - back, 1.0, draft, fill)
            if chosen != NEW:
                fill = push_pair(keys, m, end - chosen, -1.0, draft, fill)
            write = coalesce(draft.indices, draft.values, write, fill, write, draft.table)
        indptr[position + 1] = write
    return Differences(errors, Rows(indptr, draft.indices[:write].copy(), draft.values[:write].copy()))


class AntecedentExamples:
    """Mentions with their gold entities (or without, for prediction only).

    Outputs and completions are an int32 per mention: 0 for starting an entity, k for the antecedent k mentions before.

    Parameters
    ----------
    links : the mentions and their possible links
    entities : the number of each mention's gold entity, in its document; None if mentions are only to be decoded
    costs : what each kind of error costs
    completions : the right choices that stand for gold in `difference`; None for the closest ones
    """

    exact = True

    def __init__(
        self,
        links: Links,
        entities: IntVector | None = None,
        *,
        costs: ErrorCosts | None = None,
        completions: IntVector | None = None,
    ) -> None:
        self.links, self.entities, self.costs = links, entities, ErrorCosts(*map(float, costs or ErrorCosts()))
        self.n_examples, self.n_weights, self.work = links.n_mentions, links.keys.mask + 1, links.work_of_mentions
        if not all(0.0 <= cost < np.inf for cost in self.costs):
            raise DataError(f"errors must cost at least 0, not {min(self.costs):g}")
        right = links.layout.within(entities)
        self.truth = Truth(right, sums(right, links.keys.pairs) > 0, self.costs)
        self.completions = self.first_completions() if completions is None else completions

    def decode(self, w: FloatVector, batch: IntVector, *, error_scale: Scale = 0.0) -> IntVector:
        """The best choice of each mention."""
        return _decode(self.links.keys, self.truth, w, batch, per_example(error_scale, batch))

    def difference(self, batch: IntVector, outputs: IntVector) -> Differences:
        """Errors of the choices `outputs`, and how their features differ from those of the completions."""
        return Differences(*_difference(self.links.keys, self.truth, batch, self.completions, outputs))

    def support(self, batch: IntVector) -> LongMatrix:
        """The weights of all links of the batch's mentions."""
        return self.links.support_of_mentions(batch)

    def expectation(self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0) -> Differences:
        """How choices differ from the completions on average (`core.examples.Marginals`)."""
        return expectation(self.links.keys, self.truth, w, batch, error_scale, self.completions)

    def expectation_over_completions(
        self, w: FloatVector, batch: IntVector, *, error_scale: float = 0.0
    ) -> Differences:
        """How choices differ from all right ones on average (`core.examples.LatentMarginals`)."""
        return expectation(self.links.keys, self.truth, w, batch, error_scale, None)

    def complete(self, w: FloatVector, batch: IntVector) -> IntVector:
        """The best right choices."""
        return _complete(self.links.keys, self.truth, w, batch)

    def completed(self, completions: IntVector) -> Self:
        """The same mentions with these choices as gold."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, completions=completions)
        return other

    def first_completions(self) -> IntVector:
        """The closest right antecedents."""
        return self._chosen(-np.arange(len(self.truth.right), dtype=np.int64))

    def guess(self, rng: np.random.Generator) -> IntVector:
        """Right antecedents at random."""
        return self._chosen(rng.permutation(len(self.truth.right)))

    def _chosen(self, order: LongVector) -> IntVector:
        """Of the right antecedents of each mention the first in this order of pairs."""
        pairs = self.links.keys.pairs
        rank = np.where(self.truth.right, order, np.iinfo(np.int64).max)
        of = np.repeat(np.arange(self.n_examples), np.diff(pairs))
        best = np.full(self.n_examples, np.iinfo(np.int64).max)
        np.minimum.at(best, of, rank)
        chosen = np.zeros(self.n_examples, dtype=np.int32)
        at = np.flatnonzero(self.truth.right & (rank == best[of]))
        chosen[of[at]] = pairs[1:][of[at]] - at
        return chosen

    def unreachable(self) -> Mapping[str, BoolVector]:
        """Mentions of an entity whose earlier mentions are all too far away."""
        if self.entities is None:
            return {}
        documents = self.links.keys.documents
        seen = np.zeros(self.n_examples, dtype=bool)
        for begin, end in pairwise(documents.tolist()):
            _, first = np.unique(self.entities[begin:end], return_index=True)
            seen[begin:end] = True
            seen[begin + first] = False
        return {"all antecedents are further away than max_antecedents": seen & ~self.truth.anaphoric}

    def entities_of(self, outputs: IntVector) -> IntVector:
        """The entities that the choices of all mentions stand for: a number per mention, from 0 in each document."""
        return _entities(self.links.keys.documents, outputs)


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
