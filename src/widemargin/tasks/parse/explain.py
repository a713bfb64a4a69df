"""Why a token hangs on this head, by this relation, and not on another.

Scores are those of single arcs, with the rest of the tree as it is. Where a model looks at siblings, an arc's sibling
is the one that it has, or would have, in the predicted tree. Its grandparent is the head that its head has there; it is
left out if it is between the two, where no projective tree has it. A tree is chosen as a whole, so one of its arcs may
well score less than another arc that did not fit in.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from widemargin._types import FloatVector, LongMatrix
from widemargin.errors import WidemarginError
from widemargin.report.explain import Option
from widemargin.structures.dependencies import ArcScores, fold, grandparents_of, siblings_of
from widemargin.tasks.parse.votes import ArcVotes
from widemargin.text.trees import Arc


@dataclass(frozen=True)
class ArcExplainer:
    """One sentence with its predicted tree.

    Parameters
    ----------
    voters : the features of its arcs
    words : its words
    arcs : the tree
    labels : all labels of the model
    """

    voters: ArcVotes
    words: Sequence[str]
    arcs: Sequence[Arc]
    labels: Sequence[str]

    def option(self, token: int, arc: Arc) -> Option:
        """The arc to a token in words, and the votes for it; the token counts from 1."""
        votes = self.voters.votes(arc.head, token, self.labels.index(arc.label), *self._around(arc.head, token))
        return Option(self.spelt(token, arc), votes)

    def alternative(self, token: int, head: int | None = None, label: str | None = None) -> Arc:
        """The best other arc to a token: from this head or with this label if given, else from the best other head."""
        chosen = self.arcs[token - 1]
        heads = [h for h in range(len(self.arcs) + 1) if h != token]
        if head is not None and head not in heads:
            raise WidemarginError(
                f"token {token} cannot have the head {head}; there are tokens 1 to {len(self.arcs)} and 0, the root"
            )
        if label is not None and label not in self.labels:
            raise WidemarginError(f"the model has no label {label!r}; it has {', '.join(map(repr, self.labels))}")
        if head is not None:
            heads = [head]
        elif label is not None and label != chosen.label:
            heads = [chosen.head]
        elif len(heads) > 1:
            heads.remove(chosen.head)
        candidates = {
            Arc(h, name): float(score)
            for h in heads
            for name, score in zip(self.labels, self._scores(h, token), strict=True)
            if label in (None, name) and (h, name) != chosen
        }
        if not candidates:
            raise WidemarginError(f"the arc {self.spelt(token, chosen)} is the one chosen; name another")
        return max(candidates, key=candidates.__getitem__)

    def margins(self, scores: ArcScores) -> list[tuple[Arc, float]]:
        """For every token the best arc from another head, and how much more the chosen arc scores.

        `scores` are the part scores of the sentence, which compiled code has summed up for all arcs at once.
        """
        size = len(self.arcs) + 1
        arcs, best = np.empty((size, size)), np.empty((size, size), dtype=np.int32)
        fold(scores, 0, arcs, best)
        np.fill_diagonal(arcs, -np.inf)
        # Only triples that a tree can have are scored; the room of the others holds anything.
        rows, columns = np.nonzero(~np.eye(len(arcs), dtype=bool) & (np.arange(len(arcs)) > 0))
        if len(scores.siblings):
            arcs[rows, columns] += siblings_of(scores, 0)[rows, self._siblings()[rows, columns], columns]
        if len(scores.grandparents):
            chains = grandparents_of(scores, 0)
            for head, token in zip(rows.tolist(), columns.tolist(), strict=True):
                grandparent = self._grandparent(head, token)
                if grandparent is not None:
                    arcs[head, token] += chains[head, token, grandparent]
        found = []
        for token, chosen in enumerate(self.arcs, 1):
            arcs[chosen.head, token] = -np.inf
            head = int(np.argmax(arcs[:, token]))
            # A single token has no other head, only other labels.
            other = Arc(head, self.labels[best[head, token]]) if len(self.arcs) > 1 else self.alternative(token)
            found.append((other, self._score(token, chosen) - self._score(token, other)))
        return found

    def _siblings(self) -> LongMatrix:
        """For every arc, by head and token, the sibling that it has or would have; the head itself where none."""
        n = len(self.arcs)
        siblings = np.zeros((n + 1, n + 1), dtype=np.int64)
        for head in range(n + 1):
            for tokens in (range(head + 1, n + 1), range(head - 1, 0, -1)):
                last = head
                for token in tokens:
                    siblings[head, token] = last
                    if self.arcs[token - 1].head == head:
                        last = token
        return siblings

    def _score(self, token: int, arc: Arc) -> float:
        return float(self._scores(arc.head, token)[self.labels.index(arc.label)])

    def _scores(self, head: int, token: int) -> FloatVector:
        return self.voters.scores(head, token, *self._around(head, token))

    def _around(self, head: int, token: int) -> tuple[int, int | None]:
        return self._sibling(head, token), self._grandparent(head, token)

    def _grandparent(self, head: int, token: int) -> int | None:
        """The head of the head, unless it is between the two, or the token itself; None for the root."""
        grandparent = self.arcs[head - 1].head if head else None
        within = grandparent is not None and min(head, token) <= grandparent <= max(head, token)
        return None if within else grandparent

    def _sibling(self, head: int, token: int) -> int:
        """The nearest token towards the head that hangs on it as well; 0 for none."""
        step = 1 if head > token else -1
        between = range(token + step, head, step)
        return next((t for t in between if self.arcs[t - 1].head == head), 0)

    def spelt(self, token: int, arc: Arc) -> str:
        """The arc to a token in words."""
        return f"{self._named(arc.head)} → {self._named(token)}, {arc.label}"

    def _named(self, token: int) -> str:
        return f"{token} {self.words[token - 1]}" if token else "0 root"
