"""Parse tagged sentences into trees of constituents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import TreeParameters, parameter, table_bits


@dataclass(kw_only=True, repr=False, eq=False)
class BracketerParameters(TreeParameters):
    """Parameters of parsers of constituents."""

    templates: "str | Sequence[str] | None" = parameter(
        None,
        "Features of spans, such as 'first:word|last:word|length'. By default those of the library; 'rich' stands for "
        "more of them, which are more accurate and take longer.",
        given_as="templates",
        metavar="FILE|TEXT",
    )
    fold: Literal["left", "right"] = parameter(
        "right", "From which side constituents with more than two parts are folded into binary ones."
    )
    hash_bits: int = table_bits(24)
    missing_cost: float = parameter(
        1.0,
        "The cost of a wrong node that is not a constituent; a wrong constituent costs 1. Above 1, fewer constituents "
        "are missed, but more are wrong.",
    )
    error: Literal["spans", "productions"] = parameter(
        "spans",
        "What counts as wrong: spans with their labels, or productions, which are spans with their label, their split "
        "and the labels of both halves.",
    )
    dev_metric: Literal["f1", "exact"] = parameter(
        "f1", "The development score: F1 of labelled brackets, or the share of trees without errors."
    )


@dataclass(kw_only=True)
class BracketOptions:
    """Command-line options that are not training parameters."""

    keep_functions: bool = parameter(False, "Learn function tags too: NP-SBJ is not NP.")


def _model() -> type[Any]:
    from widemargin.tasks.bracket.model import Bracketer

    return Bracketer


def _estimator() -> type[Any]:
    from widemargin.tasks.bracket.estimator import ConstituencyParser

    return ConstituencyParser


def _files() -> Any:
    from widemargin.tasks.bracket.files import BracketFiles

    return BracketFiles()


TASK = Task(
    {"brackets": Kind("ConstituencyParser", BracketerParameters, _model, _estimator)},
    does="Learn to parse: trees of constituents, from files of trees in brackets.\n\nTraces are left out.",
    example="--train train.mrg --dev dev.mrg --epochs 10 --out trees.wm",
    files=_files,
    options=BracketOptions,
)
