"""Summaries of several documents, as a scikit-learn estimator."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.decoders.coverage import Limits
from widemargin.errors import DataError
from widemargin.summaries import mean_rouge, rouge, words
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.summarise import LONGEST, SummariserParameters
from widemargin.tasks.summarise.examples import ExtractExamples
from widemargin.tasks.summarise.features import (
    ENGLISH,
    NAMES,
    SummarySettings,
    as_references,
    as_topics,
    candidates_of,
    recall_of,
)
from widemargin.tasks.summarise.files import MAIN
from widemargin.tasks.summarise.model import SummaryModel, chosen_sentences
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled, Data


def survey_topics(parameters: SummariserParameters, data: Data) -> Survey:
    """The numbers of words and texts in the references of a piece of the data."""
    references = as_references(data.y, len(as_topics(data.X, split=parameters.split_sentences)))
    return Survey(facts={"references": _sizes(references)})


def compile_topics(
    parameters: SummariserParameters, data: Data, *, survey: Survey | None = None
) -> Compiled[SummaryModel]:
    """Compile topics and references to arrays; with a `survey` of all pieces, one may have nothing to learn from."""
    topics = as_topics(data.X, split=parameters.split_sentences)
    references = as_references(data.y, len(topics))
    if not topics:
        raise DataError("there is no topic to learn from")
    sizes = _sizes(references) if survey is None else survey.facts["references"]
    settings, limits = _settings(parameters, sizes), limits_of(parameters)
    compiled = [
        candidates_of(topic, settings, recall_of(texts, settings))
        for topic, texts in zip(topics, references, strict=True)
    ]
    examples = ExtractExamples([each.extract for each in compiled], len(NAMES), limits)
    weight = checked_weights(data.sample_weight, examples.n_examples) * examples.informative()
    if survey is None and not weight.any():
        raise DataError(
            f"no reference has {settings.order} words in a row in common with a sentence of at most {settings.length} "
            "words"
        )
    score = None if data.dev is None else _dev_score(parameters, settings, *data.dev)
    return Compiled(examples, partial(_model, settings, examples), [], score, f"{MAIN} recall", weight)


def limits_of(parameters: SummariserParameters) -> Limits:
    """The limits at which the search in an integer programme stops."""
    return Limits(parameters.time_limit, parameters.node_limit)


def _sizes(references: list[list[str]]) -> Counter[str]:
    """The numbers of words and texts."""
    lengths = [len(words(text)) for texts in references for text in texts]
    return Counter(words=sum(lengths), texts=len(lengths))


def _settings(parameters: SummariserParameters, sizes: Counter[str]) -> SummarySettings:
    length = parameters.length
    if length is None:
        length = min(max(round(sizes["words"] / sizes["texts"]), 1), LONGEST)
    stop_words = ENGLISH if parameters.stop_words is None else sorted(set(parameters.stop_words))
    return SummarySettings(
        int(length), int(parameters.order), bool(parameters.lower), bool(parameters.split_sentences), list(stop_words)
    )


def _dev_score(parameters: SummariserParameters, settings: SummarySettings, X: Any, y: Any) -> Score:
    """ROUGE-2 recall on development data as a function of the weights."""
    topics = as_topics(X, split=settings.split_sentences)
    references = as_references(y, len(topics))
    compiled = [candidates_of(topic, settings) for topic in topics]
    limits, n_threads = limits_of(parameters), count_threads(parameters.n_jobs)

    def score(w: FloatVector) -> float:
        summaries = chosen_sentences(topics, compiled, w, limits, n_threads)
        pairs = zip(references, summaries, strict=True)
        return float(np.mean([rouge(texts, summary.text, [MAIN])[MAIN].recall for texts, summary in pairs]))

    return score


def _model(
    settings: SummarySettings, examples: ExtractExamples, solution: Solution, summary: dict[str, Any]
) -> SummaryModel:
    found = {"cut_short": len(examples.cut_short)} if examples.cut_short else {}
    return SummaryModel([], settings, examples.limits, solution.w.copy(), summary=summary | found)


@documented(SummaryModel)
@dataclass(kw_only=True, repr=False, eq=False)
class Summariser(SummariserParameters, Estimator[SummaryModel]):
    """Learns from reference summaries which sentences of documents to extract (Berg-Kirkpatrick et al. 2011).

    Attributes
    ----------
    length_ : int
        The largest number of words of a summary.

    Notes
    -----
    `fit` takes a list of topics and the reference summaries of each. A topic is a list of documents; a document is a
    list of sentences, or a text with a sentence per line. References are texts, which need not be sentences of the
    documents. `predict` returns a `Summary` for each topic: `sentences`, their `places` and `text`.

    Examples
    --------
    >>> X = [[["The hotel is old.", "The staff is very friendly.", "We had lunch.", "Staff is very friendly here."]]]
    >>> summariser = Summariser(length=5).fit(X, [["Very friendly staff, and the staff is kind."]])
    >>> summariser.predict(X)[0].text
    'The staff is very friendly.'
    """

    _compile = staticmethod(compile_topics)
    _survey = staticmethod(survey_topics)

    def score(self, X: Any, y: Any) -> float:
        """Mean ROUGE-2 recall of the predicted summaries."""
        summaries = self.predict(X)
        references = as_references(y, len(summaries))
        return mean_rouge(references, [summary.text for summary in summaries])[MAIN].recall

    @property
    def length_(self) -> int:
        """The largest number of words of a summary."""
        self._check_fitted()
        return self.model_.settings.length
