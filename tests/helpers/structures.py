"""Every structure, once: examples so small that all their outputs can be listed.

To have a new structure tested, add a row to `STRUCTURES`: small examples, all their outputs, their gold.
"""

from collections.abc import Callable
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np

from helpers.brackets import PlainBrackets
from helpers.chains import random_chain
from helpers.custom import ListedMatching, MaskedMatching, Matching
from helpers.data import Small, rows
from helpers.extracts import small_extracts
from helpers.links import choices, forests, random_documents, random_mentions
from helpers.motifs import motif_examples, outputs_of, random_texts
from helpers.rankings import small_rankings
from helpers.segmentations import random_segmentation
from helpers.trees import trees as all_trees
from widemargin.core.sparse import boundaries
from widemargin.structures.custom import custom_examples
from widemargin.structures.forest import ForestExamples
from widemargin.tasks.classify.examples import ClassExamples, multilabel_kind
from widemargin.tasks.parse.examples import Trees, tree_examples
from widemargin.tasks.parse.features import ArcExtractor
from widemargin.tasks.segment.costs import encode, segments_of
from widemargin.tasks.tag.crfsuite import SelectedChain, SelectedChainExamples
from widemargin.text.columns import Column, Columns


def chain(*arguments, **options) -> Small:
    model = random_chain(*arguments, **options)

    def outputs(i):
        return (np.array(labels, dtype=np.int32) for labels in model.outputs(i))

    def position_errors(i, labels):
        return [model.cost(g, p) for g, p in zip(model.gold[i], labels.tolist(), strict=True)]

    return Small(model.compiled(), outputs, model.compiled().gold, position_errors)


def segmentation(*arguments, **options) -> Small:
    model = random_segmentation(*arguments, **options)
    return Small(
        model.compiled(),
        lambda i: map(encode, model.outputs(i)),
        model.compiled().gold,
        lambda i, codes: model.position_errors(i, segments_of(codes)),
    )


def brackets(texts, templates, hash_bits, *, error="spans") -> Small:
    model = PlainBrackets(texts, templates, hash_bits, missing_cost=1.5, error=error)
    return Small(model.examples, lambda i: iter(model.outputs(i)), np.concatenate(model.gold), model.position_errors)


def ranked(*arguments, **options) -> Small:
    return small_rankings(*arguments, **options)


def summaries(*arguments) -> Small:
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


@cache
def examples_of(name: str) -> Any:
    """The examples of a structure, to ask what they offer; tests make their own."""
    return STRUCTURES[name]().examples


def offering(*abilities: Any) -> list[str]:
    """The structures whose examples have all of some abilities."""
    return [name for name in STRUCTURES if all(isinstance(examples_of(name), each) for each in abilities)]


VARIANTS = (
    *("custom, masked", "custom, listed", "trees, forests", "trees, one root", "trees, siblings"),
    "trees, grandparents",
    *("ranking, ndcg", "ranking, map", "forests", "brackets, productions", "extracts", "chain, selected"),
)
"""Structures that differ in what they offer, or in how they decode, but not in what solvers see of them.

Extracts are among them because an oracle call takes milliseconds; tests/tasks/summarise trains them with a few solvers.
"""
