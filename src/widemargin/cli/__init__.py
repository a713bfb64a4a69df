"""The command `widemargin`.

`commands` is its whole surface on one page and imports nothing but click, so that help, completion and mistakes in the
options answer at once; what a command does is in the file of its name, loaded when it runs.
"""

from widemargin.cli.commands import main

__all__ = ["main"]
