"""The command `widemargin`.

`commands` lists all commands on one page and imports little but click, so that help, completion and wrong options
answer at once. The work of a command is in the file of its name, which is loaded when the command runs.
"""

from widemargin.cli.commands import main

__all__ = ["main"]
