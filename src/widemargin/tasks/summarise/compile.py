"""From topics and reference summaries to examples."""

from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatVector
from widemargin.core.checks import checked_weights, is_number
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.decoders.coverage import Limits
from widemargin.errors import DataError, WidemarginError
from widemargin.summaries import rouge, words
from widemargin.tasks.summarise import SummariserParameters
from widemargin.tasks.summarise.examples import ExtractExamples
from widemargin.tasks.summarise.features import (
    ENGLISH,
    NAMES,
    Settings,
    as_references,
    as_topics,
    candidates_of,
    recall_of,
)
from widemargin.tasks.summarise.files import MAIN
from widemargin.tasks.summarise.model import LONGEST, WIDEST, SummaryModel, chosen_sentences
from widemargin.tasks.survey import Survey
from widemargin.tasks.training import Compiled, Data


def survey_topics(parameters: SummariserParameters, data: Data) -> Survey:
    """The numbers of words and texts in the references of a piece of the data."""
    _check(parameters)
    references = as_references(data.y, len(as_topics(data.X, split=parameters.split_sentences)))
    return Survey(facts={"references": _sizes(references)})


def compile_topics(
    parameters: SummariserParameters, data: Data, *, survey: Survey | None = None
) -> Compiled[SummaryModel]:
    """Compile topics and references to arrays; with a `survey` of all pieces, one may have nothing to learn from."""
    _check(parameters)
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


def _check(parameters: SummariserParameters) -> None:
    for name, most, needed in (("length", LONGEST, False), ("order", WIDEST, True), ("node_limit", 2**31 - 1, False)):
        value = getattr(parameters, name)
        if value is None and not needed:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
            raise WidemarginError(f"{name} must be a whole number from 1 to {most}, not {value!r}")
    seconds = parameters.time_limit
    if seconds is not None and not (is_number(seconds) and seconds > 0):
        raise WidemarginError(f"time_limit must be a positive number of seconds, not {seconds!r}")
    given = parameters.stop_words
    if isinstance(given, str) or not all(isinstance(word, str) for word in given or ()):
        raise WidemarginError(f"stop_words must be a list of words, not {given!r:.60}")


def _sizes(references: list[list[str]]) -> Counter[str]:
    """The numbers of words and texts."""
    lengths = [len(words(text)) for texts in references for text in texts]
    return Counter(words=sum(lengths), texts=len(lengths))


def _settings(parameters: SummariserParameters, sizes: Counter[str]) -> Settings:
    length = parameters.length
    if length is None:
        length = min(max(round(sizes["words"] / sizes["texts"]), 1), LONGEST)
    stop_words = ENGLISH if parameters.stop_words is None else sorted(set(parameters.stop_words))
    return Settings(
        int(length), int(parameters.order), bool(parameters.lower), bool(parameters.split_sentences), list(stop_words)
    )


def _dev_score(parameters: SummariserParameters, settings: Settings, X: Any, y: Any) -> Score:
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


def _model(settings: Settings, examples: ExtractExamples, solution: Solution, summary: dict[str, Any]) -> SummaryModel:
    found = {"cut_short": len(examples.cut_short)} if examples.cut_short else {}
    return SummaryModel([], settings, examples.limits, solution.w.copy(), summary=summary | found)
