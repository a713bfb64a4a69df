"""Sites: where motifs are found in sequences."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from widemargin._types import FloatMatrix
from widemargin.metrics import quotient
from widemargin.text.sequences import Span


class Site(NamedTuple):
    """The letters `start:end` of a sequence, counted from 0, and how much they score as the motif.

    On the strand ``"-"`` the motif is read from the other strand: `letters` are the reverse complement.
    """

    start: int
    end: int
    strand: str
    letters: str
    score: float


def best_sites(scores: FloatMatrix, k: int, length: int) -> list[tuple[int, float]]:
    """2h + strand and score of the `k` best windows that do not overlap, the best first; `scores` are of all windows.

    >>> best_sites(np.array([[3.0], [4.0], [1.0], [2.0]]), 2, 2)
    [(2, 4.0), (6, 2.0)]
    """
    left = scores.copy()
    found: list[tuple[int, float]] = []
    while len(found) < k and left.size and left.max() > -np.inf:
        start, strand = divmod(int(left.argmax()), left.shape[1])
        found.append((2 * start + strand, float(left[start, strand])))
        left[max(0, start - length + 1) : start + length] = -np.inf
    return found


def share_found(sites: Sequence[Site | None], gold: Sequence[Sequence[Span]]) -> tuple[float, int]:
    """The share of sequences with gold sites whose predicted site is one of them, and how many these sequences are.

    A site is found if at least half of the shorter of the two is covered; strands do not matter.

    >>> share_found([Site(4, 15, "+", "", 1.0), None], [[Span(0, 10)], [Span(3, 9)]])
    (0.5, 2)
    """
    known = [(site, right) for site, right in zip(sites, gold, strict=True) if right]
    found = sum(site is not None and any(_covers(site, each) for each in right) for site, right in known)
    return quotient(found, len(known)), len(known)


def _covers(site: Site, gold: Span) -> bool:
    shorter = min(site.end - site.start, gold.end - gold.start)
    return 2 * (min(site.end, gold.end) - max(site.start, gold.start)) >= shorter
