"""Options that several commands share, those made from the parameters of a task, and checks of files to be written."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click

from widemargin.errors import WidemarginError
from widemargin.files.formats import FORMATS
from widemargin.tasks import Task
from widemargin.tasks.parameters import Parameters, text_of

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
    """Names separated by commas, with optional parameters in brackets; commas inside brackets do not count."""
    if value is None:
        return None
    cut = [name.strip() for name in COMMA.split(value)]
    if not all(cut):
        raise click.BadParameter(f"{value!r} has an empty name")
    return cut


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """Numbers separated by commas."""
    if value is None:
        return None
    parts: Sequence[Any] = value.split(",")
    return [click.FLOAT.convert(each, param, ctx) for each in parts]


def whole_numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> int | list[int] | None:
    """One whole number, or several separated by commas."""
    if value is None:
        return None
    parts: Sequence[Any] = str(value).split(",")
    found = [click.INT.convert(each, param, ctx) for each in parts]
    return found[0] if len(found) == 1 else found


def span(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Two numbers separated by a colon."""
    if value is None:
        return None
    first, colon, last = value.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal()):
        raise click.BadParameter(f"{value!r} is not of the form M:N")
    return int(first), int(last)


def example(*lines: str) -> str:
    """Example lines for the end of a help text, marked so that click does not wrap them."""
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
        "format",
        type=click.Choice(list(FORMATS)),
        help="The format of the data. [default: by the file's name and first line]",
    ),
    click.option(
        "--columns", callback=names, metavar="A,B,…", help="Names for the columns of a conll file, the label last."
    ),
)
text_options = together(
    click.option("--text", is_flag=True, help="FILE is plain text, one sequence per line."),
    click.option(
        "--split/--no-split",
        default=None,
        help="With --text: tokens are words, punctuation and English clitics, or what stands between blanks. [default: "
        "split for parsers]",
    ),
)
data_options = together(
    click.option("--label", metavar="COLUMN", help="The label column: its name, or its number counting from 1."),
    format_options,
)


def options_added_by(options: Decorator) -> dict[str, click.Parameter]:
    """The options that a decorator adds, by name."""
    command = click.Command("")
    options(command)
    return {str(option.name): option for option in reversed(command.params)}  # click collects from last to first


unknown_options = together(
    click.option(
        "--unknown",
        metavar="TEXT",
        help="How the label column writes a label that is unknown; '' if every value is a label. [default: _; in the "
        "columns feats and misc of CoNLL-U every value is a label]",
    ),
    click.option(
        "--alternatives", metavar="TEXT", help="What stands between labels of which one is right, such as '|'."
    ),
)
tags = click.option(
    "--tags",
    type=click.Choice(["predicted", "given"]),
    help="Parsers only: tags by the model itself, or those in FILE. [default: as the model was trained]",
)
READING = options_added_by(together(data_options, unknown_options))
"""The options that say how files are read."""

jobs = click.option("--jobs", type=int, default=-1, help="Threads; -1 uses all cores.", show_default=True)
quiet = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")
model = click.argument("model")
train_files = together(
    click.option("--train", "train_file", required=True, metavar="FILE", help="The data to learn from; - for stdin."),
    click.option(
        "--dev", "dev_file", metavar="FILE", help="Development data: the epoch that scores best on it is kept."
    ),
)

GIVEN_AS: Mapping[str, Mapping[str, Any]] = {
    "numbers": {"callback": numbers},
    "whole numbers": {"callback": whole_numbers, "type": str},
    "names": {"callback": names},
    "lexicons": {"callback": pairs, "multiple": True},
    "clusters": {"callback": pairs, "multiple": True},
    "whole number": {"type": click.IntRange(1)},
}
"""Arguments of click that do not follow from a type; keys are `given_as` of `tasks.parameters.parameter`."""


def parameter_fields(task: Task) -> dict[str, tuple[type, "Field[Any]"]]:
    """The parameters of all kinds of models of a task, and the task's options, each with its dataclass.

    Parameters that only this task has come first.
    """
    owners = [each for each in (task.options, *(kind.parameters for kind in task.kinds.values())) if each]
    found = {field.name: (owner, field) for owner in owners for field in fields(owner)}
    shared = {field.name for field in fields(Parameters)}
    return dict(sorted(found.items(), key=lambda item: item[0] in shared))


def task_options(task: Task, **defaults: Any) -> list[click.Parameter]:
    """The options of a task: how to read files, and its parameters; `defaults` replace some of their defaults."""
    chosen = [READING[name] for name in task.reads]
    return [*chosen, *_options(parameter_fields(task), defaults)]


def _options(
    parameters: Mapping[str, tuple[type, "Field[Any]"]], defaults: Mapping[str, Any]
) -> Iterator[click.Option]:
    for name, (owner, field) in parameters.items():
        about = field.metadata
        if about["option"] is None:
            continue
        flag = about["option"] or "--" + name.replace("_", "-")
        default = defaults.get(name, field.default)
        more = dict(GIVEN_AS.get(about["given_as"]) or _by_type(field, flag))
        text = text_of(owner, field, "on_command_line")
        if about["given_as"] in ("names", "lexicons", "clusters"):
            default = None
        yield click.Option(
            [more.pop("flag", flag), name],
            help=text,
            default=default,
            show_default=default is not None,
            metavar=about["metavar"],
            **more,
        )


def _by_type(field: "Field[Any]", flag: str) -> dict[str, Any]:
    """Arguments of click for a value of this type, in the range of whole numbers if there is one; none for strings."""
    kind: Any = field.type
    wanted = (
        [each for each in get_args(kind) if each is not type(None)]
        if get_origin(kind) in (UnionType, Union)
        else [kind]
    )
    kind = wanted[0]
    if kind is bool:
        return {"is_flag": True, "flag": flag if "/" in flag else f"{flag}/--no-{flag[2:]}"}
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        back = {str(choice): choice for choice in choices}
        return {
            "type": click.Choice(list(back)),
            "callback": lambda ctx, param, value: back.get(str(value)),
        }
    limits = field.metadata["range"]
    if kind is int and limits.least is not None:
        return {"type": click.IntRange(limits.least, limits.most)}
    return {"type": kind} if kind in (int, float) else {}


def check_target(path: str, *, inputs: Iterable[str | None] = ()) -> None:
    """Raise an error now, not after an hour of work, if the file `path` cannot be written or is one of the inputs."""
    import tempfile  # not needed for help

    target = Path(path)
    if target.is_dir():
        raise WidemarginError(f"{path} is a folder; give the name of a file to write")
    if target.exists() and any(each is not None and _same(target, each) for each in inputs):
        raise WidemarginError(f"{path} is read by this command; give another name to the file to write")
    if target.exists() and not target.is_file():
        return  # a device or a pipe, which needs no new file
    folder = Path(os.path.realpath(path)).parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise WidemarginError(f"{path} cannot be written into {folder}: {error.strerror}") from error


def check_folder(path: str, files: Iterable[str], *, inputs: Sequence[str | None] = ()) -> None:
    """Check `files` in the folder `path`, which need not exist yet, in the same way."""
    folder = Path(path)
    if folder.is_dir():
        for name in files:
            check_target(str(folder / name), inputs=inputs)
        return
    above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not above.is_dir():
        raise WidemarginError(f"{above} is a file; {path} cannot be made a folder")
    check_target(str(above / folder.name))


def _same(target: Path, other: str) -> bool:
    return os.path.exists(other) and target.samefile(other)
