"""Gold segments when labels are known in part: which codes each token may have (`segment.spans`)."""

from typing import NamedTuple

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, BoolVector, FloatVector, IntMatrix, IntVector, LongVector


class Known(NamedTuple):
    """Everything known about the gold segments.

    Parameters
    ----------
    allowed : (n, 2L) the codes that each token may have
    given : whether anything is known of each token
    lengths : the length of the segment that certainly begins at a token with a certain label and end, 0 elsewhere
    reach : (n, L) how many tokens a segment from a token on may have at most
    begins : (n + 1,) whether a segment may begin at a token, or end before it
    """

    allowed: BoolMatrix
    given: BoolVector
    lengths: IntVector
    reach: IntMatrix
    begins: BoolVector

    @classmethod
    def of(cls, indptr: LongVector, allowed: BoolMatrix, given: BoolVector) -> "Known":
        """All that follows from the codes that tokens may have."""
        n, width = allowed.shape
        reach, lengths = np.zeros((n, width // 2), dtype=np.int32), np.zeros(n, dtype=np.int32)
        _extents(indptr, allowed, allowed.sum(axis=1) == 1, reach, lengths)
        return cls(allowed, given, lengths, reach, np.append(allowed[:, 1::2].any(axis=1), True))

    @property
    def codes(self) -> IntVector:
        """A code that each token may have: where a segment is certain, the only one of its first token."""
        return self.allowed.argmax(axis=1).astype(np.int32)

    def missed(self, recall: FloatVector) -> FloatVector:
        """The penalty of missing what certainly is a segment at each token: the least that its label may have.

        It is due at the first token that is known of a segment.
        """
        of_codes = np.where(self.allowed, np.repeat(recall, 2), np.inf)
        return np.where(self.given & self.begins[:-1], of_codes.min(axis=1, initial=np.inf), 0.0)


@kernel
def _extents(indptr: LongVector, allowed: BoolMatrix, sure: BoolVector, reach: IntMatrix, lengths: IntVector) -> None:
    """How many tokens segments may have, and the lengths of certain ones; `sure` tokens have a single code."""
    n_labels = reach.shape[1]
    running, certain = np.zeros(n_labels, dtype=np.int32), np.zeros(n_labels, dtype=np.int32)
    for i in range(len(indptr) - 1):
        # From the back: running counts the tokens that may go on with a segment, certain those that have to until
        # another token has to begin, −1 if it is not certain where that is.
        for label in range(n_labels):
            running[label] = certain[label] = 0
        for t in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            for label in range(n_labels):
                go_on, begin = allowed[t, 2 * label], allowed[t, 2 * label + 1]
                reach[t, label] = 1 + running[label] if begin else 0
                if begin and sure[t] and certain[label] >= 0:
                    lengths[t] = 1 + certain[label]
                if not go_on:
                    running[label] = certain[label] = 0
                else:
                    running[label] += 1
                    certain[label] = certain[label] + 1 if sure[t] and certain[label] >= 0 else -1
