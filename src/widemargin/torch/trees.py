"""Trees over the words of a sentence: dependencies, and labelled binary trees, such as those of constituents.

dependencies  score(tree) = Σ_m arcs[head(m), m, label(m)] + siblings[head(m), s(m), m]
constituents  score(tree) = Σ over nodes spans[i, j, l] + Σ over nodes below another of rules[side, l, parent's label]

Words m are 1 … n, and head 0 is the root. s(m) is the sibling before m, as in `decoders.eisner`.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.decoders.cky import wrong_node
from widemargin.decoders.tree_kbest import NON_PROJECTIVE, PROJECTIVE, SIBLINGS
from widemargin.errors import DataError
from widemargin.structures import constituents
from widemargin.structures.dependencies import dependencies
from widemargin.structures.flat import some
from widemargin.torch.scored import Extents, Layout, Scored
from widemargin.torch.structure import Padded, Sums
from widemargin.torch.tensors import Tensors, check_outputs, check_shape, first_of


class DependencyTrees(Padded):
    """Dependency trees.

    Scores are arcs (B, T + 1, T + 1), of heads × words, where 0 is the root; or (B, T + 1, T + 1, L) with labels.
    A second tensor, (B, T + 1, T + 1, T + 1), may score heads × siblings before × words, for projective trees. The mask
    covers the T words, without the root. Outputs are (B, T) heads, or (B, T, 2) heads and labels.

    Parameters
    ----------
    projective
        Whether arcs must not cross.
    single_root
        Whether exactly one word is attached to the root.
    n_jobs
        The number of threads.

    >>> arcs = torch.zeros(1, 3, 3)
    >>> arcs[0, 0, 2] = arcs[0, 2, 1] = 1.0
    >>> DependencyTrees().decode(arcs)
    tensor([[2, 0]])
    """

    names: ClassVar[tuple[str, ...]] = ("arcs", "siblings")

    def __init__(self, *, projective: bool = True, single_root: bool = False, n_jobs: int | None = None) -> None:
        super().__init__(n_jobs=n_jobs)
        self.projective, self.single_root = projective, single_root

    def prepared(self, scores: Tensors) -> tuple[Any, int]:
        """Trees of the kind that the scores are for."""
        arcs = scores[0]
        size = arcs.shape[1] if arcs.dim() > 1 else 0
        check_shape("arcs", arcs, "B", size, size, *(["L"] if arcs.dim() == 4 else []))
        if size == 0 or 0 in arcs.shape[3:]:
            raise DataError("the arcs have no place for the root, or no labels: a dimension is empty")
        if len(scores) == 2:
            if not self.projective:
                raise DataError("siblings are scored in projective trees only")
            check_shape("siblings", scores[1], len(arcs), size, size, size)
        kind = NON_PROJECTIVE if not self.projective else PROJECTIVE if len(scores) == 1 else SIBLINGS
        return dependencies(_n_labels(arcs.shape), kind, self.single_root), size - 1

    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise unless there is a head for each word and, if arcs have labels, a label."""
        lengths, words, n_labels = layout.lengths[:, None], np.arange(1, layout.width + 1), _n_labels(layout.shapes[0])
        check_outputs(name, outputs, len(lengths), layout.width, *((2,) if len(layout.shapes[0]) == 4 else ()))
        heads, labels = (outputs, 0) if outputs.ndim == 2 else np.moveaxis(outputs, -1, 0)
        fits = (heads >= 0) & (heads <= lengths) & (heads != words) & (labels >= 0) & (labels < n_labels)
        for b, t in first_of(layout.inside & ~fits):
            raise DataError(
                f"{name}[{b}, {t}] is {outputs[b, t].tolist()}, which is no head of word {t + 1}, or no label"
            )

    def work(self, layout: Layout) -> FloatVector:
        """Microseconds, measured."""
        n = layout.lengths.astype(np.float64)
        return n**3 * (0.002 if len(layout.shapes) == 1 else 0.004) + n**2 * 0.01

    def extents(self, scores: Tensors, lengths: LongVector) -> Extents:
        """Arcs and siblings of the root and the words."""
        size = lengths + 1
        return ((size, size), (size, size, size))[: len(scores)]

    def codes(self, layout: Layout, outputs: AnyArray) -> AnyArray:
        """Heads and labels in one number."""
        n_labels = np.int32(_n_labels(layout.shapes[0]))
        return outputs if outputs.ndim == 2 else outputs[..., 0] * n_labels + outputs[..., 1]

    def shown(self, layout: Layout, codes: AnyArray) -> AnyArray:
        """Heads, and labels if the scores have any; −1 in the padding."""
        if len(layout.shapes[0]) == 3:
            return codes
        heads, labels = np.divmod(codes, np.int32(_n_labels(layout.shapes[0])))
        return np.stack([heads, np.where(codes < 0, np.int32(-1), labels)], axis=-1)

    def draws(self, scored: Scored, n: int, rng: np.random.Generator) -> AnyArray:
        """Draw the arcs of one word after the other, given those already drawn; each word takes one sum over trees."""
        structure, lengths, K = scored.layout.structure, np.tile(scored.lengths, n), scored.layout.structure.n_labels
        n_own, begins = structure.n_own(scored.lengths), scored.flat.starts
        parts = [scored.flat.own[at : at + k] for at, k in zip(begins, n_own, strict=True)]
        own = np.tile(np.concatenate([*parts, np.empty(0)]), n)
        ends = np.cumsum(np.tile(n_own, n))
        scores = scored.flat._replace(starts=ends - np.tile(n_own, n), sizes=lengths, own=own)
        codes = np.full((len(lengths), scored.layout.width), -1, dtype=np.int32)
        for t in range(scored.layout.width):
            examples = np.flatnonzero(lengths > t)
            counts = structure.sums(some(scores, examples)).counts
            for b, at, S in zip(examples, counts.starts, lengths[examples] + 1, strict=True):
                shares = np.cumsum(counts.own[at : at + S * S * K].reshape(S, S, K)[:, t + 1])
                drawn = np.searchsorted(shares, rng.random() * shares[-1], side="right")
                codes[b, t] = min(drawn, len(shares) - 1)
                arcs = own[scores.starts[b] :][: S * S * K].reshape(S, S, K)[:, t + 1]  # those into the word
                arcs[np.arange(S * K).reshape(S, K) != codes[b, t]] = -np.inf
        return np.swapaxes(self.shown(scored.layout, codes.reshape(n, len(n_own), codes.shape[1])), 0, 1).copy()


def _n_labels(shape: torch.Size) -> int:
    return shape[3] if len(shape) == 4 else 1


class Constituents(Padded):
    """Labelled binary trees.

    Scores are spans (B, T (T + 1) / 2, L), whose second dimension is the spans of words, sorted by end, then by
    beginning (`ends`). A second tensor, rules (2, L, L), may score left and right children by their labels and that of
    their parent; decoding then takes L times as long. Outputs are (B, 2 T − 1, 3) nodes in preorder, each with its
    beginning, its end and its label: the parent, the left child with all below it, then the right child.

    >>> spans = torch.zeros(1, 6, 1)
    >>> spans[0, 4] = 1.0
    >>> Constituents().decode(spans)[0, :, :2].tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    """

    names: ClassVar[tuple[str, ...]] = ("spans", "rules")

    @staticmethod
    def ends(n: int) -> torch.Tensor:
        """Beginning and end of each span of n words, (2, n (n + 1) / 2), in the order of scores.

        >>> Constituents.ends(2)
        tensor([[0, 0, 1],
                [1, 2, 2]])
        """
        return torch.tensor([(i, j) for j in range(1, n + 1) for i in range(j)]).reshape(-1, 2).T

    def prepared(self, scores: Tensors) -> tuple[Any, int]:
        """Trees whose halves score nothing."""
        check_shape("spans", scores[0], "B", "T (T + 1) / 2", "L")
        _, n_spans, L = scores[0].shape
        T = round((2 * n_spans + 0.25) ** 0.5 - 0.5)
        if n_spans != T * (T + 1) // 2 or L == 0:
            raise DataError(f"the spans have the shape {tuple(scores[0].shape)}, which is not (B, T (T + 1) / 2, L)")
        if len(scores) == 2:
            check_shape("rules", scores[1], 2, L, L)
        return constituents.Constituents(L), T

    def extents(self, scores: Tensors, lengths: LongVector) -> Extents:
        """Spans, which are sorted by end."""
        return ((lengths * (lengths + 1) // 2,),)

    def best(self, scored: Scored) -> AnyArray:
        """The best trees; without rules, each span has its best label."""
        L = scored.layout.structure.n_labels
        if len(scored.layout.shapes) == 2 or L == 1:
            return super().best(scored)
        values, labels = torch.from_numpy(scored.arrays[0]).max(dim=-1)
        one, layout = _unlabelled(scored, values), scored.layout
        nodes = np.concatenate(self._of_shares(one, one.layout.structure.best))
        examples, ends = np.repeat(np.arange(len(labels)), layout.structure.lengths(layout.lengths)), nodes[:, 1]
        nodes[:, 2] = labels.numpy()[examples, ends * (ends - 1) // 2 + nodes[:, 0]]
        return self._padded(layout, nodes, layout.places, len(labels))

    def sums(self, scored: Scored) -> Sums:
        """Inside–outside; without rules, the labels of each span are summed up first."""
        L, spans = scored.layout.structure.n_labels, torch.from_numpy(scored.arrays[0])
        if len(scored.layout.shapes) == 2 or L == 1:
            return super().sums(scored)
        summed = spans.logsumexp(dim=-1)
        found = super().sums(_unlabelled(scored, summed))
        shares = (spans - summed[..., None]).exp_().nan_to_num_(0.0)  # zeros if all labels are forbidden
        rules = np.zeros((len(spans), scored.layout.structure.n_shared))
        # In the type of the scores: twice as many bytes would be fetched from the system anew for each batch.
        shares *= torch.from_numpy(found.own).to(shares.dtype).reshape(summed.shape)[..., None]
        return Sums(found.totals, shares.numpy().reshape(-1), rules)

    def check(self, layout: Layout, outputs: AnyArray, name: str) -> None:
        """Raise unless these are trees."""
        check_outputs(name, outputs, len(layout.lengths), layout.width, 3)
        b, r = wrong_node(outputs, layout.lengths, layout.structure.n_labels)
        if b >= 0:
            raise DataError(f"{name}[{b}, {r}] is {outputs[b, r].tolist()}, which is not the next node of a tree")

    def work(self, layout: Layout) -> FloatVector:
        """Microseconds, measured."""
        n, L = layout.lengths.astype(np.float64), 1 if len(layout.shapes) == 1 else layout.shapes[0][2]
        return n**3 * 0.003 * (1 + L / 4) + n**2 * (0.05 + L * L * 0.0005)


def _unlabelled(scored: Scored, spans: torch.Tensor) -> Scored:
    """Trees of one label, without rules, whose spans have these scores."""
    layout, L = scored.layout, scored.layout.structure.n_labels
    one = replace(
        layout,
        structure=constituents.Constituents(1),
        shapes=(torch.Size((*spans.shape, 1)),),
        starts=layout.starts // L,
    )
    return Scored(scored.structure, one, (spans[..., None],))
