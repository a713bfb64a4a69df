"""All commands on one page; what options they share is in `options`.

Options that are parameters of training are handed over under the names that those have (`widemargin.training`).
"""

from importlib import import_module
from typing import Any

import click

from widemargin._version import __version__
from widemargin.cli.options import (
    as_json,
    data_options,
    example,
    file_options,
    format_options,
    function_options,
    hash_bits,
    jobs,
    model,
    names,
    quiet,
    run_options,
    span,
    templates,
    training_options,
)
from widemargin.cli.program import Program


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
