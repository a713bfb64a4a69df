"""The command `widemargin`.

`commands` lists all commands on one page and imports little but click, so that help, completion and wrong options
answer at once. The work of a command is in a file that is loaded when the command runs.
"""

from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line, and exit."""
    from widemargin.cli.signals import SIGNALS, open_streams

    open_streams()
    SIGNALS.listen()
    try:
        from widemargin.cli.commands import main as program

        program.main(arguments)
    finally:
        SIGNALS.ignore()
