"""
Which records are about the same person?
========================================

A clusterer learns from lists in which duplicates are marked. A cluster is held together
by its strongest links, so two records that look nothing like each other may belong
together by way of a third.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import Clusterer
from widemargin.clusterings import clustering_scores
from widemargin.data.duplicates import duplicates

X, y = duplicates(20, seed=1)
X_new, y_new = duplicates(10, seed=2)
clusterer = Clusterer(C=0.1).fit(X, y)
print(clusterer.solution_)
for record in X_new[0][:3]:
    print(record)

# %%
# The score of new lists, beside that of the obvious rules: records are the same where a
# field is.

b3 = {}
for field in X_new[0][0]:
    equal = [
        [record[field] or f"record {k}" for k, record in enumerate(records)]
        for records in X_new
    ]
    b3[f"same {field}"] = clustering_scores(y_new, equal, ["b3"])["b3"].f1
b3["learnt"] = clusterer.score(X_new, y_new)

# %%
# The records of the longest list, those of a person side by side. Lines join
# what the model has put together.

chosen = max(range(len(X_new)), key=lambda k: len(X_new[k]))
records, people = X_new[chosen], y_new[chosen]
found = clusterer.predict(X_new)[chosen]
order = np.argsort(np.unique(people, return_inverse=True)[1], kind="stable")
angle = np.empty(len(order))
angle[order] = np.linspace(0, 2 * np.pi, len(order), endpoint=False)
x, height = np.cos(angle), np.sin(angle)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
left.barh(list(b3), list(b3.values()), color=["#56B4E9"] * (len(b3) - 1) + ["#0072B2"])
left.set(xlabel="B³ of new lists")
for i in range(len(records)):
    for j in range(i):
        if found[i] == found[j]:
            right.plot(
                [x[i], x[j]],
                [height[i], height[j]],
                color="#0072B2" if people[i] == people[j] else "#D55E00",
            )
right.scatter(
    x, height, c=np.unique(people, return_inverse=True)[1], cmap="tab20", s=60, zorder=2
)
right.set(title="joined: blue is right, red is wrong", aspect="equal")
right.axis("off")
plt.show()
