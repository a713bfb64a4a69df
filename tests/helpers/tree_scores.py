"""Arc scores of sentences, drawn at random, and what a dependency tree scores."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers.trees import arc_scores, chain_scores, sibling_scores, trees
from widemargin.decoders.tree_kbest import (
    GRANDSIBLINGS,
    NON_PROJECTIVE,
    PROJECTIVE,
    SIBLINGS,
    decode_tree,
    new_tree_scratch,
)

coarse = st.sampled_from([0.0, 0.0, 1.0, 1.0, -1.0, 2.0, -2.0, -np.inf])


fine = st.one_of(st.floats(-100, 100, allow_subnormal=False), st.just(-np.inf))


sparse = st.sampled_from([-np.inf, -np.inf, -np.inf, 0.0, 1.0])


NO_TRIPLES = np.empty((0, 0, 0))


KINDS = [PROJECTIVE, NON_PROJECTIVE, SIBLINGS, GRANDSIBLINGS]


def decode(kind, scores, single_root, sibling=NO_TRIPLES, grand=NO_TRIPLES, spare=0):
    n = len(scores) - 1
    heads = np.full(n, -1, dtype=np.int32)
    total = decode_tree(kind, scores, sibling, grand, single_root, heads, new_tree_scratch(n + spare, kind))
    return total, heads.tolist()


def scored(kind, scores, single_root, sibling=NO_TRIPLES, grand=NO_TRIPLES):
    """All trees of this kind, and their scores."""
    every = trees(len(scores) - 1, single_root=single_root, projective=kind != NON_PROJECTIVE)
    totals = arc_scores(scores, every)
    if kind in (SIBLINGS, GRANDSIBLINGS):
        totals += sibling_scores(sibling, every)
    return every, totals + (chain_scores(grand, every) if kind == GRANDSIBLINGS else 0.0)


@st.composite
def problems(draw, kind, score, most=5):
    """What decoders are given: a kind, scores of arcs, whether there is a single root, and scores of triples.

    What is never to be looked at is not a number.
    """
    n = draw(st.integers(1, most))
    scores = draw(arrays(np.float64, (n + 1, n + 1), elements=score, fill=st.nothing()))
    scores[:, 0] = np.nan
    np.fill_diagonal(scores, np.nan)
    sibling = grand = NO_TRIPLES
    triples = arrays(np.float64, (n + 1, n + 1, n + 1), elements=score, fill=score)
    h, s, m = np.indices((n + 1, n + 1, n + 1))
    if kind in (SIBLINGS, GRANDSIBLINGS):
        sibling = draw(triples)
        sibling[~((h == s) | ((h < s) & (s < m)) | ((m < s) & (s < h))) | (m == h) | (m == 0)] = np.nan
    if kind == GRANDSIBLINGS:
        grand, (m, g) = draw(triples), (s, m)
        grand[((g >= np.minimum(h, m)) & (g <= np.maximum(h, m))) | (m == h) | (m == 0) | (h == 0)] = np.nan
    return kind, scores, draw(st.booleans()), sibling, grand
