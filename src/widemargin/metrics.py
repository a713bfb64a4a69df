"""How well predicted labels agree with the gold ones.

All functions compare lists of label sequences. Spans follow the conventions of the conlleval script of the CoNLL shared
tasks, which published F1 scores use: a span counts as found only if its borders and its type are all right, and an `I-`
that continues nothing starts a span. A share of nothing is 0, never nan. Gold labels that are None are not scored; of a
set of gold labels, each is right (`text.partial`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import eq
from typing import Any, NamedTuple

import numpy as np

from widemargin._types import AnyArray, FloatVector, LongVector
from widemargin.errors import DataError, WidemarginError
from widemargin.text.partial import are_partial, known_runs, known_tokens
from widemargin.text.spans import Labels, Span, spans


class Score(NamedTuple):
    """The scores of one kind of label or span; `support` is the number of gold ones."""

    precision: float
    recall: float
    f1: float
    support: int


class Scores(NamedTuple):
    """Scores per label or span type, in alphabetical order, and over all of them together."""

    by_label: dict[str, Score]
    micro: Score


class Bin(NamedTuple):
    """Predictions of about the same confidence: their number, their average confidence, and the share that is right."""

    n: int
    confidence: float
    right: float


class Confusion(NamedTuple):
    """`matrix[i, j]` counts the tokens whose gold label is `labels[i]` and whose predicted label is `labels[j]`."""

    labels: list[str]
    matrix: LongVector


def accuracy(
    gold: Sequence[Labels], predicted: Sequence[Labels], sample_weight: Sequence[float] | None = None
) -> float:
    """The share of tokens with the right label; `sample_weight` has a number per sequence, for each of its tokens.

    >>> accuracy([["O", "B"], ["O", "O"]], [["O", "O"], ["O", "O"]])
    0.75
    """
    gold, predicted = _known_tokens(gold, predicted)
    if sample_weight is None:
        return quotient(_n_equal(_flat(gold), _flat(predicted)), sum(map(len, gold)))
    weighted = _with_weights(gold, predicted, sample_weight)
    return quotient(sum(weight * _n_equal(g, p) for weight, g, p in weighted), sum(w * len(g) for w, g, _ in weighted))


def sequence_accuracy(
    gold: Sequence[Labels], predicted: Sequence[Labels], sample_weight: Sequence[float] | None = None
) -> float:
    """The share of sequences whose labels are all right; `sample_weight` has a number per sequence.

    >>> sequence_accuracy([["O", "B"], ["O", "O"]], [["O", "O"], ["O", "O"]])
    0.5
    """
    return quotient(*sequences_right(gold, predicted, sample_weight))


def sequences_right(
    gold: Sequence[Labels], predicted: Sequence[Labels], sample_weight: Sequence[float] | None = None
) -> tuple[float, float]:
    """How many sequences have only right labels, and how many there are; weighted, if weights are given."""
    sizes = list(map(len, gold))
    gold, predicted = _known_tokens(gold, predicted)
    weighted = _with_weights(gold, predicted, [1] * len(gold) if sample_weight is None else sample_weight)
    scored = [each for each, size in zip(weighted, sizes, strict=True) if each[1] or not size]
    return sum(w for w, g, p in scored if _n_equal(g, p) == len(g)), sum(w for w, _, _ in scored)


def span_scores(gold: Sequence[Labels], predicted: Sequence[Labels]) -> Scores:
    """Precision, recall and F1 of the spans, per type and over all types.

    >>> span_scores([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]).micro
    Score(precision=1.0, recall=0.5, f1=0.6666666666666666, support=2)
    """
    gold, predicted = _known_runs(gold, predicted)
    return scores_of_spans(list(map(spans, gold)), list(map(spans, predicted)))


def scores_of_spans(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]) -> Scores:
    """Like `span_scores`, for sequences given as spans instead of labels.

    >>> scores_of_spans([[Span(0, 1, "PER")]], [[Span(0, 1, "PER"), Span(1, 2, "PER")]]).micro.precision
    0.5
    """
    return scores_from_counts(*span_counts(gold, predicted))


def scores_with_alternatives(
    gold: Sequence[Mapping[Span, Collection[Span]]], predicted: Sequence[Sequence[Span]]
) -> Scores:
    """Like `scores_of_spans`, but a gold span is also found if one of its alternatives is predicted (BioCreative II).

    `gold` maps the gold spans of each sequence to their alternatives. Gold and predicted spans are matched one to one:
    if two alternatives of the same gold span are predicted, one is wrong. The matching with most right spans counts.

    >>> gold = {Span(0, 3, "gene"): [Span(0, 2, "gene"), Span(1, 3, "gene")]}
    >>> scores_with_alternatives([gold], [[Span(0, 2, "gene"), Span(5, 6, "gene")]]).micro.precision
    0.5
    """
    right: Counter[str] = Counter()
    for wanted, found in zip(gold, predicted, strict=True):
        distinct = set(found)
        taken: dict[Span, Span] = {}
        for span in wanted:
            right[span.type] += _assign(span, wanted, distinct, taken, set())
    wanted_of = Counter(span.type for each in gold for span in each)
    return scores_from_counts(right, Counter(span.type for each in predicted for span in each), wanted_of)


def _assign(
    span: Span,
    wanted: Mapping[Span, Collection[Span]],
    found: Collection[Span],
    taken: dict[Span, Span],
    tried: set[Span],
) -> bool:
    """Whether a gold span gets a prediction of its own; another gold span may switch to an alternative for it."""
    for candidate in (span, *wanted[span]):
        if candidate in found and candidate not in tried:
            tried.add(candidate)
            if candidate not in taken or _assign(taken[candidate], wanted, found, taken, tried):
                taken[candidate] = span
                return True
    return False


def span_counts(
    gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]]
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """For each type, how many spans were found rightly, were found, and should have been found."""
    both = [set(g).intersection(p) for g, p in zip(gold, predicted, strict=True)]
    right, found, wanted = (
        Counter(span.type for span in chain.from_iterable(kind)) for kind in (both, predicted, gold)
    )
    return right, found, wanted


def label_scores(gold: Sequence[Labels], predicted: Sequence[Labels]) -> Scores:
    """Precision, recall and F1 of each label, token by token; over all labels, all three are the accuracy.

    >>> label_scores([["N", "V", "N"]], [["N", "N", "N"]]).by_label["N"]
    Score(precision=0.6666666666666666, recall=1.0, f1=0.8, support=2)
    """
    return scores_of_pairs(confusion_counts(gold, predicted))


def scores_of_pairs(pairs: Mapping[tuple[str, str], int]) -> Scores:
    """As `label_scores`, from the counts of pairs of a gold and a predicted label."""
    right, found, wanted = Counter[str](), Counter[str](), Counter[str]()
    for (g, p), count in pairs.items():
        right[g] += count * (g == p)
        found[p] += count
        wanted[g] += count
    return scores_from_counts(right, found, wanted)


def set_scores(gold: Sequence[Labels], predicted: Sequence[Labels]) -> Scores:
    """Precision, recall and F1 of each label, when every example has a set of labels.

    >>> set_scores([["a"], ["a", "b"]], [["a"], ["b"]]).micro
    Score(precision=1.0, recall=0.6666666666666666, f1=0.8, support=3)
    """
    if len(gold) != len(predicted):
        raise DataError(f"there are {len(gold)} gold sets, but {len(predicted)} predicted ones")
    both = [set(g).intersection(p) for g, p in zip(gold, predicted, strict=True)]
    return scores_from_counts(*(Counter(chain.from_iterable(kind)) for kind in (both, predicted, gold)))


def confusion(gold: Sequence[Labels], predicted: Sequence[Labels]) -> Confusion:
    """How often each label was taken for each other; the labels are in alphabetical order.

    >>> confusion([["N", "V", "N"]], [["N", "N", "N"]]).matrix.tolist()
    [[2, 0], [1, 0]]
    """
    pairs = confusion_counts(gold, predicted)
    labels = sorted(set(chain.from_iterable(pairs)))
    number = {label: index for index, label in enumerate(labels)}
    matrix = np.zeros((len(labels), len(labels)), dtype=np.int64)
    for (g, p), count in pairs.items():
        matrix[number[g], number[p]] = count
    return Confusion(labels, matrix)


def confusion_counts(gold: Sequence[Labels], predicted: Sequence[Labels]) -> Counter[tuple[str, str]]:
    """How often each pair of a gold and a predicted label occurs."""
    gold, predicted = _known_tokens(gold, predicted)
    return Counter(zip(_flat(gold), _flat(predicted), strict=True))


def reliability(confidence: FloatVector, right: AnyArray, n_bins: int = 15) -> list[Bin]:
    """Predictions grouped by confidence into bins of equal width; empty bins are left out.

    >>> reliability(np.array([0.9, 0.95, 0.2]), np.array([True, False, False]), n_bins=2)
    [Bin(n=1, confidence=0.2, right=0.0), Bin(n=2, confidence=0.925, right=0.5)]
    """
    confidence = np.asarray(confidence, dtype=np.float64)
    place = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    members = [place == k for k in np.unique(place)]
    return [
        Bin(int(which.sum()), float(confidence[which].mean()), float(np.asarray(right)[which].mean()))
        for which in members
    ]


def expected_calibration_error(confidence: FloatVector, right: AnyArray, n_bins: int = 15) -> float:
    """The average distance of confidence from the share that is right, over predictions in bins of equal width.

    >>> expected_calibration_error(np.array([0.75, 0.75, 0.75, 0.75]), np.array([True, True, True, False]))
    0.0
    """
    bins = reliability(confidence, right, n_bins)
    return quotient(sum(each.n * abs(each.confidence - each.right) for each in bins), len(confidence))


@dataclass(frozen=True, slots=True)
class SequenceScorer:
    """A metric for scikit-learn's `scoring=`, of labels or of the spans that they mark; the higher, the better."""

    name: str

    def __post_init__(self) -> None:
        check_metric(self.name)

    def __call__(
        self, estimator: Any, X: Any, y: Sequence[Labels], sample_weight: Sequence[float] | None = None
    ) -> float:
        """Score the predictions of `estimator` for `X` against `y`; `sample_weight` has a weight per sequence."""
        model: Any = getattr(estimator, "model_", None)
        known = hasattr(model, "gold_and_predicted")
        gold, predicted = model.gold_and_predicted(X, y) if known else (y, estimator.predict(X))
        return self.measure(gold, predicted, sample_weight)

    def measure(
        self, gold: Sequence[Labels], predicted: Sequence[Labels], sample_weight: Sequence[float] | None = None
    ) -> float:
        """The metric itself; `sample_weight` has a number per sequence: how much everything in it counts."""
        return _METRICS[self.name](gold, predicted, sample_weight)


def area_under_curve(scores: FloatVector, positive: AnyArray) -> float:
    """How often a positive example scores above a negative one, where equal scores count half; 0.5 if there are none.

    >>> area_under_curve(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.625
    """
    ordered = np.sort(scores)
    ranks = (np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right") + 1) / 2
    n = int(np.count_nonzero(positive))
    pairs = n * (len(scores) - n)
    return float((ranks[positive].sum() - n * (n + 1) / 2) / pairs) if pairs else 0.5


def sequence_scorer(name: str) -> SequenceScorer:
    """A scorer for model selection: "accuracy", "f1" (of the spans, over all types) or "sequence_accuracy".

    >>> sequence_scorer("f1")
    SequenceScorer(name='f1')
    """
    return SequenceScorer(name)


def check_metric(name: str) -> None:
    """Raise unless a metric has this name."""
    if name not in _METRICS:
        raise WidemarginError(f"there is no scorer {name!r}; choose one of {', '.join(_METRICS)}")


def _span_f1(
    gold: Sequence[Labels], predicted: Sequence[Labels], sample_weight: Sequence[float] | None = None
) -> float:
    if sample_weight is None:
        return span_scores(gold, predicted).micro.f1
    right = marked = 0.0
    for weight, g, p in _with_weights(gold, predicted, sample_weight):
        runs = _known_runs([g], [p])
        wanted, found = (
            Counter((k, span) for k, each in enumerate(runs[side]) for span in spans(each)) for side in (0, 1)
        )
        right, marked = right + weight * (wanted & found).total(), marked + weight * (wanted.total() + found.total())
    return quotient(2 * right, marked)


_METRICS: dict[str, Callable[[Sequence[Labels], Sequence[Labels], Sequence[float] | None], float]] = {
    "accuracy": accuracy,
    "f1": _span_f1,
    "sequence_accuracy": sequence_accuracy,
}


def scores_from_counts(right: Mapping[str, int], found: Mapping[str, int], wanted: Mapping[str, int]) -> Scores:
    """Scores from the numbers of each label that were found rightly, were found, and should have been found."""
    by_label = {
        label: _score(right.get(label, 0), found.get(label, 0), wanted.get(label, 0))
        for label in sorted({*found, *wanted})
    }
    return Scores(by_label, _score(sum(right.values()), sum(found.values()), sum(wanted.values())))


def _score(right: int, found: int, wanted: int) -> Score:
    return Score(quotient(right, found), quotient(right, wanted), quotient(2 * right, found + wanted), wanted)


def quotient(part: float, whole: float) -> float:
    """`part` / `whole`, or 0 if `whole` is 0."""
    return float(part / whole) if whole else 0.0


def _with_weights(
    gold: Sequence[Labels], predicted: Sequence[Labels], sample_weight: Sequence[float]
) -> list[tuple[float, Labels, Labels]]:
    """Each sequence with its weight."""
    if len(sample_weight) != len(gold):
        raise DataError(f"there are {len(gold)} sequences, but {len(sample_weight)} weights")
    return list(zip(sample_weight, gold, predicted, strict=True))


def _flat(labels: Sequence[Labels]) -> Iterable[str]:
    return chain.from_iterable(labels)


def _n_equal(gold: Iterable[str], predicted: Iterable[str]) -> int:
    return sum(map(eq, gold, predicted))


def _known_tokens(gold: Sequence[Labels], predicted: Sequence[Labels]) -> tuple[Sequence[Labels], Sequence[Labels]]:
    _check_lengths(gold, predicted)
    return known_tokens(gold, predicted) if are_partial(gold) else (gold, predicted)


def _known_runs(gold: Sequence[Labels], predicted: Sequence[Labels]) -> tuple[Sequence[Labels], Sequence[Labels]]:
    _check_lengths(gold, predicted)
    return known_runs(gold, predicted) if are_partial(gold) else (gold, predicted)


def _check_lengths(gold: Sequence[Labels], predicted: Sequence[Labels]) -> None:
    if len(gold) != len(predicted):
        raise DataError(f"there are {len(gold)} gold sequences, but {len(predicted)} predicted ones")
    for index, (g, p) in enumerate(zip(gold, predicted, strict=True)):
        if len(g) != len(p):
            raise DataError(f"sequence {index} has {len(g)} gold labels, but {len(p)} predicted ones")
