"""From the probabilities of segments to those of tokens, and to the segmentation of minimum risk.

If a wrong segment costs 1 and a missed one 1, and tokens outside cost nothing, a segmentation y costs on average

    Σ over its segments of (1 − p) + Σ over all others of p   =   a constant − Σ over its segments of (2p − 1)

so the best one for these sums is that of minimum risk. The semi-Markov decoder finds it.
"""

from collections.abc import Iterator

import numpy as np

from widemargin._types import BoolVector, FloatMatrix, IntVector
from widemargin.decoders.semimarkov import semimarkov


def _table(rows: FloatMatrix, n: int, longest: int) -> FloatMatrix:
    """(n, ≤ longest, L) probabilities from a row for each candidate span; −1 beyond the end of the sequence."""
    longest = min(longest, n)
    t, d = np.divmod(np.arange(n * longest), max(longest, 1))
    table = np.full((n * longest, rows.shape[1]), -1.0)
    table[t + d < n] = rows
    return table.reshape(n, longest, rows.shape[1])


def token_probabilities(rows: FloatMatrix, n: int, longest: int) -> FloatMatrix:
    """For each of n tokens, the probability that it is in a segment with each label.

    >>> token_probabilities(np.array([[0.25], [0.75], [0.25]]), 2, 2)  # the first token, both, the second
    array([[1.],
           [1.]])
    """
    table, found = np.maximum(_table(rows, n, longest), 0.0), np.zeros((n, rows.shape[1]))
    reaching = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]  # segments from t on that hold the token t + d
    for d in range(table.shape[1]):
        found[d:] += reaching[: n - d, d]
    return found


def likely_segments(rows: FloatMatrix, n: int, longest: int, least: float) -> Iterator[tuple[int, int, int, float]]:
    """Start, end, label and probability of the segments that are at least that probable, in order."""
    table = _table(rows, n, longest)
    for t, d, label in np.argwhere(table >= max(least, 0.0)).tolist():
        yield t, t + d + 1, label, float(table[t, d, label])


def least_risk(rows: FloatMatrix, n: int, longest: int, inside: BoolVector) -> IntVector:
    """The codes of the segmentation of minimum risk; labels that are not `inside` cost nothing."""
    codes, n_labels = np.empty(n, dtype=np.int32), len(inside)
    if n:
        table = _table(rows, n, longest)
        gains = np.where(table > 0.0, np.where(inside, 2.0 * table - 1.0, 0.0), -np.inf)
        arrival, best = np.empty((2, n, n_labels))
        free = np.zeros(n_labels)
        semimarkov(gains, np.zeros((n_labels, n_labels)), free, free, arrival, best, codes)
    return codes
