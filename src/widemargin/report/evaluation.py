"""The outcome of an evaluation: everything measured, and the part that people want to see."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from widemargin.metrics import Score
from widemargin.report.text import share


class Table(NamedTuple):
    """A table with a heading above it and perhaps a remark below."""

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remark: str = ""


class Evaluation(NamedTuple):
    """How well a model does on some data.

    `results` holds everything, ready for JSON; `main` names the number in it that says most; `facts` and `tables` are
    for people; `seconds` tells how long each stage took.
    """

    results: dict[str, Any]
    main: str
    facts: list[tuple[str, str]]
    tables: list[Table]
    seconds: dict[str, float]


def score_table(heading: str, of: str, scores: Mapping[str, Score], most: int | None = None) -> Table:
    """Precision, recall and F1 of each kind, in the given order; at most `most` kinds."""
    rows = [[name, *map(share, score[:3]), f"{score.support:,}"] for name, score in scores.items()]
    left = 0 if most is None else len(rows) - most
    remark = f"… and {left} rarer ones; --json has them all" if left > 0 else ""
    return Table(heading, [of, "precision", "recall", "F1", "number"], rows[:most], remark)


def by_support(scores: Mapping[str, Score]) -> dict[str, Score]:
    """The scores, the most frequent kinds first."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1].support, item[0])))


def plain(scores: Mapping[str, Score]) -> dict[str, Any]:
    """Scores as JSON can hold them."""
    return {name: score._asdict() for name, score in scores.items()}


def overall(score: Score) -> dict[str, Any]:
    """Precision, recall and F1 alone."""
    return {"precision": score.precision, "recall": score.recall, "f1": score.f1}


def spelt_f1(score: Score) -> tuple[str, str]:
    """F1 as a fact, with precision and recall."""
    return "F1", f"{share(score.f1)} (precision {share(score.precision)}, recall {share(score.recall)})"
