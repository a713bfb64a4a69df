"""
What a certificate proves
=========================

Training stops when a bound proves that little is left to gain. This example runs far
beyond that point, and shows what the certificate said on the way and what it was worth.
"""

import matplotlib.pyplot as plt

from widemargin import SequenceTagger
from widemargin.data.generators import addresses

X, y = addresses(300)
dev = addresses(300, seed=1)
tagger = SequenceTagger(solver="dcd", tol=0.001, max_epochs=60).fit(X, y, dev=dev)
print(tagger.solution_)

# %%
# Each row of the trace has an objective (the upper bound) and a dual value (the lower
# bound). The optimum lies between the two, so their distance, the gap, bounds what is
# still to be gained. Both bounds close on the same number.
#
# The score on other data has settled long before. That is why the default is to stop at
# a gap of 3 %.

trace = tagger.solution_.trace
epochs = [row.epoch for row in trace]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
primal, dual = [row.primal for row in trace], [row.dual for row in trace]
left.plot(epochs, primal, label="objective: upper bound", color="#0072B2")
left.plot(epochs, dual, label="dual: lower bound", color="#D55E00")
left.fill_between(epochs, dual, primal, color="#0072B2", alpha=0.12)
left.set(
    xlabel="epoch",
    ylabel="objective",
    ylim=(0, 2.5 * primal[-1]),
    title="The optimum lies in between",
)
left.legend()
right.semilogy(epochs, [100 * row.gap for row in trace], color="#0072B2", label="gap")
right.axhline(3, color="grey", linestyle=":", label="the default: 3 %")
right.set(
    xlabel="epoch", ylabel="gap in %", title="The gap, and the score of other data"
)
score = right.twinx()
score.plot(
    epochs, [row.score for row in trace], color="#009E73", label="F1 of other data"
)
score.set(ylabel="F1")
lines = right.get_lines() + score.get_lines()
right.legend(lines, [line.get_label() for line in lines], loc="center right")
plt.show()
