"""Options from a file: `--config run.toml`.

A key is the name of an option, with `-` or `_` between words; a table with the name of a command holds options for that
command alone:

    train = "train.conllu"
    label = "upos"
    epochs = 20
    C = [0.1, 1]
    lexicon = { cities = "cities.txt" }

    [train]
    out = "upos.wm"

The command line overrides the file. A value is treated as if it stood on the command line, so relative paths start from
the current folder, and mistakes are found in the same way.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from widemargin.errors import DataError
from widemargin.report.text import json_text

TEXT = "FILE|TEXT"
"""The placeholder of options whose value is text, or a file of it: templates."""


def config_option() -> click.Option:
    """The option `--config`."""
    return click.Option(
        ["--config"],
        metavar="FILE",
        is_eager=True,  # the defaults that it sets must be there before any other option is looked at
        expose_value=False,
        callback=_use,
        help="Read options from a TOML file; those of the command line win.",
    )


def print_config_option() -> click.Option:
    """The option `--print-config`."""
    return click.Option(
        ["--print-config"],
        is_flag=True,
        help="Print all options as they are in force, as a file for --config, and do nothing else.",
    )


def _use(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    options = options_of(ctx.command)
    values = {}
    for key, value in _entries(path, ctx):
        option = options.get(key.replace("_", "-"))
        if option is None:
            raise DataError(f"{path}: there is no option {key!r} of this command{_closest(key, options)}")
        values[str(option.name)] = _check(ctx, option, _as_typed(value, option, f"{path}: {key}"), f"{path}: {key}")
    ctx.default_map = values


def options_of(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their names on the command line, without dashes in front."""
    found = [each for each in command.params if isinstance(each, click.Option)]
    known = {name.removeprefix("--"): each for each in found for name in each.opts}
    return {name: each for name, each in known.items() if name not in ("config", "print-config", "help")}


def _entries(path: str, ctx: click.Context) -> Iterator[tuple[str, Any]]:
    """The keys and values for a command; those of its own table come last, and override others."""
    from widemargin.cli.commands import main

    content = _read(path)
    running = ctx.command_path.split()
    own: dict[str, Any] = {}
    for key, value in content.items():
        if key in main.commands and isinstance(value, dict):
            own |= value if key in running else {}
        else:
            yield key, value
    yield from own.items()


def _read(path: str) -> dict[str, Any]:
    import tomllib

    from widemargin.files.raw import RawText

    text = "\n".join(RawText.load(path).lines)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise DataError(f"{path} is not TOML: {error}") from error


def _closest(key: str, options: Mapping[str, click.Option]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(key.replace("_", "-"), options, n=1)
    return f"; did you mean {found[0]!r}?" if found else f"; there are {', '.join(options)}"


def _as_typed(value: Any, option: click.Option, place: str) -> Any:
    """A value in the form that the command line would pass."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise DataError(f"{place} must be true or false, not {value!r:.60}")
        return value
    if option.multiple:
        pairs = [f"{name}={_word(each, place)}" for name, each in value.items()] if isinstance(value, dict) else None
        items = value if isinstance(value, list) else [value]
        return pairs if pairs is not None else [_word(each, place) for each in items]
    between = "\n" if option.metavar == TEXT else ","  # a template may have a comma in it
    return between.join(_word(each, place) for each in value) if isinstance(value, list) else _word(value, place)


def _word(value: Any, place: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"{place} must be a text or a number, not {value!r:.60}")
    return value if isinstance(value, str) else repr(value)


def _check(ctx: click.Context, option: click.Option, value: Any, place: str) -> Any:
    """The value, or an error that names its place in the file."""
    try:
        option.process_value(ctx, value)
    except click.BadParameter as error:
        raise DataError(f"{place}: {error.message.rstrip('.')}") from None
    return value


class Configured(click.Command):
    """A command that can print its options instead of running."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, or print its options."""
        if not ctx.params.pop("print_config", False):
            return super().invoke(ctx)
        values = ((name, ctx.params[str(option.name)]) for name, option in options_of(self).items())
        return click.echo("\n".join(f"{name} = {_in_toml(value)}" for name, value in values if value not in (None, [])))


SPELT: Mapping[type, Callable[[Any], str]] = {bool: lambda value: str(value).lower(), int: repr, float: repr}


def _in_toml(value: Any) -> str:
    """A value in TOML; NAME=FILE pairs become an inline table."""
    if isinstance(value, list | tuple):
        if all(isinstance(each, tuple) for each in value):
            return "{ " + ", ".join(f"{name} = {_in_toml(file)}" for name, file in value) + " }"
        return "[" + ", ".join(map(_in_toml, value)) + "]"
    # A basic string of TOML is written like one of JSON.
    return SPELT[type(value)](value) if type(value) in SPELT else json_text(str(value))
