"""Dependency trees, projective or not, with or without labels and scores of siblings.

    score(tree) = Σ_m arcs[head(m), m, label(m)] + siblings[head(m), s(m), m]

over words m = 1 … n; head 0 is the root. s(m) is the sibling before m, as in `decoders.siblings`.
"""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, BoolMatrix, FloatMatrix, FloatVector, LongVector
from widemargin.decoders.tree_kbest import NON_PROJECTIVE, PROJECTIVE, SIBLINGS
from widemargin.errors import DataError
from widemargin.structures.dependencies import ArcScores, Dependencies, siblings_before
from widemargin.structures.dependency_sums import ArcCounts, dependencies
from widemargin.torch.decoding import Batch
from widemargin.torch.flat import Flat
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class DependencyTrees(Flat):
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

    >>> import torch
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

    def longest(self, scores: Tensors) -> int:
        """T."""
        return int(scores[0].shape[1]) - 1

    def check(self, batch: Batch, outputs: AnyArray, name: str) -> None:
        """Raise if these are not a head, and a label where there are labels, for each word."""
        arcs = batch.scores[0]
        shape = (len(arcs), arcs.shape[1] - 1, *((2,) if arcs.ndim == 4 else ()))
        if outputs.shape != shape:
            raise DataError(f"{name} must have the shape {shape}, not {outputs.shape}")
        heads, labels = np.moveaxis(_pairs(outputs), -1, 0)
        words = np.arange(1, heads.shape[1] + 1)
        fits = (heads >= 0) & (heads <= batch.lengths[:, None]) & (heads != words)
        fits &= (labels >= 0) & (labels < _n_labels(batch))
        for b, t in np.argwhere((words <= batch.lengths[:, None]) & ~fits)[:1]:
            raise DataError(
                f"{name}[{b}, {t}] is {outputs[b, t].tolist()}, which is no head of word {t + 1}, or no label"
            )

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        n = batch.lengths.astype(np.float64)
        return n**3 * (0.002 if len(batch.scores) == 1 else 0.004) + n**2 * 0.01

    def flat(self, batch: Batch) -> tuple[Dependencies, ArcScores]:
        """The rows of all arcs, padding among them."""
        arcs, n_labels = batch.scores[0], _n_labels(batch)
        kind = NON_PROJECTIVE if not self.projective else PROJECTIVE if len(batch.scores) == 1 else SIBLINGS
        siblings = doubles(batch.scores[1]).ravel() if len(batch.scores) == 2 else np.empty(0)
        size, starts = arcs.shape[1], np.arange(len(arcs)) * arcs.shape[1] ** 2
        scores = ArcScores(
            starts,
            batch.lengths,
            np.full(len(arcs), size),
            starts * size,
            arcs.reshape(-1, n_labels),
            np.empty(0, dtype=np.int32),
            siblings,
            np.empty(0),
        )
        return dependencies(n_labels, kind, self.single_root), scores

    def shaped(self, batch: Batch, counts: ArcCounts) -> Arrays:
        """The probabilities of arcs with their labels, and of siblings."""
        arcs = counts.labels.reshape(batch.scores[0].shape)
        return (arcs, counts.siblings.reshape(batch.scores[1].shape)) if len(batch.scores) == 2 else (arcs,)

    def best(self, batch: Batch) -> AnyArray:
        """The best trees."""
        return _from_codes(batch, super().best(batch))

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best trees."""
        codes, totals = super().best_k(batch, k)
        return _from_codes(batch, codes), totals

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these trees."""
        return super().totals(batch, _codes(outputs, _n_labels(batch)))

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of arcs and siblings."""
        n_labels = _n_labels(Batch(into, lengths))
        inside: BoolMatrix = np.arange(outputs.shape[1]) < lengths[:, None]
        b, t = np.nonzero(inside)
        heads, labels = _pairs(outputs)[inside].T
        into[0].reshape(*into[0].shape[:3], n_labels)[b, heads, t + 1, labels] += weights[b]
        if len(into) == 2:
            before = siblings_before(lengths, n_labels, _codes(outputs, n_labels)[inside])
            into[1][b, heads, before, t + 1] += weights[b]


def _n_labels(batch: Batch) -> int:
    return int(batch.scores[0].shape[3]) if batch.scores[0].ndim == 4 else 1


def _pairs(outputs: AnyArray) -> AnyArray:
    """Heads with labels, (B, T, 2); without labels, label 0."""
    return outputs if outputs.ndim == 3 else np.stack([outputs, np.zeros_like(outputs)], axis=-1)


def _codes(outputs: AnyArray, n_labels: int) -> AnyArray:
    """Trees as `structures.dependencies` has them."""
    return outputs if outputs.ndim == 2 else outputs[..., 0] * np.int32(n_labels) + outputs[..., 1]


def _from_codes(batch: Batch, codes: AnyArray) -> AnyArray:
    """Heads, and labels if the scores have any; −1 where there is padding."""
    if batch.scores[0].ndim == 3:
        return codes
    heads, labels = np.divmod(codes, np.int32(_n_labels(batch)))
    return np.stack([heads, np.where(codes < 0, np.int32(-1), labels)], axis=-1)
