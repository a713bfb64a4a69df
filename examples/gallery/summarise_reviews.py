"""
Summaries from reviews
======================

A summariser learns from summaries that people have written which sentences to take.
Here it reads reviews that are put together at random, and may use seven words.
"""

from random import Random

from widemargin import Summariser
from widemargin.report.spans import spans_picture

THINGS = {
    "battery": "lasts very long",
    "screen": "is very bright",
    "keyboard": "feels too small",
    "sound": "is loud",
}
CHATTER = [
    "I bought it in May .",
    "It came in a box .",
    "My sister has one , too .",
    "We use it on the train .",
]


def topic(rng):
    """Three reviews that agree about one thing, and a summary that says so."""
    agreed, other = rng.sample(list(THINGS), 2)
    reviews = []
    for _ in range(3):
        sentences = [f"The {agreed} {THINGS[agreed]} .", *rng.sample(CHATTER, 2)]
        if rng.random() < 0.3:
            sentences.append(f"The {other} {THINGS[other]} .")
        rng.shuffle(sentences)
        reviews.append(sentences)
    return reviews, [f"The {agreed} {THINGS[agreed]} ."]


rng = Random(0)
X, y = map(list, zip(*(topic(rng) for _ in range(30)), strict=True))
summariser = Summariser(length=7, C=1.0).fit(X[:20], y[:20])
print(summariser.solution_)
print(f"ROUGE-2 recall of other topics: {summariser.score(X[20:], y[20:]):.3f}")

# %%
# The reviews of one topic, with the chosen sentence.

(chosen,) = summariser.predict(X[20:21])
pictures = []
for document, sentences in enumerate(X[20]):
    words, spans = [], []
    for number, sentence in enumerate(sentences):
        if (document, number) in chosen.places:
            spans.append((len(words), len(words) + len(sentence.split()), "chosen"))
        words += sentence.split()
    pictures.append(spans_picture(words, spans))
