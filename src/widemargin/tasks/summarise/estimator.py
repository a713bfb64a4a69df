"""Summaries of several documents, as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin.summaries import mean_rouge
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.summarise import SummariserParameters
from widemargin.tasks.summarise.compile import compile_topics, survey_topics
from widemargin.tasks.summarise.features import as_references
from widemargin.tasks.summarise.files import MAIN
from widemargin.tasks.summarise.model import SummaryModel


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
