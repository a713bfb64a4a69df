"""The names of losses and penalties, in a module of their own: the command line lists them without loading the rest."""

from typing import Literal

Loss = Literal["squared_hinge", "hinge"]
Penalty = Literal["l2", "l1", "elastic-net", "none"]
