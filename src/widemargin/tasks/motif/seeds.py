"""First completions: a rough motif, found by counting short words.

Starting from random windows seldom works: on ARS sequences of yeast, training then ends near chance. Instead:

1. Words of a few letters are ranked by the z-score of the difference between their shares in positive and in negative
   sequences.
2. Each of the best words is the middle of a motif, which hard expectation maximisation refines: the letters in the best
   windows of the better half of the positive sequences are counted, and their log odds are the next motif.
3. The motif with the best area under the curve, over all words and steps, is shifted to the left or right, to the place
   where its windows have the most information: neither the steps above nor training would move it. It then chooses the
   windows.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector, IntVector, LongVector
from widemargin.metrics import area_under_curve

if TYPE_CHECKING:
    from widemargin.tasks.motif.examples import MotifExamples

MOST_WORDS = 10_000  # the number of words of the chosen size
N_SEEDS, N_STEPS = 20, 3
MOST_NEGATIVE = 1000  # more would take time and hardly change the ranks
STRENGTH, PSEUDO = 8.0, 4.0  # a word counts like this many sequences, the background like this many


def letter_counts(examples: "MotifExamples", batch: IntVector, places: LongVector) -> FloatMatrix:
    """The counts of letters at each place of these windows."""
    (length, n_letters, _, complement), coded = examples.shape, examples.coded
    starts, strands = coded.indptr[batch] + places // 2, places % 2
    counts = np.zeros((length, n_letters + 1))
    for j in range(length):
        letters = coded.letters[starts + np.where(strands == 0, j, length - 1 - j)].astype(np.int64)
        if len(complement):
            letters = np.where(strands == 0, letters, complement[letters])
        counts[j] = np.bincount(letters, minlength=n_letters + 1)
    return counts[:, :n_letters]


def letter_shares(examples: "MotifExamples") -> FloatVector:
    """The share of each letter."""
    n_letters, complement = examples.shape.n_letters, examples.shape.complement
    counts = np.bincount(examples.coded.letters, minlength=n_letters + 1)[:n_letters] + 1.0
    if len(complement):
        counts = counts + counts[complement[:n_letters]]
    return counts / counts.sum()


class Rough(NamedTuple):
    """A rough motif: its log odds, the area under the curve, and the information of its windows."""

    odds: FloatMatrix
    area: float
    bits: float = 0.0


class Search(NamedTuple):
    """The sequences to search, the positive ones first, and the shares of their letters."""

    examples: "MotifExamples"
    batch: IntVector
    positive: AnyArray
    frequencies: FloatVector

    def best(self, odds: FloatMatrix, batch: IntVector) -> tuple[LongVector, FloatVector]:
        """The windows with the best sums of `odds`, and the sums."""
        return self.examples.best(np.append(odds, np.zeros(self.examples.shape.n_contexts)), batch)

    def counts(self, batch: IntVector, places: LongVector) -> FloatMatrix:
        """The counts of letters at each place of these windows, smoothed by letters anywhere."""
        return letter_counts(self.examples, batch, places) + PSEUDO * self.frequencies

    def odds(self, counts: FloatMatrix) -> FloatMatrix:
        """The log odds of letters in windows against letters anywhere."""
        return np.log(counts / counts.sum(axis=1, keepdims=True) / self.frequencies)

    def better_half(self, places: LongVector, scores: FloatVector) -> tuple[IntVector, LongVector]:
        """The better half of the positive sequences by the scores of their windows, and these windows."""
        n = int(self.positive.sum())
        order = np.argsort(-scores[:n], kind="stable")[: max(1, n // 2)]
        return self.batch[order], places[order]

    def refine(self, counts: FloatMatrix) -> Rough:
        """The motif with the best area under the curve among several steps of refinement."""
        best = Rough(self.odds(counts), -1.0)
        for _ in range(N_STEPS + 1):
            odds = self.odds(counts)
            places, scores = self.best(odds, self.batch)
            area = area_under_curve(scores, self.positive)
            counts = self.counts(*self.better_half(places, scores))
            if area > best.area:
                best = Rough(odds, area, self.bits(counts))
        return best

    def bits(self, counts: FloatMatrix) -> float:
        """The information of windows with these numbers of letters."""
        return float((counts / counts.sum(axis=1, keepdims=True) * self.odds(counts)).sum())

    def shift(self, odds: FloatMatrix) -> FloatMatrix:
        """The counts of letters in windows shifted to the left or right, to where they have the most information."""
        batch, places = self.better_half(*self.best(odds, self.batch))
        n_windows, reach = self.examples.n_windows[batch], self.examples.shape.length // 2
        tried = []
        for by in range(-reach, reach + 1):
            moved = places + np.where(places % 2 == 0, 2 * by, -2 * by)
            inside = (moved >= 0) & (moved < 2 * n_windows)
            tried.append(self.counts(batch[inside], moved[inside]))
        return max(tried, key=self.bits)


def seed_windows(examples: "MotifExamples") -> LongVector:
    """The windows that a rough motif chooses in all sequences; −1 in sequences that are too short."""
    positive, length, n_letters = examples.positive, examples.shape.length, examples.shape.n_letters
    negative = np.flatnonzero(~positive)
    chosen = np.concatenate([np.flatnonzero(positive), negative[:: -(-len(negative) // MOST_NEGATIVE) or 1]])
    batch, right = chosen.astype(np.int32), positive[chosen]
    search = Search(examples, batch, right, letter_shares(examples))
    best = Rough(np.zeros((length, n_letters)), -1.0)
    for word in telling_words(examples, batch, right):
        counts = np.tile(PSEUDO * search.frequencies, (length, 1))
        counts[(length - len(word)) // 2 + np.arange(len(word)), word] += STRENGTH
        best = max(best, search.refine(counts), key=lambda rough: rough.area)
    shifted = search.refine(search.shift(best.odds))
    best = max(best, shifted, key=lambda rough: (round(rough.area, 2), rough.bits))
    return search.best(best.odds, np.arange(len(positive), dtype=np.int32))[0]


def telling_words(examples: "MotifExamples", batch: IntVector, positive: AnyArray) -> list[LongVector]:
    """The words that set positive sequences apart most, best first; each as the numbers of its letters."""
    n, size = examples.shape.n_letters, 1
    while n ** (size + 1) <= MOST_WORDS and size < examples.shape.length:
        size += 1
    held = np.zeros((2, n**size))
    for i, right in zip(batch.tolist(), positive.tolist(), strict=True):
        held[int(right), _words(examples, i, size)] += 1.0
    n_negative, n_positive = np.bincount(positive.astype(np.int64), minlength=2)
    share = (held.sum(axis=0) + 1.0) / (len(positive) + 2.0)
    deviation = np.sqrt(share * (1.0 - share) * (1.0 / max(n_positive, 1) + 1.0 / max(n_negative, 1)))
    z = (held[1] / max(n_positive, 1) - held[0] / max(n_negative, 1)) / deviation
    best: Any = np.argsort(-z, kind="stable")[:N_SEEDS]
    return [best[k] // n ** np.arange(size - 1, -1, -1) % n for k in range(len(best))]


def _words(examples: "MotifExamples", i: int, size: int) -> LongVector:
    """The distinct words of sequence i; with two strands, the smaller number of a word and its reverse complement."""
    (_, n, _, complement), coded = examples.shape, examples.coded
    letters = coded.letters[coded.indptr[i] : coded.indptr[i + 1]].astype(np.int64)
    count = max(0, len(letters) - size + 1)
    words, reverse, whole = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64), np.ones(count, bool)
    for j in range(size):
        at = letters[j : j + count]
        whole &= at < n
        words = words * n + at
        if len(complement):
            reverse = reverse + complement[at] * n**j
    return np.unique((np.minimum(words, reverse) if len(complement) else words)[whole])
