"""Parameters of parsers of either kind."""

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
