"""From documents with mentions and their entities to examples."""

from functools import partial
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector, IntVector
from widemargin.clusterings import NAMES, conll_f1
from widemargin.core.checks import checked_weights, is_number
from widemargin.core.stop import Score
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.forest import ForestExamples
from widemargin.tasks.coreference import CoreferenceParameters
from widemargin.tasks.coreference.examples import NEW, AntecedentExamples, ErrorCosts, Links
from widemargin.tasks.coreference.features import (
    DEFAULT_TEMPLATES,
    LinkExtractor,
    check_documents,
    parse_link_templates,
)
from widemargin.tasks.coreference.files import entity_numbers, entity_scores, has_singletons
from widemargin.tasks.coreference.model import DECODERS, CoreferenceModel, predicted
from widemargin.tasks.plan import solver_and_objective
from widemargin.tasks.training import Compiled, Data
from widemargin.tasks.trees import checked_bits

COSTS = ("false_anaphor", "false_new", "wrong_link", "link_penalty")
METRICS = ("conll", *NAMES)


def compile_coreference(parameters: CoreferenceParameters, data: Data) -> Compiled[CoreferenceModel]:
    """Compile documents and entities to arrays."""
    check_parameters(parameters)
    check_documents(data.X)
    given = DEFAULT_TEMPLATES if parameters.templates is None else parameters.templates
    templates = tuple(template.text for template in parse_link_templates(given))
    if not templates:
        raise WidemarginError("there are no templates; give at least one, such as 'head|mention:type'")
    extractor = LinkExtractor(templates, checked_bits(parameters.hash_bits), parameters.max_antecedents)
    links, entities = extractor.links(data.X), entity_numbers(data.X, data.y)
    if not len(links.layout.first):
        raise DataError("no document has two mentions to learn from")
    model = CoreferenceModel(
        [],
        extractor,
        np.empty(0),
        parameters.decoder,
        singletons=has_singletons(data.X, data.y),
        probabilistic=solver_and_objective(parameters)[1].kind == "smooth",
    )
    examples = _examples(parameters, links, entities)
    weights, sizes = data.sample_weight, np.diff(links.keys.documents)
    if weights is not None and isinstance(examples, AntecedentExamples):
        weights = np.repeat(checked_weights(weights, len(sizes)), sizes)
    return Compiled(
        examples,
        model.trained,
        score=None if data.dev is None else _dev_score(parameters, model, *data.dev),
        metric=parameters.dev_metric,
        sample_weight=weights,
        completions=partial(antecedents_of, examples) if isinstance(examples, AntecedentExamples) else None,
    )


def check_parameters(parameters: CoreferenceParameters) -> None:
    """Raise an error about the first invalid parameter."""
    if parameters.decoder not in DECODERS:
        raise WidemarginError(f"there is no decoder {parameters.decoder!r}; there are {', '.join(DECODERS)}")
    if parameters.dev_metric not in METRICS:
        raise WidemarginError(f"there is no dev_metric {parameters.dev_metric!r}; there are {', '.join(METRICS)}")
    for name in COSTS:
        cost = getattr(parameters, name)
        if not is_number(cost) or cost < 0:
            raise WidemarginError(f"{name} must be a number of at least 0, not {cost!r}")
    most = parameters.max_antecedents
    if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1):
        raise WidemarginError(f"max_antecedents must be a whole number of at least 1, or None for all, not {most!r}")


def _examples(
    parameters: CoreferenceParameters, links: Links, entities: IntVector
) -> AntecedentExamples | ForestExamples:
    if parameters.decoder == "forest":
        return ForestExamples(links, links.n_weights, entities, penalty=parameters.link_penalty)
    costs = ErrorCosts(parameters.false_anaphor, parameters.false_new, parameters.wrong_link)
    return AntecedentExamples(links, entities, costs=costs)


def antecedents_of(examples: AntecedentExamples, given: Any) -> IntVector:
    """The user's completions as outputs; for each document they have the antecedent of every mention, or None.

    Mentions count from 0 in their document. Antecedents must be right; None is right if no antecedent is.
    """
    documents = examples.keys.documents
    if len(given) != len(documents) - 1:
        raise DataError(f"there are {len(documents) - 1} documents, but {len(given)} lists of antecedents")
    outputs = np.zeros(examples.n_examples, dtype=np.int32)
    for i, antecedents in enumerate(given):
        begin, end = documents[i : i + 2].tolist()
        if len(antecedents) != end - begin:
            raise DataError(f"document {i} has {end - begin} mentions, but {len(antecedents)} antecedents")
        for number, antecedent in enumerate(antecedents):
            back = NEW if antecedent is None else number - antecedent
            if not examples.is_right(begin + number, back):
                raise DataError(f"document {i}: {antecedent!r:.60} is no right antecedent of mention {number}")
            outputs[begin + number] = back
    return outputs


def _dev_score(parameters: CoreferenceParameters, model: CoreferenceModel, X: Any, y: Any) -> Score:
    """The chosen score as a function of the weights."""
    examples, n_threads = model.examples(X), count_threads(parameters.n_jobs)
    entity_numbers(X, y)

    def score(w: FloatVector) -> float:
        scores = entity_scores(X, y, predicted(examples, w, n_threads), model.singletons)
        return conll_f1(scores) if parameters.dev_metric == "conll" else scores[parameters.dev_metric].f1

    return score
