"""Why some words are a certain constituent, or none, and not something else.

A constituent cannot stand by itself, so trees are compared: the predicted tree, and the best tree that has a given
constituent, or that lacks a predicted one. The parts of only one and of only the other tree are the two options to be
weighed (`report.explain`); the difference of their scores is that of the trees, and never negative.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from widemargin.core.limits import check_time
from widemargin.decoders.charts import cell
from widemargin.decoders.cky import cky
from widemargin.errors import WidemarginError
from widemargin.report.explain import Option
from widemargin.tasks.bracket.features import parse_bracket_templates
from widemargin.tasks.bracket.model import Bracketer
from widemargin.tasks.bracket.scores import Charts, new_charts, part_scores, rule_scores
from widemargin.tasks.bracket.votes import Node, SpanVotes, nodes_of
from widemargin.text.columns import Columns

Place = tuple[int, int, int]
"""Begin, end and label of a node."""

ONLY = np.zeros(1, dtype=np.int32)


class SpanExplainer:
    """One sentence and what a parser makes of it; `sentence` has the columns of this sentence alone."""

    def __init__(self, parser: Bracketer, sentence: Columns) -> None:
        self._examples = parser.examples(sentence)
        self._weights = self._examples.parts(parser.w)
        self._n_chains = len(parser.bracketing.chains)
        self._names = parser.bracketing.names
        self._voters = SpanVotes(parse_bracket_templates(parser.texts), sentence, self._weights, self._names)
        self.n_tokens = sentence.n_tokens
        self._parts = new_charts(self._examples.data, ONLY)
        part_scores(self._examples.data, self._weights, 0, 0.0, self._parts)
        self.nodes, self._score = self._best(self._charts())

    def constituents(self) -> list[tuple[int, int, str]]:
        """Begin, end and label of all predicted constituents; those over the same words count as one."""
        return [
            (node.begin, node.end, self._names[node.label]) for node in self.nodes if 0 < node.label < self._n_chains
        ]

    def label(self, begin: int, end: int) -> str | None:
        """The predicted constituent of the words begin … end − 1; None if they are not one."""
        return next((label for i, j, label in self.constituents() if (i, j) == (begin, end)), None)

    def alternative(self, begin: int, end: int, label: str | None = None) -> list[Node]:
        """The best tree in which the words begin … end − 1 are a constituent `label`.

        Without a label: the best tree without their constituent or, if they have none, the best in which they are any.
        """
        return self._alternative(begin, end, label)[0]

    def margins(self) -> Iterator[tuple[tuple[int, int, str], float, str]]:
        """Every predicted constituent, how much less the best tree without it scores, and what that has instead."""
        constituents, seconds = self.constituents(), self._examples.seconds_of_search()
        check_time(
            seconds * len(constituents),
            f"listing {len(constituents)} constituents, each of which takes another parse",
            "Ask for one of them with a --span",
            "sentence",
        )
        own = {node[:3] for node in self.nodes}
        for constituent in constituents:
            other, score = self._alternative(*constituent[:2])
            instead = [node[:3] for node in other if node[:3] not in own]
            yield constituent, self._score - score, self._spelt(instead)

    def _alternative(self, begin: int, end: int, label: str | None = None) -> tuple[list[Node], float]:
        chosen = self.label(begin, end)
        if not 0 <= begin < end <= self.n_tokens:
            raise WidemarginError(f"there are no words {begin + 1} to {end} in a sentence of {self.n_tokens} words")
        if label is not None and label not in self._names[1 : self._n_chains]:
            known = ", ".join(repr(name) for name in self._names[1 : self._n_chains])
            raise WidemarginError(f"the model has no constituents {label!r}; it has {known}")
        if label is not None and label == chosen:
            raise WidemarginError(f"the words {begin + 1} to {end} are predicted to be {label}; name another label")
        charts = self._charts()
        here = charts.span[cell(begin, end)]
        if label is None and chosen is not None:
            here[self._names.index(chosen)] = -np.inf
        else:
            for i, j in _crossing(begin, end, self.n_tokens):
                charts.span[cell(i, j)] = -np.inf
            wanted = [self._names.index(label)] if label is not None else range(1, self._n_chains)
            here[np.isin(np.arange(len(here)), wanted, invert=True)] = -np.inf
        return self._best(charts)

    def options(self, other: Sequence[Node]) -> tuple[Option, Option]:
        """The parts that only the predicted tree has, and those that only the other has."""
        votes, others = self._votes(self.nodes), self._votes(other)
        return self._only(votes, others), self._only(others, votes)

    def _votes(self, nodes: Sequence[Node]) -> dict[Place, dict[str, float]]:
        return {node[:3]: dict(self._voters.votes(node)) for node in nodes}

    def _only(self, votes: dict[Place, dict[str, float]], others: dict[Place, dict[str, float]]) -> Option:
        places = [place for place in votes if place not in others]
        own = [vote for place, named in votes.items() for vote in named.items() if vote[0] not in others.get(place, ())]
        return Option(self._spelt(places), own)

    def _spelt(self, places: Sequence[Place]) -> str:
        return ", ".join(f"{self._names[label]} {begin + 1}:{end}" for begin, end, label in places)

    def _charts(self) -> Charts:
        """The part scores, in arrays that decoding may overwrite."""
        return Charts(*(chart.copy() for chart in self._parts))

    def _best(self, charts: Charts) -> tuple[list[Node], float]:
        """The nodes of the best tree, and its score."""
        rules = rule_scores(self._examples.data, self._weights)
        rows = np.empty((2 * self.n_tokens - 1, 3), dtype=np.int32)
        score = cky(self.n_tokens, *charts, rules[0], rules[1], rows)
        if score == -np.inf:
            raise WidemarginError("no tree can be like that: the model has not seen any such constituent")
        return nodes_of(rows.tolist()), score


def _crossing(begin: int, end: int, n: int) -> list[tuple[int, int]]:
    """All spans that share words with this one but are neither within nor around it."""
    spans = [(i, j) for j in range(1, n + 1) for i in range(j)]
    return [(i, j) for i, j in spans if i < begin < j < end or begin < i < end < j]
