"""
Choosing C along a path
=======================

C weighs errors against large weights. ``fit_path`` trains with one value after the
other; each begins where the last one ended, so the whole path costs little more than
its most expensive point.
"""

import matplotlib.pyplot as plt

from widemargin import SequenceTagger
from widemargin.data.generators import addresses

X, y = addresses(150, noise=0.3)
X_dev, y_dev = addresses(300, seed=1, noise=0.3)
grid = [0.0001, 0.001, 0.01, 0.1, 1.0, 10.0]
taggers = SequenceTagger(tol=0.01).fit_path(X, y, C=grid)

# %%
# With a small C the weights stay so small that training data are not learnt either.
# With a large one they are learnt by heart. In between the curve of other data is flat:
# powers of ten, or of three, are a fine enough grid.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.semilogx(
    grid,
    [tagger.score(X, y) for tagger in taggers],
    "o-",
    color="#D55E00",
    label="training data",
)
axes.semilogx(
    grid,
    [tagger.score(X_dev, y_dev) for tagger in taggers],
    "o-",
    color="#0072B2",
    label="other data",
)
axes.set(xlabel="C", ylabel="F1 of the parts")
axes.legend()
plt.show()

# %%
# Every point has a certificate of its own.

for tagger in taggers:
    gap, calls = tagger.solution_.gap, tagger.solution_.oracle_calls
    print(f"C = {tagger.C:<7g} gap {gap:.2%} after {calls:,} oracle calls")
