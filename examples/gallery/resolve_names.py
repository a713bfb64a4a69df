"""
Who is "she"?
=============

A resolver learns which mentions of a text mean the same thing. The texts are made of a
few sentences about people and animals; which earlier mention a pronoun refers to is not
marked, only who is meant.
"""

from random import Random

import numpy as np

from widemargin import CoreferenceResolver
from widemargin.report.spans import spans_picture
from widemargin.text.mentions import Mentions

WOMEN, MEN, ANIMALS = (
    ["Ada", "Eva", "Ida", "Vera"],
    ["Carl", "Gustav", "Ivar"],
    ["dog", "cat", "horse"],
)


def story(rng):
    """A text with its mentions, and who each of them is."""
    one, two, animal = rng.choice(WOMEN), rng.choice(MEN), rng.choice(ANIMALS)
    more = [
        "[She|1] liked [him|2] .",
        f"[{two}|2] fed [the {animal}|3] .",
        "[It|3] saw [her|1] .",
        "[He|2] smiled .",
    ]
    sentences = [
        f"[{one}|1] met [{two}|2] and [the {animal}|3] .",
        *rng.sample(more, 3),
    ]
    words, spans, entities = [], [], []
    for piece in " ".join(sentences).replace("]", "[").split("["):
        text, bar, entity = piece.partition("|")
        if bar:
            spans.append((len(words), len(words) + len(text.split())))
            entities.append(entity)
        words += text.split()
    return Mentions(
        {"word": words}, np.cumsum([word == "." for word in ["", *words[:-1]]]), spans
    ), entities


rng = Random(0)
X, y = map(list, zip(*(story(rng) for _ in range(60)), strict=True))
resolver = CoreferenceResolver(
    C=1.0, hash_bits=14, false_anaphor=1.0, false_new=1.0
).fit(X[:40], y[:40])
print(resolver.solution_)
print(f"mean of MUC, B³ and CEAF of other texts: {resolver.score(X[40:], y[40:]):.3f}")

# %%
# Two of the other texts. Mentions with the same letter and colour are the same person
# or animal.

pictures = []
for text, entities in zip(X[40:42], resolver.predict(X[40:42]), strict=True):
    spans = [
        (start, end, "ABCDEFGH"[k])
        for (start, end), k in zip(text.spans, entities, strict=True)
    ]
    pictures.append(spans_picture(text.columns["word"], spans))
