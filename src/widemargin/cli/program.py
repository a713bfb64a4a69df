"""The end of the program: errors as one sentence on standard error, and an exit code for scripts.

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | the reader of the output has gone (`| head`) |
| 2 | wrong options, or a mistake in a file; nothing was written |
| 130 | interrupted by Ctrl-C or another signal; `train` has saved the model so far, `compare` the report so far |
| 128 + n | ended by signal n (130 Ctrl-C, 143 SIGTERM) before there was anything to save; files are as they were |

With `WIDEMARGIN_DEBUG=1` in the environment, errors are raised instead, for developers.
"""

import logging
import os
import sys
import warnings
from contextlib import suppress
from typing import Any, NoReturn

import click

from widemargin.cli.signals import SIGNALS
from widemargin.errors import WidemarginError
from widemargin.report.text import printable

BROKEN_PIPE, WRONG, INTERRUPTED = 1, 2, 130


class CommandLine(click.Group):
    """A group that prints errors as one sentence; its commands return an exit code, or None for success."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run a command line, and exit."""
        try:
            with warnings.catch_warnings(), _Warnings(logging.WARNING):
                warnings.showwarning = _warn
                code = super().main(*args, **{**kwargs, "standalone_mode": False})
            # Flush here: when the interpreter exits, a full disk would only cause a warning.
            sys.stdout.flush()
        except click.Abort:
            code = _complain(SIGNALS.sentence, SIGNALS.code)
        except click.ClickException as error:
            code = _complain(error.format_message(), error.exit_code)
        except (WidemarginError, OSError, UnicodeError, MemoryError) as error:
            if os.environ.get("WIDEMARGIN_DEBUG"):
                raise
            code = _end(error)
        sys.exit(code or 0)


class _Warnings(logging.Handler):
    """Prints the library's logged warnings, within a `with` block."""

    def __enter__(self) -> None:
        logging.getLogger("widemargin").addHandler(self)

    def __exit__(self, *error: object) -> None:
        logging.getLogger("widemargin").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        _warn(record.getMessage())


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one sentence, without the place in the code that it comes from."""
    say("warning: " + str(message).rstrip("."))


def say(sentence: str) -> None:
    """Print a sentence on standard error, with control characters escaped; a closed stream is ignored."""
    with suppress(OSError):
        click.echo(printable(sentence.replace("\n", " ")), err=True)


def _end(error: Exception) -> int:
    if isinstance(error, OSError):
        _give_up_output()
    if isinstance(error, BrokenPipeError) or isinstance(error.__cause__, BrokenPipeError):
        return BROKEN_PIPE
    return _complain(_sentence(error), WRONG)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        what = "the output cannot be written" if error.filename is None else f"{error.filename} cannot be used"
        return f"{what}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "there is not enough memory; use fewer features (--min-count, --hash-bits)"
    return str(error)


def _complain(sentence: str, code: int) -> int:
    say("error: " + sentence.rstrip("."))
    return code


def _give_up_output() -> None:
    """Discard the rest of standard output if it cannot be written, because Python would try again on exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
