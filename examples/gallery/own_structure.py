"""
Your own structure: matching
============================

The library knows nothing about matchings. Three methods tell it what it needs: the
features of an output, its error, and a decoder, here SciPy's assignment solver.
:doc:`/own-structure` explains them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from widemargin import StructuredPredictor
from widemargin.data.generators import matchings


class Matching:
    """x[i, j] are the features of the pair (i, j), and y[i] is the partner of i."""

    def features(self, x, y):
        """The sum of the features of all pairs."""
        return x[np.arange(len(y)), list(y)].sum(axis=0)

    def error(self, y, y_hat):
        """How many partners are wrong."""
        return float(np.sum(np.not_equal(y, y_hat)))

    def decode(self, x, w, y=None):
        """The best matching; with gold given, every wrong pair scores 1 more."""
        scores = x @ w
        if y is not None:
            scores = scores + 1.0 - np.eye(len(y))[list(y)]
        return tuple(linear_sum_assignment(scores, maximize=True)[1].tolist())


X, y = matchings(60, seed=1)
model = StructuredPredictor(Matching()).fit(X, y)
print(model.solution_)

# %%
# The scores of all pairs of a new example, before and after learning. Circles are the
# right partners; the darker, the higher the score. With equal weights the right pairs
# do not stand out.

(x, *_), (gold, *_) = matchings(1, seed=2, size=(12, 12))
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
weights = {"equal weights": np.ones(x.shape[-1]), "learnt weights": model.solution_.w}
for panel, (name, w) in zip(axes, weights.items(), strict=True):
    panel.imshow(x @ w, cmap="Blues")
    panel.scatter(
        gold,
        range(len(gold)),
        s=120,
        facecolors="none",
        edgecolors="#D55E00",
        linewidths=1.5,
    )
    found = np.equal(Matching().decode(x, w), gold).sum()
    panel.set(
        title=f"{name}: {found} of {len(gold)} right",
        xlabel="right side",
        ylabel="left side",
    )
plt.show()
