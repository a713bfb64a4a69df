"""
Comparing solvers
=================

All solvers minimise the same objective, so they can be compared by how fast they do.
``compare`` trains with each of them on the same features, and measures every epoch by
the best bound that any of them proves.
"""

import matplotlib.pyplot as plt

from widemargin import SequenceTagger
from widemargin.data.generators import addresses

X, y = addresses(300)
names = ["auto", "dcd", "sdm", "one-slack", "adagrad"]
report = SequenceTagger(loss="squared_hinge", max_epochs=15, tol=0.005).compare(
    X, y, solvers=names
)
print(*report.conclusions(), sep="\n")

# %%
# The axis counts calls of the oracle, that is, how often an example was decoded. Unlike
# seconds, they are the same on every machine. The line of a solver ends where its own
# gap is proven, or after 15 epochs.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for verdict in report.verdicts:
    calls = [row.oracle_calls for row in verdict.run.trace]
    axes.semilogy(
        calls,
        [100 * gap for gap in verdict.gaps],
        "o-",
        markersize=3,
        label=verdict.run.name,
    )
axes.set(xlabel="oracle calls", ylabel="above the best bound, in %")
axes.legend()
plt.show()
