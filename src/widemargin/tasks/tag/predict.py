"""Fast prediction of labels: everything that does not depend on the input is prepared once.

A new sentence is looked up token by token, and kernels do the rest: `text.token_reader` finds the features; this module
sums weights and finds labels, without the costs, checks and gold labels of `ChainExamples`. If the first templates look
at one token only, their features score the same wherever the token stands, and the sum is kept with the token. Sums
follow the order of the templates either way, so they are the same to the last bit.

With two passes, a tagger reads the labels that a first tagger has found, also those of later tokens. It has two more
columns, and templates for them (stacking, Cohen & Carvalho 2005; non-local features, Krishnan & Manning 2006):

| column | value |
| --- | --- |
| ``guess`` | the label that the first pass gives the token; if labels are BIO, also whether its span ends there |
| ``nearby`` | the label that the first pass most often gives to the same word in sequences nearby, if any |

BIO labels tell where a span begins. With labels that also tell where it ends (the scheme ``bioes``), features of a
span's last word, and of the word after it, have weights of their own. The user sees BIO labels only: an output is the
BIO labels of the spans that the learnt labels mark. Ill-formed learnt labels, such as two beginnings in a row, are
never decoded, so that each output has one score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._jit import kernel
from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, IntMatrix, IntVector, LongVector
from widemargin.core.sparse import NO_ROWS, Rows, add_features, add_thin_features
from widemargin.decoders.viterbi import reach_of, viterbi
from widemargin.errors import DataError, UnsupportedError
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.tag.features import ChainExamples, ChainWeights
from widemargin.tasks.token_examples import Constrained
from widemargin.text.columns import Column, Columns
from widemargin.text.extractor import Extractor, LookedUp
from widemargin.text.inputs import prepare
from widemargin.text.labels import as_sequences
from widemargin.text.partial import are_partial
from widemargin.text.spans import STARTS, Span, SpanLabels, bio, bioes, is_bio, parse_label, spans
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.token_reader import NO_OWN, ReadTokens

if TYPE_CHECKING:
    from widemargin.tasks.tag import TaggerParameters
    from widemargin.tasks.tag.model import Tagger

GUESS, NEARBY = "guess", "nearby"


@dataclass(frozen=True, slots=True)
class Guessed(Columns):
    """Columns with the labels of the first pass."""


@dataclass(frozen=True)
class FirstPass:
    """A tagger for the first pass, and how many sequences before and after a sequence count as nearby."""

    tagger: "Tagger"
    nearby: int = 0

    def read(self, X: Columns) -> Guessed:
        """The columns of the second pass."""
        if isinstance(X, Guessed):
            return X
        return self.with_guesses(X, self.tagger.predict_codes(X))

    def with_guesses(self, X: Columns, codes: IntVector) -> Guessed:
        """The columns of the second pass, with these guesses."""
        if not X.n_tokens:
            return Guessed({}, X.indptr, X.source)
        labels = self.tagger.labels
        read = [*self.tagger.columns_read, *(["word"] if self.nearby else [])]
        columns = {**{name: X[name] for name in read}, GUESS: Column(codes, labels)}
        if self.nearby:
            columns[NEARBY] = Column(nearby_labels(X, codes, len(labels), self.nearby), [*labels, ""])
        return Guessed(columns, X.indptr, X.source)


def nearby_labels(X: Columns, codes: IntVector, n_labels: int, distance: int) -> IntVector:
    """For each token the most frequent label of its word, whatever the case, in other sequences up to `distance` away.

    The label with the smallest number wins a tie; `n_labels` stands for none.
    """
    word = X["word"]
    number: dict[str, int] = {}
    lower = np.array([number.setdefault(value.lower(), len(number)) for value in word.values], dtype=np.int64)
    sequence = np.repeat(np.arange(X.n_sequences), np.diff(X.indptr))
    # Sorted by word, then by sequence: the tokens of a word in neighbouring sequences stand together.
    width = X.n_sequences + 2 * distance + 2
    key = lower[word.codes] * width + sequence + distance
    order = np.argsort(key, kind="stable")
    own, ordered = key[order], codes[order]
    begin, end = (np.searchsorted(own, own + step) for step in (-distance, distance + 1))
    here, there = np.searchsorted(own, own), np.searchsorted(own, own + 1)
    best, most = np.full(len(own), n_labels, dtype=np.int32), np.zeros(len(own), dtype=np.int64)
    for label in range(n_labels):
        so_far = np.concatenate([[0], np.cumsum(ordered == label)])
        count = so_far[end] - so_far[begin] - (so_far[there] - so_far[here])
        best[count > most] = label
        most = np.maximum(most, count)
    found = np.empty_like(best)
    found[order] = best
    return found


MOST_LABELS = 100
"""With more labels, scores kept with tokens would take too much memory."""


@kernel
def _own_scores(weights: Rows, n_labels: int, features: IntMatrix) -> FloatMatrix:
    """The scores that these features give each label, a row per token; −1 stands for no feature."""
    n, width = features.shape
    scores = np.zeros((n, n_labels))
    row = Rows(np.zeros(2, dtype=np.int64), np.empty(width, dtype=np.int32), np.empty(0))
    for t in range(n):
        size = row.indptr[0]
        for k in range(width):
            if features[t, k] >= 0:
                row.indices[size] = features[t, k]
                size += 1
        row.indptr[1] = size
        add_thin_features(row, row.indptr[0], weights, scores[t])
    return scores


@kernel
def _label(
    indptr: LongVector,
    tokens: IntVector,
    own: FloatMatrix,
    features: Rows,
    transition_features: Rows,
    weights: ChainWeights,
    labels: IntVector,
) -> None:
    """Write the best labels; `own[tokens[t]]` are scores of t that `features` leaves out (none without `tokens`)."""
    n_labels, longest = weights.emission.shape[1], 1
    for i in range(len(indptr) - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    conditional = len(weights.conditional) > 0
    flat = weights.conditional.reshape(len(weights.conditional), n_labels * n_labels)
    # Scratch arrays fit the longest sequence; each sequence overwrites the rows that it uses.
    emission, arrival = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    at_begin = n_labels * n_labels
    at_end = at_begin + n_labels
    shared = weights.shared[:at_begin].reshape(1, n_labels, n_labels)
    begin, end = weights.shared[at_begin:at_end], weights.shared[at_end:]
    transition = np.empty((longest, n_labels, n_labels)) if conditional else shared
    reach = reach_of(transition)
    for i in range(len(indptr) - 1):
        first, n = indptr[i], indptr[i + 1] - indptr[i]
        for t in range(n):
            row = emission[t]
            for label in range(n_labels):
                row[label] = own[tokens[first + t], label] if len(tokens) > 0 else 0.0
            add_thin_features(features, first + t, weights.thin_emission, row)
            if conditional:
                for k in range(n_labels):
                    for label in range(n_labels):
                        transition[t, k, label] = shared[0, k, label]
                add_features(transition_features, first + t, flat, transition[t].reshape(n_labels * n_labels))
        if n > 0:
            out = labels[first : first + n]
            scores = emission[:n]
            # Scores of prefixes overwrite the emissions. A shared transition has one row, which [:n] keeps.
            viterbi(scores, transition[:n], reach, begin, end, scores, arrival, out)


class TagPredictor:
    """The labels that a model gives to sequences, as numbers."""

    def __init__(self, extractor: Extractor, weights: ChainWeights, first: FirstPass | None = None) -> None:
        self.extractor, self.first = extractor, first
        self.weights = weights.thin() if len(weights.emission) else weights
        self._reader: Any = extractor
        n_labels = weights.emission.shape[1]
        if isinstance(extractor, TemplateExtractor) and n_labels <= MOST_LABELS:
            self._reader = extractor.reader(partial(_own_scores, self.weights.thin_emission, n_labels))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies start without the tokens looked up so far."""
        return TagPredictor, (self.extractor, self.weights, self.first)

    def looked_up(self, X: Any) -> LookedUp:
        """Sequences with their strings looked up."""
        X = prepare(X, self.extractor)
        found: LookedUp = self._reader.read(X if self.first is None else self.first.read(X))
        return found

    def label(self, found: LookedUp, first: int, last: int) -> IntVector:
        """The labels of the sequences first:last, end to end."""
        indptr, rows, transition_rows = found.features(first, last)
        tokens, own = found.own(first, last) if isinstance(found, ReadTokens) else NO_OWN
        labels = np.empty(indptr[-1], dtype=np.int32)
        _label(indptr, tokens, own, rows, transition_rows or NO_ROWS, self.weights, labels)
        return labels

    @property
    def token_work(self) -> float:
        """About how many microseconds a token takes; measured: a nanosecond for 6 label pairs."""
        return 0.5 + self.weights.emission.shape[1] ** 2 / 6000


BIOES = "bioes"
GIVEN_AS = {"B": "B", "S": "B", "U": "B", "I": "I", "E": "I", "L": "I"}


def labels_to_learn(scheme: str, X: Any, y: Any) -> Any:
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


def labels_to_show(scheme: str | None, labels: list[Any]) -> list[Any]:
    """The labels that the user sees for a sequence of learnt labels."""
    return bio(spans(labels), len(labels)) if scheme == BIOES else labels


def label_to_show(label: str) -> str:
    """The label that the user sees for a learnt label of a well-formed sequence.

    >>> label_to_show("E-PER"), label_to_show("O")
    ('I-PER', 'O')
    """
    prefix, _ = parse_label(label)
    return "O" if prefix == "O" else GIVEN_AS[prefix] + label[1:]


def well_formed(weights: ChainWeights, labels: Sequence[str]) -> ChainWeights:
    """The weights with −∞ for ill-formed pairs of labels, unless some length would have no output left."""
    marks = SpanLabels(labels)
    if not marks.having("OS").any():
        return weights
    return weights.limit(marks.pairs(), marks.begins(), marks.ends())


def translate(constraints: Constraints, labels: Sequence[str]) -> Constraints:
    """Translate constraints on given labels to the learnt `labels`."""
    same: dict[str, list[str]] = {}
    for label in labels:
        same.setdefault(label_to_show(label), []).append(label)
    allowed = constraints.allowed and [
        each and [cell if cell is None or isinstance(cell, str) else _all(cell, same) for cell in each]
        for each in constraints.allowed
    ]
    pairs = [(one, two) for a, b in constraints.forbidden for one in _all([a], same) for two in _all([b], same)]
    return replace(constraints, allowed=allowed, forbidden=pairs)


def check_scheme(parameters: "TaggerParameters", *, piece: bool = False) -> None:
    """Raise if the scheme conflicts with other parameters."""
    if parameters.scheme == BIOES:
        if piece:
            raise UnsupportedError("the scheme bioes needs all labels from the start; give labels in BIOES instead")
        if parameters.costs is not None or isinstance(parameters.class_weight, dict):
            raise UnsupportedError("costs and weights name labels as they are given; with them, give labels in BIOES")


def _is_marked(label: str) -> bool:
    return is_bio([label]) and parse_label(label)[0] in "BI"


def _all(cell: Any, same: dict[str, list[str]]) -> list[Any]:
    """All learnt labels of the given ones; an unknown label stays, and a later check reports it."""
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
        return self.marks.having(STARTS, self.marks.of_type(type_))
