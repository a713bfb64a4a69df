"""Every structure of `widemargin.torch` with small random scores, all its outputs one by one, and the parts of each."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from helpers.brackets import halves, labelled
from helpers.segmentations import segmentations
from helpers.trees import previous_siblings, trees
from widemargin.decoders.cky import cell
from widemargin.structures import chain as chains
from widemargin.structures import classes as of_classes
from widemargin.tasks.segment.costs import segments_of
from widemargin.torch import (
    Chain,
    Classes,
    Constituents,
    DependencyTrees,
    FlatStructure,
    Oracle,
    Segments,
    Structure,
)


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
    rows: Callable[[int], object] = int
    """Where the own scores of example b are."""

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


def segments(rng):
    lengths, T, M, L = [3, 0, 4, 1], 4, 3, 2
    scores = (draw(rng, 4, T, M, L), draw(rng, L, L), draw(rng, L), draw(rng, L))

    def parts(b, codes):
        found = segments_of(codes[codes >= 0])
        for k, (first, last, label) in enumerate(found):
            yield 0, (b, first, last - first, label)
            yield (1, (found[k - 1][2], label)) if k else (2, (label,))
        if found:
            yield 3, (found[-1][2],)

    def codes(n):
        every = segmentations(n, [M] * L) if n else [()]
        return [
            [2 * label + (t == first) for first, last, label in each for t in range(first, last + 1)] for each in every
        ]

    return Case(Segments(), scores, torch.tensor(lengths), [padded(codes(n), T) for n in lengths], parts)


def dependencies(rng, *, n_labels=0, siblings=False, projective=True, single_root=False):
    lengths, T = [3, 0, 2, 1], 3
    scores = (draw(rng, 4, T + 1, T + 1, *([n_labels] if n_labels else [])),)
    if siblings:
        scores += (draw(rng, 4, T + 1, T + 1, T + 1),)

    def parts(b, tree):
        tree = tree.reshape(T, -1)
        tree = tree[tree[:, 0] >= 0].tolist()
        before = previous_siblings([head for head, *_ in tree])
        for t, (head, *label) in enumerate(tree):
            yield 0, (b, head, t + 1, *label)
            if siblings:
                yield 1, (b, head, before[t], t + 1)

    def every(n):
        heads = trees(n, single_root=single_root, projective=projective).tolist() if n else [[]]
        if not n_labels:
            return padded(heads, T)
        labels = list(product(range(n_labels), repeat=n))
        labelled_heads = [list(zip(one, other, strict=True)) for one in heads for other in labels]
        return [each.reshape(T, 2) for each in padded([np.reshape(each, (-1, 2)) for each in labelled_heads], T)]

    structure = DependencyTrees(projective=projective, single_root=single_root)
    return Case(structure, scores, torch.tensor(lengths), [every(n) for n in lengths], parts)


def constituents(rng, *, rules=False):
    lengths, T, L = [3, 0, 2, 1], 3, 2
    scores = (draw(rng, 4, T * (T + 1) // 2, L), draw(rng, 2, L, L))

    def parts(b, nodes):
        nodes = [tuple(each) for each in nodes.tolist() if each[0] >= 0]
        for i, j, label in nodes:
            yield 0, (b, cell(i, j), label)
        for parent, child, side in halves(nodes) if rules else ():
            yield 1, (side, child[2], parent[2])

    outputs = [
        padded([np.reshape(each, (-1, 3)) for each in (labelled(n, L) if n else [[]])], 2 * T - 1) for n in lengths
    ]
    return Case(Constituents(), scores if rules else scores[:1], torch.tensor(lengths), outputs, parts)


def flat(structure, padded_case):
    """A case of a padded structure, with the same scores in one vector, and the vector of those that are shared.

    The tensors that have rows for examples come first, and the parts of an example are in their order.
    """

    def made(rng):
        case = padded_case(rng)
        sizes, n_outputs = case.lengths.numpy(), np.size(case.outputs[0][0])
        ends = np.append(0, np.cumsum(structure.n_own(sizes)))
        own, shared = case.scores[:1], case.scores[1:]
        if structure.n_shared < sum(each.numel() for each in shared):
            own, shared = case.scores[:2], case.scores[2:]
        reach = [[each[b, :n] if each.dim() > 2 else each[b] for each in own] for b, n in enumerate(sizes)]
        scores = (torch.cat([each.reshape(-1) for row in reach for each in row]),)
        if structure.n_shared:
            scores += (torch.cat([each.reshape(-1) for each in shared]),)

        def parts(b, y):
            for tensor, place in case.parts(b, y.reshape(np.shape(case.outputs[b][0]))):
                if tensor < len(own):
                    before = sum(each.numel() for each in reach[b][:tensor])
                    number = np.ravel_multi_index(place[1:], reach[b][tensor].shape)
                    yield 0, (int(ends[b] + before + number),)
                else:
                    before = sum(each.numel() for each in case.scores[len(own) : tensor])
                    yield 1, (int(before + np.ravel_multi_index(place, case.scores[tensor].shape)),)

        outputs = [[np.reshape(y, n_outputs) for y in every] for every in case.outputs]
        return Case(FlatStructure(structure), scores, case.lengths, outputs, parts, lambda b: slice(*ends[b : b + 2]))

    return made


CASES = {
    "chain": chain,
    "chain by token": lambda rng: chain(rng, by_token=True),
    "chain of emissions": lambda rng: chain(rng, only_emissions=True),
    "segments": segments,
    "projective": dependencies,
    "projective, single root": lambda rng: dependencies(rng, single_root=True),
    "siblings": lambda rng: dependencies(rng, siblings=True, single_root=True),
    "labelled siblings": lambda rng: dependencies(rng, siblings=True, n_labels=2),
    "non-projective": lambda rng: dependencies(rng, projective=False),
    "labelled non-projective, single root": lambda rng: dependencies(
        rng, projective=False, single_root=True, n_labels=2
    ),
    "constituents": constituents,
    "constituents with rules": lambda rng: constituents(rng, rules=True),
    "classes": classes,
    "oracle": subsets,
    "flat chain": flat(chains.Chain(3), chain),
    "flat chain by token": flat(chains.Chain(3, by_position=True), lambda rng: chain(rng, by_token=True)),
    "flat classes": flat(of_classes.Classes(4), classes),
}
"""Cases by their names, each a function of a random generator."""

NO_SUMS = {"oracle"}
"""Cases without sums over all outputs."""

ONLY_THE_BEST = {"oracle"}
"""Cases without the k best outputs."""
