"""`python -m widemargin` is the command `widemargin`."""

from widemargin.cli import main

main()
