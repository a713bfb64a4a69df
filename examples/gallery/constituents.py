"""
Trees of constituents
=====================

The same for brackets around words. The generated treebank leaves some things to chance:
whether a phrase with "near" belongs to the noun or to the verb cannot be learnt.
"""

from widemargin import ConstituencyParser
from widemargin.data.treebanks import treebank
from widemargin.files.brackets import columns_of
from widemargin.tasks.bracket.pictures import brackets_picture

trees = treebank(180).trees
train, new = trees[:150], trees[150:]
parser = ConstituencyParser(hash_bits=16, tags="given", max_epochs=40).fit(
    columns_of(train), train
)
print(parser.solution_)
print(f"F1 of brackets in other sentences: {parser.score(columns_of(new), new):.3f}")

# %%
# The two best trees of the sentence where they are closest:

ranked = min(
    parser.predict_best(columns_of(new), k=2),
    key=lambda best: best[0].score - best[1].score,
)
pictures = [brackets_picture(tree) for _, tree in ranked]
