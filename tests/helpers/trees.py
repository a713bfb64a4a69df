"""All dependency trees of a few words, one by one, and scores of arcs, drawn at random."""

from functools import cache
from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from widemargin.decoders.tree_kbest import (
    GRANDSIBLINGS,
    NON_PROJECTIVE,
    PROJECTIVE,
    SIBLINGS,
    decode_tree,
    new_tree_scratch,
)


def is_tree(heads):
    """Whether every word leads to the root 0; heads[m - 1] is the head of the word m."""
    reached = range(len(heads) + 1)
    for _ in heads:
        reached = [heads[m - 1] if m else 0 for m in reached]
    return not any(reached)


def is_projective(heads):
    """Whether no two arcs cross, those from the root at the left of all words included."""
    spans = [sorted(arc) for arc in enumerate(heads, start=1)]
    return not any(i < k < j < m for i, j in spans for k, m in spans)


@cache
def trees(n, *, single_root=False, projective=False):
    """The heads of all trees of n words, (count, n), in the order of the heads."""
    candidates = (heads for heads in product(range(n + 1), repeat=n) if not single_root or heads.count(0) == 1)
    found = [heads for heads in candidates if is_tree(heads) and (not projective or is_projective(heads))]
    return np.array(found, dtype=np.int32)


def arc_scores(scores, heads):
    """Σ scores[head, m] of every tree, a row of heads."""
    return scores[heads, np.arange(1, heads.shape[-1] + 1)].sum(axis=-1)


def previous_siblings(heads):
    """For every word the one that its head has taken just before on the same side, nearer to it, or else the head."""
    return [
        max(
            (s for s, other in enumerate(heads, start=1) if other == head and (head < s < m or m < s < head)),
            key=lambda s, head=head: abs(s - head),
            default=head,
        )
        for m, head in enumerate(heads, start=1)
    ]


def chain_scores(grand, heads):
    """Σ grand[head, m, the head of the head] of every tree, a row of heads, over the words m that hang on words."""
    at_root = np.insert(heads, 0, 0, axis=-1)
    grandparents = np.take_along_axis(at_root, heads, axis=-1)
    return np.where(heads > 0, grand[heads, np.arange(1, heads.shape[-1] + 1), grandparents], 0.0).sum(axis=-1)


def sibling_scores(sibling, heads):
    """Σ sibling[head, the sibling before, m] of every tree, a row of heads."""
    before = np.array([previous_siblings(each) for each in heads.tolist()])
    return sibling[heads, before, np.arange(1, heads.shape[-1] + 1)].sum(axis=-1)


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
