"""Attachment scores as an evaluation: everything measured, and what people want to see of it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from widemargin.report.evaluation import Evaluation, Table, by_support, plain, score_table
from widemargin.report.numbers import share
from widemargin.tasks.parse.metrics import (
    Attachment,
    arc_counts,
    content_counts,
    content_score_of,
    scores_of_counts,
)
from widemargin.text.trees import Arc

TOKENS = "tokens"


def tree_evaluation(
    gold: Sequence[Sequence[Arc]],
    predicted: Sequence[Sequence[Arc]],
    words: Sequence[Sequence[str]],
    seconds: dict[str, float],
    *,
    punctuation: bool = True,
) -> Evaluation:
    """How well trees agree, with punctuation or without."""
    return counted_evaluation(tree_counts(gold, predicted, words, punctuation=punctuation), seconds)


def tree_counts(
    gold: Sequence[Sequence[Arc]],
    predicted: Sequence[Sequence[Arc]],
    words: Sequence[Sequence[str]],
    *,
    punctuation: bool = True,
) -> Counter[Any]:
    """All that `counted_evaluation` needs to know; of several pieces of data, such counts can be added."""
    counts = arc_counts(gold, predicted, None if punctuation else words) + content_counts(gold, predicted)
    counts[TOKENS] = sum(map(len, words))
    return counts


def counted_evaluation(counts: Counter[Any], seconds: dict[str, float]) -> Evaluation:
    """How well trees agree, from what `tree_counts` has counted."""
    scores = scores_of_counts(counts)
    of, n_tokens, content = scores.overall, scores.overall.n_tokens, content_score_of(counts)
    results = {
        **_shares(of),
        "clas": content.f1,
        "exact": scores.exact,
        "by_relation": plain(scores.by_relation),
        "by_length": plain(scores.by_length),
        "by_sentence_length": {length: _shares(each) for length, each in scores.by_sentence_length.items()},
    }
    facts = [
        *([("scored", f"{n_tokens:,} tokens, all but punctuation")] if n_tokens < counts[TOKENS] else []),
        ("UAS", f"{share(of.uas)} of the heads are right"),
        ("LAS", f"{share(of.las)} of the heads with their relation"),
        ("CLAS", f"{share(content.f1)}, the same of content words"),
        ("relations", share(of.labels)),
        ("trees", f"{share(scores.exact)} all right"),
    ]
    rows = [
        [length, share(each.uas), share(each.las), f"{each.n_tokens:,}"]
        for length, each in scores.by_sentence_length.items()
    ]
    tables = [
        score_table("By relation, with the right head", "relation", by_support(scores.by_relation)),
        score_table("Heads by the length of arcs", "length", scores.by_length),
        Table("By the length of sentences", ["tokens", "UAS", "LAS", "number"], rows),
    ]
    return Evaluation(results, "las", facts, tables, seconds)


def _shares(scores: Attachment) -> dict[str, Any]:
    return {"uas": scores.uas, "las": scores.las, "label_accuracy": scores.labels, "scored_tokens": scores.n_tokens}
