"""
Mistakes that cost more than others
===================================

Structured learning weighs errors by what they cost. With classes this is easy to see:
the border between two classes moves away from the one that must not be missed.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import LinearClassifier

rng = np.random.default_rng(0)
X = np.concatenate(
    [rng.normal(centre, 1.0, size=(80, 2)) for centre in ((-1.2, 0), (1.2, 0), (0, 2))]
)
y = np.repeat(["ham", "spam", "news"], 80)
equal = LinearClassifier().fit(X, y)
careful = LinearClassifier(costs={("ham", "spam"): 10.0, ("news", "spam"): 10.0}).fit(
    X, y
)
print(equal.solution_)
print(careful.solution_)

# %%
# On the right, taking ham or news for spam costs ten times as much as any other
# mistake.

grid = np.stack(np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-3, 5, 200)), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
colours = {"ham": "#009E73", "news": "#0072B2", "spam": "#D55E00"}
for panel, classifier, title in zip(
    axes, (equal, careful), ("equal costs", "spam only when sure"), strict=True
):
    regions = np.searchsorted(
        list(colours), classifier.predict(grid.reshape(-1, 2))
    ).reshape(200, 200)
    shades = {
        "levels": [-0.5, 0.5, 1.5, 2.5],
        "colors": list(colours.values()),
        "alpha": 0.25,
    }
    panel.contourf(*np.moveaxis(grid, -1, 0), regions, **shades)
    for label, colour in colours.items():
        panel.scatter(*X[y == label].T, s=12, color=colour, label=label)
    lost = np.sum((classifier.predict(X) == "spam") & (y != "spam"))
    panel.set(title=f"{title}: {lost} taken for spam by mistake")
axes[0].legend()
plt.show()
