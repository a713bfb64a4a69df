"""What must be known of all data before any part of them can be compiled: labels, features, and a few facts.

Each worker surveys its own part; surveys are merged pair by pair. With the merged survey a part is compiled as if all
data were there.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from widemargin.text.shared import Vocabulary


@dataclass(frozen=True)
class Survey:
    """Counts of labels, vocabularies of features in groups, and facts, of which the merged one has the last word.

    Of a fact that is a truth value, all parts must say yes; of a list, what all parts have stays; of numbers by name,
    the largest.
    """

    labels: Counter[Any]
    features: list[Vocabulary] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def merged(self, other: Self) -> Self:
        """The survey of both parts."""
        return type(self)(
            self.labels + other.labels,
            [one.merged(two) for one, two in zip(self.features, other.features, strict=True)],
            {name: _merged(self.facts[name], other.facts[name]) for name in self.facts},
        )

    @property
    def by_frequency(self) -> list[Any]:
        """The labels, the most frequent first."""
        return sorted(self.labels, key=lambda label: (-self.labels[label], label))


def _merged(one: Any, two: Any) -> Any:
    if isinstance(one, bool):
        return one and two
    return [each for each in one if each in two]
