"""ROUGE as an evaluation."""

from collections.abc import Mapping, Sequence
from typing import Any

from widemargin.metrics import Score
from widemargin.report.evaluation import Evaluation, overall, score_table
from widemargin.report.numbers import share

MAIN = "rouge2"


def rouge_evaluation(
    scores: Mapping[str, Score], more: Sequence[tuple[str, str]], seconds: dict[str, float]
) -> Evaluation:
    """Mean scores as an evaluation, with more facts."""
    results: dict[str, Any] = {f"{name}_recall": score.recall for name, score in scores.items()}
    results |= {name: overall(score) for name, score in scores.items()}
    main = f"{MAIN}_recall"
    facts = [("ROUGE-2 recall", share(results[main])), *more]
    return Evaluation(results, main, facts, [score_table("ROUGE", "score", scores)], seconds)
