"""Costs of the labels of graphs' nodes, and limits of what may be right."""

from collections.abc import Sequence

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatVector, IntVector, LongVector
from widemargin.core.sparse import boundaries, sums
from widemargin.structures.flat import Scores
from widemargin.structures.graph import Graphs


@kernel
def _fill(
    nodes: LongVector,
    truth: IntVector,
    at: LongVector,
    table: FloatVector,
    batch: IntVector,
    scales: FloatVector,
    starts: LongVector,
    own: FloatVector,
) -> None:
    own[:] = 0.0
    for k in range(len(batch)):
        write = starts[k]
        for v in range(nodes[batch[k]], nodes[batch[k] + 1] if scales[k] != 0.0 else nodes[batch[k]]):
            row = table[at[truth[v]] : at[truth[v] + 1]]
            for state in range(len(row)):
                own[write + state] = scales[k] * row[state] if row[state] != 0.0 else 0.0
            write += len(row)


class GraphCosts:
    """Δ(y) = Σ_v cost of y_v where the truth about v is one of several rows of costs (`structures.parts.Costs`).

    Parameters
    ----------
    structure, sizes : the graphs, and which of them each example is
    nodes : where the nodes of each example begin among all, and the end of all
    truth : the row of each node; empty without gold
    rows : the rows: the cost of each state of a node's type
    """

    def __init__(
        self,
        structure: Graphs,
        sizes: LongVector,
        nodes: LongVector,
        truth: IntVector,
        rows: Sequence[FloatVector] = (),
    ) -> None:
        self.structure, self.sizes, self.nodes, self.truth = structure, sizes, nodes, truth
        self.at = boundaries([len(row) for row in rows])
        self.table = np.concatenate([np.empty(0), *rows])
        self._most = np.array([float(np.max(row, initial=0.0)) for row in rows])

    def fill(self, batch: IntVector, scales: FloatVector, room: Scores) -> None:
        """Write the costs of states, times each example's scale; pairs cost nothing."""
        _fill(self.nodes, self.truth, self.at, self.table, batch, scales, room.starts, room.own)

    def errors(self, batch: IntVector, outputs: FloatVector) -> FloatVector:
        """⟨c, z(y)⟩ of the batch's outputs, which need not be whole numbers of parts."""
        room = self.structure.room(self.sizes[batch])
        self.fill(batch, np.ones(len(batch)), room)
        return self.structure.total(room, outputs)

    def most(self) -> FloatVector:
        """The error with the most expensive states."""
        return sums(self._most[self.truth], self.nodes)
