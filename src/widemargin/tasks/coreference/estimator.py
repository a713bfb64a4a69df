"""Coreference as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from widemargin._types import FloatMatrix, IntVector
from widemargin.clusterings import conll_f1
from widemargin.core.checks import checked_weights
from widemargin.core.stop import Score
from widemargin.errors import DataError, WidemarginError
from widemargin.structures.forest import ForestExamples
from widemargin.tasks.clusters import clusters_in
from widemargin.tasks.coreference import CoreferenceParameters
from widemargin.tasks.coreference.examples import NEW, AntecedentExamples, ErrorCosts, Links
from widemargin.tasks.coreference.features import (
    DEFAULT_TEMPLATES,
    LinkExtractor,
    check_documents,
    parse_link_templates,
)
from widemargin.tasks.coreference.files import entity_numbers, entity_scores, has_singletons
from widemargin.tasks.coreference.model import CoreferenceModel
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.plan import solver_and_objective
from widemargin.tasks.training import Compiled, Data, score_of_outputs


def compile_coreference(parameters: CoreferenceParameters, data: Data) -> Compiled[CoreferenceModel]:
    """Compile documents and entities to arrays."""
    check_documents(data.X)
    given = DEFAULT_TEMPLATES if parameters.templates is None else parameters.templates
    templates = tuple(template.text for template in parse_link_templates(given))
    if not templates:
        raise WidemarginError("there are no templates; give at least one, such as 'head|mention:type'")
    extractor = LinkExtractor(templates, int(parameters.hash_bits), parameters.max_antecedents)
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
        model.with_solution,
        score=None if data.dev is None else _dev_score(parameters, model, *data.dev),
        metric=parameters.dev_metric,
        sample_weight=weights,
        completions=partial(antecedents_of, examples) if isinstance(examples, AntecedentExamples) else None,
    )


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
    examples, metric = model.examples(X), parameters.dev_metric
    entity_numbers(X, y)
    return score_of_outputs(
        examples,
        parameters.n_jobs,
        lambda outputs: f1_of_entities(X, y, clusters_in(examples, outputs), metric, model.singletons),
    )


def f1_of_entities(X: Any, y: Any, outputs: Sequence[Sequence[int]], metric: str, singletons: bool) -> float:
    """F1 of the predicted entities of all documents by "conll" or one of the scores."""
    scores = entity_scores(X, y, outputs, singletons)
    return conll_f1(scores) if metric == "conll" else scores[metric].f1


@documented(CoreferenceModel)
@dataclass(kw_only=True, repr=False, eq=False)
class CoreferenceResolver(CoreferenceParameters, Estimator[CoreferenceModel]):
    """Learns which mentions of a text mean the same entity, by choosing antecedents (Durrett & Klein 2013).

    Notes
    -----
    X is a list of documents, each `widemargin.text.mentions.Mentions`: columns of tokens, and mentions as spans of
    them. y has for each document the entity of every mention, under any names. `sample_weight` has a weight per
    document.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.text.mentions import Mentions
    >>> def text(words, spans):
    ...     return Mentions({"word": words.split()}, np.zeros(len(words.split()), dtype=int), spans)
    >>> X = [text("Ada met Carl . She liked him", [(0, 1), (2, 3), (4, 5), (6, 7)])]
    >>> X.append(text("Eva saw Eva", [(0, 1), (2, 3)]))
    >>> resolver = CoreferenceResolver(C=1.0, hash_bits=12).fit(X, [["a", "c", "a", "c"], ["e", "e"]])
    >>> resolver.predict([text("Ivar and Ivar 's dog", [(0, 1), (2, 3)])])
    [[0, 0]]
    """

    _compile = staticmethod(compile_coreference)

    def predict_antecedents(self, X: Any) -> list[list[int | None]]:
        """The antecedent of every mention, as its number in the document from 0 on; None if it starts an entity."""
        return self._ask("predict_antecedents", X)

    def antecedent_probabilities(self, X: Any) -> list[FloatMatrix]:
        """For each document a matrix: at (m, a) the probability that a is the antecedent of m; at (m, m) of none.

        The model must be trained by likelihood or softmax-margin.
        """
        return self._ask("antecedent_probabilities", X)

    def score(self, X: Any, y: Any) -> float:
        """F1 of the predicted entities by `dev_metric`."""
        return f1_of_entities(X, y, self.predict(X), self.dev_metric, self.model_.singletons)
