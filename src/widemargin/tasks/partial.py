"""What taggers and segmenters share in learning from labels that are known in part.

The first completions come from naive Bayes: which features and labels go together, where something is known.
"""

from typing import Any

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.core.checks import checked_weights
from widemargin.core.examples import Examples
from widemargin.core.sparse import Rows, boundaries, taken
from widemargin.structures.examples import Partial


class PartialTokens(Partial):
    """Sequences whose gold codes are known in part; a class of `TokenExamples`, too."""

    everything: Any

    @property
    def informative(self) -> BoolVector:
        """Whether anything is known of each sequence, so that its outputs can have errors."""
        raise NotImplementedError

    @property
    def n_unknown(self) -> int:
        """The number of tokens of which several labels may be right."""
        raise NotImplementedError

    def first_completions(self) -> IntVector:
        """The best completions by naive Bayes, whose probabilities are counted where something is known."""
        completions: IntVector = self.complete(self.naive_bayes(), self.everything)
        return completions

    def naive_bayes(self) -> FloatVector:
        """Weights by how often features and labels go together."""
        raise NotImplementedError


def counting(examples: Examples, sample_weight: Any) -> Any:
    """The weights of the examples; of a sequence without any known label there is nothing to learn, so its is 0."""
    if not isinstance(examples, PartialTokens) or not examples.informative.any():
        return sample_weight
    return checked_weights(sample_weight, examples.n_examples) * examples.informative


def unknown_in(examples: Examples) -> dict[str, Any]:
    """For the summary of a model: the numbers of unknown labels, and of sequences that have no known one."""
    if not isinstance(examples, PartialTokens):
        return {}
    return {"unknown": {"labels": examples.n_unknown, "sequences": int(np.count_nonzero(~examples.informative))}}


class LabelCounts:
    """How often labels are seen; a position with a set of m labels counts as 1/m of each, unless it is all labels.

    Parameters
    ----------
    truth : the set of each position, a row of `allowed`
    allowed : (K, L) the labels of each set
    """

    def __init__(self, truth: IntVector, allowed: BoolMatrix) -> None:
        self.sizes, self.n_labels = allowed.sum(axis=1), allowed.shape[1]
        self.truth, self.useful = truth.astype(np.int64), self.sizes[truth] < self.n_labels
        labels = np.nonzero(allowed)[1].astype(np.int32)
        self.shares = Rows(boundaries(self.sizes), labels, np.repeat(1.0 / self.sizes, self.sizes))
        everywhere = np.arange(len(truth))
        prior = 1.0 + self._of_groups(everywhere, np.zeros_like(everywhere), 1)[0]
        self.prior = prior / prior.sum()

    def likely(self, places: LongVector, groups: IntVector, n_groups: int) -> FloatMatrix:
        """log p(label | group), groups having members at these places; smoothed by one label drawn from the prior."""
        counts = self._of_groups(places, groups, n_groups)
        return np.log((counts + self.prior) / (counts.sum(axis=1, keepdims=True) + 1.0))

    def _of_groups(self, places: LongVector, groups: IntVector | LongVector, n_groups: int) -> FloatMatrix:
        used = self.useful[places]
        numbers = self.truth[places[used]]
        found = taken(self.shares, numbers)
        at = np.repeat(groups[used].astype(np.int64), self.sizes[numbers]) * self.n_labels + found.indices
        counts: FloatMatrix = np.bincount(at, found.values, n_groups * self.n_labels).astype(np.float64)
        return counts.reshape(n_groups, self.n_labels)


def association(features: Rows, n_features: int, truth: IntVector, allowed: BoolMatrix) -> FloatMatrix:
    """log p(label | feature) / p(label) for each feature (row) and label (column); arguments as of `LabelCounts`."""
    counts = LabelCounts(truth, allowed)
    positions = np.repeat(np.arange(len(truth)), np.diff(features.indptr))
    return counts.likely(positions, features.indices, n_features) - np.log(counts.prior)
