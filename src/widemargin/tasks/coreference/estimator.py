"""Coreference as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin._types import FloatMatrix
from widemargin.clusterings import conll_f1
from widemargin.tasks.coreference import CoreferenceParameters
from widemargin.tasks.coreference.compile import compile_coreference
from widemargin.tasks.coreference.files import entity_scores
from widemargin.tasks.coreference.model import CoreferenceModel
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.parameters import documented


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
        scores = entity_scores(X, y, self.predict(X), self.model_.singletons)
        return conll_f1(scores) if self.dev_metric == "conll" else scores[self.dev_metric].f1
