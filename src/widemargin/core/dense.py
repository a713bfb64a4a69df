"""Products of dense vectors and matrices whose sums always run in the same order.

BLAS splits long sums over its threads. Their number depends on the machine and its settings, and so do the last bits of
a sum, which may send a solver down another path. These kernels wait for memory as BLAS does, and so are as fast.
"""

import numpy as np

from widemargin._jit import kernel
from widemargin._types import FloatMatrix, FloatVector


@kernel
def inner(u: FloatVector, v: FloatVector) -> float:
    """⟨u, v⟩.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    total = 0.0
    for k in range(len(u)):
        total += u[k] * v[k]
    return total


@kernel
def times(A: FloatMatrix, v: FloatVector) -> FloatVector:
    """Av.

    >>> times(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    out = np.empty(len(A))
    for row in range(len(A)):
        out[row] = inner(A[row], v)
    return out


@kernel
def combined(u: FloatVector, A: FloatMatrix) -> FloatVector:
    """uᵀA, the sum of the rows of A times their factors u.

    >>> combined(np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([31., 42.])
    """
    out = np.zeros(A.shape[1])
    for row in range(len(A)):
        factor, of_row = u[row], A[row]
        for column in range(len(out)):
            out[column] += factor * of_row[column]
    return out
