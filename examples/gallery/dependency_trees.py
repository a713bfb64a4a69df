"""
Dependency trees
================

A parser learns from a treebank, here of generated sentences, and draws what it
predicts. Whether a phrase with "near" belongs to the noun or to the verb is left to
chance in them, so not everything can be learnt.
"""

from widemargin import DependencyParser
from widemargin.data.treebanks import treebank
from widemargin.tasks.parse.pictures import arcs_lines, arcs_picture

bank = treebank(200)
parser = DependencyParser(hash_bits=16, tags="given", max_epochs=30).fit(
    bank.columns, bank.arcs
)
print(parser.solution_)

new = treebank(40, seed=1)
print(f"arcs with the right head and label: {parser.score(new.columns, new.arcs):.3f}")

# %%
# A sentence that it gets wrong: what it predicts, then what is right.

predicted = parser.predict(new.columns)
wrong = next(k for k, arcs in enumerate(predicted) if list(arcs) != list(new.arcs[k]))
words, tags = (new.columns.sequences(name)[wrong] for name in ("word", "upos"))
pictures = [
    arcs_picture(words, predicted[wrong], tags),
    arcs_picture(words, new.arcs[wrong], tags),
]

# %%
# On a terminal, the line to the left of a word leads to its head:

print(*arcs_lines(words, predicted[wrong], tags), sep="\n")
