"""Parameters of rankers."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from widemargin.tasks.latent_parameters import LatentParameters
from widemargin.tasks.parameters import Parameters, changed, parameter


@dataclass(kw_only=True, repr=False, eq=False)
class RankerParameters(LatentParameters):
    """Parameters of rankers."""

    usual_C: ClassVar[float] = 0.1
    usual_epochs: ClassVar[int] = 1000

    tol: float | None = changed(Parameters, "tol", 0.001)
    measure: Literal["ndcg", "precision", "map", "pairs"] = parameter(
        "ndcg",
        "What to get right: NDCG@k, precision@k, average precision, or pairs of documents (the Ranking SVM).",
    )
    k: int = parameter(
        10, "How many places of a ranking count, for precision and NDCG.", option="--k", given_as="whole number"
    )
    relevant_from: int = parameter(
        1, "The least grade that is relevant, for precision and average precision.", given_as="whole number"
    )
    normalize: bool = parameter(
        False, "Scale each feature within each query, so that its values there are 1 apart at most."
    )
