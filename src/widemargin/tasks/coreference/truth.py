"""Which choices of mentions are right, and the costs of errors.

Δ = 0 if right, `false_anaphor` for a link that should not be, `false_new` for a link that is missing, and
`wrong_link` for one to another entity.
"""

from typing import NamedTuple

from widemargin._jit import kernel
from widemargin._types import BoolVector

NEW = 0
"""The output for a mention that starts an entity; others count how many mentions back the antecedent is."""


class ErrorCosts(NamedTuple):
    """The cost of each kind of error; the defaults are those of Durrett & Klein (2013)."""

    false_anaphor: float = 0.1
    false_new: float = 3.0
    wrong_link: float = 1.0


class Truth(NamedTuple):
    """Which pairs are right, which mentions have any that is, and what errors cost."""

    right: BoolVector
    anaphoric: BoolVector
    costs: ErrorCosts


@kernel
def cost_of_new(truth: Truth, m: int) -> float:
    """Δ of starting an entity with mention m."""
    return truth.costs.false_new if truth.anaphoric[m] else 0.0


@kernel
def cost_of_wrong(truth: Truth, m: int) -> float:
    """Δ of a link of mention m that is not right."""
    return truth.costs.wrong_link if truth.anaphoric[m] else truth.costs.false_anaphor
