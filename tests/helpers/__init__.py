"""What several test files need: every structure and every solver, once, and what to compare them with.

To have a new structure tested, add a row to `STRUCTURES`: small examples, all their outputs, their gold. A solver in
`widemargin.solvers.SOLVERS` is tested as it is; variants worth testing are rows of `SOLVERS` here.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from helpers.clusters import forests, random_documents
from helpers.coreference import choices, random_mentions
from helpers.motifs import motif_examples, outputs_of, random_texts
from widemargin import solvers
from widemargin.core.loop import Callback
from widemargin.core.problem import Problem
from widemargin.core.sparse import Rows, boundaries
from widemargin.objectives import Margin, PositionWise, Slack, Softmax
from widemargin.solvers import (
    MIRA,
    SGD,
    Auto,
    DualCoordinateDescent,
    FrankWolfe,
    OnlineCuttingPlane,
    Perceptron,
    SequentialDual,
)
from widemargin.structures.custom import custom_examples
from widemargin.structures.forest import ForestExamples
from widemargin.tasks.classify.examples import ClassExamples, multilabel_kind
from widemargin.tasks.parse.examples import Trees, tree_examples
from widemargin.tasks.parse.features import ArcExtractor
from widemargin.tasks.segment.costs import encode, segments_of
from widemargin.tasks.tag.crfsuite import SelectedChain, SelectedChainExamples
from widemargin.tasks.tag.features import ChainExamples, ChainShape
from widemargin.text.columns import Column, Columns


def corpus(name: str) -> Path:
    """The corpus file `name`, such as `wnut17/train.conll`; the test is skipped where there is none."""
    folder = Path(os.environ.get("WIDEMARGIN_DATA") or Path(__file__).parents[3] / "shared" / "data")
    path = folder / name
    if not path.exists():
        pytest.skip(f"{name} is not in {folder}; set WIDEMARGIN_DATA to the folder of the corpora")
    return path


def rows(lists, *, binary=False):
    """Lists of (index, value) as compressed rows; binary ones without values."""
    entries = [entry for row in lists for entry in row]
    return Rows(
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        np.array([index for index, _ in entries], dtype=np.int32),
        np.empty(0) if binary else np.array([value for _, value in entries], dtype=np.float64),
    )


def as_dicts(compressed):
    """Each row as a dict from index to value."""
    indptr, indices, values = (part.tolist() for part in compressed)
    return [dict(zip(indices[i:j], values[i:j], strict=True)) for i, j in pairwise(indptr)]


@dataclass(frozen=True)
class PlainChain:
    """A chain model as one would write it down, without arrays or kernels.

    `sequences[i][t]` lists the (feature, value) pairs of a position, `transitions[i][t]` those on the transition into
    it; `costs[g][l]` is the error of the label l where g is right.
    """

    n_labels: int
    n_features: int
    sequences: list
    gold: list
    costs: list | None = None
    n_transition_features: int = 0
    transitions: list | None = None
    binary: bool = False

    def features(self, i, labels):
        """φ(x_i, labels) as a dict."""
        L = self.n_labels
        transition = self.n_features * L
        begin = transition + L * L
        end = begin + L
        conditional = end + L
        entries = []
        for t, label in enumerate(labels):
            entries += [(f * L + label, value) for f, value in self.sequences[i][t]]
            if t == 0:
                entries.append((begin + label, 1.0))
            else:
                pair = labels[t - 1] * L + label
                entries.append((transition + pair, 1.0))
                if self.transitions is not None:
                    entries += [(conditional + g * L * L + pair, value) for g, value in self.transitions[i][t]]
        if labels:
            entries.append((end + labels[-1], 1.0))
        phi = {}
        for index, value in entries:
            phi[index] = phi.get(index, 0.0) + value
        return phi

    def score(self, w, i, labels):
        return sum(float(w[index]) * value for index, value in self.features(i, labels).items() if value != 0)

    def cost(self, gold, label):
        return float(gold != label) if self.costs is None else self.costs[gold][label]

    def error(self, i, labels):
        return float(sum(map(self.cost, self.gold[i], labels)))

    def psi(self, i, labels):
        """φ(x_i, gold) − φ(x_i, labels) without zeros."""
        gold, other = self.features(i, self.gold[i]), self.features(i, labels)
        difference = {index: gold.get(index, 0.0) - other.get(index, 0.0) for index in gold | other}
        return {index: value for index, value in difference.items() if value != 0.0}

    def outputs(self, i):
        """All label sequences of example i."""
        return [list(labels) for labels in product(range(self.n_labels), repeat=len(self.gold[i]))]

    def best(self, w, i, scale=0.0):
        """The best value of ⟨w, φ⟩ + scale · Δ."""
        return max(self.score(w, i, labels) + scale * self.error(i, labels) for labels in self.outputs(i))

    def compiled(self):
        """The same as the library has it."""
        positions = [row for sequence in self.sequences for row in sequence]
        conditional = None if self.transitions is None else [row for sequence in self.transitions for row in sequence]
        return ChainExamples(
            ChainShape(self.n_labels, self.n_features, self.n_transition_features),
            np.cumsum([0, *map(len, self.gold)], dtype=np.int64),
            rows(positions, binary=self.binary),
            np.array([label for labels in self.gold for label in labels], dtype=np.int32),
            costs=None if self.costs is None else np.array(self.costs, dtype=np.float64),
            transition_features=None if conditional is None else rows(conditional, binary=self.binary),
        )


def random_chain(seed, lengths, *, n_labels=3, n_features=6, per_position=2, costs=False, conditional=0, binary=True):
    """A `PlainChain` drawn at random, with some mistakes to learn from: labels follow the first feature, with noise."""
    rng = np.random.default_rng(seed)

    def position(n, count):
        return [(int(f), 1.0 if binary else float(rng.normal())) for f in rng.integers(n, size=count)]

    sequences = [[position(n_features, per_position) for _ in range(length)] for length in lengths]
    noise = [rng.random(length) < 0.25 for length in lengths]
    gold = [
        [int(rng.integers(n_labels)) if bad else row[0][0] % n_labels for row, bad in zip(sequence, odd, strict=True)]
        for sequence, odd in zip(sequences, noise, strict=True)
    ]
    matrix = rng.integers(1, 9, (n_labels, n_labels)) / 4 * (1.0 - np.eye(n_labels))
    return PlainChain(
        n_labels,
        n_features,
        sequences,
        gold,
        matrix.tolist() if costs else None,
        conditional,
        [[position(conditional, 1) for _ in range(length)] for length in lengths] if conditional else None,
        binary,
    )


class Small(NamedTuple):
    """Examples so small that all their outputs can be listed."""

    examples: Any
    outputs: Callable[[int], Iterator[Any]]
    gold: Any
    position_errors: Callable[[int, Any], Any] | None = None


def chain(*arguments, **options) -> Small:
    model = random_chain(*arguments, **options)

    def outputs(i):
        return (np.array(labels, dtype=np.int32) for labels in model.outputs(i))

    def position_errors(i, labels):
        return [model.cost(g, p) for g, p in zip(model.gold[i], labels.tolist(), strict=True)]

    return Small(model.compiled(), outputs, model.compiled().gold, position_errors)


def segmentation(*arguments, **options) -> Small:
    from helpers.segmentations import random_segmentation

    model = random_segmentation(*arguments, **options)
    return Small(
        model.compiled(),
        lambda i: map(encode, model.outputs(i)),
        model.compiled().gold,
        lambda i, codes: model.position_errors(i, segments_of(codes)),
    )


def brackets(texts, templates, hash_bits, *, error="spans") -> Small:
    from helpers.bracketed import PlainBrackets

    model = PlainBrackets(texts, templates, hash_bits, missing_cost=1.5, error=error)
    return Small(model.examples, lambda i: iter(model.outputs(i)), np.concatenate(model.gold), model.position_errors)


def ranked(*arguments, **options) -> Small:
    from helpers.rankings import small_rankings

    return small_rankings(*arguments, **options)


def summaries(*arguments) -> Small:
    from helpers.extracts import small_extracts

    return small_extracts(*arguments)


BRACKETED = [
    "(S (N a) (N b))",
    "(S (N a) (N b) (N c))",
    "(S (N b) (S (N c) (N a)))",
    "(NP (N c))",
    "(S (NP (N c)) (N c))",
]


def dependencies(seed, sizes, decoder="projective", order=1, *, single_root=True, hash_bits=4, label_cost=0.5) -> Small:
    """Sentences of words from a tiny vocabulary, with gold trees drawn among those that can be decoded."""
    from helpers.trees import trees as all_trees

    rng = np.random.default_rng(seed)
    words = Column.of(str(word) for word in rng.integers(4, size=sum(sizes)))
    tags = Column.of(str(int(word) % 2) for word in words.strings())
    columns = Columns({"word": words, "upos": tags}, boundaries(sizes))
    extractor = ArcExtractor(
        ["head:word|modifier:word", "modifier:word", "head:upos|modifier:upos|between:word"],
        ["head:upos|modifier:word|distance", "modifier:word|direction", "head:word"],
        ["sibling:word|modifier:upos"] if order != 1 else [],
        ["grandparent:word|modifier:upos", "grandparent:upos|head:word"] if order == "grandsiblings" else [],
        hash_bits,
    )

    def heads_of(n):
        return all_trees(n, single_root=single_root, projective=decoder == "projective") if n else np.empty((1, 0), int)

    heads = np.concatenate([rng.choice(heads_of(n)) for n in sizes]).astype(np.int32)
    labels = (rng.random(len(heads)) < 0.4).astype(np.int32)
    examples = tree_examples(
        Trees(2, hash_bits, decoder, order, single_root),
        columns.indptr,
        extractor.keys(columns),
        heads,
        labels,
        label_cost=label_cost,
    )

    def outputs(i):
        for tree in heads_of(sizes[i]):
            for relations in product((0, 1), repeat=sizes[i]):
                yield np.array([2 * head + label for head, label in zip(tree, relations, strict=True)], dtype=np.int32)

    def position_errors(i, output):
        first, last = columns.indptr[i : i + 2]
        wrong_head = output // 2 != heads[first:last]
        return np.where(wrong_head, 1.0, np.where(output % 2 != labels[first:last], label_cost, 0.0))

    return Small(examples, outputs, heads * np.int32(2) + labels, position_errors)


class Sign:
    """The simplest structure of one's own: ŷ ∈ {−1, 1}."""

    def features(self, x, y):
        return {0: y * x}

    def error(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, x, w, y=None):
        return max((-1, 1), key=lambda s: w[0] * s * x + (y is not None and s != y))


class Matching:
    """A structure of one's own: y[i] is the column that row i is matched with; φ sums the features of matched pairs."""

    def features(self, x, y):
        return sum(x[i, j] for i, j in enumerate(y))

    def error(self, y, y_hat):
        return sum(i != j for i, j in zip(y, y_hat, strict=True))

    def decode(self, x, w, y=None):
        from scipy.optimize import linear_sum_assignment

        scores = x @ w
        if y is not None:
            scores = scores + 1.0 - np.eye(len(y))[list(y)]
        return tuple(linear_sum_assignment(scores, maximize=True)[1].tolist())


class MaskedMatching(Matching):
    """The same with a decoder that can be told to be wrong at a position."""

    def decode(self, x, w, y=None, wrong_at=None):
        if wrong_at is None:
            return super().decode(x, w, y)
        x = np.concatenate([x, np.zeros((*x.shape[:2], 1))], axis=2)
        x[wrong_at, y[wrong_at], -1] = -1.0 - 4.0 * np.abs(x[..., :-1] @ w).sum()
        return super().decode(x, np.append(w, 1.0))


class ListedMatching(Matching):
    """The same with all outputs listed."""

    def outputs(self, x):
        return permutations(range(len(x)))


def matching(seed, sizes, kind=Matching) -> Small:
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, n, 4)) for n in sizes]
    y = [Matching().decode(x + rng.normal(scale=0.5, size=x.shape), np.array([1.0, -1.0, 0.5, 0.0])) for x in X]

    def outputs(i):
        return ([p] for p in permutations(range(sizes[i])))

    def position_errors(i, output):
        return [float(one != other) for one, other in zip(y[i], output[0], strict=True)]

    return Small(custom_examples(kind(), X, y), outputs, y, position_errors)


def flat_features(rng, n_examples, n_features, *, binary):
    """Rows of features, some with one of them twice."""
    drawn = [[(int(f), float(rng.normal())) for f in rng.integers(n_features, size=3)] for _ in range(n_examples)]
    return rows(drawn, binary=binary)


def selected(seed, lengths) -> Small:
    """Chains with half of the weights."""
    model = random_chain(seed, lengths, binary=False, per_position=3)
    full, rng = model.compiled(), np.random.default_rng(seed)
    chosen = [[label for label in range(model.n_labels) if rng.random() < 0.5] for _ in range(model.n_features)]
    pairs = np.flatnonzero(rng.random(model.n_labels**2) < 0.5)
    states = rows([[(label, 1.0) for label in labels] for labels in chosen], binary=True)
    shape = SelectedChain(n_labels=model.n_labels, n_features=model.n_features, states=states, pairs=pairs)
    examples = SelectedChainExamples(shape, full.indptr, full.features.rows, full.gold)
    return chain(seed, lengths, binary=False, per_position=3)._replace(examples=examples)


def classes(seed, n_examples, n_classes=3, *, n_features=5, costs=False, binary=False, intercept=0.0) -> Small:
    rng = np.random.default_rng(seed)
    features = flat_features(rng, n_examples, n_features, binary=binary)
    gold = np.where(rng.random(n_examples) < 0.6, features.indices[::3] % n_classes, 0).astype(np.int32)
    matrix = rng.uniform(0.5, 2.0, (n_classes, n_classes)) * (1.0 - np.eye(n_classes)) if costs else None
    examples = ClassExamples(features, n_features, n_classes, gold, costs=matrix, intercept=intercept)
    costs_of = 1.0 - np.eye(n_classes) if matrix is None else matrix

    def position_errors(i, output):
        return [costs_of[gold[i], output[0]]]

    return Small(examples, lambda i: (np.array([y], dtype=np.int32) for y in range(n_classes)), gold, position_errors)


def motifs(seed) -> Small:
    texts, positive = random_texts(seed, [6, 4, 5, 3, 2, 5]), [True, False, True, True, False, False]
    latent = motif_examples(texts, positive, "ACGT", 3, 1, both=True)
    gold = latent.guess(np.random.default_rng(seed))
    outputs = [outputs_of(text, 3, both=True) for text in texts]
    return Small(latent.completed(gold), lambda i: (np.array([y]) for y in outputs[i]), gold)


def label_sets(seed, n_examples, n_labels=3, *, pairwise, n_features=4, costs=False, intercept=0.0) -> Small:
    rng = np.random.default_rng(seed)
    features = flat_features(rng, n_examples, n_features, binary=False)
    gold = rng.integers(2, size=(n_examples, n_labels)).astype(np.int32)
    gold[:, 0] = features.values[::3] > 0
    given = rng.uniform(0.5, 2.0, n_labels) if costs else None
    kind = multilabel_kind(n_labels, pairwise=pairwise)
    examples = kind(features, n_features, n_labels, gold, costs=given, intercept=intercept)
    sets = [np.array([y], dtype=np.int32) for y in product((0, 1), repeat=n_labels)]

    def position_errors(i, output):
        return np.where(output[0] != gold[i], 1.0 if given is None else given, 0.0)

    return Small(examples, lambda i: iter(sets), gold, position_errors)


def linked(seed, sizes, *, penalty=1.0, **options) -> Small:
    """Clusters held together by forests, completed by chains."""
    documents, gold = random_documents(seed, sizes, **options)
    examples = ForestExamples(documents, 5, gold, penalty=penalty)

    def outputs(i):
        begin, end = documents.pairs[i : i + 2]
        first, second = documents.first[begin:end].tolist(), documents.second[begin:end].tolist()
        return forests(first, second, sizes[i])

    return Small(examples, outputs, examples.gold)


def resolved(seed, sizes, **options) -> Small:
    """Choices of antecedents, completed at random."""
    latent = random_mentions(seed, sizes, **options)
    gold = latent.guess(np.random.default_rng(seed))
    return Small(latent.completed(gold), lambda m: iter(choices(latent, m)), gold)


STRUCTURES: dict[str, Callable[[], Small]] = {
    "chain": lambda: chain(1, [3, 2, 4, 1, 3, 2, 4, 0, 3]),
    "chain, real-valued": lambda: chain(2, [3, 2, 4, 1, 0, 3, 2], binary=False, per_position=3),
    "chain, costs": lambda: chain(3, [2, 3, 1, 4, 3, 2], costs=True),
    "chain, conditional": lambda: chain(4, [3, 2, 3, 3, 1], n_labels=2, conditional=2, binary=False, costs=True),
    "chain, five labels": lambda: chain(5, [2, 2, 1, 2, 2], n_labels=5, per_position=5),
    "chain, selected": lambda: selected(6, [3, 2, 4, 1, 0, 3]),
    "segments": lambda: segmentation(7, [3, 2, 4, 1, 0, 3], max_lengths=[1, 3], n_segment_features=3),
    "segments, penalties": lambda: segmentation(8, [2, 4, 3], max_lengths=[2, 2, 1], penalties=True, binary=False),
    "brackets": lambda: brackets(BRACKETED, ["first:word", "first:pos|last:word", "split:word"], 5),
    "brackets, productions": lambda: brackets(
        BRACKETED[1:], ["last:word", "first:pos|split:word"], 6, error="productions"
    ),
    "trees": lambda: dependencies(11, [3, 2, 1, 3, 0, 2]),
    "trees, forests": lambda: dependencies(12, [3, 1, 2, 3], "nonprojective", single_root=False),
    "trees, one root": lambda: dependencies(13, [3, 2, 3], "nonprojective", label_cost=1.0, hash_bits=9),
    "trees, siblings": lambda: dependencies(14, [3, 2, 3, 1], order=2, single_root=False),
    "trees, grandparents": lambda: dependencies(20, [3, 2, 4], order="grandsiblings"),
    "custom, matching": lambda: matching(6, [3, 2, 4, 1, 3, 3]),
    "custom, masked": lambda: matching(6, [3, 2, 4, 3, 2], MaskedMatching),
    "custom, listed": lambda: matching(6, [3, 2, 4, 1, 3], ListedMatching),
    "classes": lambda: classes(7, 12, binary=True, intercept=1.0),
    "classes, costs": lambda: classes(8, 10, n_classes=4, costs=True),
    "motifs": lambda: motifs(15),
    "multilabel, pairs": lambda: label_sets(9, 8, pairwise=True, costs=True),
    "forests": lambda: linked(15, [3, 4, 2, 0, 3, 1], penalty=0.5),
    "antecedents": lambda: resolved(16, [4, 0, 3, 1, 3]),
    "multilabel, no pairs": lambda: label_sets(10, 8, pairwise=False, intercept=0.5),
    "ranking, precision": lambda: ranked(15, [4, 3, 5, 2, 1, 4], "precision"),
    "ranking, ndcg": lambda: ranked(16, [4, 3, 4, 2, 1], "ndcg", k=3),
    "ranking, map": lambda: ranked(17, [4, 3, 5, 2, 1], "map"),
    "ranking, pairs": lambda: ranked(18, [4, 3, 4, 2, 1], "pairs"),
    "extracts": lambda: summaries(19, [4, 3, 5, 1, 0, 4]),
}

VARIANTS = (
    *("custom, masked", "custom, listed", "trees, forests", "trees, one root", "trees, siblings"),
    "trees, grandparents",
    *("ranking, ndcg", "ranking, map", "forests", "brackets, productions", "extracts", "chain, selected"),
)
"""Structures that differ in what they offer, or in how they decode, but not in what solvers see of them.

Extracts are among them because an oracle call takes milliseconds; tests/tasks/summarise trains them with a few solvers.
"""

PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {"C": 0.5}) for name in STRUCTURES if name not in VARIANTS},
    "weighted": ("chain", {"C": 1.0, "sample_weight": np.array([1.0, 0.0, 2.5, 0.5, 1.0, 1.0, 3.0, 1.0, 0.0])}),
    "weak": ("chain", {"C": 0.01}),
    "strong": ("chain, real-valued", {"C": 10.0}),
    "slack": ("chain", {"C": 0.5, "objective": Slack()}),
    "slack, costs": ("chain, costs", {"C": 0.5, "objective": Slack()}),
    "positions": ("chain", {"C": 0.5, "objective": PositionWise()}),
    "positions, weighted": (
        "chain, costs",
        {"C": 0.5, "objective": PositionWise(), "sample_weight": np.array([1.0, 0.0, 2.5, 0.5, 1.0, 1.0])},
    ),
    "segments, slack": ("segments", {"C": 0.5, "objective": Slack()}),
    "trees, positions": ("trees", {"C": 0.5, "objective": PositionWise()}),
    "segments, positions": ("segments", {"C": 0.5, "objective": PositionWise()}),
}
"""Optimisation problems by name: a structure and what `Problem` is given besides."""

SOLVERS = {
    **solvers.SOLVERS,
    "perceptron, one by one": Perceptron(batch_size=1),
    "mira, one by one": MIRA(batch_size=1),
    "mira, 5 best": MIRA(k=5, batch_size=3),
    "mira, hard margin": MIRA(C=np.inf, average=False, batch_size=1),
    "mira, 5 best by plain scores": MIRA(C=np.inf, k=5, plain=True, batch_size=1),
    "sgd, printed": SGD(average=False, printed=True, batch_size=1),
    "ocp, one pair": OnlineCuttingPlane(steps=1, batch_size=1),
    "sdm, one by one": SequentialDual(batch_size=1),
    "bcfw, one by one": FrankWolfe(batch_size=1),
    "auto, partial": Auto(period=2, share=0.5),
    "dcd, one by one": DualCoordinateDescent(batch_size=1),
    "dcd-light, one by one": DualCoordinateDescent(sweeps=0, batch_size=1),
    "dcd, pairs": DualCoordinateDescent(sweeps=1, batch_size=2),
}

SUBLINEAR = {"bcfw": 2e-2, "bcfw, one by one": 2e-2, "proximal": 1e-5}
"""The relative gap that solvers reach whose convergence is not linear; others reach any."""


class Exposed(Callback):
    """A solver whose state can be looked at while it trains; a callback as well."""

    def __init__(self, solver):
        self.solver, self.state = solver, None

    def __getattr__(self, name):
        return getattr(self.solver, name)

    def start(self, training, w=None, cuts=None):
        self.state = self.solver.start(training, w, cuts)
        return self.state


def problem(name, **changes) -> tuple[Problem, Small]:
    """The problem `name` of the table, and its structure to enumerate."""
    structure, options = PROBLEMS[name]
    small = STRUCTURES[structure]()
    return Problem(small.examples, **options | changes), small


def taken_by(solver):
    """The loss and the penalty that a solver prefers."""
    return {"loss": solver.losses[0], "penalty": solver.penalties[0]}


def all_cuts(small):
    """For every example the errors and the dense ψ of all its outputs."""
    table = []
    for i in range(small.examples.n_examples):
        differences = [small.examples.difference(np.array([i], dtype=np.int32), y) for y in small.outputs(i)]
        psi = np.zeros((len(differences), small.examples.n_weights))
        for k, difference in enumerate(differences):
            psi[k, difference.psi.indices] = difference.psi.values
        table.append((np.array([difference.errors[0] for difference in differences]), psi))
    return table


def all_blocks(problem, small):
    """For every block of the problem's objective the b and the dense a of all its cuts; of a smooth one Δ and ψ."""
    table, objective = all_cuts(small), problem.objective
    if isinstance(objective, Margin | Softmax):
        return table
    if isinstance(objective, Slack):
        return [(errors, errors[:, None] * psi) for errors, psi in table]
    assert isinstance(objective, PositionWise)
    blocks = []
    for i, (_, psi) in enumerate(table):
        by_output = np.array([small.position_errors(i, y) for y in small.outputs(i)])
        blocks += [(errors, errors[:, None] * psi) for errors in by_output.T]
    return blocks


def primal(problem, small, w):
    """P(w) by enumeration."""
    slacks = np.array([max(0.0, np.max(b - a @ w)) for b, a in all_blocks(problem, small)])
    penalty = 0.5 * w @ w if problem.penalty == "l2" else np.abs(w).sum()
    return penalty + problem.C * problem.c @ (slacks if problem.loss == "hinge" else slacks**2)


def optimum(problem, small):
    """The least P(w) and its w, by an interior point method on the enumerated quadratic programme."""
    least, x = quadratic_programme(*programme(problem, all_blocks(problem, small)))
    return least, weights_in(problem, x)


def programme(problem, blocks):
    """The quadratic programme of all cuts of the `blocks`, as `quadratic_programme` takes it.

    Variables are w = u − v, with v only where the penalty is Σ u + v, and the slacks of the blocks that count; each
    cut is a constraint −⟨w, a⟩ − ξ_i ≤ −b.
    """
    n, cuts = problem.n_weights, [(i, cut) for i, cut in enumerate(blocks) if problem.c[i] > 0]
    c = problem.C * problem.c[[i for i, _ in cuts]]
    l1, hinge = problem.penalty == "l1", problem.loss == "hinge"
    rows = [
        np.hstack([-a, *([a] if l1 else []), -np.tile(np.eye(len(cuts))[k], (len(a), 1))])
        for k, (_, (_, a)) in enumerate(cuts)
    ]
    n_variables = (2 * n if l1 else n) + len(cuts)
    constraints = np.vstack([*rows, -np.eye(n_variables)[0 if l1 else n :]])
    bounds = np.concatenate([*(-b for _, (b, _) in cuts), np.zeros(n_variables - (0 if l1 else n))])
    square = np.zeros(2 * n) if l1 else np.ones(n)
    quadratic = np.concatenate([square, np.zeros(len(c)) if hinge else 2.0 * c])
    linear = np.concatenate([1.0 - square[: n_variables - len(c)], c if hinge else np.zeros(len(c))])
    return quadratic, linear, constraints, bounds


def weights_in(problem, x):
    """The weights among the variables of a `programme`."""
    n = problem.n_weights
    return x[:n] - (x[n : 2 * n] if problem.penalty == "l1" else 0.0)


def quadratic_programme(quadratic, linear, constraints, bounds, *, strict=True):
    """The least ½ Σ quadratic x² + ⟨linear, x⟩ with constraints · x ≤ bounds, and its x: interior points.

    Unless `strict`, x may be as good as they got.
    """
    import clarabel
    from scipy import sparse

    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    cone = [clarabel.NonnegativeConeT(len(bounds))]
    found = clarabel.DefaultSolver(
        sparse.diags(quadratic).tocsc(), linear, sparse.csc_matrix(constraints), bounds, cone, options
    ).solve()
    assert not strict or "Solved" in str(found.status)
    return float(found.obj_val), np.array(found.x)
