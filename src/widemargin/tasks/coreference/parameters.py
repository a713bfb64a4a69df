"""Parameters of coreference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from widemargin.tasks.latent_parameters import LatentParameters
from widemargin.tasks.parameters import parameter


@dataclass(kw_only=True, repr=False, eq=False)
class CoreferenceParameters(LatentParameters):
    """Parameters of coreference."""

    usual_C: ClassVar[float] = 0.01
    hidden: ClassVar[str] = "which earlier mention is the antecedent"

    decoder: Literal["antecedents", "forest"] = parameter(
        "antecedents",
        "What holds entities together: an antecedent for each mention, chosen by itself; or the strongest links of the "
        "whole text, a latent spanning forest.",
    )
    templates: "str | Sequence[str] | None" = parameter(
        None,
        "Features of links, such as 'mention:head|antecedent:head|sentences'. By default those of the library.",
        given_as="templates",
        metavar="FILE|TEXT",
    )
    hash_bits: int = parameter(20, "All features share 2^N weights.", metavar="N")
    max_antecedents: int | None = parameter(
        None, "How many mentions before each are looked at, the closest ones. By default all.", metavar="N"
    )
    false_anaphor: float = parameter(0.1, "The cost of a link for a mention that starts an entity.")
    false_new: float = parameter(3.0, "The cost of a new entity for a mention that has an antecedent.")
    wrong_link: float = parameter(1.0, "The cost of a link to another entity.")
    link_penalty: float = parameter(
        1.0, "Forests only: the cost of a link between two entities; a missing link costs 1."
    )
    dev_metric: Literal["conll", "muc", "b3", "ceaf_e", "blanc", "lea"] = parameter(
        "conll", "The development score: the mean F1 of MUC, B³ and CEAF by entities, or one of the scores."
    )


@dataclass(kw_only=True)
class CoreferenceOptions:
    """Command-line options that are not training parameters."""

    mentions: Literal["gold", "detected"] = parameter(
        "gold",
        "Take the mentions that files mark, or detect them: noun phrases, pronouns and possessives, in trees or by "
        "tags. The model remembers it.",
    )
