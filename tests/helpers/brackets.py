"""Binary trees one by one, and the features of constituents as one would write them down."""

from collections import Counter
from functools import cache
from itertools import product

import numpy as np

from widemargin.decoders.cky import Marks, cell, put_marks
from widemargin.files.brackets import columns_of
from widemargin.tasks.bracket.binary import Bracketing
from widemargin.tasks.bracket.examples import BracketExamples
from widemargin.tasks.bracket.features import STEPS, BracketHasher, parse_bracket_templates
from widemargin.text.trees import Tree

SIZES = [(1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (3, 3), (4, 2), (5, 1), (6, 1)]
"""Numbers of words and labels with few enough trees to list."""


@cache
def shapes(i, j):
    """All binary trees over i … j, each a tuple of (i, j) in preorder."""
    if j - i == 1:
        return [((i, j),)]
    return [((i, j), *a, *b) for k in range(i + 1, j) for a in shapes(i, k) for b in shapes(k, j)]


@cache
def labelled(n, n_labels):
    """All labelled binary trees over n words, as lists of (begin, end, label) in preorder."""
    return [
        [(*span, label) for span, label in zip(shape, labels, strict=True)]
        for shape in shapes(0, n)
        for labels in product(range(n_labels), repeat=2 * n - 1)
    ]


def halves(nodes):
    """(parent, child, side) for every node but the first; sides are 0 and 1."""
    for r, (i, j, _) in enumerate(nodes):
        if j - i > 1:
            yield nodes[r], nodes[r + 1], 0
            yield nodes[r], nodes[r + 2 * (nodes[r + 1][1] - i)], 1


def parts_of(nodes):
    """The parts that a tree is scored by, as `decoders.cky_sums.TreeParts` has them: (name, row, column) each."""
    for i, j, label in nodes:
        yield "span", cell(i, j), label
    for parent, (i, j, label), side in halves(nodes):
        yield ("left", "right")[side], cell(i, j), parent[2]
        yield ("left_rule", "right_rule")[side], label, parent[2]


def score(nodes, span, left, right, left_rule, right_rule):
    """What a tree scores, part by part."""
    scores = {"span": span, "left": left, "right": right, "left_rule": left_rule, "right_rule": right_rule}
    return sum(scores[part][where] for part, *at in parts_of(nodes) for where in [tuple(at)])


def productions(nodes):
    """The binary nodes of a tree with splits and the labels of halves: (i, j, label, split, left, right) each."""
    below = list(halves(nodes))
    return [
        (*parent, one[1], one[2], other[2])
        for (parent, one, _), (_, other, _) in zip(below[::2], below[1::2], strict=True)
    ]


def marked_score(nodes, parts, marked, extra):
    """What a tree scores if the productions of the tree `marked` score `extra` more."""
    common = set(productions(nodes)) & set(productions(marked))
    return score(nodes, *parts) + sum(extra[production[2]] for production in common)


def mark_tree(nodes, extra):
    """The productions of a tree, marked with these scores."""
    n_cells = cell(0, nodes[0, 1] + 1)
    marks = Marks(np.zeros((n_cells, 4), dtype=np.int32), np.zeros(n_cells))
    put_marks(nodes, extra, marks)
    return marks


def charts(rng, n, n_labels, kind):
    """Scores of the parts of a sentence."""
    shape_of = [(n * (n + 1) // 2, n_labels)] * 3 + [(n_labels, n_labels)] * 2
    if kind == "ties":
        return [rng.integers(-1, 2, shape).astype(np.float64) for shape in shape_of]
    drawn = [rng.normal(size=shape) for shape in shape_of]
    if kind == "forbidden":
        for chart in drawn:
            chart[rng.random(chart.shape) < 0.2] = -np.inf
    return drawn


def is_possible(bracketing, nodes):
    """Whether the binary tree is one of constituents: labels where they may be, rests below what they are rests of."""
    n, n_chains = nodes[0][1], len(bracketing.chains)
    words, spans, top = bracketing.allowed.tolist()
    if not all((words if j - i == 1 else top if j - i == n else spans)[label] for i, j, label in nodes):
        return False
    return all(
        child[2] < n_chains or (side == bracketing.rest_side and bracketing.rests[parent[2]] == child[2])
        for parent, child, side in halves(nodes)
    )


class PlainBrackets:
    """A model of constituents with its features as strings, for templates of words and tags as they are."""

    def __init__(self, texts, templates, hash_bits, missing_cost=1.0, error="spans", fold="right"):
        self.missing_cost, self.error = missing_cost, error
        self.trees = [Tree.parse(text) for text in texts]
        self.bracketing = Bracketing.of(self.trees, fold)
        self.templates, self.columns = parse_bracket_templates(templates), columns_of(self.trees)
        self.gold = [self.bracketing.encode(tree) for tree in self.trees]
        keys = BracketHasher(self.templates).keys(self.columns)
        self.examples = BracketExamples(
            self.bracketing,
            hash_bits,
            self.columns.indptr,
            keys,
            np.concatenate(self.gold),
            missing_cost=missing_cost,
            error=error,
        )

    def outputs(self, i):
        """The nodes of all trees of example i."""
        every = labelled(len(self.trees[i].words()), self.bracketing.n_labels)
        return [np.array(nodes, dtype=np.int32) for nodes in every if is_possible(self.bracketing, nodes)]

    def position_errors(self, i, nodes):
        """L_c of a tree at every word and at every gap between words, in order."""
        gold, found = set(map(tuple, self.gold[i].tolist())), list(map(tuple, nodes.tolist()))
        errors = np.zeros(len(found))
        cost = {label: 1.0 if 0 < label < len(self.bracketing.chains) else self.missing_cost for _, _, label in found}
        for begin, end, label in found:
            if end - begin == 1 and (begin, end, label) not in gold:
                errors[2 * begin] = cost[label]
        for production in productions(found):
            of_gold = productions(self.gold[i].tolist()) if self.error == "productions" else gold
            if (production if self.error == "productions" else production[:3]) not in of_gold:
                errors[2 * production[3] - 1] = cost[production[2]]
        return errors

    def features(self, i, nodes):
        """How often a tree has every (feature, label), and every rule."""
        tagged = self.trees[i].tagged()
        found = Counter()
        for begin, end, label in nodes:
            found.update((text, label) for text in self._about(tagged, {"first": begin, "last": end - 1}, begin, end))
        for parent, (begin, end, label), side in halves(nodes):
            found["rule", side, label, parent[2]] += 1
            roles = {"split": begin, "last": end - 1} if side else {"first": begin, "split": end}
            found.update((text, parent[2]) for text in self._about(tagged, roles, begin, end, side))
        return found

    def _about(self, tagged, roles, begin, end, side=None):
        for template in self.templates:
            known = set(template.roles)
            if ("split" in known) != (side is not None) or not known <= set(roles):
                continue
            if side == 1 and known == {"split"}:
                continue  # what is known of the split alone is said once, with the left half
            values = [template.text]
            for role, part in template.roles.items():
                for atom in part.atoms:
                    t = roles[role] + atom.offset
                    inside = 0 <= t < len(tagged)
                    values.append(tagged[t][atom.column == "pos"] if inside else "<s>" if t < 0 else "</s>")
            for measure in template.measures:
                if measure == "length":
                    values.append(max(step for step in STEPS if step <= end - begin))
                elif measure == "words":
                    values.append(" ".join(word.lower() for word, _ in tagged[begin:end]))
                else:
                    assert measure == "tags"
                    values.append(" ".join(tag for _, tag in tagged[begin:end]))
            yield "=".join(map(str, values))
