"""Labelled binary trees over a sentence, such as trees of constituents.

score(tree) = Σ over nodes spans[i, j, l] + Σ over nodes below another of rules[side, l, the parent's label]
"""

from typing import ClassVar

import numpy as np
import torch

from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongVector
from widemargin.errors import DataError
from widemargin.torch import constituent_kernels as kernels
from widemargin.torch.decoding import Batch, Sums
from widemargin.torch.labelled import best_labels, label_shares
from widemargin.torch.structure import Structure
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Constituents(Structure):
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

    def longest(self, scores: Tensors) -> int:
        """T."""
        return _words(scores[0].shape[1])

    def _rows(self, spans: AnyArray) -> int:
        """How many nodes a tree over T words has."""
        return max(0, 2 * _words(spans.shape[1]) - 1)

    def check(self, batch: Batch, outputs: AnyArray, name: str) -> None:
        """Raise if these are no trees."""
        spans = batch.scores[0]
        shape = (len(spans), self._rows(spans), 3)
        if outputs.shape != shape:
            raise DataError(f"{name} must have the shape {shape}, not {outputs.shape}")
        b, r = kernels.first_wrong(outputs, batch.lengths, spans.shape[2])
        if b >= 0:
            raise DataError(f"{name}[{b}, {r}] is {outputs[b, r].tolist()}, which is not the next node of a tree")

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        n, L = batch.lengths.astype(np.float64), 1 if len(batch.scores) == 1 else batch.scores[0].shape[2]
        return n**3 * 0.003 * (1 + L / 4) + n**2 * (0.05 + L * L * 0.0005)

    def best(self, batch: Batch) -> AnyArray:
        """The best trees (CKY)."""
        spans, lengths = batch.scores[0], batch.lengths
        nodes = self.padded(batch, self._rows(spans), 3)
        if len(batch.scores) == 2:
            spans, rules = doubles(spans), doubles(batch.scores[1])
            self.in_shares(batch, lambda each: kernels.decode(spans[each], rules, lengths[each], nodes[each]))
            return nodes
        best, labels = best_labels(spans)
        rules, unlabelled = np.zeros((2, 1, 1)), best[..., None]
        self.in_shares(batch, lambda each: kernels.decode(unlabelled[each], rules, lengths[each], nodes[each]))
        kernels.put_labels(labels, lengths, nodes)
        return nodes

    def best_k(self, batch: Batch, k: int) -> tuple[AnyArray, FloatMatrix]:
        """The k best trees."""
        spans, lengths, L = doubles(batch.scores[0]), batch.lengths, batch.scores[0].shape[2]
        rules = doubles(batch.scores[1]) if len(batch.scores) == 2 else np.zeros((2, L, L))
        nodes = self.padded(batch, k, self._rows(spans), 3)
        totals = np.full((len(lengths), k), -np.inf)
        self.in_shares(batch, lambda each: kernels.k_best(spans[each], rules, lengths[each], nodes[each], totals[each]))
        return nodes, totals

    def totals(self, batch: Batch, outputs: AnyArray) -> FloatVector:
        """The scores of these trees."""
        totals = np.empty(len(outputs))
        kernels.totals(batch.scores[0], _rules(batch.scores), batch.lengths, outputs, totals)
        return totals

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of spans and rules."""
        kernels.add_counts(into[0], _rules(into), lengths, outputs, weights)

    def sums(self, batch: Batch) -> Sums:
        """Inside–outside."""
        spans, lengths = batch.scores[0], batch.lengths
        n, _, L = spans.shape
        totals = np.empty(n)
        if len(batch.scores) == 2:
            spans, rules = doubles(spans), doubles(batch.scores[1])
            expected, expected_rules = np.zeros_like(spans), np.zeros((n, 2, L, L))
        else:
            reduced, shares = label_shares(spans)
            spans = reduced[..., None]
            rules, expected, expected_rules = np.zeros((2, 1, 1)), np.zeros_like(spans), np.zeros((n, 2, 1, 1))
        self.in_shares(
            batch,
            lambda each: kernels.sums(
                spans[each], rules, lengths[each], totals[each], expected[each], expected_rules[each]
            ),
        )
        return Sums(totals, (expected, expected_rules) if len(batch.scores) == 2 else (expected * shares,))


def _words(n_spans: int) -> int:
    """T, of T (T + 1) / 2."""
    return round((2 * n_spans + 0.25) ** 0.5 - 0.5)


def _rules(scores: Arrays) -> AnyArray:
    """The scores of rules, without any entries if there are none."""
    return scores[1] if len(scores) == 2 else np.empty((2, 0, 0), scores[0].dtype)
