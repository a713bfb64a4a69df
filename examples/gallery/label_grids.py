"""
Labelling grids: the terrain of a map
=====================================

Every pixel of a noisy picture is sea, beach, meadow or mountain. Beaches lie between
sea and meadow, and meadows around mountains: which labels are neighbours says as much
as the colours. All weights, of colours and of pairs of labels, are learnt together, and
the certificate holds although grids are too wide to be decoded exactly.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from widemargin import GraphLabeler
from widemargin.graphs import grid

NAMES = ["sea", "beach", "meadow", "mountain"]
COLOURS = np.array([[0.2, 0.4, 0.8], [0.9, 0.8, 0.5], [0.4, 0.7, 0.3], [0.5, 0.5, 0.5]])
ROWS, COLUMNS = 12, 16


def maps(n, seed):
    """Maps of an island each, and pictures of them in bad weather."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((ROWS, COLUMNS))
    pictures, labels = [], []
    for _ in range(n):
        height = np.full((ROWS, COLUMNS), -1.0)
        for _ in range(4):
            r, c = rng.uniform(0.25, 0.75, size=2) * (ROWS, COLUMNS)
            distance = np.hypot(rows - r, columns - c) / rng.uniform(1.5, 3)
            height += 2 * np.exp(-(distance**2) / 2)
        terrain = np.digitize(height, [-0.3, 0.0, 0.9])
        pictures.append(COLOURS[terrain] + rng.normal(0, 0.35, (ROWS, COLUMNS, 3)))
        labels.append(terrain)
    return pictures, labels


seen, labels = maps(15, seed=0)
labeler = GraphLabeler().fit([grid(picture) for picture in seen], labels)
print(labeler.solution_)

# %%
# New maps, pixel by pixel and with neighbours.

new, right = maps(3, seed=1)
alone = GraphLabeler().fit([(grid(each).nodes, []) for each in seen], labels)
by_itself = alone.predict([(grid(each).nodes, []) for each in new])
found = labeler.predict([grid(each) for each in new])

shades = ListedColormap(COLOURS)
figure, axes = plt.subplots(3, 4, figsize=(8, 4.8), layout="constrained")
for panels, noisy, gold, one, other in zip(
    axes, new, right, by_itself, found, strict=True
):
    panels[0].imshow(noisy.clip(0, 1))
    for panel, each in zip(panels[1:], (one, other, gold), strict=True):
        drawn = each.reshape(ROWS, COLUMNS)
        panel.imshow(drawn, cmap=shades, vmin=-0.5, vmax=3.5)
        if each is not gold:
            panel.set_xlabel(f"{np.mean(drawn != gold):.1%} wrong")
    for panel in panels:
        panel.set(xticks=[], yticks=[])
for panel, title in zip(
    axes[0], ["picture", "pixel by pixel", "with neighbours", "right"], strict=True
):
    panel.set_title(title)
plt.show()

# %%
# Weights of pairs say what does not lie beside what, from left to right or from above;
# labels are numbered in the order above.

for pair, weight in labeler.strongest(n=4)["edges, any"]["against"]:
    print(f"{weight:+.2f} {pair}")
