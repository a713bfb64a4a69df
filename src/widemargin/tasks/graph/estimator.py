"""Labelling of graphs as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatMatrix
from widemargin.core.checks import checked_weights
from widemargin.tasks.abilities import ProbableEstimator
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.estimator import NestedOutputs
from widemargin.tasks.graph import GraphParameters
from widemargin.tasks.graph.compile import accuracy, compile_graphs, survey_graphs
from widemargin.tasks.graph.inputs import as_cells
from widemargin.tasks.graph.model import GraphModel, label_numbers
from widemargin.tasks.parameters import documented
from widemargin.text.inputs import drain


@documented(GraphModel)
@dataclass(kw_only=True, repr=False, eq=False)
class GraphLabeler(GraphParameters, ProbableEstimator[GraphModel]):
    """Large-margin labelling of the nodes of graphs.

    Attributes
    ----------
    classes_ : ndarray
        The labels.

    Notes
    -----
    X is a list of graphs: ``(node features, edges)`` or ``(node features, edges, edge features)``. Features are
    matrices, dense or sparse, with a row for each node or edge; an edge is a pair of numbers of nodes. y holds for each
    graph the labels of its nodes, strings or whole numbers, in an array of any shape. A label may be None if it is
    unknown, or a set of labels if one of them is right. `widemargin.graphs` makes graphs of pictures. Nodes may be of
    several types (docs/graphs.md).

    Examples
    --------
    >>> import numpy as np
    >>> path = [(0, 1), (1, 2), (2, 3)]
    >>> X = [(np.array([[0.9], [-0.1], [0.8], [-1.0]]), path), (np.array([[-0.9], [0.2], [-0.8], [1.0]]), path)]
    >>> y = [["a", "a", "a", "b"], ["b", "b", "b", "a"]]
    >>> labeler = GraphLabeler(C=10.0).fit(X, y)
    >>> [labels.tolist() for labels in labeler.predict(X)]
    [['a', 'a', 'a', 'b'], ['b', 'b', 'b', 'a']]
    """

    _compile = staticmethod(compile_graphs)
    _survey = staticmethod(survey_graphs)

    def predict(self, X: Any, constraints: Constraints | None = None) -> Any:
        """The labels of the nodes of every graph: an array each, or a dict of arrays for types with names.

        They obey the rules among the `constraints`: implies, at_most, exactly, together.
        """
        return NestedOutputs(self._ask("predict", X, constraints=constraints))

    def predict_proba(self, X: Any) -> list[FloatMatrix]:
        """For each graph, a row per node with the probability of each of the `classes_`.

        The model must be trained with `likelihood` or `softmax-margin`, and the graphs must have few loops.
        """
        order = self._order
        return [each[:, order] for each in self._ask("predict_proba", X)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right labels among all nodes with known labels; a graph's nodes have its `sample_weight`."""
        X = self._inputs(X)
        given, decoded = self.model_.decoded(X, n_threads=count_threads(self.n_jobs))
        cells = as_cells(given, self._read(y), self.model_.scheme.types)
        numbers = np.split(label_numbers(self.model_.scheme, decoded), decoded.compiled.nodes[1:-1])
        right = total = 0.0
        for each, own, weight in zip(cells, numbers, checked_weights(sample_weight, len(cells)).tolist(), strict=True):
            known = sum(cell is not None for cell in each)
            right, total = right + weight * known * accuracy(self.model_.labels, each, own), total + weight * known
        return right / total if total else 0.0

    def _read(self, values: Any) -> Any:
        return drain(values)
