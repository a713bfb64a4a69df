"""Several parsers of constituents that settle on one tree.

Each member m proposes its k best trees, and of all proposals the one that scores highest in the sum is taken:

    argmax over y of Σ_m below_m(y),   below_m(y) = ⟨w_m, φ_m(x, y)⟩ − max over y′ of ⟨w_m, φ_m(x, y′)⟩ ≤ 0

(after Zhang et al. 2009, who combine k best trees in the same way). Parsers that fold from different sides see
different halves, so their mistakes differ. No term of a sum is above 0. So once some tree has a sum of b, all trees
with a term of b or less are left out.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin._types import FloatVector, IntMatrix
from widemargin.core.sparse import dots
from widemargin.errors import WidemarginError
from widemargin.tasks.bracket.examples import BracketExamples
from widemargin.tasks.bracket.model import Bracketer
from widemargin.text.trees import Tree


class _Member:
    """A parser with its proposals for some sentences, best first; pairs of a sum's upper bound and a tree."""

    def __init__(self, model: Bracketer, X: Any, k: int, n_threads: int) -> None:
        self._model, columns = model, model.settled(X)
        ranked = model.predict_best(columns, k, n_threads)
        self.proposals = [[(score - each[0].score, tree) for score, tree in each] for each in ranked]
        best = np.concatenate([model.bracketing.encode(each[0].output) for each in ranked])
        keys, bits = model.examples(columns).data.keys, model.hash_bits
        self._examples = BracketExamples(model.bracketing, bits, columns.indptr, keys, best)

    def below(self, trees: Sequence[tuple[int, Tree]]) -> FloatVector:
        """By how much trees of sentences, given by their numbers, score less than the best; −inf for unknown labels."""
        nodes = [self._nodes(tree) for _, tree in trees]
        known = np.array([each is not None for each in nodes], dtype=bool)
        totals = np.full(len(trees), -np.inf)
        if known.any():
            batch = np.array([i for i, _ in trees], dtype=np.int32)[known]
            outputs = np.concatenate([each for each in nodes if each is not None])
            totals[known] = -dots(self._examples.difference(batch, outputs).psi, self._model.weights)
        return totals

    def _nodes(self, tree: Tree) -> IntMatrix | None:
        try:
            return self._model.bracketing.encode(tree)
        except KeyError:
            return None


def settled_trees(models: Sequence[Bracketer], X: Any, k: int = 20, n_threads: int = 1) -> list[Tree]:
    """The trees that parsers settle on.

    Parameters
    ----------
    models : the parsers, such as `ConstituencyParser.model_`
    X : sentences, as all of the parsers read them
    k : how many trees each of them proposes
    n_threads : how many threads to use

    Returns
    -------
    list[Tree]
        A tree for each sentence.
    """
    if not models:
        raise WidemarginError("there are no parsers to settle on a tree; give one or more")
    members = [_Member(model, X, k, n_threads) for model in models]
    n = len(members[0].proposals)
    # Where all are of one mind, the sum of the tree that each likes best is 0, and there is nothing to settle.
    found: list[tuple[float, Tree]] = [members[0].proposals[i][0] for i in range(n)]
    split = [i for i in range(n) if any(member.proposals[i][0][1] != found[i][1] for member in members)]
    for i in split:
        found[i] = -np.inf, found[i][1]
    firsts = [(i, member.proposals[i][0][1]) for i in split for member in members]
    _keep_best(members, firsts, found)
    others = [
        (i, tree) for i in split for member in members for bound, tree in member.proposals[i][1:] if bound > found[i][0]
    ]
    _keep_best(members, others, found)
    return [tree for _, tree in found]


def _keep_best(members: Sequence[_Member], trees: Sequence[tuple[int, Tree]], found: list[tuple[float, Tree]]) -> None:
    """Replace what has been found for a sentence by a tree with a higher sum."""
    totals = np.sum([member.below(trees) for member in members], axis=0)
    for (i, tree), total in zip(trees, totals.tolist(), strict=True):
        if total > found[i][0]:
            found[i] = total, tree
