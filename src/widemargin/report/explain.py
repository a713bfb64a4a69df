"""Why this and not that: two parts that an output could have, and the features that tell them apart.

A part's score is the sum of its features' weights, its *votes*. Two parts of the same kind have the same templates,
perhaps with different values. The difference of their scores is thus a sum over templates, and its largest terms are
the reasons.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Option(NamedTuple):
    """A part in words, and the votes for it: names of features, ``template=values``, with their weights."""

    name: str
    votes: Sequence[tuple[str, float]]

    @property
    def score(self) -> float:
        """The sum of all votes."""
        return sum(weight for _, weight in self.votes)


class Reason(NamedTuple):
    """A template, with the values that it finds in each of the two parts and their weights."""

    template: str
    values: str
    weight: float
    other_values: str
    other_weight: float

    @property
    def difference(self) -> float:
        """How much this speaks for the first part and against the other."""
        return self.weight - self.other_weight


def reasons(one: Option, other: Option) -> list[Reason]:
    """The reasons for one part or the other, the strongest first; leaves out templates that favour neither.

    >>> one = Option("dog ← barks", [("head:pos=VERB", 2.0), ("direction=left", 0.5)])
    >>> other = Option("dog ← loudly", [("head:pos=ADV", -1.0), ("direction=left", 0.5)])
    >>> [(reason.values, reason.other_values, reason.difference) for reason in reasons(one, other)]
    [('VERB', 'ADV', 3.0)]
    """
    sides = _by_template(one.votes), _by_template(other.votes)
    found = []
    for template in dict.fromkeys([*sides[0], *sides[1]]):
        (values, weight), (other_values, other_weight) = (side.get(template, ("", 0.0)) for side in sides)
        found.append(Reason(template, values, weight, other_values, other_weight))
    return sorted((each for each in found if each.difference), key=lambda each: -abs(each.difference))


def _by_template(votes: Iterable[tuple[str, float]]) -> dict[str, tuple[str, float]]:
    """Values and weight of each template; several features of one template are put together."""
    sums: dict[str, tuple[str, float]] = {}
    for name, weight in votes:
        template, _, values = name.partition("=")
        before, so_far = sums.get(template, ("", 0.0))
        sums[template] = f"{before}, {values}".removeprefix(", "), so_far + weight
    return sums


class Question(NamedTuple):
    """Which part of a sentence to explain, and compared with what; numbers count from 1."""

    token: int | None = None
    head: int | None = None
    span: tuple[int, int] | None = None
    label: str | None = None


Explanation = dict[str, Any]
"""Either all parts with their margins, under ``parts``, or the two options of `compare_options` and the reasons."""


def list_parts(parts: Iterable[tuple[str, float, str]]) -> Explanation:
    """All parts of an output, each with its margin and the alternative."""
    return {"parts": [{"part": part, "margin": margin, "instead": instead} for part, margin, instead in parts]}


def compare_options(one: Option, other: Option) -> Explanation:
    """The chosen part compared with another."""
    return {
        "chosen": {"part": one.name, "score": one.score},
        "other": {"part": other.name, "score": other.score},
        "difference": one.score - other.score,
        "reasons": [{**reason._asdict(), "difference": reason.difference} for reason in reasons(one, other)],
    }
