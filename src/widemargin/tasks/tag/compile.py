"""From labelled sequences to the examples of a chain."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from widemargin._types import FloatMatrix
from widemargin.core.solution import Solution
from widemargin.tasks.survey import Survey
from widemargin.tasks.tag.examples import ChainExamples
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.parameters import TaggerParameters
from widemargin.tasks.tag.weights import Chain
from widemargin.tasks.token_scores import dev_score
from widemargin.tasks.training import Compiled, Data
from widemargin.text.attributes import Resources
from widemargin.text.extractor import Extractor, Features
from widemargin.text.inputs import check_templates, choose_extractor, prepared
from widemargin.text.labels import Encoded, as_sequences, checked_labels, cost_matrix, encode_labels
from widemargin.text.matrices import MatrixExtractor
from widemargin.text.spans import is_bio


def survey_tags(parameters: TaggerParameters, data: Data) -> Survey:
    """The labels and features of a part of the data."""
    extractor, X = _extractor(parameters, data)
    encoded = encode_labels(X, data.y)
    known = encoded.known[encoded.known < len(encoded.labels)]
    counts = dict.fromkeys(encoded.labels, 0) | Counter(encoded.labels[code] for code in known.tolist())
    return Survey(Counter(counts), extractor.survey(X))


def _extractor(parameters: TaggerParameters, data: Data) -> tuple[Extractor, Any]:
    """The extractor for data like these, and the inputs in the form that it takes."""
    extractor = choose_extractor(
        data.X,
        parameters.templates,
        Resources(parameters.lexicons or {}, parameters.clusters or {}),
        min_count=parameters.min_count,
        hash_bits=parameters.hash_bits,
    )
    X = prepared(data.X, extractor)
    check_templates(extractor, X, data.y)
    return extractor, X


def compile_tags(
    parameters: TaggerParameters,
    data: Data,
    labels: Sequence[Any] | None = None,
    *,
    piece: bool = False,
    survey: Survey | None = None,
) -> Compiled[Tagger]:
    """Compile features and labels to arrays; `labels` are those of the data or of the `survey` of all parts if None."""
    extractor, X = _extractor(parameters, data)
    if survey is None:
        encoded = encode_labels(X, data.y, None if labels is None else checked_labels(labels))
        features = extractor.fit(X)
    else:
        encoded = encode_labels(X, data.y, survey.by_frequency)
        extractor.adopt(survey.features)
        features = extractor.fit(X) if isinstance(extractor, MatrixExtractor) else extractor.transform(X)
    known = encoded.labels
    chain = Chain(len(known), extractor.n_features, extractor.n_transition_features)
    costs = cost_matrix(parameters.costs, known)
    metric = parameters.dev_metric
    if metric == "auto":
        metric = "f1" if isinstance(known[0], str) and is_bio(known) else "accuracy"
    score = None
    if data.dev is not None:
        X_dev = prepared(data.dev[0], extractor)
        dev = _examples(chain, extractor.transform(X_dev))
        score = dev_score(metric, dev, dev.data.indptr, known, as_sequences(X_dev, data.dev[1]), parameters.n_jobs)
    examples = _examples(chain, features, encoded, costs)
    unknown, sample_weight = _unknown(examples, encoded, data.sample_weight)
    return Compiled(
        examples,
        partial(_tagger, known, extractor, chain, unknown),
        known,
        score,
        metric,
        sample_weight,
        followed_by=partial(_followed_by, known, extractor, chain, costs),
    )


def _tagger(
    labels: list[Any],
    extractor: Extractor,
    chain: Chain,
    unknown: dict[str, Any],
    solution: Solution,
    summary: dict[str, Any],
) -> Tagger:
    return Tagger(labels, extractor, chain.parts(solution.w).thinned(), summary=summary | unknown)


def _followed_by(
    labels: list[Any], extractor: Extractor, chain: Chain, costs: FloatMatrix | None, data: Data
) -> Compiled[Tagger]:
    """Compile more sequences with the same labels, features and costs."""
    X = prepared(data.X, extractor)
    encoded = encode_labels(X, data.y, labels)
    examples = _examples(chain, extractor.transform(X), encoded, costs)
    return Compiled(
        examples,
        partial(_tagger, labels, extractor, chain, _unknown(examples, encoded, None)[0]),
        labels,
        followed_by=partial(_followed_by, labels, extractor, chain, costs),
    )


def _unknown(examples: ChainExamples, encoded: Encoded, sample_weight: Any) -> tuple[dict[str, Any], Any]:
    """What the summary says of unknown labels, and the weights of the examples."""
    if not len(encoded.sets):
        return {}, sample_weight
    from widemargin.tasks.partial import counting, unknown_in  # seldom needed

    return unknown_in(examples), counting(examples, sample_weight)


def _examples(
    chain: Chain, features: Features, encoded: Encoded | None = None, costs: FloatMatrix | None = None
) -> ChainExamples:
    indptr, rows, transition_rows = features.indptr, features.rows, features.transition_rows
    if encoded is not None and len(encoded.sets):
        from widemargin.tasks.tag.partial import PartialChainExamples  # seldom needed

        return PartialChainExamples(
            chain, indptr, rows, encoded.known, encoded.sets, costs=costs, transition_features=transition_rows
        )
    gold = None if encoded is None else encoded.known
    return ChainExamples(chain, indptr, rows, gold, costs=costs, transition_features=transition_rows)
