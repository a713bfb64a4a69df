"""Chains under constraints: weights of −∞ on what is forbidden, decoded as any other weights.

Forbidden pairs, beginnings and endings are −∞ in copies of the transition, begin and end weights. Labels forbidden at
some positions are one more feature of those positions, whose weight is −∞ at these labels.
"""

from typing import NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, IntVector, LongVector
from widemargin.sparse import Rows, taken
from widemargin.structures.chain import ChainExamples
from widemargin.structures.chain_weights import Chain, ChainWeights


class ChainLimits(NamedTuple):
    """What is possible: label pairs, first labels, last labels, and sets of labels for positions to choose from."""

    pairs: BoolMatrix
    begins: BoolVector
    ends: BoolVector
    sets: BoolMatrix


def limited_weights(weights: ChainWeights, limits: ChainLimits) -> ChainWeights:
    """Thinned weights with a feature more for each of the sets."""
    thin, (sets, labels) = weights.thin_emission, np.nonzero(~limits.sets)
    sizes = np.bincount(sets, minlength=len(limits.sets))
    return weights._replace(
        transition=np.where(limits.pairs, weights.transition, -np.inf),
        begin=np.where(limits.begins, weights.begin, -np.inf),
        end=np.where(limits.ends, weights.end, -np.inf),
        thin_emission=Rows(
            np.concatenate([thin.indptr, thin.indptr[-1] + np.cumsum(sizes)]),
            np.concatenate([thin.indices, labels.astype(np.int32)]),
            np.concatenate([thin.values, np.full(len(labels), -np.inf)]),
        ),
    )


def with_features(
    examples: ChainExamples, n_more: int, positions: LongVector, more: IntVector, only: int | None = None
) -> ChainExamples:
    """The examples in a chain with `n_more` features more, of which `positions`, in ascending order, have `more`.

    `only` keeps a single example; the positions are then counted from its beginning.
    """
    data, chain = examples.data, examples.chain
    first, last = (0, len(data.indptr) - 1) if only is None else (only, only + 1)
    indptr = data.indptr[first : last + 1]
    tokens = np.arange(indptr[0], indptr[-1])
    features = taken(data.features, tokens)
    transitions = taken(data.transition_features, tokens) if chain.n_transition_features else None
    counts = np.bincount(positions, minlength=len(features.indptr) - 1)
    places = features.indptr[positions + 1]
    features = Rows(
        features.indptr + np.concatenate([[0], np.cumsum(counts)]),
        np.insert(features.indices, places, more),
        np.insert(features.values, places, 1.0) if len(features.values) else features.values,
    )
    shape = Chain(chain.n_labels, chain.n_features + n_more, chain.n_transition_features)
    return ChainExamples(shape, indptr - indptr[0], features, transition_features=transitions)
