"""
Cutting citations into fields
=============================

A segmenter scores whole segments, so a feature may look at all words of a field at
once, such as its length. The citations are made from lists of names and words.
"""

from random import Random

from widemargin import Segmenter
from widemargin.report.spans import spans_picture

AUTHORS = [
    "Solon , G.",
    "Card , D. and Krueger , A.",
    "Lee , S.",
    "Mincer , J.",
    "Angrist , J. , Imbens , G.",
]
SUBJECTS = [
    "wages",
    "schooling",
    "income mobility",
    "minimum wages",
    "human capital",
    "labour supply",
]
FORMS = [
    "{} and {}",
    "The effects of {} on {}",
    "{} : evidence from {}",
    "Returns to {} with and without {}",
]
JOURNALS = [
    "American Economic Review",
    "Econometrica",
    "Journal of Human Resources",
    "Review of Economic Studies",
]


def citation(rng):
    """Words and fields (start, end, type) of a citation."""
    title = rng.choice(FORMS).format(*rng.sample(SUBJECTS, 2))
    fields = [
        ("author", rng.choice(AUTHORS)),
        ("date", f"( {rng.randint(1970, 2009)} )"),
        ("title", title),
    ]
    fields += [
        ("journal", rng.choice(JOURNALS)),
        ("pages", f"{rng.randint(1, 200)} - {rng.randint(201, 400)}"),
    ]
    if rng.random() < 0.5:  # the date at the end
        fields.append(fields.pop(1))
    words, spans = [], []
    for kind, text in fields:
        spans.append((len(words), len(words) + len(text.split()), kind))
        words += [*text.split(), rng.choice([",", "."])]
    return words, spans


rng = Random(0)
X, y = map(list, zip(*(citation(rng) for _ in range(150)), strict=True))
segmenter = Segmenter().fit(X[:100], y[:100])
print(segmenter.solution_)
print(f"F1 of whole fields in other citations: {segmenter.score(X[100:], y[100:]):.3f}")

# %%
types = ["author", "date", "title", "journal", "pages"]
found = segmenter.predict(X[100:102])
pictures = [spans_picture(X[100 + k], found[k], types=types) for k in range(2)]

# %%
# What tells a title from a journal, by the strongest weights of features at some place
# of a segment:

print(segmenter.strongest("title", 4))
