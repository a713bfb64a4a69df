"""Training of taggers and segmenters: features, development scores, warm starts, making a model of the weights.

Scores of integer codes are fast: only their preparation looks at strings.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from widemargin._types import BoolVector, IntVector, LongVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.core.sparse import boundaries
from widemargin.core.stop import Score
from widemargin.metrics import check_metric, quotient
from widemargin.tasks.parameters import TokenParameters
from widemargin.tasks.token_examples import LabelShape, PartialTokens, TokenExamples
from widemargin.tasks.training import Compiled, Data, score_of_outputs
from widemargin.text.attributes import Resources
from widemargin.text.columns import split
from widemargin.text.extractor import Extractor
from widemargin.text.inputs import check_templates, choose_extractor, prepare
from widemargin.text.partial import COLLECTIONS, are_partial, known_runs, known_tokens
from widemargin.text.spans import ENDS, STARTS, marks_spans, parse_label

if TYPE_CHECKING:
    from widemargin.tasks.warm import Matched

M = TypeVar("M")


def extractor_for(parameters: TokenParameters, data: Data, after: Any = None) -> tuple[Extractor, Any]:
    """The extractor (of the model `after`, if given), and the inputs in the form that it takes."""
    if after is None:
        resources = Resources(parameters.lexicons or {}, parameters.clusters or {})
        extractor = choose_extractor(
            data.X,
            parameters.templates,
            resources,
            min_count=parameters.min_count,
            hash_bits=parameters.hash_bits,
        )
    else:
        extractor = after.extractor
    X = prepare(data.X, extractor)
    check_templates(extractor, X, data.y)
    return extractor, X


def assemble(
    make: Callable[..., M],
    labels: list[Any],
    examples: TokenExamples,
    data: Data,
    score: Score | None,
    metric: str,
    matched: "Callable[[M], Matched]",
    *,
    piecewise: bool = False,
) -> Compiled[M]:
    """The examples, and how to `make` a model of labels, weights and a summary.

    Sequences without known labels teach nothing, so their weight is 0. The summary says how many labels and sequences
    are unknown.
    """
    unknown, sample_weight = {}, data.sample_weight
    if isinstance(examples, PartialTokens):
        informative = examples.informative
        n_useless = int(np.count_nonzero(~informative))
        unknown = {"unknown": {"labels": examples.n_unknown, "sequences": n_useless}}
        if informative.any():
            sample_weight = checked_weights(sample_weight, examples.n_examples) * informative
    model = partial(_model, partial(make, labels), examples.shape, unknown)
    return Compiled(examples, model, labels, score, metric, sample_weight, piecewise, matched=matched)


def _model(
    make: Callable[..., M], shape: LabelShape, unknown: dict[str, Any], solution: Solution, summary: dict[str, Any]
) -> M:
    return make(weights=shape.parts(solution.w).thin(), summary=summary | unknown)


def match(model: Any, codes: LongVector, axes: Mapping[str, Sequence[LongVector]], *more: LongVector) -> "Matched":
    """The weights of a model for the labels and features that new examples have, too; `axes` as for `reorder`.

    `codes` has the places of the labels; the examples' `digests` take these and `more`.
    """
    from widemargin.tasks.warm import Matched  # seldom needed

    w = model.w
    numbers = model.shape.parts(np.arange(len(w), dtype=np.float64)).reorder(codes, axes)
    return Matched(w, numbers.flat().astype(np.int64), (codes, *more))


def dev_score(
    metric: str, examples: TokenExamples, names: Sequence[Any], gold: Sequence[Sequence[Any]], n_jobs: int | None
) -> Score:
    """The development score as a function of the weights; outputs are codes with these `names`."""
    return score_of_outputs(examples, n_jobs, code_scorer(metric, names, examples.indptr, gold))


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
        marks = [parse_label(name) for name in names]
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
