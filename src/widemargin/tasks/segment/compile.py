"""From segmented sequences to the examples of a semi-Markov model."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import BoolVector, IntVector
from widemargin.core.solution import Solution
from widemargin.tasks.segment import SegmenterParameters
from widemargin.tasks.segment.costs import Known
from widemargin.tasks.segment.examples import PartialSegmentExamples, SegmentExamples
from widemargin.tasks.segment.features import SegmentExtractor
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
from widemargin.tasks.segment.weights import ROLES, Segmentation, SegmentWeights, gold_lengths
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.token_examples import counting, joined, unknown_in
from widemargin.tasks.token_scores import dev_score
from widemargin.tasks.training import Compiled, Data
from widemargin.text.attributes import Resources
from widemargin.text.columns import Columns
from widemargin.text.inputs import as_columns, check_templates
from widemargin.text.spans import OUTSIDE
from widemargin.text.template_extractor import TemplateExtractor
from widemargin.text.template_sets import spelt_out
from widemargin.text.templates import DEFAULT_TEMPLATES

if TYPE_CHECKING:
    from widemargin.tasks.warm import Matched


def survey_segments(parameters: SegmenterParameters, data: Data) -> Survey:
    """The labels, features and longest segments of a piece of the data."""
    columns = as_columns(data.X)
    if partial_labels(columns, data.y) is not None:
        refuse_latent("some labels are unknown")
    spans, sizes = as_spans(columns, data.y), np.diff(columns.indptr).tolist()
    longest, extractor = longest_spans(spans), _extractor(parameters, columns, data.y)
    labels, gold = encode_segments(spans, sizes)
    lengths = gold_lengths(gold) * _inside(labels, gold)
    features = extractor.survey(columns, lengths, max(longest.values(), default=1))
    return Survey(count_tokens(spans, sizes), features, {"longest": longest})


def compile_segments(
    parameters: SegmenterParameters, data: Data, *, survey: Survey | None = None
) -> Compiled[SegmentModel]:
    """Compile features and segments to arrays, with the labels and features of the `survey` if it is given."""
    columns = as_columns(data.X)
    cells = partial_labels(columns, data.y)
    if cells is None:
        spans = as_spans(columns, data.y)
        known = None if survey is None else survey.by_frequency
        labels, gold = encode_segments(spans, np.diff(columns.indptr).tolist(), known)
        lengths = gold_lengths(gold)
    else:
        labels, allowed, given, spans = encode_partial(cells)
        certain = Known.of(columns.indptr, allowed, given)
        gold, lengths = certain.codes, certain.lengths
    found = longest_spans(spans) if survey is None else survey.facts["longest"]
    longest = max_lengths(parameters.max_length, labels, found)
    extractor = _extractor(parameters, columns, data.y)
    if survey is None:
        features = extractor.fit(columns, lengths * _inside(labels, gold), max(longest))
    else:
        extractor.adopt(survey.features)
        features = extractor.transform(columns, max(longest))
    shape = Segmentation(len(labels), extractor.n_features, extractor.n_segment_features, longest)
    penalties = Penalties.of(labels, parameters.precision, parameters.recall, parameters.confusion)
    score = None
    if data.dev is not None:
        X_dev = as_columns(data.dev[0])
        dev = SegmentExamples(shape, *extractor.transform(X_dev, shape.longest))
        gold_dev = as_labels(X_dev, data.dev[1])
        score = dev_score(parameters.dev_metric, dev, X_dev.indptr, bio_names(labels), gold_dev, parameters.n_jobs)
    if cells is None:
        examples = SegmentExamples(shape, *features, gold, **penalties._asdict())
    else:
        examples = PartialSegmentExamples(shape, *features, allowed, given, **penalties._asdict())
    return Compiled(
        examples,
        partial(_segmenter, labels, extractor, shape, unknown_in(examples)),
        labels,
        score,
        parameters.dev_metric,
        counting(examples, data.sample_weight),
        matched=partial(_matched, labels, extractor, shape),
    )


def _extractor(parameters: SegmenterParameters, X: Columns, y: Any) -> SegmentExtractor:
    resources = Resources(parameters.lexicons or {}, parameters.clusters or {})
    tokens = TemplateExtractor(
        DEFAULT_TEMPLATES if parameters.templates is None else spelt_out(parameters.templates, resources),
        resources,
        min_count=parameters.min_count,
        hash_bits=parameters.hash_bits,
    )
    check_templates(tokens, X, y)
    return SegmentExtractor(tokens, parameters.segment_features, min_count=parameters.segment_min_count)


def _inside(labels: Sequence[str], gold: IntVector) -> BoolVector:
    """Whether each token is inside a span."""
    return np.array([label != OUTSIDE for label in labels])[gold >> 1]


def _matched(labels: list[str], extractor: SegmentExtractor, shape: Segmentation, model: SegmentModel) -> "Matched":
    """The weights of another segmenter for the labels and features that both have, matched by name."""
    from widemargin.tasks.warm import Matched, moved, places  # seldom needed

    w, old = model.w, model.extractor
    own, names, before = model.shape.parts(np.arange(len(w), dtype=np.float64)), extractor.names(), old.names()
    n, m = extractor.n_features, old.n_features
    codes, tokens, spans = places(labels, model.labels), places(names[:n], before[:m]), places(names[n:], before[m:])
    numbers = SegmentWeights(
        moved(own.roles.reshape(m, ROLES, -1), tokens, np.arange(ROLES), codes).reshape(n, -1),
        moved(own.segment, spans, codes),
        moved(own.length, places(range(shape.longest), range(model.shape.longest)), codes),
        joined(moved(own.transition, codes, codes), moved(own.begin, codes), moved(own.end, codes)),
    )
    return Matched(w, numbers.flat().astype(np.int64), (codes, tokens, spans, np.array(model.shape.max_lengths)))


def _segmenter(
    labels: list[str],
    extractor: SegmentExtractor,
    shape: Segmentation,
    unknown: dict[str, Any],
    solution: Solution,
    summary: dict[str, Any],
) -> SegmentModel:
    weights = shape.parts(solution.w).thinned()
    return SegmentModel(labels, extractor, weights, shape.max_lengths, summary=summary | unknown)
