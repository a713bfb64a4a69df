"""
Learning from some of the labels
================================

Labels are expensive. A label may be unknown (``None``), and the model fills it in as it
learns. How much is lost?
"""

from random import Random

import matplotlib.pyplot as plt

from widemargin import SequenceTagger
from widemargin.data.generators import addresses

X, y = addresses(100)
X_new, y_new = addresses(200, seed=1)
shares = [0.0, 0.2, 0.4, 0.6, 0.8]
rng = Random(0)
partial = [
    [[None if rng.random() < share else label for label in labels] for labels in y]
    for share in shares
]

# %%
# Three ways to learn from them: as they are, from the few complete addresses, or with
# "O" in place of what is missing.


def scores(prepared):
    """Scores on other data, learning from what `prepared` makes of the labels."""
    results = []
    for known in partial:
        pairs = [pair for pair in map(prepared, X, known) if pair]
        tagger = SequenceTagger(max_rounds=3) if pairs else None
        results.append(
            tagger.fit(*map(list, zip(*pairs, strict=True))).score(X_new, y_new)
            if tagger
            else 0.0
        )
    return results


ways = {
    "unknown labels filled in": lambda x, known: (x, known),
    "complete addresses only": lambda x, known: None if None in known else (x, known),
    "unknown taken for O": lambda x, known: (x, [label or "O" for label in known]),
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, prepared in ways.items():
    axes.plot([100 * share for share in shares], scores(prepared), "o-", label=name)
axes.set(xlabel="labels removed, in %", ylabel="F1 of the parts, other data")
axes.legend()
plt.show()
