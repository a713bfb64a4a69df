"""Trees over the words of a sentence: dependencies, and labelled binary trees, such as those of constituents.

dependencies  score(tree) = Σ_m arcs[head(m), m, label(m)] + siblings[head(m), s(m), m]
constituents  score(tree) = Σ over nodes spans[i, j, l] + Σ over nodes below another of rules[side, l, parent's label]

Words m are 1 … n, and head 0 is the root. s(m) is the sibling before m, as in `decoders.siblings`.
"""

from typing import ClassVar

import numpy as np
import torch

from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntMatrix, LongVector
from widemargin.decoders.cky import wrong_node
from widemargin.decoders.tree_kbest import NON_PROJECTIVE, PROJECTIVE, SIBLINGS
from widemargin.errors import DataError
from widemargin.structures import constituents
from widemargin.structures.dependencies import Dependencies
from widemargin.structures.dependency_sums import dependencies
from widemargin.torch.flat import Extents, Padded
from widemargin.torch.structure import Sums
from widemargin.torch.tensors import Arrays, Batch, Tensors, check_shape, doubles


class DependencyTrees(Padded):
    """Dependency trees.

    Scores are arcs (B, T + 1, T + 1), of heads × words, place 0 being the root; or (B, T + 1, T + 1, L) with labels.
    A second tensor, (B, T + 1, T + 1, T + 1), may score heads × siblings before × words, for projective trees. The mask
    is about the T words. Outputs are (B, T) heads, or (B, T, 2) heads and labels.

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

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensors with their shapes checked."""
        if not 1 <= len(scores) <= 2:
            raise DataError(f"DependencyTrees takes arcs and siblings, not {len(scores)} tensors")
        arcs = scores[0]
        size = arcs.shape[1] if arcs.dim() > 1 else 0
        check_shape("arcs", arcs, "B", size, size, *(["L"] if arcs.dim() == 4 else []))
        if size == 0 or 0 in arcs.shape[3:]:
            raise DataError("the arcs have no place for the root, or no labels: a dimension is empty")
        if len(scores) == 2:
            if not self.projective:
                raise DataError("siblings are scored in projective trees only")
            check_shape("siblings", scores[1], len(arcs), size, size, size)
        return scores

    def longest(self, scores: Tensors | Arrays) -> int:
        """T."""
        return int(scores[0].shape[1]) - 1

    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if these are not a head, and a label where there are labels, for each word."""
        arcs = scores[0]
        shape = (len(arcs), arcs.shape[1] - 1, *((2,) if arcs.dim() == 4 else ()))
        if outputs.shape != shape:
            raise DataError(f"{name} must have the shape {shape}, not {outputs.shape}")
        heads, labels = np.moveaxis(_pairs(outputs), -1, 0)
        words = np.arange(1, heads.shape[1] + 1)
        fits = (heads >= 0) & (heads <= lengths[:, None]) & (heads != words)
        fits &= (labels >= 0) & (labels < _n_labels(scores))
        for b, t in np.argwhere((words <= lengths[:, None]) & ~fits)[:1]:
            raise DataError(
                f"{name}[{b}, {t}] is {outputs[b, t].tolist()}, which is no head of word {t + 1}, or no label"
            )

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        n = batch.lengths.astype(np.float64)
        return n**3 * (0.002 if len(batch.scores) == 1 else 0.004) + n**2 * 0.01

    def structure(self, scores: Arrays) -> Dependencies:
        """Trees of the kind that the scores are for."""
        kind = NON_PROJECTIVE if not self.projective else PROJECTIVE if len(scores) == 1 else SIBLINGS
        return dependencies(_n_labels(scores), kind, self.single_root)

    def extents(self, scores: Arrays, lengths: LongVector) -> Extents:
        """Arcs and siblings of the root and the words."""
        size = lengths + 1
        return ((size, size), (size, size, size))[: len(scores)]

    def codes(self, scores: Arrays, outputs: AnyArray) -> AnyArray:
        """Heads and labels in one number."""
        return outputs if outputs.ndim == 2 else outputs[..., 0] * np.int32(_n_labels(scores)) + outputs[..., 1]

    def shown(self, scores: Arrays, codes: AnyArray) -> AnyArray:
        """Heads, and labels if the scores have any; −1 where there is padding."""
        if scores[0].ndim == 3:
            return codes
        heads, labels = np.divmod(codes, np.int32(_n_labels(scores)))
        return np.stack([heads, np.where(codes < 0, np.int32(-1), labels)], axis=-1)


def _n_labels(scores: Tensors | Arrays) -> int:
    return int(scores[0].shape[3]) if scores[0].ndim == 4 else 1


def _pairs(outputs: AnyArray) -> AnyArray:
    """Heads with labels, (B, T, 2); without labels, label 0."""
    return outputs if outputs.ndim == 3 else np.stack([outputs, np.zeros_like(outputs)], axis=-1)


class Constituents(Padded):
    """Labelled binary trees.

    Scores are spans (B, T (T + 1) / 2, L), whose second dimension are the spans of words, sorted by end, then by
    beginning (`ends`). A second tensor, rules (2, L, L), may score left and right children by their labels and that of
    their parent; decoding takes L times as long then. Outputs are (B, 2 T − 1, 3) nodes, each with its beginning, its
    end and its label, parents first, then the left child with all below it, then the right one.

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

    def prepared(self, scores: Tensors) -> Tensors:
        """The tensors with their shapes checked."""
        if not 1 <= len(scores) <= 2:
            raise DataError(f"Constituents takes spans and rules, not {len(scores)} tensors")
        check_shape("spans", scores[0], "B", "T (T + 1) / 2", "L")
        L, T = scores[0].shape[2], self.longest(scores)
        if scores[0].shape[1] != T * (T + 1) // 2 or L == 0:
            raise DataError(f"the spans have the shape {tuple(scores[0].shape)}, which is not (B, T (T + 1) / 2, L)")
        if len(scores) == 2:
            check_shape("rules", scores[1], 2, L, L)
        return scores

    def longest(self, scores: Tensors | Arrays) -> int:
        """T."""
        return _words(scores[0].shape[1])

    def structure(self, scores: Arrays) -> constituents.Constituents:
        """Trees whose halves score nothing."""
        return constituents.Constituents(scores[0].shape[2])

    def extents(self, scores: Arrays, lengths: LongVector) -> Extents:
        """Spans, which are sorted by end."""
        return ((lengths * (lengths + 1) // 2,),)

    def best(self, batch: Batch) -> AnyArray:
        """The best trees; without rules, each span has its best label."""
        if len(batch.scores) == 2:
            return super().best(batch)
        best, labels = _best_labels(batch.scores[0])
        nodes = super().best(Batch((best[..., None],), batch.lengths))
        b, r = np.nonzero(nodes[..., 0] >= 0)
        begins, ends, _ = nodes[b, r].T
        nodes[b, r, 2] = labels[b, ends * (ends - 1) // 2 + begins]
        return nodes

    def sums(self, batch: Batch) -> Sums:
        """Inside–outside; without rules, the labels of each span are summed up first."""
        if len(batch.scores) == 2:
            return super().sums(batch)
        reduced, shares = _label_shares(batch.scores[0])
        totals, (expected,) = super().sums(Batch((reduced[..., None],), batch.lengths))
        return Sums(totals, (expected * shares,))

    def check(self, scores: Tensors, lengths: LongVector, outputs: AnyArray, name: str) -> None:
        """Raise if these are no trees."""
        spans = scores[0]
        shape = (len(spans), max(0, 2 * self.longest(scores) - 1), 3)
        if outputs.shape != shape:
            raise DataError(f"{name} must have the shape {shape}, not {outputs.shape}")
        for b, (nodes, n) in enumerate(zip(outputs, lengths.tolist(), strict=True)):
            r = wrong_node(nodes, n, spans.shape[2])
            if r >= 0:
                raise DataError(f"{name}[{b}, {r}] is {nodes[r].tolist()}, which is not the next node of a tree")

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        n, L = batch.lengths.astype(np.float64), 1 if len(batch.scores) == 1 else batch.scores[0].shape[2]
        return n**3 * 0.003 * (1 + L / 4) + n**2 * (0.05 + L * L * 0.0005)


def _words(n_spans: int) -> int:
    """T, of T (T + 1) / 2."""
    return round((2 * n_spans + 0.25) ** 0.5 - 0.5)


def _best_labels(scores: AnyArray) -> tuple[FloatMatrix, IntMatrix]:
    """The best score of each row of the last dimension, as float64, and its label, the lowest in a tie."""
    if scores.shape[-1] == 1:
        return doubles(scores[..., 0]), np.zeros(scores.shape[:-1], dtype=np.int32)
    values, labels = torch.from_numpy(scores).max(dim=-1)
    return values.double().numpy(), labels.numpy().astype(np.int32)


def _label_shares(scores: AnyArray) -> tuple[FloatMatrix, AnyArray]:
    """log Σ exp of each row, as float64, and the share of each label in it; zeros where all are forbidden."""
    if scores.shape[-1] == 1:
        return doubles(scores[..., 0]), np.ones_like(scores)
    tensor = torch.from_numpy(scores)
    return tensor.logsumexp(dim=-1).double().numpy(), tensor.softmax(dim=-1).nan_to_num_(0.0).numpy()
