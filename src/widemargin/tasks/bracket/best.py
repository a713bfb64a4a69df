"""The k best trees of constituents of the examples; compiled only when they are used."""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntMatrix, IntVector
from widemargin.decoders.charts import TreeParts
from widemargin.decoders.cky_kbest import cky_kbest
from widemargin.tasks.bracket.scores import (
    BracketData,
    BracketWeights,
    gold_marks,
    new_charts,
    part_scores,
    rule_scores,
)


@kernel
def best_trees(
    data: BracketData, weights: BracketWeights, batch: IntVector, scales: FloatVector, k: int
) -> tuple[IntVector, FloatVector, IntMatrix]:
    """How many trees each example of the batch has, at most k; the scores and the nodes of all, end to end."""
    charts, rules, room = new_charts(data, batch), rule_scores(data, weights), 0
    for i in batch:
        room += k * (2 * (data.indptr[i + 1] - data.indptr[i]) - 1)
    counts, totals = np.empty(len(batch), dtype=np.int32), np.empty(len(batch) * k)
    nodes, write, trees = np.empty((room, 3), dtype=np.int32), 0, 0
    for position in range(len(batch)):
        i = batch[position]
        n = part_scores(data, weights, i, scales[position], charts)
        size = 2 * n - 1
        parts = TreeParts(charts.span, charts.left, charts.right, rules[0], rules[1])
        out = nodes[write : write + k * size].reshape(k, size, 3)
        counts[position] = cky_kbest(n, parts, gold_marks(data, i, scales[position]), out, totals[trees : trees + k])
        write += counts[position] * size
        trees += counts[position]
    return counts, totals[:trees], nodes[:write]
