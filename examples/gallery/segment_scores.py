"""
The score of every segment
==========================

A semi-Markov model compares all ways to cut a sequence into segments. For each span of
words, ``max_marginals`` tells how good the best segmentation with a segment there is.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import Segmenter
from widemargin.data.generators import addresses
from widemargin.text.spans import spans_of

X, y = addresses(200)
spans = [spans_of(labels) for labels in y]
segmenter = Segmenter().fit(X[:150], spans[:150])

# %%
# A row of scores belongs to each candidate span, ordered by first word, then by length.
# The picture shows how far the best segmentation with this segment is behind the best
# of all: the darker, the closer. Framed are the segments of the best one.

words = X[151]
scores = segmenter.max_marginals([words])[0].max(axis=1)
longest, n = segmenter.model_.shape.longest, len(words)
behind = np.full((n, n), np.nan)
firsts = np.repeat(np.arange(n), np.minimum(n - np.arange(n), longest))
lasts = np.concatenate([np.arange(t, min(t + longest, n)) for t in range(n)])
behind[firsts, lasts] = scores.max() - scores

figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
image = axes.imshow(behind, cmap="Blues_r", vmax=4)
found = segmenter.predict([words])[0]
for start, end, _ in found:
    corner = end - 1.5, start - 0.5
    axes.add_patch(plt.Rectangle(corner, 1, 1, fill=False, lw=2, ec="#D55E00"))
kinds = axes.secondary_yaxis("right")
kinds.set_yticks([start for start, *_ in found], [kind for *_, kind in found])
kinds.tick_params(colors="#D55E00")
axes.set_xticks(range(n), words, rotation=60, ha="right")
axes.set_yticks(range(n), words)
axes.set(xlabel="last word", ylabel="first word")
figure.colorbar(image, label="behind the best segmentation", shrink=0.7)
plt.show()
