"""Every structure of `widemargin.torch` with small random scores, all its outputs one by one, and the parts of each."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from widemargin.torch import Chain, Classes, Oracle, Structure


@dataclass
class Case:
    """A batch: `outputs[b]` are all outputs of example b, padded, and `parts(b, output)` their places in the scores.

    A place is the number of a tensor and an index; a shared tensor's has no b.
    """

    structure: Structure
    scores: tuple[torch.Tensor, ...]
    lengths: torch.Tensor
    outputs: list[list[np.ndarray]]
    parts: object

    @property
    def mask(self):
        """How long the examples are; None if they have no length."""
        return None if isinstance(self.structure, Classes | Oracle) else self.lengths

    def gold(self, seed=0):
        """Any output of each example."""
        rng = np.random.default_rng(seed)
        return torch.from_numpy(np.stack([each[rng.integers(len(each))] for each in self.outputs])).long()

    def counts(self, b, output):
        """The part counts of an output: arrays in the shapes of the scores."""
        counts = [np.zeros(each.shape) for each in self.scores]
        for tensor, place in self.parts(b, output):
            counts[tensor][place] += 1.0
        return counts

    def value(self, b, output, scores=None):
        """The score of an output, part by part."""
        scores = self.scores if scores is None else scores
        return sum(scores[tensor][place].item() for tensor, place in self.parts(b, output))

    def errors(self, b, output, gold):
        """How many parts of the first tensor gold does not have."""
        own = {place for tensor, place in self.parts(b, gold) if tensor == 0}
        return float(sum(place not in own for tensor, place in self.parts(b, output) if tensor == 0))


def add(into, factor, arrays):
    """Add each of the arrays, times a factor, to another one."""
    for k, each in enumerate(arrays):
        into[k] += factor * each


def padded(rows, width):
    """Outputs of one length as arrays of another."""
    arrays = [np.full((width, *np.shape(row)[1:]), -1, dtype=np.int32) for row in rows]
    for array, row in zip(arrays, rows, strict=True):
        array[: len(row)] = np.asarray(row, dtype=np.int32).reshape(-1, *array.shape[1:])
    return arrays


def draw(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape))


def chain(rng, *, by_token=False, only_emissions=False, n_jobs=None):
    lengths, T, L = [3, 0, 4, 1], 4, 3
    tables = draw(rng, 4, T, L, L) if by_token else draw(rng, L, L)
    scores = (draw(rng, 4, T, L), tables, draw(rng, L), draw(rng, L))

    def parts(b, labels):
        labels = [each for each in labels.tolist() if each >= 0]
        for t, label in enumerate(labels):
            yield 0, (b, t, label)
            if t and not only_emissions:
                yield 1, (*((b, t) if by_token else ()), labels[t - 1], label)
        if labels and not only_emissions:
            yield 2, (labels[0],)
            yield 3, (labels[-1],)

    outputs = [padded(list(product(range(L), repeat=n)), T) for n in lengths]
    return Case(Chain(n_jobs=n_jobs), scores[:1] if only_emissions else scores, torch.tensor(lengths), outputs, parts)


def classes(rng):
    return Case(
        Classes(),
        (draw(rng, 3, 4),),
        torch.ones(3, dtype=torch.int64),
        [[np.int32(label) for label in range(4)]] * 3,
        lambda b, label: [(0, (b, int(label)))],
    )


def subsets(rng):
    """Two items out of four, by a function of one's own."""
    every = [np.array(y, dtype=np.int32) for y in product((0, 1), repeat=4) if sum(y) == 2]

    def solve(scores):
        return max(every, key=lambda y: scores[y == 1].sum())

    return Case(
        Oracle(solve),
        (draw(rng, 3, 4),),
        torch.ones(3, dtype=torch.int64),
        [every] * 3,
        lambda b, y: [(0, (b, int(i))) for i in np.flatnonzero(y)],
    )


CASES = {
    "chain": chain,
    "chain by token": lambda rng: chain(rng, by_token=True),
    "chain of emissions": lambda rng: chain(rng, only_emissions=True),
    "classes": classes,
    "oracle": subsets,
}
"""Cases by their names, each a function of a random generator."""

NO_SUMS = {"oracle"}
"""Cases without sums over all outputs and without k best ones."""
