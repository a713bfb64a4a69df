"""
Reading addresses
=================

A tagger learns to find the parts of postal addresses. The addresses are generated, with typing errors, and words such
as "Washington" may belong to a street, a city or a region.
"""

from widemargin import Constraints, SequenceTagger
from widemargin.data.generators import addresses
from widemargin.report.spans import spans_picture

X, y = addresses(500)
tagger = SequenceTagger().fit(X, y)
print(tagger.solution_)

# %%
# The last line is the certificate: no other weights have an objective that is lower by more than that. What the
# tagger has learnt is tried on addresses that it has not seen.

X_new, y_new = addresses(200, seed=1)
print(f"F1 of the parts: {tagger.score(X_new, y_new):.3f}")

# %%
# Three of them. The boxes are what the tagger has found.

pictures = [
    spans_picture(tokens, spans) for tokens, spans in zip(X_new[:3], tagger.predict_spans(X_new[:3]), strict=True)
]

# %%
# An address has one city and one postcode at most. The tagger can be told so, and then returns the best labels that
# comply.

rule = Constraints(bio=True, at_most_one=["city", "postcode"])
changed = sum(a != b for a, b in zip(tagger.predict(X_new), tagger.predict(X_new, rule), strict=True))
print(f"the rule changes {changed} of {len(X_new)} addresses")
