"""From labelled sequences to the examples of a chain."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin._types import FloatMatrix, FloatVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.errors import UnsupportedError
from widemargin.tasks.survey import Survey, refuse_latent
from widemargin.tasks.tag.examples import ChainExamples, PartialChainExamples
from widemargin.tasks.tag.first_pass import check_passes, guessed
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.tag.parameters import TaggerParameters
from widemargin.tasks.tag.passes import FirstPass
from widemargin.tasks.tag.scheme import check_scheme, learnt
from widemargin.tasks.tag.weights import ChainShape, ChainWeights, joined
from widemargin.tasks.token_scores import dev_score, metric_for
from widemargin.tasks.training import Compiled, Data, chosen
from widemargin.text.attributes import Resources
from widemargin.text.extractor import Extractor, Features
from widemargin.text.inputs import check_templates, choose_extractor, lengths, prepared
from widemargin.text.labels import (
    Encoded,
    as_sequences,
    checked_labels,
    cost_matrix,
    encode_labels,
    fixed_labels,
    label_weights,
)
from widemargin.text.matrices import MatrixExtractor

if TYPE_CHECKING:
    from widemargin.tasks.warm import Matched


def survey_tags(parameters: TaggerParameters, data: Data) -> Survey:
    """The labels and features of a part of the data."""
    check_passes(parameters, at_once=False)
    check_scheme(parameters)
    extractor, X = extractor_for(parameters, data)
    encoded = encode_labels(X, learnt(parameters.scheme, X, data.y))
    if len(encoded.sets):
        refuse_latent("some labels are unknown")
    counts = np.bincount(encoded.known, minlength=len(encoded.labels)).tolist()
    weights = _label_counts(encoded, lengths(X), data.sample_weight).tolist()
    facts = {"weights of labels": Counter(dict(zip(encoded.labels, weights, strict=True)))}
    return Survey(Counter(dict(zip(encoded.labels, counts, strict=True))), extractor.survey(X), facts)


def extractor_for(parameters: TaggerParameters, data: Data, after: Tagger | None = None) -> tuple[Extractor, Any]:
    """The extractor for data like these, that of the tagger that they come `after`, and the inputs as it takes them."""
    extractor = (
        choose_extractor(
            data.X,
            parameters.templates,
            Resources(parameters.lexicons or {}, parameters.clusters or {}),
            min_count=parameters.min_count,
            hash_bits=parameters.hash_bits,
        )
        if after is None
        else after.extractor
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
    after: Tagger | None = None,
    survey: Survey | None = None,
) -> Compiled[Tagger]:
    """Compile features and labels to arrays; `labels` are those of the data or of the `survey` of all parts if None.

    A `piece` that comes `after` another, or after `fit`, has the labels and features of that tagger, and its own.
    """
    if check_passes(parameters, at_once=survey is None and not piece):
        second, guesses, first = guessed(parameters, data)
        compiled = compile_tags(second, guesses, labels)
        return replace(compiled, model=partial(_second_pass, compiled.model, first), piecewise=False)
    check_scheme(parameters, piece=piece)
    if after is not None and (after.first is not None or after.scheme != parameters.scheme):
        raise UnsupportedError("the tagger has two passes, or a scheme of labels, and needs all data at once; fit anew")
    extractor, X = extractor_for(parameters, data, after)
    data = data._replace(y=learnt(parameters.scheme, X, data.y))
    if after is not None:
        given, online = None if labels is None else checked_labels(labels), after.online
        fixed = fixed_labels(given, after.labels, fixed=online is not None and online.fixed)
        encoded = encode_labels(X, data.y, fixed, after.labels)
        extractor = extractor.grown(X, parameters.min_count)
        features = extractor.transform(X)
    elif survey is None:
        encoded = encode_labels(X, data.y, None if labels is None else checked_labels(labels))
        features = extractor.fit(X)
    else:
        encoded = encode_labels(X, data.y, survey.by_frequency)
        extractor.adopt(survey.features)
        features = extractor.fit(X) if isinstance(extractor, MatrixExtractor) else extractor.transform(X)
    known = encoded.labels
    chain = ChainShape(len(known), extractor.n_features, extractor.n_transition_features)
    if survey is None:
        counts = partial(_label_counts, encoded, np.diff(features.indptr).tolist(), data.sample_weight)
    else:
        counts = partial(_counts_of, survey, known)
    costs = costs_of(parameters, known, counts, piece=piece)
    examples = _examples(chain, features, encoded, costs)
    unknown, sample_weight = _unknown(examples, encoded, data.sample_weight)
    return replace(
        assembled(parameters, extractor, known, examples, data.dev, unknown),
        sample_weight=sample_weight,
        piecewise=True,
    )


def assembled(
    parameters: TaggerParameters,
    extractor: Extractor,
    labels: list[Any],
    examples: ChainExamples,
    dev: tuple[Any, Any] | None,
    unknown: dict[str, Any],
) -> Compiled[Tagger]:
    """The examples with their development score, and how to make a tagger."""
    metric, score, chain = metric_for(parameters.dev_metric, labels), None, examples.shape
    if dev is not None:
        X_dev = prepared(dev[0], extractor)
        found = _examples(chain, extractor.transform(X_dev))
        gold = as_sequences(X_dev, learnt(parameters.scheme, X_dev, dev[1]))
        score = dev_score(metric, found, found.indptr, labels, gold, parameters.n_jobs)
    return Compiled(
        examples,
        partial(_tagger, labels, extractor, chain, unknown, scheme=parameters.scheme),
        labels,
        score,
        metric,
        matched=partial(_matched, labels, extractor),
    )


def _label_counts(encoded: Encoded, sizes: Sequence[int], sample_weight: Any) -> FloatVector:
    """The sum of the weights of the tokens that have each label for certain."""
    tokens = np.repeat(checked_weights(sample_weight, len(sizes)), sizes)
    sure = encoded.known < len(encoded.labels)
    return np.bincount(encoded.known[sure], tokens[sure], len(encoded.labels)).astype(np.float64)


def _counts_of(survey: Survey, labels: list[Any]) -> FloatVector:
    """The same for all parts that were surveyed."""
    return np.fromiter((survey.facts["weights of labels"][label] for label in labels), dtype=np.float64)


def costs_of(
    parameters: TaggerParameters, labels: list[Any], counts: Callable[[], FloatVector], *, piece: bool = False
) -> FloatMatrix | None:
    """The cost of each error, times the weight of the label that would be right; `counts` tell how much has each."""
    class_weight, costs = parameters.class_weight, cost_matrix(parameters.costs, labels)
    if class_weight is None:
        return costs
    solver, objective, _ = chosen(parameters)
    if not solver.heeds_errors or getattr(objective, "error_scale", 1.0) == 0.0:
        what = f"the objective {parameters.objective or 'likelihood'}" if solver.heeds_errors else f"{solver}"
        raise UnsupportedError(
            f"class_weight weighs errors, but {what} takes no account of how large they are; use the objective margin "
            "or softmax-margin, with a solver such as auto"
        )
    if piece and class_weight == "balanced":
        raise UnsupportedError("class_weight='balanced' needs all data at once; give the weights of labels instead")
    plain = 1.0 - np.eye(len(labels)) if costs is None else costs
    return label_weights(class_weight, labels, counts())[:, None] * plain


def _matched(labels: list[Any], extractor: Extractor, model: Tagger) -> "Matched":
    """The weights of another tagger, as far as labels and names of features are the same."""
    from widemargin.tasks.warm import Matched, moved, places  # seldom needed

    w, old = model.w, model.extractor
    own, names, before = model.chain.parts(np.arange(len(w), dtype=np.float64)), extractor.names(), old.names()
    n, m = extractor.n_features, old.n_features
    codes, emission, conditional = (
        places(labels, model.labels),
        places(names[:n], before[:m]),
        places(names[n:], before[m:]),
    )
    numbers = ChainWeights(
        moved(own.emission, emission, codes),
        joined(moved(own.transition, codes, codes), moved(own.begin, codes), moved(own.end, codes)),
        moved(own.conditional, conditional, codes, codes),
    )
    return Matched(w, numbers.flat().astype(np.int64), (codes, emission, conditional))


def _tagger(
    labels: list[Any],
    extractor: Extractor,
    chain: ChainShape,
    unknown: dict[str, Any],
    solution: Solution,
    summary: dict[str, Any],
    *,
    scheme: str = "given",
) -> Tagger:
    weights = chain.parts(solution.w).thinned()
    return Tagger(labels, extractor, weights, scheme=scheme, summary=summary | unknown)


def _second_pass(
    model: Callable[[Solution, dict[str, Any]], Tagger], first: FirstPass, solution: Solution, summary: dict[str, Any]
) -> Tagger:
    return replace(model(solution, summary), first=first)


def _unknown(examples: ChainExamples, encoded: Encoded, sample_weight: Any) -> tuple[dict[str, Any], Any]:
    """The part of the summary about unknown labels, and the weights of the examples."""
    if not len(encoded.sets):
        return {}, sample_weight
    from widemargin.tasks.partial import counting, unknown_in  # seldom needed

    return unknown_in(examples), counting(examples, sample_weight)


def _examples(
    chain: ChainShape, features: Features, encoded: Encoded | None = None, costs: FloatMatrix | None = None
) -> ChainExamples:
    indptr, rows, transition_rows = features.indptr, features.rows, features.transition_rows
    if encoded is not None and len(encoded.sets):
        return PartialChainExamples(
            chain, indptr, rows, encoded.known, encoded.sets, costs=costs, transition_features=transition_rows
        )
    gold = None if encoded is None else encoded.known
    return ChainExamples(chain, indptr, rows, gold, costs=costs, transition_features=transition_rows)
