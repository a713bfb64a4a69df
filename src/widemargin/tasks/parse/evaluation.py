"""Attachment scores as an evaluation: everything measured, and what people want to see of it."""

from collections.abc import Sequence
from typing import Any

from widemargin.report.evaluation import Evaluation, Table, by_support, plain, score_table
from widemargin.report.numbers import share
from widemargin.tasks.parse.metrics import Attachment, attachment_scores, content_score
from widemargin.text.trees import Arc


def tree_evaluation(
    gold: Sequence[Sequence[Arc]],
    predicted: Sequence[Sequence[Arc]],
    words: Sequence[Sequence[str]],
    seconds: dict[str, float],
    *,
    punctuation: bool = True,
) -> Evaluation:
    """How well trees agree, with punctuation or without."""
    scores = attachment_scores(gold, predicted, None if punctuation else words)
    of, n_tokens, content = scores.overall, scores.overall.n_tokens, content_score(gold, predicted)
    results = {
        **_shares(of),
        "clas": content.f1,
        "exact": scores.exact,
        "by_relation": plain(scores.by_relation),
        "by_length": plain(scores.by_length),
        "by_sentence_length": {length: _shares(each) for length, each in scores.by_sentence_length.items()},
    }
    facts = [
        *([("scored", f"{n_tokens:,} tokens, all but punctuation")] if n_tokens < sum(map(len, words)) else []),
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
