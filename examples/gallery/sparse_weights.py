"""
Fewer weights, the same answers
===============================

With the penalty ``"l1"``, most weights end at exactly zero. How many are left depends
on C, and so does the score, but not in the same way.
"""

import matplotlib.pyplot as plt

from widemargin import SequenceTagger
from widemargin.data.generators import addresses

X, y = addresses(80)
dev = addresses(200, seed=1)
grid = [0.03, 0.1, 0.3, 1.0]
sparse = SequenceTagger(penalty="l1", tol=0.1).fit_path(X, y, C=grid)
dense = SequenceTagger().fit(X, y)

# %%
# The dotted lines are the default, which keeps all weights that ever took part in a
# mistake. A fraction of them is enough for nearly the same score.


def used(tagger):
    """How many weights are not zero."""
    return int((tagger.solution_.w != 0).sum())


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.loglog(grid, [used(each) for each in sparse], "o-", color="#0072B2")
left.axhline(used(dense), color="grey", linestyle=":", label="l2, the default")
left.set(xlabel="C", title="Weights that are not zero")
left.legend()
right.semilogx(grid, [each.score(*dev) for each in sparse], "o-", color="#0072B2")
right.axhline(dense.score(*dev), color="grey", linestyle=":", label="l2, the default")
right.set(xlabel="C", title="F1 of other data")
right.legend(loc="lower right")
plt.show()

# %%
# What is left can be read as a whole. These weights are all that speaks for a postcode:

print(sparse[1].strongest("B-postcode", 5))
