"""The names of losses and penalties, free of everything else: the command line lists them before it loads anything."""

from typing import Literal

Loss = Literal["squared_hinge", "hinge"]
Penalty = Literal["l2", "l1"]
