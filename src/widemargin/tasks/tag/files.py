"""How taggers read and write files, and why a token has its label and not another."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from widemargin.core.sparse import Rows, entries_of
from widemargin.errors import WidemarginError
from widemargin.files.pieces import Cut
from widemargin.files.raw import RawText
from widemargin.report.explain import Explanation, Option, Question, compare_options, list_parts
from widemargin.tasks.base import Corpus, Reading
from widemargin.tasks.strongest import (
    Part,
    label_parts,
    mask_weights,
    pair_name,
    pairs_with,
    strongest,
    strongest_by_label,
)
from widemargin.tasks.tag.predict import Guessed
from widemargin.tasks.token_files import TokenFiles, TokenReporter
from widemargin.text.columns import Columns

if TYPE_CHECKING:
    from widemargin.tasks.tag.model import Tagger


class TagReporter(TokenReporter):
    """Reports on taggers."""

    model: "Tagger"

    asked = ("token", "label")
    ask_for = "a --token, and perhaps another --label"
    exports: ClassVar[Mapping[str, str]] = {".crfsuite": "a model file of CRFsuite"}

    def remarks(self) -> list[tuple[str, str]]:
        """The pass before this one."""
        first = self.model.first
        if first is None:
            return []
        nearby = f", also of the same word in sequences nearby (up to {first.nearby})" if first.nearby else ""
        return [("passes", f"2: this one reads the labels that a first one finds{nearby}")]

    def alone(self, corpus: Corpus, number: int) -> Corpus:
        """One sequence of a file, counted from 1; it keeps the column ``nearby`` of the whole file."""
        if self.model.first is None or not self.model.first.nearby:
            return super().alone(corpus, number)
        X = self.model.first.read(corpus.X)
        one = super().alone(corpus._replace(X=X), number)
        cut = X.alone(number - 1)
        return one._replace(X=Guessed(cut.by_name, cut.indptr, cut.source))

    def cut(self, head: RawText, reading: Reading) -> Cut | None:
        """Cut between two sequences; None if labels depend on sequences nearby."""
        return None if self.model.first is not None and self.model.first.nearby else super().cut(head, reading)

    def strongest(self, chosen: Sequence[int], top: int) -> dict[str, Part]:
        """The strongest features, transitions, first and last labels."""
        model = self.model
        weights, labels, names = model.weights, model.code_names, model.extractor.names()
        n, n_features, pair = len(labels), model.extractor.n_features, pair_name(labels)
        on_transitions = strongest(
            mask_weights(weights.conditional, pairs_with(chosen, n)),
            top,
            lambda number: f"{names[n_features + number // n**2]}: {pair(number % n**2)}",
        )
        features = strongest_by_label(weights.thin_emission, names[:n_features], labels, chosen, top)
        rest = label_parts(weights, labels, chosen, top)
        return {
            "features": Part("Features for and against", by_label=features),
            "transitions": rest.pop("transitions"),
            "features_on_transitions": Part("Features on transitions", on_transitions),
            **rest,
        }

    def answer(self, X: Columns, question: Question) -> Explanation:
        """Why a token has its label; without a token, the margin of every label."""
        return LabelExplainer(self.model, X).explain(question)

    def export(self, suffix: str) -> bytes:
        """The model as CRFsuite writes it."""
        from widemargin.files.lcrf import lcrf_bytes  # seldom needed
        from widemargin.tasks.tag.crfsuite import chain_file

        return lcrf_bytes(chain_file(self.model))


class TagFiles(TokenFiles):
    """Files with labels to learn."""

    reporter = TagReporter


class LabelExplainer:
    """Why a token of one sequence has its label and not another: the features and transitions that vote for either.

    The votes for a label are the weights of the token's features and of the transitions from the label before and to
    the label after; all other labels are as predicted. The sequence is chosen as a whole, so a predicted label may have
    fewer votes than another. The *margin* of a label compares the best sequence with the best sequence that has another
    label at this token.
    """

    def __init__(self, tagger: "Tagger", X: Columns) -> None:
        (self._margins,), (self._words,) = tagger.margins(X), X.sequences("word")
        self._data, self._weights = tagger.examples(X).features, tagger.weights
        self._labels, self._names = tagger.code_names, tagger.extractor.names()
        self._codes = self._margins.codes

    def explain(self, question: Question) -> Explanation:
        """Compare the label of a token with another; without a token, list all labels with their margins."""
        if question.token is None:
            ahead = self._margins.of_labels().tolist()
            return list_parts(
                (self._spell(t, code), ahead[t], self._labels[self._rival(t)])
                for t, code in enumerate(self._codes.tolist())
            )
        t = question.token - 1
        if t >= len(self._codes):
            raise WidemarginError(f"there is no token {question.token} in a sequence of {len(self._codes)}")
        chosen, other = int(self._codes[t]), self._rival(t)
        if question.label is not None:
            if question.label not in self._labels:
                known = ", ".join(map(repr, self._labels))
                raise WidemarginError(f"the model has no label {question.label!r}; it has {known}")
            other = self._labels.index(question.label)
        if other == chosen:
            raise WidemarginError(
                f"token {question.token} is predicted to be {self._labels[other]}; name another label"
            )
        return compare_options(self._option(t, chosen), self._option(t, other))

    def _rival(self, t: int) -> int:
        """The label other than the predicted one with the best max-marginal."""
        scores = self._margins.best[t].copy()
        scores[self._codes[t]] = -np.inf
        return int(np.argmax(scores))

    def _spell(self, t: int, label: int) -> str:
        return f"{t + 1} {self._words[t]}: {self._labels[label]}"

    def _option(self, t: int, label: int) -> Option:
        weights, names, n_features = self._weights, self._labels, len(self._weights.thin_emission.indptr) - 1
        votes = [
            (self._names[feature], value * _entry(weights.thin_emission, feature, label))
            for feature, value in entries_of(self._data.rows, t)
        ]
        if t == 0:
            votes.append((f"begin={names[label]}", float(weights.begin[label])))
        else:
            before = int(self._codes[t - 1])
            votes += self._transition("before", before, label, t, n_features)
        if t == len(self._codes) - 1:
            votes.append((f"end={names[label]}", float(weights.end[label])))
        else:
            votes += self._transition("after", label, int(self._codes[t + 1]), t + 1, n_features)
        return Option(self._spell(t, label), votes)

    def _transition(self, side: str, before: int, after: int, t: int, n_features: int) -> list[tuple[str, float]]:
        """The votes for the transition into token t."""
        weights, pair = self._weights, f"{self._labels[before]} → {self._labels[after]}"
        votes = [(f"transition {side}={pair}", float(weights.transition[before, after]))]
        if len(weights.conditional):
            votes += [
                (
                    f"{self._names[n_features + feature]}|{pair}",
                    value * float(weights.conditional[feature, before, after]),
                )
                for feature, value in entries_of(self._data.transition_rows, t)
            ]
        return votes


def _entry(rows: Rows, row: int, index: int) -> float:
    """One entry of a row; 0 where it has none."""
    return dict(entries_of(rows, row)).get(index, 0.0)
