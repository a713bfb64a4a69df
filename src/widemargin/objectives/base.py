"""What an objective is: the rule by which decoded outputs become cuts."""

from typing import ClassVar, Literal, Protocol

import numpy as np

from widemargin._types import FloatVector, IntVector
from widemargin.cuts import Cuts
from widemargin.structures.base import Examples

Kind = Literal["maximum", "smooth"]


class Objective(Protocol):
    """Turns decoded outputs into cuts.

    A slack is the ``"maximum"`` of one cut per output, or it is ``"smooth"`` and its cuts are tangents, infinitely
    many. `requires` names the protocols (`structures.base`) that the examples must offer beyond decoding. Where the
    cuts are not always the most violated ones although decoding is `exact`, nothing is called proven.
    """

    kind: ClassVar[Kind] = "maximum"
    requires: ClassVar[tuple[type, ...]] = ()
    exact: ClassVar[bool] = True

    def blocks(self, examples: Examples) -> IntVector:
        """The example that each block belongs to, in ascending order; one block per example unless told otherwise."""
        return np.arange(examples.n_examples, dtype=np.int32)

    def cuts(self, examples: Examples, w: FloatVector, batch: IntVector) -> Cuts:
        """The most violated cut at `w` of every block of the batch's examples."""
