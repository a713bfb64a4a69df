"""
Finding a motif
===============

Some sequences hold a short pattern, others do not. Which ones do is known; where it is,
and what it looks like, is learnt.
"""

from random import Random

from widemargin import MotifFinder

MOTIF = "TGACGTCA"
rng = Random(0)


def sequence(planted):
    """Random letters, with or without the motif, with some letters changed."""
    letters = rng.choices("ACGT", k=40)
    if planted:
        start = rng.randrange(40 - len(MOTIF))
        letters[start : start + len(MOTIF)] = [
            rng.choice("ACGT") if rng.random() < 0.1 else each for each in MOTIF
        ]
    return "".join(letters)


y = [k % 2 for k in range(160)]
X = [sequence(label) for label in y]
finder = MotifFinder(length=8, order=0, n_restarts=3).fit(X[:120], y[:120])
print(finder.solution_)
print(f"right about {finder.score(X[120:], y[120:]):.0%} of other sequences")
print(f"the motif is {finder.consensus_}")

# %%
# As a sequence logo: the height of a letter is how much it tells.

picture = finder.logo()

# %%
# Where it is in three new sequences:

for letters, site in zip(X[121:126:2], finder.locate(X[121:126:2]), strict=True):
    print(letters)
    print(" " * site.start + "^" * (site.end - site.start) if site else "(not found)")
