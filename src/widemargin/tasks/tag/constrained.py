"""Which labels outputs may have: `Constraints` in the numbers of a chain, and BIOES labels that stand for BIO.

BIO labels tell where a span begins. With labels that also tell where it ends, features of a span's last word, and of
the word after it, have weights of their own. The user sees BIO labels only: an output is the BIO labels of the spans
that the learnt labels mark. Learnt labels in a disorder, such as two beginnings in a row, are not decoded, so that each
output has one score.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, IntVector
from widemargin.errors import DataError, UnsupportedError, WidemarginError
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.tag.features import ChainExamples, ChainWeights
from widemargin.tasks.token_examples import Constrained
from widemargin.text.labels import as_sequences
from widemargin.text.partial import are_partial
from widemargin.text.span_labels import STARTING, SpanLabels
from widemargin.text.spans import Span, bio, bioes, is_bio, parsed, spans

if TYPE_CHECKING:
    from widemargin.tasks.tag.parameters import TaggerParameters

BIOES = "bioes"
GIVEN_AS = {"B": "B", "S": "B", "U": "B", "I": "I", "E": "I", "L": "I"}


def learnt(scheme: str, X: Any, y: Any) -> Any:
    """The labels that a chain learns for `y`."""
    if scheme != BIOES:
        return y
    gold = as_sequences(X, y)
    if are_partial(gold):
        raise UnsupportedError("the scheme bioes needs labels that are all known")
    known = {label for labels in gold for label in labels}
    wrong = [label for label in known if not isinstance(label, str) or (label != "O" and not _is_marked(label))]
    if wrong:
        raise DataError(f"the scheme bioes is for BIO labels, such as B-name, I-name and O, not {wrong[0]!r:.60}")
    return [bioes(spans(labels), len(labels)) for labels in gold]


def given(scheme: str | None, labels: list[Any]) -> list[Any]:
    """The labels that the user sees of the learnt ones of a sequence."""
    return bio(spans(labels), len(labels)) if scheme == BIOES else labels


def given_label(label: str) -> str:
    """The label that the user sees of a learnt one, if it marks a span as it should.

    >>> given_label("E-PER"), given_label("O")
    ('I-PER', 'O')
    """
    prefix, _ = parsed(label)
    return "O" if prefix == "O" else GIVEN_AS[prefix] + label[1:]


def well_formed(weights: ChainWeights, labels: Sequence[str]) -> ChainWeights:
    """The weights without pairs of labels that mark no spans, as long as some output of every length is left."""
    marks = SpanLabels(labels)
    if not marks.having("OS").any():
        return weights
    return weights.limited(marks.pairs(), marks.begins(), marks.ends())


def translated(constraints: Constraints, labels: Sequence[str]) -> Constraints:
    """Constraints on given labels as those on the learnt `labels`."""
    same: dict[str, list[str]] = {}
    for label in labels:
        same.setdefault(given_label(label), []).append(label)
    allowed = constraints.allowed and [
        each and [cell if cell is None or isinstance(cell, str) else _all(cell, same) for cell in each]
        for each in constraints.allowed
    ]
    pairs = [(one, two) for a, b in constraints.forbidden for one in _all([a], same) for two in _all([b], same)]
    return replace(constraints, allowed=allowed, forbidden=pairs)


def check_scheme(parameters: "TaggerParameters", *, piece: bool = False) -> None:
    """Raise an error if the scheme is unknown, or goes not together with something else."""
    if parameters.scheme not in ("given", BIOES):
        raise WidemarginError(f"scheme must be 'given' or 'bioes', not {parameters.scheme!r}")
    if parameters.scheme == BIOES:
        if piece:
            raise UnsupportedError("the scheme bioes needs all labels from the start; give labels in BIOES instead")
        if parameters.costs is not None or isinstance(parameters.class_weight, dict):
            raise UnsupportedError("costs and weights name labels as they are given; with them, give labels in BIOES")


def _is_marked(label: str) -> bool:
    return is_bio([label]) and parsed(label)[0] in "BI"


def _all(cell: Any, same: dict[str, list[str]]) -> list[Any]:
    """All learnt labels of some given ones; one that is unknown stays, so that it is complained about."""
    return [learnt_label for label in cell for learnt_label in same.get(label, [label])]


class ConstrainedChain(Constrained[ChainExamples]):
    """Sequences to be labelled under constraints; codes are labels."""

    def spans(self, codes: IntVector) -> list[Span]:
        """The spans of one decoded sequence."""
        return spans([self.labels[code] for code in codes.tolist()])

    @cached_property
    def marks(self) -> SpanLabels:
        """The labels as marks of spans, needed only by constraints on spans."""
        return SpanLabels(self.labels)

    def _allowed(self, lengths: list[int]) -> BoolMatrix:
        possible = self.constraints.possible_labels(lengths, self.number)
        for i, span in self.constraints.forced_spans(lengths):
            begin, end = self.indptr[i] + span.start, self.indptr[i] + span.end
            possible[begin:end] &= self.marks.marking(self.marks.of_type(span.type), span.end - span.start)
            if span.end < lengths[i] and not self.marks.closing:
                possible[end] &= ~self.marks.having("I", span.type)
        return possible

    def _neighbours(self) -> tuple[BoolMatrix, BoolVector, BoolVector]:
        pairs, any_label = self.constraints.possible_pairs(self.number), np.ones(len(self.labels), dtype=bool)
        if self.constraints.bio or self.constraints.at_most_one:
            return pairs & self.marks.pairs(), self.marks.begins(), self.marks.ends()
        return pairs, any_label, any_label

    def _starting(self, type_: str) -> BoolVector:
        return self.marks.having(STARTING, self.marks.of_type(type_))
