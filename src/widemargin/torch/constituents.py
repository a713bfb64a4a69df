"""Labelled binary trees over a sentence, such as trees of constituents.

score(tree) = Σ over nodes spans[i, j, l] + Σ over nodes below another of rules[side, l, the parent's label]
"""

from typing import Any, ClassVar

import numpy as np
import torch

from widemargin._types import AnyArray, BoolMatrix, FloatVector, LongVector
from widemargin.decoders.charts import no_marks, wrong_node
from widemargin.errors import DataError
from widemargin.structures import constituents
from widemargin.torch.decoding import Batch, Sums
from widemargin.torch.flat import Flat
from widemargin.torch.labelled import best_labels, label_shares
from widemargin.torch.tensors import Arrays, Tensors, check_shape, doubles


class Constituents(Flat):
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
        for b, (nodes, n) in enumerate(zip(outputs, batch.lengths.tolist(), strict=True)):
            r = wrong_node(nodes, n, spans.shape[2])
            if r >= 0:
                raise DataError(f"{name}[{b}, {r}] is {nodes[r].tolist()}, which is not the next node of a tree")

    def work(self, batch: Batch) -> FloatVector:
        """Microseconds, measured."""
        n, L = batch.lengths.astype(np.float64), 1 if len(batch.scores) == 1 else batch.scores[0].shape[2]
        return n**3 * 0.003 * (1 + L / 4) + n**2 * (0.05 + L * L * 0.0005)

    def shared(self, batch: Batch) -> tuple[bool, ...]:
        """Rules."""
        return (False, True)[: len(batch.scores)]

    def best(self, batch: Batch) -> AnyArray:
        """The best trees; without rules, each span has its best label."""
        if len(batch.scores) == 2:
            return super().best(batch)
        best, labels = best_labels(batch.scores[0])
        nodes = super().best(Batch((best[..., None],), batch.lengths))
        b, r = np.nonzero(nodes[..., 0] >= 0)
        nodes[b, r, 2] = labels[b, _cells(nodes[b, r])]
        return nodes

    def sums(self, batch: Batch) -> Sums:
        """Inside–outside; without rules, the labels of each span are summed up first."""
        if len(batch.scores) == 2:
            return super().sums(batch)
        reduced, shares = label_shares(batch.scores[0])
        totals, (expected,) = super().sums(Batch((reduced[..., None],), batch.lengths))
        return Sums(totals, (expected * shares,))

    def flat(self, batch: Batch) -> tuple[constituents.Constituents, constituents.ConstituentScores]:
        """The rows of all spans, padding among them; halves score nothing."""
        spans = doubles(batch.scores[0])
        B, cells, L = spans.shape
        rules = doubles(batch.scores[1]) if len(batch.scores) == 2 else np.zeros((2, L, L))
        starts, charts = np.arange(B) * cells, spans.reshape(1, B * cells, L)
        scores = constituents.ConstituentScores(starts, batch.lengths, charts, rules, no_marks())
        return constituents.Constituents(L), scores

    def shaped(self, batch: Batch, counts: constituents.ConstituentCounts) -> Arrays:
        """The probabilities of spans, and the expected counts of rules."""
        return (counts.charts[0].reshape(batch.scores[0].shape), counts.rules)[: len(batch.scores)]

    def add_counts(self, lengths: LongVector, outputs: AnyArray, weights: FloatVector, into: Arrays) -> None:
        """Add the counts of spans and rules."""
        b, r = np.nonzero(np.arange(outputs.shape[1]) < 2 * lengths[:, None] - 1)
        nodes = outputs[b, r]
        into[0][b, _cells(nodes), nodes[:, 2]] += weights[b]
        if len(into) == 2:
            split = nodes[:, 1] - nodes[:, 0] > 1
            b, r, (begin, _, label) = b[split], r[split], nodes[split].T
            left = r + 1
            right = r + 2 * (outputs[b, left, 1] - begin)
            np.add.at(into[1], (0, outputs[b, left, 2], label), weights[b])
            np.add.at(into[1], (1, outputs[b, right, 2], label), weights[b])

    def _inside(self, structure: Any, batch: Batch) -> BoolMatrix:
        inside: BoolMatrix = np.arange(self._rows(batch.scores[0])) < 2 * batch.lengths[:, None] - 1
        return inside


def _words(n_spans: int) -> int:
    """T, of T (T + 1) / 2."""
    return round((2 * n_spans + 0.25) ** 0.5 - 0.5)


def _cells(nodes: AnyArray) -> AnyArray:
    """Where the scores of nodes are among those of all spans (`decoders.charts.cell`)."""
    return nodes[:, 1] * (nodes[:, 1] - 1) // 2 + nodes[:, 0]
