"""Scores of labelled tokens: fast scores of integer codes during training, detailed scores for an evaluation."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import BoolVector, FloatVector, IntVector, LongVector
from widemargin.core.examples import Examples
from widemargin.core.problem import predict
from widemargin.core.sparse import boundaries
from widemargin.core.stop import Score
from widemargin.metrics import (
    Scores,
    check_metric,
    confused,
    counted,
    quotient,
    scores_of_pairs,
    sequences_right,
    span_counts,
)
from widemargin.report.evaluation import Evaluation, Table, by_support, overall, plain, score_table, spelt_f1
from widemargin.report.numbers import share
from widemargin.text.columns import split
from widemargin.text.partial import COLLECTIONS, are_partial, known_runs, known_tokens
from widemargin.text.spans import ENDS, STARTS, is_bio, marks_spans, parsed
from widemargin.text.spans import spans as spans_in

MOST_CONFUSIONS = 10
MOST_TYPES = 60
WHOLE, SEQUENCES, UNKNOWN = ("whole",), ("sequences",), ("unknown",)
PAIR, SPANS = "pair", ("right", "found", "wanted")
"""Keys of counts: of sequences, of tokens by their labels, and of spans by their type."""


def dev_score(
    metric: str,
    examples: Examples,
    indptr: LongVector,
    names: Sequence[Any],
    gold: Sequence[Sequence[Any]],
    n_jobs: int | None,
) -> Score:
    """The development score as a function of the weights; outputs are codes with these `names`."""
    measure, n_threads = code_scorer(metric, names, indptr, gold), count_threads(n_jobs)

    def score(w: FloatVector) -> float:
        return measure(np.concatenate(predict(examples, w, n_threads)))

    return score


def metric_for(chosen: str, labels: Sequence[Any]) -> str:
    """The metric that `dev_metric` names; ``"auto"`` is F1 of spans if labels are BIO, else accuracy."""
    if chosen == "auto":
        return "f1" if marks_spans(labels) else "accuracy"
    return chosen


def code_scorer(
    metric: str, names: Sequence[Any], indptr: LongVector, gold: Sequence[Sequence[Any]]
) -> Callable[[IntVector], float]:
    """A metric of `widemargin.metrics` as a function of predicted codes; only this preparation looks at strings.

    Parameters
    ----------
    metric : ``"accuracy"``, ``"f1"`` (of spans) or ``"sequence_accuracy"``
    names : the name of each code; several codes may share one
    indptr : where each sequence begins
    gold : the right names of every sequence; some may belong to no code. None is not scored; all names of a set are
        right.

    >>> score = code_scorer("f1", ["O", "B-city", "I-city"], np.array([0, 3]), [["O", "B-city", "I-city"]])
    >>> score(np.array([0, 1, 2])), score(np.array([0, 1, 0]))
    (1.0, 0.0)
    """
    check_metric(metric)
    if are_partial(gold):
        return _partial_scorer(metric, names, gold)
    number: dict[Any, int] = {}
    same = np.array([number.setdefault(name, len(number)) for name in names], dtype=np.int32)
    right = np.array([number.setdefault(label, len(number)) for labels in gold for label in labels], dtype=np.int32)
    if metric == "f1":
        marks = _Marks.of([str(name) for name in number], indptr)
        wanted = marks.spans(right)
        return lambda codes: _f1(marks.spans(same[codes]), wanted)
    if metric == "accuracy":
        return lambda codes: quotient(int(np.count_nonzero(same[codes] == right)), len(right))

    def whole(codes: IntVector) -> float:
        wrong = np.concatenate([[0], np.cumsum(same[codes] != right)])[indptr]
        return quotient(int(np.count_nonzero(np.diff(wrong) == 0)), len(indptr) - 1)

    return whole


def _partial_scorer(metric: str, names: Sequence[Any], gold: Sequence[Sequence[Any]]) -> Callable[[IntVector], float]:
    """`code_scorer` for known tokens only; in gold and predictions, the first name of a set replaces the others."""
    cells = [frozenset(cell) if isinstance(cell, COLLECTIONS) else cell for labels in gold for cell in labels]
    sets = list(dict.fromkeys(cell for cell in cells if isinstance(cell, frozenset)))
    first = {each: next((name for name in names if name in each), min(each)) for each in sets}
    instead = np.tile(np.arange(len(names), dtype=np.int32), (1 + len(sets), 1))
    for row, each in enumerate(sets, 1):
        known = [code for code, name in enumerate(names) if name in each]
        instead[row, known] = known[:1]
    places = np.flatnonzero([cell is not None for cell in cells])
    number = {each: row for row, each in enumerate(sets, 1)}
    rows = np.array([number.get(cell, 0) for cell in cells if cell is not None], dtype=np.int32)
    right = split([first.get(cell, cell) for cell in cells], boundaries(map(len, gold)))
    parts = (known_tokens if metric == "sequence_accuracy" else known_runs)(right, right).gold
    parts = [part for part in parts if part]
    measure = code_scorer(metric, names, boundaries(map(len, parts)), parts)
    return lambda codes: measure(instead[rows, codes[places]])


class _Spans(NamedTuple):
    """Where spans begin and end (tokens are counted across sequences), and the numbers of their types."""

    begin: LongVector
    end: LongVector
    type: IntVector


class _Marks(NamedTuple):
    """For each code, whether it is in a span, starts one or ends one, and its type; `first`: where sequences begin."""

    inside: BoolVector
    starts: BoolVector
    ends: BoolVector
    type: IntVector
    first: LongVector

    @classmethod
    def of(cls, names: Sequence[str], indptr: LongVector) -> "_Marks":
        marks = [parsed(name) for name in names]
        types = {type_: k for k, type_ in enumerate(dict.fromkeys(type_ for _, type_ in marks))}
        return cls(
            np.array([prefix != "O" for prefix, _ in marks]),
            np.array([prefix in STARTS for prefix, _ in marks]),
            np.array([prefix in ENDS for prefix, _ in marks]),
            np.array([types[type_] for _, type_ in marks], dtype=np.int32),
            np.unique(indptr[:-1][np.diff(indptr) > 0]),
        )

    def spans(self, codes: IntVector) -> _Spans:
        """The spans that codes mark, of all sequences at once; as by `text.spans.spans`."""
        inside, type_ = self.inside[codes], self.type[codes]
        begins = self.starts[codes]
        begins[1:] |= ~inside[:-1] | (type_[1:] != type_[:-1]) | self.ends[codes][:-1]
        begins[self.first] = True
        begins &= inside
        stops = begins | ~inside
        stops[self.first] = True
        begin, stop = np.flatnonzero(begins), np.append(np.flatnonzero(stops), len(codes))
        return _Spans(begin, stop[np.searchsorted(stop, begin, side="right")], type_[begin])


def _f1(found: _Spans, wanted: _Spans) -> float:
    _, here, there = np.intersect1d(found.begin, wanted.begin, assume_unique=True, return_indices=True)
    right = np.count_nonzero((found.end[here] == wanted.end[there]) & (found.type[here] == wanted.type[there]))
    return quotient(2 * int(right), len(found.begin) + len(wanted.begin))


def label_counts(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], known: Sequence[str]
) -> Counter[Any]:
    """The counts for `counted_evaluation`; counts of several pieces of data can be added."""
    right, n = sequences_right(gold, predicted)
    counts: Counter[Any] = Counter({WHOLE: int(right), SEQUENCES: int(n)})
    counts[UNKNOWN] = sum(label is None for labels in gold for label in labels)
    if are_partial(gold):
        gold, predicted = known_runs(gold, predicted)
    counts |= Counter({(PAIR, *pair): count for pair, count in confused(gold, predicted).items()})
    if is_bio({*(label for labels in gold for label in labels), *known}):
        for what, found in zip(
            SPANS, span_counts(list(map(spans_in, gold)), list(map(spans_in, predicted))), strict=True
        ):
            counts |= Counter({(what, type_): count for type_, count in found.items()})
    return counts


def counted_evaluation(
    found: Counter[Any], known: Sequence[str], calibration: Mapping[str, float], seconds: dict[str, float]
) -> Evaluation:
    """How well labels agree, by the counts of `label_counts`."""
    unknown, whole = found[UNKNOWN], quotient(found[WHOLE], found[SEQUENCES])
    pairs = {key[1:]: count for key, count in found.items() if key[0] == PAIR}
    counts = Counter[str]()
    for (label, _), count in pairs.items():
        counts[label] += count
    spans = is_bio({*counts, *known})
    of_spans = ({key[1]: count for key, count in found.items() if key[0] == what} for what in SPANS)
    scores: Scores = counted(*of_spans) if spans else scores_of_pairs(pairs)
    right = quotient(sum(count for (g, p), count in pairs.items() if g == p), sum(pairs.values()))
    confused = _confusions(pairs)
    unseen = {label: counts[label] for label in sorted(counts.keys() - set(known))}
    results = {
        "accuracy": right,
        "sequence_accuracy": whole,
        "scored": "spans" if spans else "labels",
        **overall(scores.micro),
        "by_type": plain(scores.by_label),
        "confusions": confused,
        "unseen_labels": unseen,
        **({"not_scored": unknown} if unknown else {}),
        **({"calibration": dict(calibration)} if calibration else {}),
    }
    facts = [("accuracy", share(right)), ("sequences", f"{share(whole)} all right")]
    if unknown:
        facts.append(("not scored", f"{unknown:,} tokens whose label is unknown"))
    if spans:
        facts.append(spelt_f1(scores.micro))
    if calibration:
        errors = ", ".join(f"{error:.4f} of {kind}" for kind, error in calibration.items())
        facts.append(("expected calibration error", errors))
    heading, of = ("Spans by type", "type") if spans else ("Tokens by label", "label")
    tables = [score_table(heading, of, by_support(scores.by_label), MOST_TYPES)]
    if confused:
        rows = [[each["gold"], each["predicted"], f"{each['count']:,}"] for each in confused]
        tables.append(Table("Most frequent confusions", ["gold", "predicted", "tokens"], rows))
    if unseen:
        rows = [[name, f"{count:,}"] for name, count in unseen.items()]
        tables.append(Table("Labels that training did not have", ["label", "tokens"], rows))
    return Evaluation(results, "f1" if spans else "accuracy", facts, tables, seconds)


def _confusions(pairs: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    """The most frequent pairs of a gold label and a wrong prediction."""
    wrong = sorted((-count, *pair) for pair, count in pairs.items() if pair[0] != pair[1])[:MOST_CONFUSIONS]
    return [{"gold": gold, "predicted": predicted, "count": -count} for count, gold, predicted in wrong]
