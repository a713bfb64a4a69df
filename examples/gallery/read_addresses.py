"""
Reading addresses
=================

A tagger learns to find the parts of postal addresses. The addresses are generated, with
typing errors, and words such as "Washington" may belong to a street, a city or a
region.
"""

from widemargin import Constraints, SequenceTagger
from widemargin.data.generators import addresses
from widemargin.report.spans import spans_picture

X, y = addresses(500)
tagger = SequenceTagger().fit(X, y)
print(tagger.solution_)

# %%
# The last line is the certificate: no other weights have an objective that is lower by
# more than that. What the tagger has learnt is tried on addresses that it has not seen.

X_new, y_new = addresses(200, seed=1)
print(f"F1 of the parts: {tagger.score(X_new, y_new):.3f}")

# %%
# Three of them. The boxes are what the tagger has found.

types = ["house", "street", "city", "postcode", "region", "name"]
found = tagger.predict_spans(X_new[:3])
pictures = [spans_picture(X_new[k], found[k], types=types) for k in range(3)]

# %%
# An address has one city and one postcode at most. The tagger can be told so, and then
# returns the best labels that comply.

rule = Constraints(bio=True, at_most_one=["city", "postcode"])
before, after = tagger.predict(X_new), tagger.predict(X_new, rule)
changed = sum(map(list.__ne__, before, after))
print(f"the rule changes {changed} of {len(X_new)} addresses")
