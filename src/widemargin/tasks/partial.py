"""What taggers and segmenters share in learning from labels that are known in part."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from widemargin._types import BoolVector
from widemargin.core.examples import Examples
from widemargin.core.problem import checked_weights


@runtime_checkable
class Partial(Protocol):
    """Examples whose gold labels are known in part."""

    @property
    def informative(self) -> BoolVector:
        """Whether anything is known of each sequence, so that its outputs can have errors."""

    @property
    def n_unknown(self) -> int:
        """The number of tokens whose label is not known exactly."""


def counting(examples: Examples, sample_weight: Any) -> Any:
    """The weights of the examples; of a sequence without any known label there is nothing to learn, so its is 0."""
    if not isinstance(examples, Partial) or not examples.informative.any():
        return sample_weight
    return checked_weights(sample_weight, examples.n_examples) * examples.informative


def unknown_in(examples: Examples) -> dict[str, Any]:
    """For the summary of a model: the numbers of unknown labels, and of sequences that have no known one."""
    if not isinstance(examples, Partial):
        return {}
    return {"unknown": {"labels": examples.n_unknown, "sequences": int(np.count_nonzero(~examples.informative))}}
