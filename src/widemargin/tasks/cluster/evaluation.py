"""Scores of clusterings as an evaluation."""

from collections.abc import Sequence

from widemargin.clusterings import NAMES, Labels, check_items, clustering_scores, conll_f1, mitre_loss, pair_loss
from widemargin.report.evaluation import Evaluation, plain, score_table
from widemargin.report.numbers import share


def cluster_evaluation(gold: Sequence[Labels], outputs: Sequence[Labels], seconds: dict[str, float]) -> Evaluation:
    """How well clusters agree, by all scores."""
    check_items(gold, outputs)
    scores = clustering_scores(gold, outputs)
    losses = {"mitre_loss": mitre_loss(gold, outputs), "pair_loss": pair_loss(gold, outputs)}
    conll = conll_f1(scores)
    of_scores = {f"{name}_f1": score.f1 for name, score in scores.items()}
    results = {**of_scores, "conll_f1": conll, **losses, "by_score": plain(scores)}
    facts = [
        ("B³", share(scores["b3"].f1)),
        ("MITRE loss", share(losses["mitre_loss"])),
        ("pair loss", share(losses["pair_loss"])),
        ("CoNLL", f"{share(conll)}, the mean of MUC, B³ and CEAF by clusters"),
    ]
    tables = [score_table("By score", "score", {NAMES[name]: score for name, score in scores.items()})]
    return Evaluation(results, "b3_f1", facts, tables, seconds)
