"""Parameters of parsers: of those of both kinds, of dependencies, of constituents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from widemargin.tasks.parameters import Parameters, parameter

Tags = Literal["predicted", "given"]
TAGS = get_args(Tags)


@dataclass(kw_only=True, repr=False, eq=False)
class TreeParameters(Parameters):
    """Parameters of parsers; trees are slow to decode and have many features, hence the defaults."""

    usual_C: ClassVar[float] = 0.01
    usual_epochs: ClassVar[int] = 20

    tags: Tags = parameter(
        "predicted",
        "Where tags come from. 'predicted': the model tags words by itself; it learns how from the tags in the "
        "training data, and to parse from tags predicted by jack-knifing. 'given': from the data, in training and "
        "later.",
    )
    tag_folds: int = parameter(
        5,
        "Jack-knifing: each of this many parts of the sentences is tagged by a tagger that learnt from the others.",
        metavar="N",
    )


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
    hash_bits: int = parameter(22, "All features share 2^N weights.", metavar="N")
    head_cost: float = parameter(1.0, "The cost of a wrong head.")
    label_cost: float = parameter(1.0, "The cost of a wrong relation to the right head.")
    dev_metric: Literal["las", "uas"] = parameter(
        "las", "The development score: the share of right heads with right labels, or of right heads."
    )


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
    hash_bits: int = parameter(24, "All features share 2^N weights.", metavar="N")
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
