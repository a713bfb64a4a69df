"""Trained summarisers: settings and weights. Model files call their structure ``summaries``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from widemargin._types import AnyArray, FloatVector
from widemargin.core.header import Fields, flag, names, number, optional, whole
from widemargin.core.problem import predict
from widemargin.core.stored import Stored
from widemargin.decoders.coverage import Limits
from widemargin.errors import WidemarginError
from widemargin.tasks.base import VectorModel
from widemargin.tasks.summarise import LONGEST, WIDEST
from widemargin.tasks.summarise.examples import ExtractExamples
from widemargin.tasks.summarise.features import (
    NAMES,
    Candidates,
    Summary,
    SummarySettings,
    Topic,
    as_topics,
    candidates_of,
)


def chosen_sentences(
    topics: Sequence[Topic], compiled: Sequence[Candidates], w: FloatVector, limits: Limits, n_threads: int = 1
) -> list[Summary]:
    """The summaries of topics."""
    examples = ExtractExamples([each.extract for each in compiled], len(NAMES), limits)
    found = [each for part in predict(examples, w, n_threads) for each in part]
    summaries = []
    for topic, (_, places), output in zip(topics, compiled, found, strict=True):
        chosen = sorted(places[k] for k in np.flatnonzero(output.chosen).tolist())
        summaries.append(Summary([topic.documents[d][s] for d, s in chosen], chosen))
    return summaries


@dataclass
class SummaryModel(VectorModel):
    """A trained summariser: an extract scores the sum of its sentences and of the concepts that they cover."""

    kind: ClassVar[str] = "summaries"
    predicts: ClassVar[str] = "summaries"
    fields: ClassVar[Fields] = {
        "length": whole(at_least=1, at_most=LONGEST),
        "order": whole(at_least=1, at_most=WIDEST),
        "lower": flag(),
        "split_sentences": flag(),
        "stop_words": names(str),
        "time_limit": optional(number(at_least=0.0)),
        "node_limit": optional(whole(at_least=1, at_most=2**31 - 1)),
        "features": names(str),
    }

    settings: SummarySettings
    limits: Limits
    weights: FloatVector

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of features and weights."""
        return {"labels": 0, "features": len(NAMES), "weights": len(self.weights)}

    def topics(self, X: Any) -> Sequence[Topic]:
        """The inputs as topics."""
        return as_topics(X, split=self.settings.split_sentences)

    def predict(self, X: Any, n_threads: int = 1) -> list[Summary]:
        """The summary of each topic."""
        topics = self.topics(X)
        compiled = [candidates_of(topic, self.settings) for topic in topics]
        return chosen_sentences(topics, compiled, self.weights, self.limits, n_threads)

    def _description(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        limits = {"time_limit": self.limits.seconds, "node_limit": self.limits.nodes}
        return {**self.settings._asdict(), **limits, "features": list(NAMES)}, {"weights": self.weights}

    @classmethod
    def _restore(cls, stored: Stored) -> Self:
        header = stored.header
        if header["features"] != list(NAMES):
            raise WidemarginError("its features are not those of this version")
        settings = SummarySettings(*(header[name] for name in SummarySettings._fields))
        limits = Limits(header["time_limit"], header["node_limit"])
        weights = stored.vector("weights", np.float64, len(NAMES))
        return cls([], settings, limits, weights, summary=header["summary"])
