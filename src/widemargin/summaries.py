"""How well summaries agree with references: ROUGE-1, ROUGE-2, ROUGE-L (Lin 2004).

    score       what is counted
    rouge1      words in common, each as often as both sides have it
    rouge2      pairs of neighbouring words in common
    rougeL      the longest common subsequence of words
    rougeLsum   for each sentence of the reference the words in any longest common subsequence with a sentence of the
                summary, each as often as both sides have it; sentences are lines

Recall divides by the size of the reference, precision by that of the summary, and a share of nothing is 0. The numbers
are those of Google's `rouge-score` without its stemmer; that package splits words at letters beyond ASCII, though, and
this module does not. With several references, scores are means over them, or those of the one with the best F1.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Literal

from widemargin.errors import DataError
from widemargin.metrics import Score

WORD = re.compile(r"[^\W_]+")


def words(text: str, *, lower: bool = True) -> list[str]:
    """The words of a text: runs of letters and digits.

    >>> words("It's 100% accurate .")
    ['it', 's', '100', 'accurate']
    """
    return WORD.findall(text.lower() if lower else text)


def ngrams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """All runs of n tokens, in order."""
    return list(zip(*(tokens[k:] for k in range(n)), strict=False))


def rouge_n(reference: str, summary: str, n: int) -> Score:
    """Runs of n words in common."""
    wanted, found = (Counter(ngrams(words(text), n)) for text in (reference, summary))
    return _score((wanted & found).total(), wanted.total(), found.total())


def rouge_l(reference: str, summary: str) -> Score:
    """The longest common subsequence of words."""
    wanted, found = words(reference), words(summary)
    return _score(_lengths(wanted, found)[-1][-1], len(wanted), len(found))


def rouge_l_sum(reference: str, summary: str) -> Score:
    """The words of each reference sentence that are common with any sentence of the summary."""
    wanted, found = ([words(line) for line in text.split("\n")] for text in (reference, summary))
    left = [Counter(word for sentence in side for word in sentence) for side in (wanted, found)]
    sizes = [count.total() for count in left]
    hits = 0
    for sentence in wanted:
        common = {place for other in found for place in _common(sentence, other)}
        for place in sorted(common):
            word = sentence[place]
            if all(count[word] > 0 for count in left):
                hits += 1
                for count in left:
                    count[word] -= 1
    return _score(hits, *sizes)


MEASURES: Mapping[str, Callable[[str, str], Score]] = {
    "rouge1": lambda reference, summary: rouge_n(reference, summary, 1),
    "rouge2": lambda reference, summary: rouge_n(reference, summary, 2),
    "rougeL": rouge_l,
    "rougeLsum": rouge_l_sum,
}


def rouge(
    references: Sequence[str],
    summary: str,
    measures: Sequence[str] = tuple(MEASURES),
    *,
    several: Literal["mean", "best"] = "mean",
) -> dict[str, Score]:
    """The scores of a summary by its references.

    >>> rouge(["the cat sat"], "the cat", ["rouge2"])["rouge2"]
    Score(precision=1.0, recall=0.5, f1=0.6666666666666666, support=1)
    """
    if not references:
        raise DataError("a summary cannot be scored without references")
    found = {}
    for name in measures:
        scores = [MEASURES[name](reference, summary) for reference in references]
        found[name] = max(scores, key=lambda score: score.f1) if several == "best" else _mean(scores)
    return found


def mean_rouge(references: Sequence[Sequence[str]], summaries: Sequence[str]) -> dict[str, Score]:
    """The mean scores of several summaries, each with its own references."""
    scores = [rouge(*each) for each in zip(references, summaries, strict=True)]
    return {name: _mean([each[name] for each in scores]) for name in MEASURES}


def _mean(scores: Sequence[Score]) -> Score:
    """The mean of each number; `support` counts the scores."""
    n = len(scores)
    precision, recall, f1 = (sum(part) / n for part in zip(*(score[:3] for score in scores), strict=True))
    return Score(precision, recall, f1, n)


def _score(common: float, wanted: int, found: int) -> Score:
    precision, recall = common / max(found, 1), common / max(wanted, 1)
    both = precision + recall
    return Score(precision, recall, 2.0 * precision * recall / both if both > 0.0 else 0.0, wanted)


def _lengths(one: Sequence[str], other: Sequence[str]) -> list[list[int]]:
    """The lengths of the longest common subsequences of all prefixes."""
    table = [[0] * (len(other) + 1)]
    for word in one:
        above = table[-1]
        steps = (above[j] + 1 if word == each else above[j + 1] for j, each in enumerate(other))
        table.append(list(accumulate(steps, max, initial=0)))
    return table


def _common(one: Sequence[str], other: Sequence[str]) -> list[int]:
    """The places in `one` of a longest common subsequence; of several, the one that ends last in both."""
    table, places = _lengths(one, other), []
    i, j = len(one), len(other)
    while i > 0 and j > 0:
        if one[i - 1] == other[j - 1]:
            places.append(i - 1)
            i, j = i - 1, j - 1
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places[::-1]
