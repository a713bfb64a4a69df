"""Heads of tokens, non-projective and unlabelled, by MIRA: Margin and PosLearn, each with a C of its own."""

from typing import Any

from experiment import SEED, Bench
from unlabelled import unlabelled

from widemargin import DependencyParser
from widemargin.tasks.parse.dependencies import DependencyRows, arc_lists
from widemargin.text.columns import Columns

FILES = {"danish": "cdt-danish/{}.conll", "swedish": "ud-swedish-talbanken/{}.conllu"}
CHOICES = {"margin": (0.01, 0.1, 1.0), "positions": (0.001, 0.01, 0.1)}
"""A sentence is one step with Margin, and a step for each token with PosLearn, which may want smaller ones."""

TO_CHOOSE_BY, EPOCHS = 800, 8


def load(bench: Bench, language: str, part: str, most: int | None = None) -> tuple[Columns, DependencyRows]:
    """The first sentences of a file, and their heads without relations."""
    return unlabelled(bench.data / FILES[language].format(part), most)


def train(bench: Bench, objective: str, C: float, data: Any, dev: Any) -> DependencyParser:
    """A parser from the epoch that is best on the development data."""
    return DependencyParser(
        tags="given",
        decoder="nonprojective",
        label_templates=(),
        solver="mira(batch_size=1)",
        objective=objective,
        C=C,
        max_epochs=bench.size(EPOCHS, 2),
        tol=None,
        dev_metric="uas",
        n_jobs=1,
        random_state=SEED,
    ).fit(*data, dev=dev)


def best_score(parser: DependencyParser) -> float:
    """The share of right heads on the development data."""
    return max(row.score for row in parser.solution_.trace if row.score is not None)


def measure_heads(language: str, bench: Bench) -> dict[str, Any]:
    """Choose C by the development data and part of the training data, then train with all and test once."""
    few = load(bench, language, "train", bench.size(TO_CHOOSE_BY, 60))
    data, dev = (
        load(bench, language, "train", bench.size(None, 120)),
        load(bench, language, "dev", bench.size(None, 60)),
    )
    measured: dict[str, Any] = {"held_out_error": {}, "runs": []}
    parsers = {}
    for objective, choices in CHOICES.items():
        scores = {C: best_score(train(bench, objective, C, few, dev)) for C in choices}
        C = max(choices, key=scores.__getitem__)
        bench.tell(f"C of {objective} {C:g}")
        measured["held_out_error"][objective] = {C: 100 * (1 - score) for C, score in scores.items()}
        parsers[objective] = C, train(bench, objective, C, data, dev)
        bench.tell(f"{objective} {parsers[objective][1].solution_.seconds:.0f} s")
    X, y = load(bench, language, "test")
    gold = arc_lists(y, X.indptr)
    for objective, (C, parser) in parsers.items():
        found = parser.predict(X)
        wrong = [sum(a.head != b.head for a, b in zip(g, p, strict=True)) for g, p in zip(gold, found, strict=True)]
        measured["runs"].append(
            {
                "split": 0,
                "objective": objective,
                "C": C,
                "error": 100 * sum(wrong) / len(y.heads),
                "dev_error": 100 * (1 - best_score(parser)),
                "epoch": parser.solution_.epoch,
                "seconds": parser.solution_.seconds,
                "wrong": wrong,
            }
        )
    return measured
