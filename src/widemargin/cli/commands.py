"""All commands and their options on one page.

Options that are parameters of training are handed over under the names that those have (`widemargin.training`).
"""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from widemargin._version import __version__
from widemargin.cli.program import Program

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


def run(command: str, options: dict[str, Any]) -> int | None:
    """What the command does, from the file of its name; an exit code."""
    code: int | None = import_module(f"widemargin.cli.{command}").run(**options)
    return code


@click.group(
    "widemargin",
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example(
        "widemargin demo",
        "widemargin train tag --train train.conllu --label upos --out upos.wm",
        "widemargin evaluate upos.wm test.conllu",
        "widemargin predict upos.wm new.conllu > labelled.conllu",
    ),
)
@click.version_option(__version__, prog_name="widemargin", message="%(prog)s %(version)s")
def main() -> None:
    """Large-margin structured prediction with a certificate of optimality.

    Results go to standard output, progress to standard error. Exit codes: 0 done, 2 wrong input, 130 interrupted.
    """


@main.group()
def train() -> None:
    """Learn a model from labelled data."""


@train.command(
    "tag", epilog=example("widemargin train tag --train train.conllu --dev dev.conllu --label upos --out upos.wm")
)
@training_options
@click.option("--costs", metavar="FILE", help='Error costs as JSON: {"gold": 2, "other": {"predicted": 0.5}}.')
def train_tag(**options: Any) -> int | None:
    """Learn to label the tokens of sequences.

    Ctrl-C ends training early: the model learnt so far is saved all the same, and the exit code is 130.
    """
    return run("train_tag", options)


@train.command(
    "segment", epilog=example("widemargin train segment --train citations.xml --max-length 40 --out citations.wm")
)
@training_options
@click.option("--segment-features", callback=names, metavar="A,B,…", help="Of whole segments; a wrong name lists all.")
@click.option(
    "--max-length",
    type=click.IntRange(1),
    metavar="N",
    help="Refuse data with longer segments. [default: any length]",
)
@click.option("--penalties", metavar="FILE", help='Error costs as JSON: {"recall": {"title": 2}, "precision": {}}.')
def train_segment(**options: Any) -> int | None:
    """Learn to cut sequences into labelled segments.

    The labels of the data mark segments in BIO, or are XML fields, or spans in JSON. Ctrl-C ends training early: the
    model learnt so far is saved all the same, and the exit code is 130.
    """
    return run("train_segment", options)


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


@train.command(
    "parse", epilog=example("widemargin train parse --train train.conllu --dev dev.conllu --epochs 10 --out english.wm")
)
@file_options
@format_options
@click.option(
    "--decoder",
    type=click.Choice(["projective", "nonprojective"]),
    default="projective",
    show_default=True,
    help="Whether arcs may cross.",
)
@click.option(
    "--order", type=click.Choice(["1", "2"]), default="1", show_default=True, help="2 scores pairs of siblings."
)
@click.option(
    "--single-root/--several-roots",
    default=None,
    help="How many tokens may hang on the root. [default: one, if that is so in the data]",
)
@click.option(
    "--templates",
    "arc_templates",
    metavar="FILE|TEXT",
    help="Features of arcs, such as 'head:upos|modifier:upos'.",
)
@click.option("--label-templates", metavar="FILE|TEXT", help="The same for arcs with their relation.")
@click.option(
    "--sibling-templates", metavar="FILE|TEXT", help="The same for pairs of siblings, such as 'sibling:upos'."
)
@click.option(
    "--feature-memory",
    type=float,
    default=512.0,
    show_default=True,
    help="Megabytes for features that are kept while training.",
)
@click.option("--head-cost", type=float, default=1.0, show_default=True, help="The error of a wrong head.")
@click.option("--label-cost", type=float, default=1.0, show_default=True, help="Of a wrong relation to the right head.")
@hash_bits(22)
@run_options(C="0.01", tol=0.01, epochs=20)
def train_parse(**options: Any) -> int | None:
    """Learn to parse: dependency trees, from the columns head and deprel of CoNLL-U or CoNLL-X files.

    Ctrl-C ends training early: the model learnt so far is saved all the same, and the exit code is 130.
    """
    return run("train_parse", options)


@train.command(
    "bracket", epilog=example("widemargin train bracket --train train.mrg --dev dev.mrg --epochs 10 --out trees.wm")
)
@file_options
@click.option("--keep-functions", is_flag=True, help="Learn function tags too: NP-SBJ is not NP.")
@click.option("--templates", metavar="FILE|TEXT", help="Features of spans, such as 'first:word|last:word|length'.")
@click.option(
    "--missing-cost",
    type=float,
    default=1.0,
    show_default=True,
    help="The error of a missed constituent, against 1 for a wrong one.",
)
@hash_bits(24)
@run_options(C="0.01", tol=0.01, epochs=20)
def train_bracket(**options: Any) -> int | None:
    """Learn to parse: trees of constituents, from files of trees in brackets.

    Traces are left out. Ctrl-C ends training early: the model learnt so far is saved all the same, and the exit code
    is 130.
    """
    return run("train_bracket", options)


@train.command("classify", epilog=example("widemargin train classify --train news.svm --dev dev.svm --out news.wm"))
@file_options
@run_options(C="1", tol=0.001, epochs=1000)
@click.option("--costs", metavar="FILE", help='Error costs as JSON: {"gold": 2, "other": {"predicted": 0.5}}.')
@click.option("--balanced", is_flag=True, help="Let all classes count the same, whatever their number of examples.")
@click.option("--multilabel", is_flag=True, help="Predict sets of labels even if all examples have one.")
@click.option("--pairwise/--no-pairwise", default=True, help="Weights for pairs of labels of a set. [default: yes]")
@click.option("--intercept/--no-intercept", default=True, help="A bias for every label. [default: yes]")
def train_classify(**options: Any) -> int | None:
    """Learn to classify the examples of svmlight files.

    A line holds labels and index:value pairs; where lines have several labels, with commas between them, the model
    predicts sets of labels. Ctrl-C ends training early: the model learnt so far is saved all the same, and the exit
    code is 130.
    """
    return run("train_classify", options)


@main.command(epilog=example("widemargin evaluate upos.wm test.conllu"))
@model
@click.argument("file")
@data_options
@click.option("--no-punctuation", is_flag=True, help="Leave punctuation out of the scores of dependency trees.")
@jobs
@as_json
@click.option("--quiet", is_flag=True, help="Print the main score alone: labelled attachment, F1 or accuracy.")
def evaluate(**options: Any) -> int | None:
    """Compare what a model predicts with what is in FILE."""
    return run("evaluate", options)


@main.command(
    epilog=example(
        "widemargin predict upos.wm new.conllu --out labelled.conllu",
        "echo 'Time flies' | widemargin predict upos.wm - --text",
    )
)
@model
@click.argument("file")
@click.option("--out", default="-", metavar="FILE", help="Where to write; - is standard output. [default: -]")
@click.option("--draw", metavar="FILE.svg|-", help="Draw the trees that a parser predicts; - draws on the terminal.")
@click.option("--text", is_flag=True, help="FILE is plain text: a sequence a line, blanks between its tokens.")
@click.option("--best", type=click.IntRange(1), metavar="K", help="Write JSON lines with the K best outputs.")
@click.option("--confidence", is_flag=True, help="Write JSON lines with the probability that each answer is right.")
@click.option("--bio", is_flag=True, help="Allow only labels that mark spans properly: no I-X but after B-X or I-X.")
@click.option("--forbid", multiple=True, metavar="A:B", help="The label B may not follow A; may be repeated.")
@click.option("--at-most-one", multiple=True, metavar="TYPE", help="One span of this type at most; may be repeated.")
@click.option("--allowed", metavar="COLUMN", help="A column of labels to choose from, A,B,… or * for any.")
@click.option("--forced", metavar="COLUMN", help="A column of labels that must be predicted, _ for any.")
@data_options
@jobs
def predict(**options: Any) -> int | None:
    """Label a file, leaving all else in it untouched, or parse it.

    FILE may be - for standard input. The column is the one that the model was trained on, or else the format's own; a
    conll file without labels gets them appended. Dependency trees are written into the columns head and deprel, trees
    of constituents as brackets, one a line. --confidence needs a model that has been calibrated.
    """
    return run("predict", options)


@main.command(epilog=example("widemargin calibrate genes.wm dev.tsv --plot reliability.png"))
@model
@click.argument("file")
@click.option("--out", metavar="MODEL", help="Where to write the calibrated model. [default: MODEL itself]")
@click.option("--plot", metavar="FILE", help="Draw a reliability diagram into a PNG file.")
@data_options
@jobs
@as_json
@quiet
def calibrate(**options: Any) -> int | None:
    """Learn how sure a model may be from FILE, labelled data that it was not trained on."""
    return run("calibrate", options)


@main.command(
    epilog=example(
        "widemargin inspect upos.wm --label NOUN --label VERB",
        "widemargin inspect parser.wm --explain new.conllu --sentence 3 --token 5 --head 2",
    )
)
@model
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many of each to show.")
@click.option("--label", "labels", multiple=True, help="Show the features of this label only; may be repeated.")
@click.option("--explain", metavar="FILE", help="Tell why a parser parses a sentence of FILE as it does.")
@click.option("--sentence", type=click.IntRange(1), default=1, show_default=True, help="Which sentence of FILE.")
@click.option("--token", type=click.IntRange(1), metavar="N", help="Explain the arc to this token.")
@click.option("--head", type=click.IntRange(0), metavar="N", help="Why not this head? [default: the next best]")
@click.option("--span", callback=span, metavar="M:N", help="Explain what the words M to N are, and why not --label.")
@as_json
def inspect(**options: Any) -> int | None:
    """Show what a model has learnt.

    With --explain a parser's choice in one sentence is compared with another, feature by feature; tokens count from 1.
    """
    return run("inspect", options)


@main.command(
    epilog=example(
        "widemargin compare --train train.conllu --dev dev.conllu --label upos --solvers 'dcd,dcd(sweeps=1),perceptron'"
    )
)
@click.option("--train", "train_file", required=True, metavar="FILE", help="The data to learn from; - for stdin.")
@click.option("--dev", "dev_file", metavar="FILE", help="Development data, to score each epoch on.")
@click.option("--out", default="report", show_default=True, metavar="FOLDER", help="Where the report goes.")
@data_options
@templates
@click.option(
    "--solvers",
    callback=names,
    default="auto,dcd,sdm,adagrad,perceptron",
    show_default=True,
    metavar="A,B,…",
    help="Which ones; parameters go into brackets.",
)
@click.option("--C", "C", type=float, default=0.1, show_default=True, help="Weight of errors against large weights.")
@function_options
@click.option(
    "--epochs",
    "max_epochs",
    type=int,
    default=50,
    show_default=True,
    help="Stop each after so many passes over the data.",
)
@click.option("--tol", type=float, default=0.001, show_default=True, help="Stop each at this gap that it has proven.")
@click.option("--seconds", "max_seconds", type=float, help="Stop each after so many seconds.")
@as_json
@quiet
def compare(**options: Any) -> int | None:
    """Train with several solvers, and report which of them gets how far how fast.

    The report is a web page, its picture, a table and all measurements as JSON. Ctrl-C ends it early: what has been
    measured by then is reported all the same, and the exit code is 130.
    """
    return run("compare", options)


@main.command(epilog=example("widemargin demo --out demo"))
@click.option("--out", default="demo", show_default=True, metavar="FOLDER", help="Where the model and curves go.")
@click.option("--sequences", type=click.IntRange(20), default=2000, show_default=True, help="Addresses to learn from.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Which addresses.")
@quiet
def demo(**options: Any) -> int | None:
    """See it learn to read postal addresses."""
    return run("demo", options)
