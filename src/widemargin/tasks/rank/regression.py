"""Weights to begin with: a ridge regression on gains, in which each query counts the same.

    min_v Σ_q 1/n_q Σ_d (⟨v, x_d − x̄_q⟩ − (G_d − Ḡ_q))² + damping² ‖v‖²

Latent rankings need a good beginning: from random ones, training usually ends at w = 0 (Yu & Joachims, §5.3). They
begin with a classifier for which each document counts as one over the number n_q of its query's documents. This is its
least-squares form, with the means of each query taken off, because no ranking depends on them. LSMR solves it without
ever forming products of features, and gives the same result every time.
"""

from typing import Any

import numpy as np

from widemargin._threads import one_blas_thread
from widemargin._types import FloatVector, LongVector
from widemargin.core.sparse import Rows, sums

DAMPING = 1.0
"""As a share of the root of the mean squared length of the centred rows."""
MOST_STEPS = 200


def regression_weights(features: Rows, n_features: int, indptr: LongVector, gains: FloatVector) -> FloatVector:
    """The weights of the regression, one for each feature."""
    from scipy import sparse  # slow to import, and needed once a training
    from scipy.sparse.linalg import LinearOperator, lsmr

    lengths = np.diff(indptr)
    n_documents, roots = len(gains), np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
    X: Any = sparse.csr_array((features.values, features.indices, features.indptr), shape=(n_documents, n_features))
    Xt = X.T.tocsr()

    def centred(values: FloatVector) -> FloatVector:
        flat = values.ravel()
        return flat - np.repeat(sums(flat, indptr) / np.maximum(lengths, 1), lengths)

    def product(v: FloatVector) -> FloatVector:
        return roots * centred(X @ v.ravel())

    def transposed(u: FloatVector) -> FloatVector:
        found: FloatVector = Xt @ centred(roots * u.ravel())
        return found

    operator = LinearOperator((n_documents, n_features), matvec=product, rmatvec=transposed, dtype=np.float64)
    size = float(np.sqrt((roots**2 * sums(features.values**2, features.indptr)).sum() / max(n_features, 1)))
    with one_blas_thread():
        found: FloatVector = lsmr(operator, roots * centred(gains), damp=DAMPING * size, maxiter=MOST_STEPS)[0]
    return found
