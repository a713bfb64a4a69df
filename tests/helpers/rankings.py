"""Queries so small that all rankings of their documents, and all sets of swapped pairs, can be listed."""

from itertools import pairwise, permutations, product

import numpy as np

from helpers.data import Small
from widemargin.core.sparse import boundaries, compressed
from widemargin.tasks.rank.examples import PositionExamples, SwapExamples

POSITIONS, SWAPS = ("precision", "ndcg"), ("pairs", "map")


def pairs_of(grades):
    """All pairs (i, j) with grade_i > grade_j."""
    return [(i, j) for i, j in permutations(range(len(grades)), 2) if grades[i] > grades[j]]


def counted(grades, swapped):
    """For each document the numbers of swapped pairs in which it is the better, and the worse one."""
    counts = np.zeros((len(grades), 2), dtype=np.int64)
    for i, j in swapped:
        counts[i, 0] += 1
        counts[j, 1] += 1
    return counts


def swapped_by(grades, ranking):
    """The pairs that a ranking swaps."""
    place = {d: r for r, d in enumerate(ranking)}
    return [(i, j) for i, j in pairs_of(grades) if place[j] < place[i]]


def outputs_of(measure, grades, k):
    """All outputs of a query, each once."""
    n = len(grades)
    if measure in POSITIONS:
        return [np.array(each, dtype=np.int32) for each in permutations(range(n), min(k, n))]
    if measure == "map":
        every = [counted(grades, swapped_by(grades, ranking)) for ranking in permutations(range(n))]
    else:
        pairs = pairs_of(grades)
        every = [
            counted(grades, [pair for pair, swapped in zip(pairs, c, strict=True) if swapped])
            for c in product((0, 1), repeat=len(pairs))
        ]
    return list({each.tobytes(): each for each in every}.values())


def random_queries(seed, sizes, n_features=4, highest=2):
    """Features as a matrix, boundaries and grades, which the first feature tells with some noise."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((sum(sizes), n_features)) < 0.7, rng.normal(size=(sum(sizes), n_features)), 0.0)
    grades = np.clip(np.rint(X[:, 0] + rng.normal(scale=0.7, size=len(X))), 0, highest).astype(np.int32)
    return X, boundaries(sizes), grades


def ranking_examples(X, indptr, grades, measure, k=2, relevant_from=1):
    """Examples of any measure; those with hidden rankings are not completed."""
    if measure in POSITIONS:
        return PositionExamples(
            compressed(X), X.shape[1], indptr, grades, measure=measure, k=k, relevant_from=relevant_from
        )
    return SwapExamples(compressed(X), X.shape[1], indptr, grades, measure=measure, relevant_from=relevant_from)


def small_rankings(seed, sizes, measure, *, k=2, relevant_from=1):
    """Examples, completed where needed, with their outputs and gold."""
    X, indptr, grades = random_queries(seed, sizes, highest=1 if measure == "pairs" else 2)
    examples = ranking_examples(X, indptr, grades, measure, k, relevant_from)
    gold = np.zeros((len(grades), 2), dtype=np.int64)
    if measure in POSITIONS:
        gold = examples.guess(np.random.default_rng(seed))
        examples = examples.completed(gold)
    levels = grades >= relevant_from if measure == "map" else grades
    of_query = [levels[begin:end] for begin, end in pairwise(indptr.tolist())]
    return Small(examples, lambda i: iter(outputs_of(measure, of_query[i], k)), gold)
