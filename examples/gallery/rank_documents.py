"""
Ranking for the first places
============================

Readers look at the first few results. ``Ranker`` can learn for them: precision or NDCG
at k, the average precision of the whole list, or all pairs (the Ranking SVM).
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import Ranker

rng = np.random.default_rng(0)


def queries(n):
    """Queries of forty documents: most are bad, some are good, few are great.

    The first feature tells the bad ones from the others, the second one tells the great
    from the good ones.
    """
    y = rng.choice(3, size=40 * n, p=[0.75, 0.2, 0.05])
    means = np.array([[0.0, 0.0], [2.0, -1.0], [2.0, 1.5]])
    return means[y] + rng.normal(size=(40 * n, 2)), y, [40] * n


X, y, group = queries(60)
X_new, y_new, group_new = queries(200)
rankers = {
    measure: Ranker(measure=measure, k=5).fit(X, y, group=group)
    for measure in ("ndcg", "precision", "pairs")
}
print(rankers["pairs"].solution_)

# %%
# The gain of the first k places on new queries. Nearly all pairs of documents hold a
# bad one, so what is trained for pairs cares little about the great ones.


def ndcg_at(scores, k):
    """Mean NDCG of the first k places."""
    values = []
    for grades, order in zip(
        y_new.reshape(-1, 40), np.argsort(-scores.reshape(-1, 40), axis=1), strict=True
    ):
        discount = 1.0 / np.log2(np.arange(2, k + 2))
        ideal = discount @ (2.0 ** np.sort(grades)[::-1][:k] - 1)
        values.append(
            discount @ (2.0 ** grades[order][:k] - 1) / ideal if ideal else 1.0
        )
    return np.mean(values)


places = range(1, 16)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for measure, ranker in rankers.items():
    values = [ndcg_at(ranker.predict(X_new), k) for k in places]
    axes.plot(places, values, "o-", markersize=4, label=f'measure="{measure}"')
by_chance = rng.random(len(y_new))
axes.plot(
    places,
    [ndcg_at(by_chance, k) for k in places],
    color="grey",
    linestyle=":",
    label="random order",
)
axes.set(xlabel="first k places", ylabel="NDCG of new queries")
axes.legend()
plt.show()
