"""A motif finder by expectation maximisation, which stands in for the Gibbs sampler of Yu & Joachims (2009).

It is what MEME does (Bailey & Elkan 1994): a mixture in which a sequence has one site or none, with a Markov
background, several beginnings taken from the data, and the best likelihood kept. It sees positive sequences only.
"""

from collections.abc import Sequence

import numpy as np

from widemargin.tasks.motif.examples import code
from widemargin.tasks.motif.files import Site

ORDER, STARTS, KEPT, STEPS = 3, 50, 5, 50


def markov(texts: Sequence[str], order: int) -> np.ndarray:
    """log p of each context of the library's numbering, given its letters but the last."""
    coded = code(texts, "ACGT", order)
    counts = np.bincount(coded.contexts, minlength=4 ** (order + 1) + 1)[:-1].reshape(-1, 4) + 1.0
    return np.append(np.log(counts / counts.sum(axis=1, keepdims=True)), 0.0)


class Expectation:
    """Sequences with all their windows, on one strand or both, and what EM asks of them."""

    def __init__(self, texts: Sequence[str], length: int, both: bool, background: np.ndarray, order: int) -> None:
        coded = code(texts, "ACGT", order)
        counts = np.maximum(np.diff(coded.indptr) - length + 1, 0)
        self.offset = np.concatenate([np.arange(count) for count in counts])
        places = (np.repeat(coded.indptr[:-1], counts) + self.offset)[:, None] + np.arange(length)
        self.letters = coded.letters[places].astype(np.int64)
        self.under = background[coded.contexts][places].sum(axis=1)
        self.owner, self.length, self.n = np.repeat(np.arange(len(texts)), counts), length, len(texts)
        if both:
            turned = np.where(self.letters < 4, 3 - self.letters, 4)[:, ::-1]
            # The windows of a sequence stay together.
            order_ = np.argsort(np.tile(self.owner, 2), kind="stable")
            self.letters = np.concatenate([self.letters, turned])[order_]
            self.under, self.owner, self.offset = (
                np.tile(each, 2)[order_] for each in (self.under, self.owner, self.offset)
            )
        self.columns = np.ascontiguousarray(self.letters.T)
        self.begins = np.searchsorted(self.owner, np.arange(len(texts)))
        self.sizes = np.bincount(self.owner, minlength=len(texts))

    def odds(self, matrix: np.ndarray) -> np.ndarray:
        """log p(window | motif) / p(window | background) of all windows."""
        padded = np.concatenate([np.log(matrix), np.zeros((self.length, 1))], axis=1)
        total = -self.under
        for weights, letters in zip(padded, self.columns, strict=True):
            total += weights[letters]
        return total

    def step(self, matrix: np.ndarray, share: float) -> tuple[np.ndarray, float, float]:
        """One step of EM: the next matrix and share of sequences with a site, and the likelihood ratio before it."""
        odds = self.odds(matrix)
        top = np.maximum.reduceat(odds, self.begins)
        sums = np.add.reduceat(np.exp(odds - top[self.owner]), self.begins)
        # λ/m Σ odds + (1 − λ), without overflow.
        inside = np.log(share / self.sizes) + top + np.log(sums)
        both = np.logaddexp(inside, np.log1p(-share))
        z = np.exp(odds + (np.log(share / self.sizes) - both)[self.owner])
        counts = np.stack([np.bincount(letters, z, minlength=5)[:4] for letters in self.columns]) + 0.25
        found = float(np.clip(z.sum() / self.n, 0.01, 0.99))
        return counts / counts.sum(axis=1, keepdims=True), found, float(both.sum())

    def converged(self, matrix: np.ndarray, share: float) -> tuple[float, np.ndarray]:
        """The likelihood ratio and the matrix that EM comes to from here."""
        before = -np.inf
        for _ in range(STEPS):
            after, share, likelihood = self.step(matrix, share)
            if likelihood < before + 1e-4 * abs(before):
                break
            matrix, before = after, likelihood
        return before, matrix

    def sites(self, matrix: np.ndarray) -> list[Site]:
        """The best window of each sequence, with the likelihood ratio of the sequence if it has one site."""
        odds, found = self.odds(matrix), []
        for own in np.split(np.arange(len(odds)), self.begins[1:]):
            at, top = own[odds[own].argmax()], odds[own].max()
            start = int(self.offset[at])
            score = float(top + np.log(np.exp(odds[own] - top).mean()))
            found.append(Site(start, start + self.length, "+", "", score))
        return found

    def start(self, window: int) -> np.ndarray:
        """A matrix that expects the letters of this window."""
        matrix, letters = np.full((self.length, 4), 0.5 / 3), self.letters[window]
        matrix[np.flatnonzero(letters < 4), letters[letters < 4]] = 0.5
        return matrix


def motif(sequences: Expectation, seed: int, starts: int) -> np.ndarray:
    """The matrix with the best likelihood, of some beginnings taken from the sequences."""
    rng, tried = np.random.default_rng(seed), []
    for window in rng.integers(len(sequences.letters), size=starts):
        matrix, share, _ = sequences.step(sequences.start(int(window)), 0.5)
        tried.append((sequences.step(matrix, share)[2], matrix, share))
    promising = sorted(tried, key=lambda each: -each[0])[:KEPT]
    return max((sequences.converged(matrix, share) for _, matrix, share in promising), key=lambda each: each[0])[1]
