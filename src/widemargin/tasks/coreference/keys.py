"""The hashed features of links between mentions: keys whose sums are places in one table of weights.

A link from mention m back to its antecedent a has, for every template t, the place (`text.roles`)

    (mention[m, t] + antecedent[a, t] + measure[row, t]) mod 2^bits

where the row tells what is measured of the two together: their distance, whether their heads agree, and so on.
Templates that measure the same are a group, and a pair has one row per group. Templates of m alone are features of
every link of m; what they add to its links, they take from m starting an entity, whose score is 0.
"""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import AnyArray, FloatVector, IntMatrix, IntVector, LongVector
from widemargin.core.sparse import Draft


class LinkKeys(NamedTuple):
    """Keys of all templates, a column each, and for each pair the rows of `measure`, one for each group of templates.

    `alone` has the keys of templates of one mention. Group g has the columns `edges`[g] … `edges`[g + 1]. The mentions
    of document i are `documents`[i] … `documents`[i + 1], the pairs of mention m `pairs`[m] … `pairs`[m + 1]: one for
    each of the mentions right before it, the closest last.
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


@kernel
def score_alone(keys: LinkKeys, m: int, w: FloatVector) -> float:
    """The sum of the weights that all links of mention m share."""
    total = 0.0
    for t in range(keys.alone.shape[1]):
        total += w[np.uint64(keys.alone[np.uint64(m), np.uint64(t)])]
    return total


@kernel
def score_pair(keys: LinkKeys, m: int, pair: int, w: FloatVector) -> float:
    """The sum of the weights of the other features of a link."""
    a = np.uint64(m - (keys.pairs[m + 1] - pair))
    i, p = np.uint64(m), np.uint64(pair)
    total = 0.0
    for g in range(len(keys.edges) - 1):
        row = np.uint64(keys.rows[p, np.uint64(g)])
        for t in range(keys.edges[g], keys.edges[g + 1]):
            j = np.uint64(t)
            place = (keys.mention[i, j] + keys.antecedent[a, j] + keys.measure[row, j]) & keys.mask
            total += w[np.uint64(place)]
    return total


@kernel
def add_link_scores(keys: LinkKeys, m: int, w: FloatVector, scores: FloatVector) -> None:
    """Add the scores of all links of mention m, that to the closest antecedent last."""
    alone = score_alone(keys, m, w)
    for pair in range(keys.pairs[m], keys.pairs[m + 1]):
        scores[pair - keys.pairs[m]] += alone + score_pair(keys, m, pair, w)


@kernel
def push_alone(keys: LinkKeys, m: int, value: float, draft: Draft, write: int) -> int:
    """Append the features that all links of m share; return where the entries end. There must be room."""
    for t in range(keys.alone.shape[1]):
        draft.indices[write] = keys.alone[m, t]
        draft.values[write] = value
        write += 1
    return write


@kernel
def push_pair(keys: LinkKeys, m: int, pair: int, value: float, draft: Draft, write: int) -> int:
    """Append the other features of a link."""
    a = m - (keys.pairs[m + 1] - pair)
    for g in range(len(keys.edges) - 1):
        row = keys.rows[pair, g]
        for t in range(keys.edges[g], keys.edges[g + 1]):
            place = keys.mention[m, t] + keys.antecedent[a, t] + keys.measure[row, t]
            draft.indices[write] = place & keys.mask
            draft.values[write] = value
            write += 1
    return write


@kernel
def features_per_link(keys: LinkKeys) -> int:
    """How many features a link has, those that it shares included."""
    return keys.alone.shape[1] + keys.mention.shape[1]


@kernel
def link_features(keys: LinkKeys, m: int, pair: int) -> IntVector:
    """The places of a link's features: those of the mention alone, then the others by template."""
    draft = Draft(np.empty(features_per_link(keys), np.int32), np.empty(features_per_link(keys)), np.empty(0, np.int32))
    push_pair(keys, m, pair, 1.0, draft, push_alone(keys, m, 1.0, draft, 0))
    return draft.indices
