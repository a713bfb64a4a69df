"""Scores of classes and of sets of labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.errors import DataError
from widemargin.metrics import counted, quotient
from widemargin.report.evaluation import Evaluation, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.numbers import share

EXAMPLES, RIGHT = ("examples",), ("right",)
LABELS = ("found rightly", "found", "wanted")
"""The names of all counts: of examples, and of labels in three ways."""


def class_evaluation(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    calibration: Mapping[str, float],
    seconds: dict[str, float],
    *,
    several: bool,
) -> Evaluation:
    """How many labels are right; each example has a list of them, of one label unless it may have `several`."""
    return counted_evaluation(class_counts(gold, predicted), calibration, seconds, several=several)


def class_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Counter[Any]:
    """All that `counted_evaluation` needs to know; of several pieces of data, such counts can be added."""
    if len(gold) != len(predicted):
        raise DataError(f"there are {len(gold)} gold labels, but {len(predicted)} predicted ones")
    counts: Counter[Any] = Counter({EXAMPLES: len(gold)})
    counts[RIGHT] = sum(set(g) == set(p) for g, p in zip(gold, predicted, strict=True))
    both = [set(g).intersection(p) for g, p in zip(gold, predicted, strict=True)]
    for what, sets in zip(LABELS, (both, predicted, gold), strict=True):
        counts.update((what, label) for each in sets for label in each)
    return counts


def counted_evaluation(
    counts: Counter[Any], calibration: Mapping[str, float], seconds: dict[str, float], *, several: bool
) -> Evaluation:
    """How many labels are right, from what `class_counts` has counted."""
    by_kind = ({key[1]: n for key, n in counts.items() if key[0] == what} for what in LABELS)
    scores = counted(*by_kind)
    right = quotient(counts[RIGHT], counts[EXAMPLES])
    results: dict[str, Any] = {"accuracy": right, **overall(scores.micro), "by_label": plain(scores.by_label)}
    facts = [("accuracy", share(right) + (" of the sets are all right" if several else ""))]
    if several:
        facts.append(spelt_f1(scores.micro))
    if calibration:
        results["calibration"] = dict(calibration)
        facts += [("expected calibration error", f"{error:.4f}") for error in calibration.values()]
    tables = [score_table("By label", "label", by_support(scores.by_label))]
    return Evaluation(results, "f1" if several else "accuracy", facts, tables, seconds)
