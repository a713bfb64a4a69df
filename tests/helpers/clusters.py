"""Small documents to cluster, with all their forests and all their partitions."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from widemargin.core.sparse import Rows, boundaries
from widemargin.structures.forest import Documents


def forests(first: list[int], second: list[int], n: int) -> Iterator[np.ndarray]:
    """All forests among the edges, as flags."""
    for size in range(len(first) + 1):
        for chosen in combinations(range(len(first)), size):
            label = list(range(n))
            for edge in chosen:
                one, other = label[first[edge]], label[second[edge]]
                if one == other:
                    break
                label = [one if each == other else each for each in label]
            else:
                flags = np.zeros(len(first), dtype=np.int8)
                flags[list(chosen)] = 1
                yield flags


def partitions(n: int) -> Iterator[list[int]]:
    """All partitions of n items, as numbers of clusters in the order of first appearance."""
    if n == 0:
        yield []
        return
    for rest in partitions(n - 1):
        for cluster in range(max(rest, default=-1) + 2):
            yield [*rest, cluster]


def random_documents(
    seed: int, sizes: list[int], *, n_features: int = 5, given: float = 1.0, binary: bool = False
) -> tuple[Documents, np.ndarray]:
    """Documents with a share of their pairs given, and gold clusters; features are small integers, so scores tie."""
    rng = np.random.default_rng(seed)
    pairs = [[pair for pair in combinations(range(n), 2) if rng.random() < given] for n in sizes]
    flat = np.array([pair for each in pairs for pair in each], dtype=np.int32).reshape(-1, 2)
    counts = rng.integers(0, 4, len(flat))
    drawn = [rng.permutation(n_features)[:count] for count in counts]
    indices = np.concatenate([[], *drawn]).astype(np.int32)
    values = np.empty(0) if binary else rng.integers(-2, 3, len(indices)).astype(np.float64)
    features = Rows(boundaries(counts), indices, values)
    clusters = np.concatenate([[], *(rng.integers(0, max(1, n // 2 + 1), n) for n in sizes)]).astype(np.int32)
    documents = Documents(boundaries(sizes), boundaries(map(len, pairs)), flat[:, 0], flat[:, 1], features)
    return documents, clusters
