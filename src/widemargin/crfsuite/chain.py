"""Single sequences of ready-made features: their scores, best labels and probabilities, with little overhead.

One kernel hashes names, looks them up and adds their weights, without rows of features in between. Weights are added in
the order of the names.
"""

from typing import Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import ByteVector, FloatMatrix, FloatVector, IntVector, KeyVector, LongVector
from widemargin.core.sparse import Rows, add_thin_features
from widemargin.decoders.viterbi import reach_of, viterbi
from widemargin.text.alphabet import FeatureIndex, number_of
from widemargin.text.hashing import hash_pieces


@kernel
def _keys(text: ByteVector, n: int) -> KeyVector:
    """The keys of `n` names, separated by zeros."""
    joined, lengths, i, write = np.empty(len(text), dtype=np.uint8), np.zeros(n, dtype=np.int64), 0, 0
    for byte in text:
        if byte == 0:
            i += 1
        else:
            joined[write] = byte
            lengths[i] += (byte & 0xC0) != 0x80
            write += 1
    return hash_pieces(joined[:write], lengths)


@kernel
def _emission(
    text: ByteVector,
    values: FloatVector,
    counts: LongVector,
    slots: KeyVector,
    numbers: IntVector,
    size: int,
    indptr: LongVector,
    indices: IntVector,
    weights: FloatVector,
    emission: FloatMatrix,
) -> None:
    """Add the weights of all known names to the scores of their positions."""
    n = 0
    for count in counts:
        n += count
    keys, k = _keys(text, n), 0
    # One row of one entry, used again for every name, so that `add_thin_features` serves here without an allocation.
    row = Rows(np.array([0, 1]), np.empty(1, dtype=np.int32), np.ones(1))
    rows = Rows(indptr, indices, weights)
    for t in range(len(counts)):
        for _ in range(counts[t]):
            number = number_of(keys[k], slots, numbers, size)
            if number >= 0:
                row.indices[0] = number
                if len(values) > 0:
                    row.values[0] = values[k]
                add_thin_features(row, 0, rows, emission[t])
            k += 1


@kernel
def _best(
    emission: FloatMatrix, transition: FloatMatrix, begin: FloatVector, end: FloatVector, labels: IntVector
) -> None:
    """Write the best labels."""
    n, n_labels = emission.shape
    prefixes, arrival = np.empty((n, n_labels)), np.empty((n, n_labels))
    for t in range(n):
        for label in range(n_labels):
            prefixes[t, label] = emission[t, label]
    shared = transition.reshape(1, n_labels, n_labels)
    viterbi(prefixes, shared, reach_of(shared), begin, end, prefixes, arrival, labels)


class SingleSequences:
    """A chain over named features, asked about one sequence at a time.

    Parameters
    ----------
    labels : their names
    index : the numbers of features by the keys of their names
    rows : the weights of each feature, a sparse row over labels
    transition, begin, end : the weights of pairs of labels, of first and of last labels
    """

    def __init__(
        self,
        labels: list[str],
        index: FeatureIndex,
        rows: Rows,
        transition: FloatMatrix,
        begin: FloatVector,
        end: FloatVector,
    ) -> None:
        self.labels = labels
        self._features: Any = (*index.table, *rows)
        self._chain = transition, begin, end

    def scores(self, text: ByteVector, values: FloatVector, counts: LongVector) -> FloatMatrix:
        """The score of each label at each position.

        Parameters
        ----------
        text : the UTF-8 bytes of all names, separated by zeros
        values : the value of each name; empty for ones
        counts : the number of names at each position
        """
        emission = np.zeros((len(counts), len(self.labels)))
        _emission(text, values, counts, *self._features, emission)  # type: ignore[call-arg]
        return emission

    def best(self, emission: FloatMatrix) -> IntVector:
        """The numbers of the best labels of a sequence with these scores, which is not empty."""
        labels = np.empty(len(emission), dtype=np.int32)
        _best(emission, *self._chain, labels)
        return labels

    def posteriors(self, emission: FloatMatrix) -> tuple[FloatMatrix, float]:
        """The probability of each label at each position, and log Z."""
        from widemargin.structures.chain_sums import chain_sums  # many programs only tag
        from widemargin.structures.flat import Scores

        transition, begin, end = self._chain
        starts, sizes = np.zeros(1, dtype=np.int64), np.array([len(emission)])
        scores = Scores(starts, sizes, emission.ravel(), np.concatenate([transition.ravel(), begin, end]))
        log_z, found = chain_sums(scores, len(self.labels))
        return found.own.reshape(emission.shape), float(log_z[0])

    def score(self, emission: FloatMatrix, labels: IntVector) -> float:
        """The score of these labels."""
        transition, begin, end = self._chain
        pairs = transition[labels[:-1], labels[1:]].sum()
        return float(emission[np.arange(len(labels)), labels].sum() + pairs + begin[labels[0]] + end[labels[-1]])
