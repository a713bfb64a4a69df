"""
Cleaning pictures: a grid of pixels
===================================

Another structure of one's own: every pixel of a noisy picture is ink or paper, and
neighbours tend to agree. The best labels of all pixels are a minimum cut, which SciPy
finds. Three weights are learnt: what a dark pixel says, a bias, and how much it counts
that two neighbours agree.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from widemargin import StructuredPredictor

SIZE = 16
NODES = np.arange(SIZE * SIZE).reshape(SIZE, SIZE)
SIDES = [(NODES[:, :-1], NODES[:, 1:]), (NODES[:-1], NODES[1:])]
LEFT, RIGHT = (np.concatenate([side[k].ravel() for side in SIDES]) for k in (0, 1))


class Grid:
    """x holds the shades of all pixels, y is 1 for ink and 0 for paper."""

    n_weights = 3
    exact = False  # where neighbours should differ, a cut is not the best there is

    def features(self, x, y):
        """What is learnt about: shades of ink, how much ink, agreeing neighbours."""
        return np.array([x @ y, y.sum(), np.sum(y[LEFT] == y[RIGHT])])

    def error(self, y, y_hat):
        """How many pixels are wrong."""
        return float(np.sum(y != y_hat))

    def decode(self, x, w, y=None):
        """A minimum cut between ink and paper."""
        gain = w[0] * x + w[1]  # of ink over paper
        if y is not None:
            gain = gain + 1.0 - 2.0 * y
        ink, paper = SIZE * SIZE, SIZE * SIZE + 1
        pixels = NODES.ravel()
        both = np.full(2 * len(LEFT), max(w[2], 0.0))
        begin = np.concatenate([np.full(len(pixels), ink), pixels, LEFT, RIGHT])
        end = np.concatenate([pixels, np.full(len(pixels), paper), RIGHT, LEFT])
        cost = np.concatenate([np.maximum(gain, 0), np.maximum(-gain, 0), both])
        whole = np.round(10_000 * cost).astype(np.int32)
        graph = coo_array((whole, (begin, end)), shape=(paper + 1, paper + 1)).tocsr()
        rest = graph - maximum_flow(graph, ink, paper).flow
        rest.eliminate_zeros()
        reached = breadth_first_order(rest, ink, return_predecessors=False)
        return np.isin(pixels, reached).astype(float)


def pictures_of_rings(n, seed):
    """Rings of different sizes, and the same with noise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((SIZE, SIZE)) - SIZE / 2
    distance = np.hypot(rows, columns).ravel()
    radii = rng.uniform(3, 6, size=n)
    clean = [(abs(distance - radius) < 1.5).astype(float) for radius in radii]
    return [each + rng.normal(0, 0.6, size=each.shape) for each in clean], clean


X, y = pictures_of_rings(30, seed=0)
model = StructuredPredictor(Grid(), C=0.01, max_epochs=50).fit(X, y)
print(model.solution_)
print("weights:", model.solution_.w.round(2))

# %%
# Three new pictures. Deciding pixel by pixel leaves specks; neighbours remove them.

X_new, y_new = pictures_of_rings(3, seed=1)
alone = [(x > 0.5).astype(float) for x in X_new]
rows = {
    "as it was": y_new,
    "with noise": X_new,
    "pixel by pixel": alone,
    "learnt": model.predict(X_new),
}
figure, axes = plt.subplots(3, 4, figsize=(7, 5.4), layout="constrained")
for column, (name, drawn) in enumerate(rows.items()):
    for panel, each, right in zip(axes[:, column], drawn, y_new, strict=True):
        panel.imshow(each.reshape(SIZE, SIZE), cmap="gray_r", vmin=0, vmax=1)
        panel.set(xticks=[], yticks=[])
        if column > 1:
            panel.set_xlabel(f"{np.sum(each != right)} pixels wrong")
    axes[0, column].set_title(name)
plt.show()
