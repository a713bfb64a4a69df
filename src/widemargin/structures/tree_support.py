"""The weights that decoding a batch of sentences reads: the slots of all their arcs."""

from widemargin._jit import kernel
from widemargin._types import BoolVector, IntVector
from widemargin.sparse import Rows
from widemargin.structures.tree_difference import push_arc, push_label, push_sibling
from widemargin.structures.tree_keys import SIBLING
from widemargin.structures.tree_scores import TreeData


@kernel
def _mark(slots: Rows, begin: int, end: int, width: int, read: BoolVector) -> None:
    for k in range(begin, end):
        for label in range(width):
            read[slots.indices[k] + label] = True


@kernel
def mark_read(data: TreeData, batch: IntVector, slots: Rows, read: BoolVector) -> None:
    """Mark the weights of all arcs, with all labels, and of all siblings; `slots` has room for one arc's features."""
    keys, mask = data.keys, data.mask
    for i in batch:
        first = data.indptr[i]
        n = data.indptr[i + 1] - first
        begin = slots.indptr[0]
        for h in range(n + 1):
            for m in range(1, n + 1):
                if h == m:
                    continue
                end = push_arc(keys, mask, first, h, m, 1.0, slots, begin)
                _mark(slots, begin, end, 1, read)
                end = push_label(keys, mask, first, h, m, begin, 1.0, slots, begin)
                _mark(slots, begin, end, data.n_labels, read)
                if keys.edges[SIBLING] == keys.edges[SIBLING + 1]:
                    continue
                for s in range(h, m, 1 if m > h else -1):
                    if s > 0 or h == 0:
                        end = push_sibling(keys, mask, first, h, s, m, 1.0, slots, begin)
                        _mark(slots, begin, end, 1, read)
