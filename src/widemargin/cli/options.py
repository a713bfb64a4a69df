"""Options that several commands share, and how their values are read."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

COMMA = re.compile(r",(?![^(]*\))")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def pairs(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> list[tuple[str, str]]:
    """Options of the form NAME=FILE, cut at the first equals sign."""
    cut = []
    for value in values:
        name, _, file = value.partition("=")
        if not (name.isidentifier() and file):
            raise click.BadParameter(f"{value!r} is not of the form NAME=FILE")
        cut.append((name, file))
    return cut


def names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names with commas between them, each perhaps with parameters in brackets, whose commas do not separate."""
    if value is None:
        return None
    cut = [name.strip() for name in COMMA.split(value)]
    if not all(cut):
        raise click.BadParameter(f"{value!r} has an empty name")
    return cut


def numbers(ctx: click.Context, param: click.Parameter, value: str) -> list[float]:
    """Numbers with commas between them."""
    parts: Sequence[Any] = value.split(",")
    return [click.FLOAT.convert(each, param, ctx) for each in parts]


def span(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Two numbers with a colon between them."""
    if value is None:
        return None
    first, colon, last = value.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal()):
        raise click.BadParameter(f"{value!r} is not of the form M:N")
    return int(first), int(last)


def example(*lines: str) -> str:
    """Lines for the end of a help text, which click is told not to wrap."""
    return "\b\n" + "\n".join(("Example: " if number == 0 else " " * 9) + line for number, line in enumerate(lines))


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


format_options = together(
    click.option(
        "--format",
        "file_format",
        type=click.Choice(["conll", "conllu", "conllx", "brackets", "jsonl", "xml", "svmlight"]),
        help="The format of the data. [default: by the file's name and first line]",
    ),
    click.option(
        "--columns", callback=names, metavar="A,B,…", help="Names for the columns of a conll file, the label last."
    ),
)
data_options = together(
    click.option("--label", metavar="COLUMN", help="The label column: its name, or its number counting from 1."),
    format_options,
)
templates = click.option(
    "--templates", metavar="FILE|TEXT", help="Feature templates, such as 'word[-1..1] suffix1..3 lower|pos'."
)
function_options = together(
    click.option("--objective", help="What counts as an error; an unknown name lists all. [default: the solver's own]"),
    click.option(
        "--loss", type=click.Choice(["squared_hinge", "hinge"]), help="Of each slack. [default: the solver's own]"
    ),
    click.option(
        "--penalty",
        type=click.Choice(["l2", "l1"]),
        default="l2",
        show_default=True,
        help="On the size of the weights.",
    ),
    click.option(
        "--memory",
        "cut_memory",
        type=float,
        default=1024.0,
        show_default=True,
        help="Megabytes for a dual solver's cuts.",
    ),
    click.option("--jobs", "n_jobs", type=int, default=-1, show_default=True, help="Threads; -1 takes all cores."),
    click.option(
        "--seed",
        "random_state",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="The same seed, the same result.",
    ),
)
jobs = click.option("--jobs", type=int, default=-1, help="Threads; -1 takes all cores.", show_default=True)
quiet = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")
model = click.argument("model")


file_options = together(
    click.option("--train", "train_file", required=True, metavar="FILE", help="The data to learn from; - for stdin."),
    click.option(
        "--dev", "dev_file", metavar="FILE", help="Development data: the epoch that scores best on it is kept."
    ),
    click.option("--out", required=True, metavar="MODEL", help="Where to write the model."),
)


def run_options(C: str, tol: float, epochs: int) -> Decorator:
    """How to train, with these defaults."""
    return together(
        click.option("--solver", default="auto", show_default=True, help="How to optimise; an unknown name lists all."),
        click.option(
            "--C",
            "C",
            callback=numbers,
            default=C,
            show_default=True,
            metavar="C[,C…]",
            help="Weight of errors against large weights; of several, the one that is best on --dev.",
        ),
        function_options,
        click.option(
            "--epochs",
            "max_epochs",
            type=int,
            default=epochs,
            show_default=True,
            help="Stop after so many passes over the data.",
        ),
        click.option(
            "--tol", type=float, default=tol, show_default=True, help="Stop at this proven gap to the optimum."
        ),
        click.option(
            "--patience", type=int, metavar="N", help="Stop after N epochs without a better development score."
        ),
        click.option("--seconds", "max_seconds", type=float, help="Stop after so many seconds."),
        click.option("--checkpoint", metavar="FILE", help="Keep the state of training in FILE while it goes on."),
        click.option("--resume", is_flag=True, help="Go on from the checkpoint, if there is one."),
        click.option("--curves", metavar="FILE", help="Draw objective, gap and development score into a PNG file."),
        as_json,
        quiet,
    )


training_options = together(
    file_options,
    data_options,
    templates,
    click.option(
        "--lexicon", "lexicons", multiple=True, callback=pairs, metavar="NAME=FILE", help="Entries, one a line."
    ),
    click.option(
        "--clusters",
        multiple=True,
        callback=pairs,
        metavar="NAME=FILE",
        help="Word clusters: Brown's, or word TAB cluster.",
    ),
    click.option("--min-count", type=click.IntRange(1), default=1, show_default=True, help="Leave out rarer features."),
    click.option("--hash-bits", type=int, metavar="N", help="Hash features into 2^N rows; keeps no names."),
    run_options(C="0.1", tol=0.01, epochs=100),
)


def hash_bits(default: int) -> Decorator:
    """How large the table of weights is where features have no names."""
    return click.option(
        "--hash-bits",
        type=click.IntRange(10, 28),
        default=default,
        show_default=True,
        metavar="N",
        help="All features share 2^N weights.",
    )
