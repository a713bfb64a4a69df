"""All dependency trees of a few words, one by one."""

from functools import cache
from itertools import product

import numpy as np


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
