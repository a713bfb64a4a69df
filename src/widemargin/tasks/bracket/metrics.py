"""How well predicted trees of constituents agree with the gold ones: F1 of labelled brackets.

Brackets are scored as by evalb with the parameters of Collins (1997), which `Conventions` spells out. A share of
nothing is 0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from widemargin.errors import DataError
from widemargin.files.brackets import retag
from widemargin.metrics import Score, Scores, quotient, scores_from_counts
from widemargin.report.evaluation import Evaluation, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.text import share
from widemargin.text.trees import Tree


class BracketScores(NamedTuple):
    """Precision, recall and F1 of brackets by label and over all; `exact` is the share of faultless sentences."""

    by_label: dict[str, Score]
    micro: Score
    exact: float


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """The conventions of what counts as a bracket.

    Parameters
    ----------
    roots
        Labels whose brackets are not counted, such as those on top of every tree.
    deleted
        Tags whose words are taken out of the sentence before spans are counted. A bracket that has no words left is
        not counted.
    same
        Labels that count as another one.
    """

    roots: frozenset[str] = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})
    deleted: frozenset[str] = frozenset({",", ":", "``", "''", ".", "-NONE-"})
    same: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"PRT": "ADVP"}))


COLLINS = Conventions()


def bracket_scores(
    gold: Sequence[Tree], predicted: Sequence[Tree], conventions: Conventions = COLLINS
) -> BracketScores:
    """Scores of labelled brackets; two trees are compared only if they have the same words.

    >>> gold, predicted = Tree.parse("(S (NP (N dogs)) (VP (V bark)))"), Tree.parse("(S (NP (N dogs) (V bark)))")
    >>> bracket_scores([gold], [predicted]).micro
    Score(precision=0.5, recall=0.3333333333333333, f1=0.4, support=3)
    """
    if len(gold) != len(predicted):
        raise DataError(f"there are {len(gold)} gold trees, but {len(predicted)} predicted ones")
    right: Counter[str] = Counter()
    found: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    exact = 0
    for i, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        if g.words() != p.words():
            raise DataError(f"the gold tree of sentence {i + 1} and the predicted one are not over the same words")
        g_brackets, p_brackets = brackets(g, conventions), brackets(p, conventions)
        for counts, each in ((right, g_brackets & p_brackets), (found, p_brackets), (wanted, g_brackets)):
            for bracket, n in each.items():
                counts[bracket.label] += n
        exact += g_brackets == p_brackets
    scores: Scores = scores_from_counts(right, found, wanted)
    return BracketScores(scores.by_label, scores.micro, quotient(exact, len(gold)))


def scores_of(gold: Sequence[Tree], predicted: Sequence[Tree]) -> BracketScores:
    """Scores of predicted trees, whose tags may be predicted, too; gold tags decide which words are punctuation."""
    if [tree.words() for tree in gold] == [tree.words() for tree in predicted]:
        predicted = [retag(tree, of.tags()) for tree, of in zip(predicted, gold, strict=True)]
    return bracket_scores(gold, predicted)  # raises an error if words differ


def bracket_evaluation(gold: Sequence[Tree], predicted: Sequence[Tree], seconds: dict[str, float]) -> Evaluation:
    """The scores as an evaluation."""
    scores = scores_of(gold, predicted)
    results = {
        **overall(scores.micro),
        "brackets": scores.micro.support,
        "exact": scores.exact,
        "by_label": plain(scores.by_label),
    }
    facts = [spelt_f1(scores.micro), ("trees", f"{share(scores.exact)} all right")]
    tables = [score_table("Brackets by label", "label", by_support(scores.by_label))]
    return Evaluation(results, "f1", facts, tables, seconds)


class Bracket(NamedTuple):
    """The words `start:end` of a sentence, and their label."""

    start: int
    end: int
    label: str


def brackets(tree: Tree, conventions: Conventions = COLLINS) -> Counter[Bracket]:
    """The brackets of a tree that count; each constituent of a chain counts, even with a repeated label.

    >>> sorted(brackets(Tree.parse("(TOP (S (S (UH yes)) (. .)))")).elements())
    [Bracket(start=0, end=1, label='S'), Bracket(start=0, end=1, label='S')]
    """
    found: Counter[Bracket] = Counter()

    def end_of(part: Tree, start: int) -> int:
        if part.word is not None:
            return start + (part.label not in conventions.deleted)
        end = start
        for child in part.children:
            assert isinstance(child, Tree), "only tags have words as children"
            end = end_of(child, end)
        if end > start and part.label not in conventions.roots:
            found[Bracket(start, end, conventions.same.get(part.label, part.label))] += 1
        return end

    end_of(tree, 0)
    return found
