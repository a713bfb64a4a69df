"""Learning without knowing what is learnt: problems, cuts, the training loop, certificates, model files.

The names of losses and penalties are here because the command line lists them without loading anything else.
"""

from typing import Literal

Loss = Literal["squared_hinge", "hinge"]
Penalty = Literal["l2", "l1", "elastic-net", "none"]
