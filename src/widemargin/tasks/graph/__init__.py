"""Label the nodes of graphs: any graphs, with features of nodes and of edges, and nodes of one or several types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, Parameters, parameter, with_default

MOST_STATES = 2_000
"""The most states of a type of nodes."""


@dataclass(kw_only=True, repr=False, eq=False)
class GraphParameters(LatentParameters):
    """Parameters of labellers of graphs."""

    hidden: ClassVar[str] = "unknown labels and hidden states"
    usual_C: ClassVar[float] = 0.1

    tol: float | None = with_default(Parameters, "tol", 0.03)
    inference: Literal["auto", "bounded", "exact", "relaxed"] = parameter(
        "auto",
        "How graphs are decoded. 'auto': exactly where there are few loops, else with a bound on what was missed, "
        "which is part of the certificate. 'bounded': with a bound everywhere. 'exact': as 'auto', but integer "
        "programmes close the gaps that bounds leave. 'relaxed': training decodes to fractions of labels, the "
        "solutions of linear programmes, and what is proven is about these; predictions are made as by 'auto'.",
    )
    pairs: Literal["auto", "any", "symmetric", "antisymmetric", "potts"] = parameter(
        "auto",
        "Which weights pairs of labels have: 'any' pair its own; 'symmetric': (a, b) that of (b, a); 'antisymmetric': "
        "(a, b) minus that of (b, a); 'potts': one for equal labels, none for others. 'auto' is 'any' if edges have "
        "features, else 'symmetric'.",
    )
    symmetric: "Sequence[int] | None" = parameter(
        None, "The columns of edge features whose pairs are symmetric, whatever `pairs` says.", option=None
    )
    antisymmetric: "Sequence[int] | None" = parameter(
        None, "The columns of edge features whose pairs are antisymmetric, whatever `pairs` says.", option=None
    )
    fit_intercept: bool = parameter(
        True,
        "Whether every label, and every pair of labels on an edge, has a bias, penalised like the other weights. Edges "
        "without features always have one.",
        option="--intercept/--no-intercept",
    )
    n_states: int = parameter(
        1,
        "How many hidden states each label has. Each state has weights of its own, and which of them a node is in is "
        "found while learning.",
        option="--states",
        metavar="N",
        least=1,
        most=MOST_STATES,
    )
    hidden_types: "Mapping[str, int] | None" = parameter(
        None,
        "Types of nodes that have no labels, and how many states they have: {type: number}.",
        option=None,
    )
    costs: "Mapping[Any, float] | None" = parameter(
        None,
        "The cost of predicting one label for another; 1 unless named.",
        in_python="{(gold, predicted): cost}, or {gold: cost} for every error on a label.",
        on_command_line='A JSON file: {"gold": 2, "other": {"predicted": 0.5}}.',
        given_as="costs",
        metavar="FILE",
    )
    class_weight: "Mapping[Any, float] | str | None" = parameter(
        None,
        'How much an error counts where a label is right: {label: weight}, 1 unless named; or "balanced", which gives '
        "all labels the same total weight, however rare. It multiplies `costs`.",
        option=None,
    )


def _model() -> type[Any]:
    from widemargin.tasks.graph.model import GraphModel

    return GraphModel


def _estimator() -> type[Any]:
    from widemargin.tasks.graph.estimator import GraphLabeler

    return GraphLabeler


def _files() -> Any:
    from widemargin.tasks.graph.files import GraphFiles

    return GraphFiles()


TASK = Task(
    {"graph": Kind("GraphLabeler", GraphParameters, _model, _estimator)},
    does="Learn to label the nodes of graphs.\n\nReads JSON lines, a graph per line: "
    '{"nodes": [[0.5, 1.0], …], "edges": [[0, 1], …], "edge_features": [[1.0], …], "labels": ["a", …]}. '
    "A label of null is unknown.",
    example="--train train.jsonl --dev dev.jsonl --out graph.wm",
    files=_files,
)
