"""Partition sets of items by features of their pairs: records of the same thing, mentions of the same person."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, parameter


@dataclass(kw_only=True, repr=False, eq=False)
class ClusterParameters(LatentParameters):
    """Parameters of clusterers."""

    usual_C: ClassVar[float] = 0.01

    decoder: Literal["forest", "correlation"] = parameter(
        "forest",
        "What holds clusters together: the strongest links, a latent spanning forest of them; or all pairs, which is "
        "correlation clustering, whose decoding is greedy and proves nothing.",
    )
    link_penalty: float = parameter(
        1.0,
        "The cost of a link between items of different clusters; a missing link costs 1. Lower it for more links.",
        least=0,
    )
    pair_features: "Callable[[Any, Any], Any] | None" = parameter(
        None,
        "A function of two items that returns their features: a list of names, or a dict of names and numbers.",
        option=None,
    )
    fields: "Sequence[str] | None" = parameter(
        None,
        "The fields of records to compare. By default all that the training data have.",
        given_as="names",
        metavar="A,B,…",
    )
    dev_metric: Literal["b3", "muc", "ceaf_m", "ceaf_e", "lea", "blanc", "pair"] = parameter(
        "b3", "The development score: F1 of B³, MUC, CEAF by items or by clusters, LEA, BLANC, or pairs."
    )


def _model() -> type[Any]:
    from widemargin.tasks.cluster.model import ClusterModel

    return ClusterModel


def _estimator() -> type[Any]:
    from widemargin.tasks.cluster.estimator import Clusterer

    return Clusterer


def _files() -> Any:
    from widemargin.tasks.cluster.files import ClusterFiles

    return ClusterFiles()


TASK = Task(
    {"clusters": Kind("Clusterer", ClusterParameters, _model, _estimator)},
    does="Learn to cluster: which items of a document belong together, by features of their pairs.\n\nReads JSON lines "
    "of records, pairs in svmlight files (+1 or -1, key:value …, # document i j), and mentions of coreference in "
    "CoNLL-U (Entity= in the last column) or in the last column of CoNLL files.",
    example="--train train.jsonl --dev dev.jsonl --out same.wm",
    files=_files,
    reads=("format", "columns"),
)
