"""Inputs to summarise, so small that all their extracts can be listed."""

from itertools import product

import numpy as np

from helpers.data import Small
from widemargin.core.sparse import boundaries
from widemargin.decoders.coverage import Coverage, Selection
from widemargin.tasks.summarise.examples import Extract, ExtractExamples

N_FEATURES = 4


def all_sets(coverage):
    """All sets of items within the budget, as flags."""
    for flags in product((False, True), repeat=coverage.n_items):
        chosen = np.array(flags, dtype=bool)
        if coverage.costs[chosen].sum() <= coverage.budget:
            yield chosen


def random_coverage(rng, n_items, n_concepts, share=0.4):
    """Items of random costs, and concepts that each item has with probability `share`."""
    sets = [np.flatnonzero(rng.random(n_items) < share) for _ in range(n_concepts)]
    return Coverage(
        boundaries(map(len, sets)),
        np.concatenate([*sets, np.empty(0)]).astype(np.int32),
        rng.integers(0, 6, n_items),
        int(rng.integers(4, 12)),
    )


def random_extract(rng, n_sentences, n_concepts):
    """References that like what the first feature likes, with noise."""
    coverage = random_coverage(rng, n_sentences, n_concepts)
    sentences, concepts = rng.normal(size=(n_sentences, N_FEATURES)), rng.normal(size=(n_concepts, N_FEATURES))
    recall = [
        np.maximum(np.rint(each[:, 0] + rng.normal(scale=0.7, size=len(each))), 0.0) for each in (sentences, concepts)
    ]
    return Extract(coverage, sentences, concepts, *recall)


def small_extracts(seed, sizes):
    """Examples with their outputs and gold."""
    rng = np.random.default_rng(seed)
    examples = ExtractExamples([random_extract(rng, n, n + 2) for n in sizes], N_FEATURES)

    def outputs(i):
        return ([Selection(chosen, 0.0, 0.0)] for chosen in all_sets(examples.extracts[i].coverage))

    return Small(examples, outputs, [Selection(gold.chosen, 0.0, 0.0) for gold in examples.gold])
