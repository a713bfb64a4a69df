"""Small documents to cluster, with all their forests and partitions, and mentions, with all choices of their links."""

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from widemargin.core.sparse import Rows, boundaries
from widemargin.structures.forest import Documents
from widemargin.tasks.coreference.examples import AntecedentExamples, LinkKeys, Links, link_boundaries


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
    first, second = flat.T.copy()
    documents = Documents(boundaries(sizes), boundaries(map(len, pairs)), first, second, features)
    return documents, clusters


def random_links(seed, sizes, *, most=None, bits=4, edges=(0, 2, 3), n_alone=2):
    """Links with random keys, in a table so small that features collide; some pairs measure different things."""
    rng = np.random.default_rng(seed)
    n, n_templates = sum(sizes), edges[-1]
    pairs = link_boundaries(np.array(sizes, dtype=np.int64), most)

    def draw(*shape):
        return rng.integers(0, 1 << 29, shape).astype(np.int32)

    return Links(
        LinkKeys(
            draw(n, n_templates),
            draw(n, n_templates),
            draw(5, n_templates),
            draw(n, n_alone) & ((1 << bits) - 1),
            rng.integers(0, 5, (int(pairs[-1]), len(edges) - 1)).astype(np.int16),
            np.array(edges, dtype=np.int64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            pairs,
            (1 << bits) - 1,
        )
    )


def random_entities(seed, sizes):
    rng = np.random.default_rng(seed)
    return np.concatenate([[], *(rng.integers(0, n // 2 + 1, n) for n in sizes)]).astype(np.int32)


def random_mentions(seed, sizes, **options):
    return AntecedentExamples(random_links(seed, sizes, **options), random_entities(seed, sizes))


def choices(examples, m):
    """All outputs of a mention."""
    pairs = examples.keys.pairs
    return [np.array([back], dtype=np.int32) for back in range(int(pairs[m + 1] - pairs[m]) + 1)]


def phi(links, m, back):
    """The features of a choice, from the definition."""
    keys, x = links.keys, np.zeros(links.keys.mask + 1)
    if back == 0:
        return x
    for place in keys.alone[m]:
        x[place] += 1.0
    rows = keys.rows[keys.pairs[m + 1] - back]
    for g, (begin, end) in enumerate(pairwise(keys.edges.tolist())):
        for t in range(begin, end):
            x[
                (int(keys.mention[m, t]) + int(keys.antecedent[m - back, t]) + int(keys.measure[rows[g], t])) % len(x)
            ] += 1
    return x


def error_of(examples, m, back):
    """Δ of a choice, from the definition."""
    documents, entities, pairs = examples.keys.documents, examples.entities, examples.keys.pairs
    begin = int(documents[np.searchsorted(documents, m, "right") - 1])
    reach = int(pairs[m + 1] - pairs[m])
    right = [k for k in range(1, reach + 1) if m - k >= begin and entities[m - k] == entities[m]]
    if back == 0:
        return examples.error_costs.false_new if right else 0.0
    return 0.0 if back in right else examples.error_costs.wrong_link if right else examples.error_costs.false_anaphor
