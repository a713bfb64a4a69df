"""The best dependency tree by any of the decoders, chosen by a number that kernels can pass on."""

from typing import NamedTuple

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, IntVector
from widemargin.decoders.arborescence import Contraction, arborescence, new_contraction
from widemargin.decoders.eisner import eisner
from widemargin.decoders.siblings import SiblingChart, new_sibling_chart, siblings

PROJECTIVE, NON_PROJECTIVE, SIBLINGS = 0, 1, 2


class TreeScratch(NamedTuple):
    """Scratch space for all decoders."""

    charts: SiblingChart
    contraction: Contraction


@kernel
def new_tree_scratch(n: int) -> TreeScratch:
    """Scratch space for sentences of up to `n` words."""
    return TreeScratch(new_sibling_chart(n), new_contraction(n))


@kernel
def decode_tree(
    kind: int, scores: FloatMatrix, sibling: FloatMatrix, single_root: bool, heads: IntVector, scratch: TreeScratch
) -> float:
    """Write the heads of the best tree and return its score, as `eisner`, `arborescence` or `siblings` does.

    `sibling` is looked at for SIBLINGS only; an array of shape (0, 0, 0) will do for the others.
    """
    if kind == NON_PROJECTIVE:
        return arborescence(scores, single_root, heads, scratch.contraction)
    if kind == SIBLINGS:
        return siblings(scores, sibling, single_root, heads, scratch.charts)
    return eisner(scores, single_root, heads, scratch.charts.chart)
