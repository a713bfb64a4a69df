"""Resolve coreference: which mentions of a text mean the same thing, by an antecedent for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import LatentParameters, parameter, table_bits


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
    hash_bits: int = table_bits(20)
    max_antecedents: int | None = parameter(
        None, "How many mentions before each are looked at, the closest ones. By default all.", metavar="N", least=1
    )
    false_anaphor: float = parameter(0.1, "The cost of a link for a mention that starts an entity.", least=0)
    false_new: float = parameter(3.0, "The cost of a new entity for a mention that has an antecedent.", least=0)
    wrong_link: float = parameter(1.0, "The cost of a link to another entity.", least=0)
    link_penalty: float = parameter(
        1.0, "Forests only: the cost of a link between two entities; a missing link costs 1.", least=0
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


def _model() -> type[Any]:
    from widemargin.tasks.coreference.model import CoreferenceModel

    return CoreferenceModel


def _estimator() -> type[Any]:
    from widemargin.tasks.coreference.estimator import CoreferenceResolver

    return CoreferenceResolver


def _files() -> Any:
    from widemargin.tasks.coreference.files import CoreferenceFiles

    return CoreferenceFiles()


TASK = Task(
    {"coreference": Kind("CoreferenceResolver", CoreferenceParameters, _model, _estimator)},
    does="Learn coreference: which mentions of a text mean the same thing.\n\nReads CoNLL-U (Entity= in the last "
    "column), CoNLL files with coreference in the last column, such as those of CoNLL-2012 and GUM, and JSON lines.",
    example="--train train.conllu --dev dev.conllu --out coreference.wm",
    files=_files,
    options=CoreferenceOptions,
    reads=("format", "columns"),
)
