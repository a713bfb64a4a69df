"""Segmentation as a scikit-learn estimator, and from segmented sequences to the examples of a semi-Markov model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from widemargin._types import BoolVector, IntVector
from widemargin.tasks.abilities import TokenEstimator
from widemargin.tasks.answers import LEAST, SureSpan
from widemargin.tasks.parameters import documented
from widemargin.tasks.segment import SegmenterParameters
from widemargin.tasks.segment.costs import Known, gold_lengths
from widemargin.tasks.segment.examples import PartialSegmentExamples, SegmentExamples
from widemargin.tasks.segment.features import SegmentDraft, SegmentExtractor
from widemargin.tasks.segment.labels import (
    Penalties,
    as_labels,
    as_spans,
    bio_names,
    count_tokens,
    encode_partial,
    encode_segments,
    longest_spans,
    max_lengths,
    partial_labels,
)
from widemargin.tasks.segment.model import SegmentModel
from widemargin.tasks.segment.scores import ROLES, Segmentation
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.token_training import assemble, dev_score, extractor_for, match
from widemargin.tasks.training import Compiled, Data
from widemargin.text.columns import Columns
from widemargin.text.inputs import as_columns
from widemargin.text.labels import places_of
from widemargin.text.spans import OUTSIDE
from widemargin.text.template_extractor import TemplateExtractor

if TYPE_CHECKING:
    from widemargin.tasks.warm import Matched


class PieceDraft(NamedTuple):
    """The features and gold codes of a piece of the data, numbered by the piece alone."""

    extractor: SegmentExtractor
    features: SegmentDraft
    labels: list[str]
    gold: IntVector


def survey_segments(parameters: SegmenterParameters, data: Data) -> Survey:
    """The labels, features and longest segments of a piece of the data."""
    columns = as_columns(data.X)
    if partial_labels(columns, data.y) is not None:
        refuse_latent("some labels are unknown")
    spans, sizes = as_spans(columns, data.y), np.diff(columns.indptr).tolist()
    extractor = extractor_of(parameters, data, columns)
    labels, gold = encode_segments(spans, sizes)
    draft = extractor.draft(columns, known_lengths(labels, gold))
    features, facts = [*draft.tokens.counted(), draft.segments], {"longest": longest_spans(spans)}
    return Survey(count_tokens(spans, sizes), features, facts, PieceDraft(extractor, draft, labels, gold))


def compile_share(parameters: SegmenterParameters, data: Data, survey: Survey) -> Compiled[SegmentModel]:
    """Compile one of several pieces of the data, with the labels and features of all of them."""
    drafted: PieceDraft | None = survey.drafted
    extractor, draft, found, codes = survey_segments(parameters, data).drafted if drafted is None else drafted
    labels = survey.by_frequency
    longest = max_lengths(parameters.max_length, labels, survey.facts["longest"])
    extractor.adopt(survey.features)
    indptr, rows, segment_rows = extractor.numbered(draft, max(longest))
    gold = 2 * places_of(found, labels)[codes >> 1] + (codes & 1)
    shape = Segmentation(len(labels), extractor.n_features, extractor.n_segment_features, longest)
    penalties = Penalties.of(labels, parameters.precision, parameters.recall, parameters.confusion)._asdict()
    examples = SegmentExamples(shape, indptr, rows, segment_rows, gold, **penalties)
    return assemble_segments(parameters, extractor, labels, examples, data)


def compile_segments(
    parameters: SegmenterParameters, data: Data, *, survey: Survey | None = None
) -> Compiled[SegmentModel]:
    """Compile features and segments to arrays; with a `survey` of all data, these are a share of them."""
    if survey is not None:
        return compile_share(parameters, data, survey)
    columns = as_columns(data.X)
    cells = partial_labels(columns, data.y)
    if cells is None:
        spans = as_spans(columns, data.y)
        labels, gold = encode_segments(spans, np.diff(columns.indptr).tolist())
        lengths = gold_lengths(gold)
    else:
        labels, allowed, given, spans = encode_partial(cells)
        certain = Known.of(columns.indptr, allowed, given)
        gold, lengths = certain.codes, certain.lengths
    longest = max_lengths(parameters.max_length, labels, longest_spans(spans))
    extractor = extractor_of(parameters, data, columns)
    features = extractor.fit(columns, lengths * _inside(labels, gold), max(longest))
    shape = Segmentation(len(labels), extractor.n_features, extractor.n_segment_features, longest)
    penalties = Penalties.of(labels, parameters.precision, parameters.recall, parameters.confusion)._asdict()
    if cells is None:
        examples = SegmentExamples(shape, *features, gold, **penalties)
    else:
        examples = PartialSegmentExamples(shape, *features, allowed, given, **penalties)
    return assemble_segments(parameters, extractor, labels, examples, data)


def assemble_segments(
    parameters: SegmenterParameters,
    extractor: SegmentExtractor,
    labels: list[str],
    examples: SegmentExamples,
    data: Data,
) -> Compiled[SegmentModel]:
    """The examples with their development score, and how to make a segmenter."""
    shape, score, metric = examples.shape, None, parameters.dev_metric
    if data.dev is not None:
        X_dev = as_columns(data.dev[0])
        dev = SegmentExamples(shape, *extractor.transform(X_dev, shape.longest))
        score = dev_score(metric, dev, bio_names(labels), as_labels(X_dev, data.dev[1]), parameters.n_jobs)
    make = partial(SegmentModel, extractor=extractor, max_lengths=shape.max_lengths)
    return assemble(make, labels, examples, data, score, metric, partial(_match, labels, extractor, shape))


def extractor_of(parameters: SegmenterParameters, data: Data, X: Columns) -> SegmentExtractor:
    """The extractor for sequences like `X`, whose features are not numbered yet."""
    tokens, _ = extractor_for(parameters, data._replace(X=X))
    assert isinstance(tokens, TemplateExtractor)  # as columns have it
    return SegmentExtractor(tokens, parameters.segment_features, min_count=parameters.segment_min_count)


def known_lengths(labels: Sequence[str], gold: IntVector) -> IntVector:
    """The length of the span that begins at each token; 0 where none does."""
    return gold_lengths(gold) * _inside(labels, gold)


def _inside(labels: Sequence[str], gold: IntVector) -> BoolVector:
    """Whether each token is inside a span."""
    return np.array([label != OUTSIDE for label in labels])[gold >> 1]


def _match(labels: list[str], extractor: SegmentExtractor, shape: Segmentation, model: SegmentModel) -> "Matched":
    """The weights of another segmenter for the labels and features that both have, matched by name."""
    from widemargin.tasks.warm import places  # seldom needed

    names, before, n, m = extractor.names(), model.extractor.names(), extractor.n_features, model.extractor.n_features
    codes, tokens, spans = places(labels, model.labels), places(names[:n], before[:m]), places(names[n:], before[m:])
    in_roles = np.concatenate([np.where(codes < 0, -1, codes + role * len(model.labels)) for role in range(ROLES)])
    lengths = places(range(shape.longest), range(model.shape.longest))
    axes = {"roles": (tokens, in_roles), "segment": (spans, codes), "length": (lengths, codes)}
    return match(model, codes, axes, tokens, spans, np.array(model.shape.max_lengths))


@documented(SegmentModel)
@dataclass(kw_only=True, repr=False, eq=False)
class Segmenter(SegmenterParameters, TokenEstimator[SegmentModel]):
    """Large-margin segmentation: a semi-Markov model, whose features may describe whole segments.

    Attributes
    ----------
    classes_ : ndarray
        The labels of segments; ``"O"`` marks tokens outside.

    Notes
    -----
    X is a list of sequences of tokens (strings), or `Columns`, as readers return them. y holds for each sequence a list
    of spans (start, end, label) or a list of BIO labels; or it is a `Column` of BIO labels. A BIO label may be None if
    it is unknown, or a set if one of its labels is right; the model then fills in the rest as it learns.

    Examples
    --------
    >>> X = [["in", "New", "York", "now"], ["from", "Rome"]] * 3
    >>> y = [[(1, 3, "city")], [(1, 2, "city")]] * 3
    >>> Segmenter(templates=["lower", "shape"]).fit(X, y).predict([["now", "in", "New", "York"]])
    [[Span(start=2, end=4, type='city')]]
    """

    _compile = staticmethod(compile_segments)
    _survey = staticmethod(survey_segments)

    def span_proba(self, X: Any, least: float = LEAST) -> list[list[SureSpan]]:
        """All spans of every sequence whose probability is at least `least`, each with its probability.

        The model must have been trained with `likelihood` or `softmax-margin`.
        """
        return self._ask("span_proba", X, least=least)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score that `dev_metric` names, by default F1 of segments; `sample_weight` has a weight per sequence."""
        return self._score(self.dev_metric, X, y, sample_weight)
