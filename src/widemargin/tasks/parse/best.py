"""The k best dependency trees of the examples; compiled only when they are used."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.decoders.tree_kbest import (
    GRANDSIBLINGS,
    NON_PROJECTIVE,
    PROJECTIVE,
    SIBLINGS,
    new_tree_scratch,
    tree_kbest,
)
from widemargin.tasks.parse.decode import WITH_GRANDPARENTS, Order, Scores, grandparents_of, siblings_of
from widemargin.tasks.parse.scores import (
    TreeData,
    arc_scores,
    augment,
    grandparent_scores,
    label_row,
    label_slots,
    node_labels,
    sibling_scores,
)

KINDS: dict[tuple[str, Order], int] = {
    ("projective", 1): PROJECTIVE,
    ("projective", 2): SIBLINGS,
    ("projective", WITH_GRANDPARENTS): GRANDSIBLINGS,
    ("nonprojective", 1): NON_PROJECTIVE,
}
"""The numbers of the decoders in `decoders.tree_kbest`."""


@kernel
def _labelled(
    data: TreeData,
    w: FloatVector,
    i: int,
    scale: float,
    nodes: FloatMatrix,
    labelled: FloatMatrix,
) -> None:
    """labelled[h, m, l] = the score of an arc with a label; errors count `scale` times."""
    keys, first = data.keys, data.indptr[i]
    n = data.indptr[i + 1] - first
    arcs, slots = np.empty((n + 1, n + 1)), label_slots(keys)
    arc_scores(data, w, i, arcs)
    node_labels(keys, w, data.mask, first, n, nodes)
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h != m:
                label_row(keys, w, data.mask, first, h, m, nodes, slots, labelled[h, m])
                if scale != 0.0:
                    augment(data, first, h, m, scale, labelled[h, m])
                for label in range(data.n_labels):
                    labelled[h, m, label] += arcs[h, m]


@kernel
def best_trees(
    data: TreeData,
    w: FloatVector,
    batch: IntVector,
    scales: FloatVector,
    scores: Scores,
    kind: int,
    single_root: bool,
    k: int,
) -> tuple[IntVector, IntVector]:
    """How many trees each example of the batch has, at most k, and their codes, end to end.

    Only the room for scores of triples is used of `scores`, because arcs are scored with every label here.
    """
    longest = room = 0
    for size in scores.sizes:
        longest, room = max(longest, size), room + k * size
    nodes = np.empty((6 * (longest + 1), data.n_labels))
    scratch, totals = new_tree_scratch(longest, kind), np.empty(k)
    counts, codes = np.ones(len(batch), dtype=np.int32), np.empty(room, dtype=np.int32)
    write = 0
    for position in range(len(batch)):
        n = scores.sizes[position]
        if n > 0:
            labelled = np.empty((n + 1, n + 1, data.n_labels))
            _labelled(data, w, batch[position], scales[position], nodes, labelled)
            first = data.indptr[batch[position]]
            pairs, chains = np.empty((0, 0, 0)), np.empty((0, 0, 0))
            if kind in (SIBLINGS, GRANDSIBLINGS):
                pairs = siblings_of(scores, position)
                sibling_scores(data.keys, w, data.mask, first, n, pairs)
            if kind == GRANDSIBLINGS:
                chains = grandparents_of(scores, position)
                grandparent_scores(data.keys, w, data.mask, first, n, chains)
            out = codes[write : write + k * n].reshape(k, n)
            counts[position] = tree_kbest(kind, labelled, pairs, chains, single_root, out, totals, scratch)
            write += counts[position] * n
    return counts, codes[:write]
