"""
Confidence that can be believed
===============================

Margins are not probabilities. ``calibrate`` learns to convert them, from labelled data
that the model has not seen. The diagram compares what the model then says with how
often it is right.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SequenceTagger
from widemargin.data.generators import addresses

X, y = addresses(500)
tagger = SequenceTagger().fit(X, y)
print(tagger.calibrate(*addresses(400, seed=1)))

# %%
# On further addresses, labels are put into ten bins by their confidence. Points on the
# diagonal are what is wanted; the bars below say how many labels are in each bin.

X_new, y_new = addresses(600, seed=2)
sure = np.concatenate(tagger.confidence(X_new))
pairs = zip(tagger.predict(X_new), y_new, strict=True)
right = np.concatenate([np.equal(predicted, gold) for predicted, gold in pairs])
bins = np.minimum((10 * sure).astype(int), 9)
used = [k for k in range(10) if (bins == k).sum() > 20]

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(5.5, 5.5), height_ratios=[3, 1], sharex=True, layout="constrained"
)
top.plot([0, 1], [0, 1], color="grey", linestyle=":")
top.plot(
    [sure[bins == k].mean() for k in used],
    [right[bins == k].mean() for k in used],
    "o-",
    color="#0072B2",
)
top.set(ylabel="share that is right", title="Confidence of labels of unseen addresses")
bottom.hist(sure, bins=np.linspace(0, 1, 11), color="#56B4E9")
bottom.set(xlabel="confidence", ylabel="labels")
plt.show()

# %%
# A use: a person reads the fifth of the addresses that the model is least sure of, and
# the others have fewer errors.

least = np.array([each.min() for each in tagger.confidence(X_new)])
wrong = np.array(
    [list(a) != list(b) for a, b in zip(tagger.predict(X_new), y_new, strict=True)]
)
kept = least > np.quantile(least, 0.2)
print(f"addresses with an error: {wrong.mean():.1%} of all")
print(f"of the surer four fifths: {wrong[kept].mean():.1%}")
