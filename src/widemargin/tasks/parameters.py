"""Parameters of training, described once for Python and for the command line.

A parameter is a field of a dataclass. The `help` of the estimators shows its text, type and default, and command-line
options are made from them (`cli.options`). Everything here is fast to import, so that ``--help`` answers at once.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from math import isfinite
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from widemargin.core import Loss, Penalty
from widemargin.core.header import Range
from widemargin.errors import WidemarginError
from widemargin.text import KEY_BITS

if TYPE_CHECKING:
    from widemargin.core.objective import Objective
    from widemargin.core.solver import Solver

T = TypeVar("T")
INDENT, WIDTH = "    ", 96  # layout of the descriptions in docstrings
ATTRIBUTES = "Attributes\n----------\n"
SHARED = (
    "solution_ : Solution",
    "    Weights, trace, primal, dual, gap, whether it is certified, and why training stopped.",
    "n_iter_ : int",
    "    The number of training epochs.",
    "n_unreachable_ : int",
    "    How many gold outputs the model can never predict, such as crossing arcs with a projective decoder.",
)
"""The attributes that all estimators have."""


def parameter(
    default: Any,
    text: str,
    *,
    option: str | None = "",
    given_as: str = "",
    metavar: str | None = None,
    in_python: str = "",
    on_command_line: str = "",
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    **more: Any,
) -> Any:
    """A field with a description.

    Parameters
    ----------
    default : its default
    text : its description, for `help` and for the command line
    option : its command-line option; "" for one of the same name, None for no option
    given_as : how to write its value on the command line, if its type does not say (`cli.options.GIVEN_AS`)
    metavar : the placeholder for its value in the help of the command line
    in_python, on_command_line : text to add in only one of the two places
    least, above, most : the range of a number: `least` or more, more than `above`, and at most `most`
    more : options of `dataclasses.field`
    """
    texts = {"text": text, "in_python": in_python, "on_command_line": on_command_line}
    form = {"option": option, "given_as": given_as, "metavar": metavar}
    return field(default=default, metadata={**texts, **form, "range": Range(least, above, most)}, **more)


def table_bits(default: int) -> Any:
    """The field `hash_bits` of tasks whose features share one table (`text.roles`)."""
    return parameter(default, "All features share 2^N weights.", metavar="N", least=1, most=KEY_BITS)


def with_default(of: Any, name: str, default: Any) -> Any:
    """The field `name` of the dataclass `of`, with another default."""
    return field(default=default, metadata=of.__dataclass_fields__[name].metadata)


@dataclass(kw_only=True, repr=False, eq=False)
class Parameters:
    """Training parameters that all tasks share."""

    usual_C: ClassVar[float] = 0.1
    usual_smooth_C: ClassVar[float] = 1.0  # of likelihood and softmax-margin
    usual_epochs: ClassVar[int] = 100

    solver: "str | Solver" = parameter(
        "auto",
        "How to optimise: a solver or preset by name, with optional parameters as in 'dcd(sweeps=3)'. Any wrong name "
        "lists them all.",
        in_python="A solver object works, too.",
    )
    C: float | None = parameter(
        None,
        "Weight of errors against large weights: it multiplies the sum of the slacks. By default {usual_C}, or "
        "{usual_smooth_C} for the objectives 'likelihood' and 'softmax-margin'.",
        on_command_line="With several values, the one that scores best on --dev is kept.",
        metavar="C[,C…]",
        given_as="numbers",
    )
    objective: "str | Objective | None" = parameter(
        None,
        "What counts as an error: an objective by name. By default that of the preset, or else 'margin'. Any wrong "
        "name lists them all.",
        in_python="An objective object works, too.",
    )
    loss: Loss | None = parameter(None, "Loss of each slack. By default the one that the solver prefers.")
    penalty: Penalty = parameter(
        "l2",
        "Penalty on the size of the weights; only some solvers support 'l1', and only 'lbfgs' the others, for "
        "likelihood and softmax-margin.",
    )
    l1: float = parameter(1.0, "Weight of the l1 norm in the penalty 'elastic-net'.")
    max_epochs: int | None = parameter(
        None,
        "Stop after this many passes over the data. By default {usual_epochs}, or fewer for solvers without a proof, "
        "which stop being of use long before.",
        option="--epochs",
    )
    tol: float | None = parameter(0.01, "Stop at this proven relative gap to the optimum.")
    patience: int | None = parameter(
        None,
        "Stop after this many epochs without a better development score. Epochs in which a dual solver has a gap above "
        "20 % do not count.",
        metavar="N",
    )
    max_seconds: float | None = parameter(
        None, "Stop after this many seconds of training; compiling does not count.", option="--seconds"
    )
    n_jobs: int | None = parameter(
        -1, "Threads for decoding; -1 uses all cores. The result does not depend on it.", option="--jobs"
    )
    random_state: int | None = parameter(
        0, "The same seed gives the same result.", in_python="None draws a fresh one.", option="--seed", least=0
    )
    cut_memory: float = parameter(1024.0, "Megabytes for the cuts that a dual solver keeps.", option="--memory")
    warm_start: bool = parameter(
        False, "Let another `fit` of the same estimator begin where the last one ended.", option=None
    )
    verbose: bool = parameter(
        False, "Show progress on standard error: a bar on a terminal, a line per epoch elsewhere.", option=None
    )


MOST_BITS = 1000
"""Whole numbers with more bits are refused: some exceed any float."""
PLAIN: dict[str, tuple[Any, str]] = {
    "None": (NoneType, "None"),
    "NoneType": (NoneType, "None"),
    "bool": (int, "True or False"),
    "int": (int, "a whole number"),
    "float": (int | float, "a number"),
    "str": (str, "a text"),
    "Mapping": (Mapping, "a dict"),
}
"""For each declared type, the types that values may have, and their name in messages."""
NUMBERS = ("int", "float")


def check_parameters(parameters: Any) -> None:
    """Raise an error about the first parameter whose value does not fit its declared type, choices or range.

    The look-up of solvers lists their names, and code that uses the values checks what a single value cannot tell. A
    flag may be a number, and numbers may be NumPy's.
    """
    for each in fields(parameters):
        given = getattr(parameters, each.name)
        value = given.item() if getattr(given, "ndim", None) == 0 and hasattr(given, "item") else given
        choices, kinds, limits = _choices(each.type), _alternatives(each.type), each.metadata.get("range", Range())
        if choices:
            fits = any(type(value) is type(one) and value == one for one in choices)
        else:
            endless = isinstance(value, int) and value.bit_length() > MOST_BITS
            fits = each.name == "solver" or (not endless and any(_fits(value, kind, limits) for kind in kinds))
        if not fits:
            wanted = list(map(repr, choices)) or [_in_words(kind, limits) for kind in kinds]
            spelt = " or ".join([", ".join(wanted[:-1]), wanted[-1]] if len(wanted) > 1 else wanted)
            raise WidemarginError(f"{each.name} must be {spelt}, not {value!r:.60}")


def _choices(kind: Any) -> list[Any]:
    """All values of a declared type; empty if it is not a choice between values, or None."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    if get_origin(kind) in (UnionType, Union):
        parts = [[None] if each is NoneType else _choices(each) for each in get_args(kind)]
        return [value for part in parts for value in part] if all(parts) else []
    return []


def _alternatives(kind: Any) -> list[str]:
    """The names of the types in a declared union."""
    if isinstance(kind, str):
        return kind.split(" | ")
    if get_origin(kind) in (UnionType, Union):
        return [name for each in get_args(kind) for name in _alternatives(each)]
    if get_origin(kind) is Literal:
        return list(dict.fromkeys(type(each).__name__ for each in get_args(kind)))
    return [str(kind) if get_origin(kind) else kind.__name__]


def _fits(value: Any, name: str, limits: Range) -> bool:
    outer = name.partition("[")[0].rpartition(".")[2]
    if outer in PLAIN:
        return isinstance(value, PLAIN[outer][0]) and (outer not in NUMBERS or _is_within(value, limits))
    if outer == "Sequence":
        listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
        return listed and ("str" not in name or all(isinstance(each, str) for each in value))
    return name == "Any" or not isinstance(value, str | int | float | list | tuple)  # the class checks the rest


def _is_within(value: float, limits: Range) -> bool:
    """Whether a number is in the range of a parameter; neither truth values nor ∞ are in one with limits."""
    return limits == Range() or (limits.holds(value) and isfinite(value) and not isinstance(value, bool))


def _in_words(name: str, limits: Range) -> str:
    """A type for messages, with the range of its numbers."""
    outer = name.partition("[")[0].rpartition(".")[2]
    if outer == "Sequence":
        return "a list of texts" if "str" in name else "a list"
    words = PLAIN[outer][1] if outer in PLAIN else f"an object of the type {name}"
    return f"{words}{limits}" if outer in NUMBERS else words


def documented(model: type) -> Callable[[type[T]], type[T]]:
    """Complete the docstring of an estimator in numpydoc's format.

    Parameters follow the first sentence; attributes that all estimators share follow the estimator's own ones. `model`
    is the class of its trained models.
    """

    def complete(cls: type[T]) -> type[T]:
        first, _, rest = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")
        own = ""
        if rest.startswith(ATTRIBUTES):
            own, _, rest = rest.removeprefix(ATTRIBUTES).partition("\n\n")
        described = [line for each in fields(cast("Any", cls)) for line in _description(cls, each)]
        attributes = [
            ATTRIBUTES + own,
            *SHARED,
            f"model_ : {model.__name__}",
            "    The trained model, free of scikit-learn.",
        ]
        sections = [
            "\n".join(["Parameters", "----------", *described]),
            "\n".join(attributes).replace("\n\n", "\n"),
            rest,
        ]
        cls.__doc__ = "\n\n".join([first, *filter(None, sections)]) + "\n"
        return cls

    return complete


def text_of(cls: Any, parameter: "Field[Any]", where: str) -> str:
    """The description of a parameter for the place `where`: ``"in_python"`` or ``"on_command_line"``."""
    text = f"{parameter.metadata['text']} {parameter.metadata[where]}".rstrip()
    text = text.replace("{hidden}", getattr(cls, "hidden", ""))
    for usual in ("usual_C", "usual_smooth_C", "usual_epochs"):
        text = text.replace(f"{{{usual}}}", f"{getattr(cls, usual, 0):g}")
    return text


def _description(cls: Any, parameter: "Field[Any]") -> list[str]:
    default = "" if parameter.default is MISSING else f", default={_spell_default(parameter.default)}"
    text = textwrap.fill(text_of(cls, parameter, "in_python"), WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
    return [f"{parameter.name} : {spelt_type(parameter.type)}{default}", text]


def _spell_default(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def spelt_type(kind: Any) -> str:
    """A type as people write it.

    >>> spelt_type(float | None), spelt_type(Literal["l2", "l1"]), spelt_type(dict[str, float])
    ('float or None', '{"l2", "l1"}', 'dict[str, float]')
    """
    if isinstance(kind, str):
        return kind.replace(" | ", " or ")
    if get_origin(kind) is Literal:
        return "{" + ", ".join(f'"{value}"' for value in get_args(kind)) + "}"
    if get_origin(kind) in (UnionType, Union):
        return " or ".join(map(spelt_type, get_args(kind)))
    if kind is type(None):
        return "None"
    if get_origin(kind) is not None:
        inside = ", ".join(map(spelt_type, get_args(kind)))
        return f"{getattr(get_origin(kind), '__name__', kind).lower()}[{inside}]"
    return str(getattr(kind, "__name__", kind))


class Preset(NamedTuple):
    """The solver and objective behind a preset's name; the user's own `objective` overrides it."""

    solver: str
    objective: str


PRESETS = {
    "crf": Preset("lbfgs", "likelihood"),
    "softmax-margin": Preset("lbfgs", "softmax-margin"),
}
"""The presets by name, which may be given instead of a solver's name."""


@dataclass(kw_only=True, repr=False, eq=False)
class TokenParameters(Parameters):
    """Parameters of the features of tokens."""

    templates: "str | Sequence[str] | None" = parameter(
        None,
        "Feature templates, such as 'word[-1..1] suffix1..3 lower|pos'; or the name of a set of them: default, pos, "
        "chunk, ner, bio.",
        given_as="templates",
        metavar="FILE|TEXT",
    )
    lexicons: "Mapping[str, Sequence[str]] | None" = parameter(
        None,
        "Lists of entries, by name, for the template 'lexicon(name)'.",
        on_command_line="Files hold one entry per line.",
        option="--lexicon",
        given_as="lexicons",
        metavar="NAME=FILE",
    )
    clusters: "Mapping[str, Mapping[str, str]] | None" = parameter(
        None,
        "The cluster of each word, by name, for the template 'cluster(name)'.",
        on_command_line="Files hold the output of Brown's algorithm, or lines 'word TAB cluster'.",
        given_as="clusters",
        metavar="NAME=FILE",
    )
    min_count: int = parameter(
        1, "Leave out features rarer than this in the training data.", given_as="whole number", least=0
    )
    hash_bits: int | None = parameter(None, "Hash features into 2^N rows instead of keeping their names.", metavar="N")


@dataclass(kw_only=True, repr=False, eq=False)
class LatentParameters(Parameters):
    """How the hidden side of gold outputs is filled in (`core.latent`); `hidden` is its name in the descriptions."""

    hidden: ClassVar[str] = "what is hidden"

    completion: Literal["cccp", "online"] = parameter(
        "cccp",
        "When to fill in {hidden}: in rounds, each a convex problem with a certificate, or at every visit of an "
        "example, which only solvers without a dual can do.",
    )
    init: Literal["rule", "random"] | Any = parameter(
        "rule",
        "What to fill in for {hidden} at first: by the task's own rule, or at random.",
        in_python="Completions, or a trained model whose weights choose them, work, too.",
    )
    n_restarts: int = parameter(
        1,
        "Fill in {hidden} from this many different beginnings and keep the best objective.",
        option="--restarts",
    )
    max_rounds: int = parameter(
        50, "Stop after filling in {hidden} this many times; --epochs is for each.", option="--rounds"
    )
    round_tol: float = parameter(0.001, "Stop when a round lowers the objective by less than this share.")
    self_paced: Literal["slack", "uncertainty"] | None = parameter(
        None, "Let easy examples take part first, by their slack or by how uncertain their completion is."
    )


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
        least=2,
    )
