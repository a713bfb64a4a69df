"""All commands on one page; the options that they share are in `options`.

`train` and `compare` have a command for every task, whose options are its parameters.
"""

from importlib import import_module
from typing import Any

import click

from widemargin._version import __version__
from widemargin.cli.config import Configured, config_option, print_config_option
from widemargin.cli.options import (
    Decorator,
    as_json,
    data_options,
    example,
    format_options,
    jobs,
    model,
    names,
    options_added_by,
    quiet,
    span,
    tags,
    task_options,
    text_options,
    together,
    train_files,
)
from widemargin.cli.program import CommandLine
from widemargin.tasks import TASKS, task

Options = dict[str, Any]


def run(place: str, options: Options) -> int | None:
    """Run a command, given by its file, or its file and function, with a dot between them; return its exit code."""
    file, _, function = place.partition(".")
    code: int | None = getattr(import_module(f"widemargin.cli.{file}"), function or "run")(**options)
    return code


class ByTask(click.Group):
    """A group with a command for every task, made on demand.

    Parameters
    ----------
    command : the file that does the work
    options : options besides those of the task
    defaults : defaults that replace those of some parameters
    remark : the last sentences of every help text
    default : the task if the user names none; None makes naming one compulsory
    """

    def __init__(
        self,
        *arguments: Any,
        command: str,
        options: Decorator,
        defaults: Options,
        remark: str,
        default: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*arguments, **more)
        self.work, self.own, self.defaults, self.remark, self.default = command, options, defaults, remark, default

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The tasks that have a command line."""
        return [name for name in TASKS if task(name).files is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a task."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found = task(cmd_name)
        command = Configured(
            cmd_name,
            callback=lambda **options: run(self.work, {"name": cmd_name, "options": options}),
            help=f"{found.does}\n\n{self.remark}",
            epilog=example(f"widemargin {self.work} {cmd_name} {self.example_of(found.example)}"),
        )
        shared = options_added_by(self.own)
        first = [shared.pop(name) for name in ("train_file", "dev_file", "out")]
        own = task_options(found, **self.defaults)
        command.params = [*first, *own, *shared.values(), config_option(), print_config_option()]
        return command

    def example_of(self, text: str) -> str:
        """The example of a task, without --out in a command that has a default task."""
        return text if self.default is None else text.partition(" --out")[0]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default task if none is named."""
        if self.default is not None and args and args[0] not in (*self.list_commands(ctx), "-h", "--help"):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


@click.group(
    "widemargin",
    cls=CommandLine,
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

    Results go to standard output, progress to standard error. Exit codes: 0 done, 2 wrong input, 130 interrupted,
    143 ended by SIGTERM before there was anything to save.
    """


main.add_command(
    ByTask(
        "train",
        help="Learn a model from labelled data.",
        command="train",
        options=together(
            train_files,
            click.option("--out", required=True, metavar="MODEL", help="Where to write the model."),
            click.option(
                "--out-of-core",
                is_flag=True,
                help="For data larger than memory: keep features in a temporary folder instead. FILE may then be a "
                "pattern such as 'corpus/*.conllu'.",
            ),
            click.option(
                "--cache",
                metavar="FOLDER",
                help="As --out-of-core, in a folder that is kept and used again for the same data and features.",
            ),
            click.option("--checkpoint", metavar="FILE", help="Save the state of training in FILE as it proceeds."),
            click.option("--resume", is_flag=True, help="Continue from the checkpoint, if it exists."),
            click.option("--curves", metavar="FILE", help="Draw objective, gap and development score into a PNG file."),
            as_json,
            quiet,
        ),
        defaults={},
        remark="Ctrl-C or SIGTERM ends training early: the model learnt so far is saved, and the exit code is 130. "
        "Before anything has been learnt, no file is changed.",
    )
)
main.add_command(
    ByTask(
        "compare",
        help="Train with several solvers, and report how far and how fast each gets.\n\nThe report is a web page, its "
        "picture, a table and all measurements as JSON. Without a task, taggers are compared.",
        command="compare",
        options=together(
            train_files,
            click.option("--out", default="report", show_default=True, metavar="FOLDER", help="Where the report goes."),
            click.option(
                "--solvers",
                callback=names,
                default="auto,dcd,sdm,adagrad,perceptron",
                show_default=True,
                metavar="A,B,…",
                help="Solvers to compare; parameters go into brackets.",
            ),
            as_json,
            quiet,
        ),
        defaults={"max_epochs": 50, "tol": 0.001},
        remark="Trains with each solver. Ctrl-C or SIGTERM ends the comparison early: the report covers what was "
        "measured by then, and the exit code is 130.",
        default="tag",
    )
)


@main.command(epilog=example("widemargin evaluate upos.wm test.conllu"))
@model
@click.argument("file")
@data_options
@tags
@click.option("--no-punctuation", is_flag=True, help="Leave punctuation out of the scores of dependency trees.")
@jobs
@as_json
@click.option("--quiet", is_flag=True, help="Print only the main score: labelled attachment, F1 or accuracy.")
def evaluate(**options: Any) -> int | None:
    """Compare the predictions of a model with the labels in FILE."""
    return run("scores.evaluate", options)


@main.command(
    epilog=example(
        "widemargin score test.conllu predicted.conllu --label upos",
        "widemargin score test.mrg predicted.mrg --quiet",
    )
)
@click.argument("gold")
@click.argument("predicted")
@click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    help="What to compare. [default: by the format, the label column and what is in the file]",
)
@data_options
@click.option("--no-punctuation", is_flag=True, help="Leave punctuation out of the scores of dependency trees.")
@as_json
@click.option("--quiet", is_flag=True, help="Print only the main score.")
def score(**options: Any) -> int | None:
    """Compare the outputs in PREDICTED with those in GOLD, a file about the same inputs, without a model.

    The scores are those of `evaluate`: labels and spans, dependency trees, brackets, classes, rankings, clusters,
    coreference, summaries.
    """
    return run("scores.score", options)


@main.command(
    epilog=example(
        "widemargin predict upos.wm new.conllu --out labelled.conllu",
        "echo 'Time flies like an arrow' | widemargin predict english.wm - --text",
    )
)
@model
@click.argument("file")
@click.option("--out", default="-", metavar="FILE", help="Where to write; - is standard output. [default: -]")
@click.option(
    "--draw",
    metavar="FILE.svg|-",
    help="Draw the predicted trees or clusters; texts with entities or summaries are drawn in FILE.html; - draws on "
    "the terminal.",
)
@text_options
@tags
@click.option("--best", type=click.IntRange(1), metavar="K", help="Write JSON lines with the K best outputs.")
@click.option("--confidence", is_flag=True, help="Write JSON lines with the probability that each answer is right.")
@click.option("--probabilities", is_flag=True, help="Write JSON lines with the probabilities of all likely parts.")
@click.option("--minimum-risk", is_flag=True, help="Predict the outputs with the least expected error.")
@click.option("--bio", is_flag=True, help="Allow only labels that mark spans properly: I-X only after B-X or I-X.")
@click.option("--forbid", multiple=True, metavar="A:B", help="The label B may not follow A; may be repeated.")
@click.option("--at-most-one", multiple=True, metavar="TYPE", help="At most one span of this type; may be repeated.")
@click.option("--allowed", metavar="COLUMN", help="A column of labels to choose from: A,B,… or * for any.")
@click.option("--forced", metavar="COLUMN", help="A column of labels that must be predicted; _ for any.")
@data_options
@jobs
def predict(**options: Any) -> int | None:
    """Label a file, leaving the rest of it untouched, or parse it.

    FILE may be - for standard input. Labels go into the column that the model was trained on, or else the format's own;
    a conll file without labels gets a new last column. Dependency trees go into the columns head and deprel, and tags
    that the parser predicts into theirs. Trees of constituents are written as brackets, one per line. --confidence
    needs a calibrated model; --probabilities and --minimum-risk need one that was trained with the objective likelihood
    or softmax-margin.
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
    """Learn how sure a model may be, from FILE: labelled data that it was not trained on."""
    return run("scores.calibrate", options)


@main.command(
    epilog=example(
        "widemargin inspect upos.wm --label NOUN --label VERB",
        "widemargin inspect parser.wm --explain new.conllu --sentence 3 --token 5 --head 2",
        "widemargin inspect upos.wm --card > upos.md",
    )
)
@model
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many of each to show.")
@click.option("--label", "labels", multiple=True, help="Show the features of this label only; may be repeated.")
@click.option("--explain", metavar="FILE", help="Explain a prediction for one sentence or example of FILE.")
@click.option("--sentence", type=click.IntRange(1), default=1, show_default=True, help="Which one of FILE.")
@click.option("--token", type=click.IntRange(1), metavar="N", help="Explain the label of this token, or the arc to it.")
@click.option("--head", type=click.IntRange(0), metavar="N", help="Why not this head? [default: the next best]")
@click.option(
    "--span", callback=span, metavar="M:N", help="Explain the label of the words M to N, and why not --label."
)
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FILE",
    help="Write a motif into FILE.meme for other programs, or its logo into FILE.svg or FILE.png; or a tagger of "
    "ready-made features into FILE.crfsuite; may be repeated.",
)
@click.option("--card", is_flag=True, help="Print a model card in Markdown; what only you know is left to fill in.")
@as_json
def inspect(**options: Any) -> int | None:
    """Show what a model has learnt.

    With --explain, what taggers, parsers and classifiers choose is compared with an alternative, feature by feature;
    --label names the alternative. Tokens count from 1.
    """
    return run("inspect", options)


@main.command(
    epilog=example(
        "widemargin cluster-words news.txt --text --split --clusters 1000 --out brown.tsv",
        "widemargin train tag --train train.conllu --clusters brown=brown.tsv --out upos.wm",
    )
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--out", required=True, metavar="FILE", help="Where to write lines 'bits TAB word TAB count'.")
@click.option("--clusters", type=click.IntRange(2), default=1000, show_default=True, help="The number of clusters.")
@click.option(
    "--min-count", type=click.IntRange(1), default=3, show_default=True, help="Leave out words rarer than this."
)
@text_options
@format_options
@as_json
@quiet
def cluster_words(**options: Any) -> int | None:
    """Cluster the words of a text by their neighbours (Brown's algorithm), as features for other models.

    FILE may be - for standard input; its labels are not looked at. Time grows with the number of different words and
    with the square of the number of clusters, memory with the number of different pairs of words. Ctrl-C ends it at
    once, and no file is changed.
    """
    return run("cluster_words", options)


@main.command(epilog=example("widemargin demo --out demo"))
@click.option("--out", default="demo", show_default=True, metavar="FOLDER", help="Where the model and curves go.")
@click.option(
    "--sequences", type=click.IntRange(20), default=2000, show_default=True, help="Number of addresses to learn from."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random addresses.")
@quiet
def demo(**options: Any) -> int | None:
    """See it learn to read postal addresses."""
    return run("demo", options)


@main.command(epilog=example("widemargin warm", "widemargin warm tag parse"))
@click.argument("tasks", nargs=-1, metavar="[TASK]…")
@quiet
def warm(**options: Any) -> int | None:
    """Compile all that the tasks need, so that first runs start at once.

    Without a TASK, all are warmed up. Run it when installing, or while building the image of a container: what it
    compiles is kept in the user's cache, or in the folder that NUMBA_CACHE_DIR names, for the processor it runs on.
    """
    return run("warm", options)


for each in main.commands.values():
    if not isinstance(each, click.Group):  # the commands of a group have it
        each.params.append(config_option())
