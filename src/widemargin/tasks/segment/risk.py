"""From the probabilities of segments to those of tokens, and to the segmentation of minimum risk.

If a wrong segment costs 1 and a missed one 1, and tokens outside cost nothing, a segmentation y costs on average

    Σ over its segments of (1 − p) + Σ over all others of p   =   a constant − Σ over its segments of (2p − 1)

so the best one for these sums, as scores of its segments, is that of minimum risk.
"""

from collections.abc import Iterator

import numpy as np

from widemargin._types import BoolVector, FloatMatrix, IntVector, LongVector
from widemargin.structures.segments import Segments, candidates


def _table(rows: FloatMatrix, n: int, longest: int) -> FloatMatrix:
    """(n, ≤ longest, L) probabilities from a row for each candidate span; −1 beyond the end of the sequence."""
    table = np.full((n, min(longest, n), rows.shape[1]), -1.0)
    table[candidates(np.array([n]), min(longest, n))] = rows
    return table


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


def least_risk(structure: Segments, rows: list[FloatMatrix], sizes: LongVector, inside: BoolVector) -> IntVector:
    """The codes of the segmentations of minimum risk, end to end; labels that are not `inside` cost nothing."""
    room, n = structure.room(sizes), len(inside)
    gains = np.concatenate([*rows, np.empty((0, n))])
    gains = np.where(gains > 0.0, np.where(inside, 2.0 * gains - 1.0, 0.0), -np.inf)
    room.segment[candidates(sizes, room.segment.shape[1])] = gains
    free = np.zeros(n)
    return structure.best(room._replace(transition=np.zeros((n, n)), begin=free, end=free))
