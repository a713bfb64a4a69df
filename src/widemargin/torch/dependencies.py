"""Dependency trees, projective or not, with or without labels and scores of siblings.

    score(tree) = Σ_m arcs[head(m), m, label(m)] + siblings[head(m), s(m), m]

over words m = 1 … n; head 0 is the root. s(m) is the sibling before m, as in `decoders.siblings`.
"""

from typing import ClassVar

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.decoders.tree_kbest import NON_PROJECTIVE, PROJECTIVE, SIBLINGS
from widemargin.errors import DataError
from widemargin.torch import dependency_kernels as kernels
from widemargin.torch.decoding import Batch, Sums
from widemargin.torch.labelled import best_labels, label_shares
from widemargin.torch.structure import Structure
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class DependencyTrees(Structure):
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
        b, t = kernels.first_wrong(_pairs(outputs), batch.lengths, arcs.shape[3] if arcs.ndim == 4 else 1)
        if b >= 0:
            raise DataError(
                f"{name}[{b}, {t}] is {outputs[b, t].tolist()}, which is no head of word {t + 1}, or no label"
            )

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        n = batch.lengths.astype(np.float64)
        return n**3 * (0.002 if len(batch.scores) == 1 else 0.004) + n**2 * 0.01

    def _kind(self, batch: Batch) -> int:
        return NON_PROJECTIVE if not self.projective else PROJECTIVE if len(batch.scores) == 1 else SIBLINGS

    def best(self, batch: Batch) -> AnyArray:
        """The best trees."""
        arcs, labels = best_labels(_four(batch.scores[0]))
        siblings, lengths, kind = doubles(_siblings(batch)), batch.lengths, self._kind(batch)
        outputs = self.padded(batch, arcs.shape[1] - 1, 2)
        self.in_shares(
            batch,
            lambda each: kernels.decode(
                kind, arcs[each], siblings[each], self.single_root, lengths[each], labels[each], outputs[each]
            ),
        )
        return _as_scored(batch, outputs)

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best trees."""
        arcs, siblings, kind = doubles(_four(batch.scores[0])), doubles(_siblings(batch)), self._kind(batch)
        lengths = batch.lengths
        outputs, totals = self.padded(batch, k, arcs.shape[1] - 1, 2), np.full((len(arcs), k), -np.inf)
        self.in_shares(
            batch,
            lambda each: kernels.k_best(
                kind, arcs[each], siblings[each], self.single_root, lengths[each], outputs[each], totals[each]
            ),
        )
        return _as_scored(batch, outputs), totals

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these trees."""
        totals = np.empty(len(outputs))
        kernels.totals(_four(batch.scores[0]), _siblings(batch), batch.lengths, _pairs(outputs), totals)
        return totals

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of arcs and siblings."""
        batch = Batch(into, lengths)
        kernels.add_counts(_four(into[0]), _siblings(batch), lengths, _pairs(outputs), weights)

    def sums(self, batch: Batch) -> Sums:
        """Inside–outside, or the matrix-tree theorem."""
        arcs, shares = label_shares(_four(batch.scores[0]))
        siblings, lengths, kind = doubles(_siblings(batch)), batch.lengths, self._kind(batch)
        totals, expected, pairs = np.empty(len(arcs)), np.zeros_like(arcs), np.zeros_like(siblings)
        self.in_shares(
            batch,
            lambda each: kernels.sums(
                kind,
                arcs[each],
                siblings[each],
                self.single_root,
                lengths[each],
                totals[each],
                expected[each],
                pairs[each],
            ),
        )
        labelled = (expected[..., None] * shares).reshape(batch.scores[0].shape)
        return Sums(totals, (labelled, pairs)[: len(batch.scores)])


def _four(arcs: AnyArray) -> AnyArray:
    """Arcs with a dimension for labels."""
    return arcs[..., None] if arcs.ndim == 3 else arcs


def _pairs(outputs: AnyArray) -> AnyArray:
    """Heads with labels, (B, T, 2); without labels, label 0."""
    return outputs if outputs.ndim == 3 else np.stack([outputs, np.zeros_like(outputs)], axis=-1)


def _as_scored(batch: Batch, outputs: AnyArray) -> AnyArray:
    """Outputs without labels if the scores have none."""
    return outputs if batch.scores[0].ndim == 4 else np.ascontiguousarray(outputs[..., 0])


def _siblings(batch: Batch) -> AnyArray:
    """The scores of siblings, without any entries if there are none."""
    if len(batch.scores) == 2:
        return batch.scores[1]
    return np.empty((len(batch.scores[0]), 0, 0, 0), batch.scores[0].dtype)
