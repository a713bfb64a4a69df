"""Parse sentences into dependency trees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import TreeParameters, parameter, table_bits


@dataclass(kw_only=True, repr=False, eq=False)
class ParserParameters(TreeParameters):
    """Parameters of dependency parsers."""

    decoder: Literal["projective", "nonprojective"] = parameter(
        "projective", "Whether arcs may cross: only in 'nonprojective' trees."
    )
    order: Literal[1, 2, "grandsiblings"] = parameter(
        1,
        "2 adds features of pairs of siblings, 'grandsiblings' of siblings and of grandparents: slower, and for "
        "projective trees only.",
    )
    single_root: bool | None = parameter(
        None,
        "Whether exactly one token hangs on the root. By default as in the training data.",
        option="--single-root/--several-roots",
    )
    arc_templates: "str | Sequence[str] | None" = parameter(
        None,
        "Features of arcs, such as 'head:upos|modifier:upos'. By default those of the library whose columns "
        "the data have; with predicted tags, those of words, upos and xpos alone.",
        option="--templates",
        given_as="templates",
        metavar="FILE|TEXT",
    )
    label_templates: "str | Sequence[str] | None" = parameter(
        None, "The same for arcs with their relation.", given_as="templates", metavar="FILE|TEXT"
    )
    sibling_templates: "str | Sequence[str] | None" = parameter(
        None, "The same for pairs of siblings, such as 'sibling:upos'.", given_as="templates", metavar="FILE|TEXT"
    )
    grandparent_templates: "str | Sequence[str] | None" = parameter(
        None, "The same for grandparents, such as 'grandparent:upos'.", given_as="templates", metavar="FILE|TEXT"
    )
    hash_bits: int = table_bits(22)
    head_cost: float = parameter(1.0, "The cost of a wrong head.")
    label_cost: float = parameter(1.0, "The cost of a wrong relation to the right head.")
    dev_metric: Literal["las", "uas"] = parameter(
        "las", "The development score: the share of right heads with right labels, or of right heads."
    )


def _model() -> type[Any]:
    from widemargin.tasks.parse.model import Parser

    return Parser


def _estimator() -> type[Any]:
    from widemargin.tasks.parse.estimator import DependencyParser

    return DependencyParser


def _files() -> Any:
    from widemargin.tasks.parse.files import ParseFiles

    return ParseFiles()


TASK = Task(
    {"tree": Kind("DependencyParser", ParserParameters, _model, _estimator)},
    does="Learn to parse: dependency trees, from the columns head and deprel of CoNLL-U or CoNLL-X files.",
    example="--train train.conllu --dev dev.conllu --epochs 10 --out english.wm",
    files=_files,
    reads=("format", "columns"),
    scores_punctuation=True,
)
