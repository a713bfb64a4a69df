"""Scores of classes and of sets of labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.metrics import Scores, label_scores, quotient, set_scores
from widemargin.report.evaluation import Evaluation, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.numbers import share


def class_evaluation(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    calibration: Mapping[str, float],
    seconds: dict[str, float],
    *,
    several: bool,
) -> Evaluation:
    """How many labels are right; each example has a list of them, of one label unless it may have `several`."""
    scores: Scores = set_scores(gold, predicted) if several else label_scores(gold, predicted)
    right = quotient(sum(set(g) == set(p) for g, p in zip(gold, predicted, strict=True)), len(gold))
    results: dict[str, Any] = {"accuracy": right, **overall(scores.micro), "by_label": plain(scores.by_label)}
    facts = [("accuracy", share(right) + (" of the sets are all right" if several else ""))]
    if several:
        facts.append(spelt_f1(scores.micro))
    if calibration:
        results["calibration"] = dict(calibration)
        facts += [("expected calibration error", f"{error:.4f}") for error in calibration.values()]
    tables = [score_table("By label", "label", by_support(scores.by_label))]
    return Evaluation(results, "f1" if several else "accuracy", facts, tables, seconds)
