"""Sequence labelling as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin.estimators.answers import TokenEstimator
from widemargin.labels import as_sequences
from widemargin.metrics import accuracy
from widemargin.predictors.tagger import Tagger
from widemargin.training import TaggerParameters, TaggerSettings


@dataclass(kw_only=True, repr=False, eq=False)
class SequenceTagger(TaggerParameters, TokenEstimator[Tagger]):
    """Large-margin sequence labelling: a first-order chain.

    Parameters
    ----------
    solver, C, objective, loss, penalty, max_epochs, tol, patience, max_seconds, n_jobs, random_state, cut_memory,
    verbose : see `widemargin.training.TrainingParameters`
    templates, lexicons, clusters, min_count, hash_bits, costs, dev_metric : see `widemargin.training.TaggerParameters`

    `fit` takes as X a list of sequences of tokens (strings), of ready-made features, or of matrix rows
    (`widemargin.features.inputs`), or `Columns`, as readers return them; as y a list of label lists, or a `Column`.

    Attributes
    ----------
    classes_ : the labels
    solution_ : weights, trace, primal, dual, gap, whether it is certified, and why training stopped
    tagger_ : the trained model, free of scikit-learn

    Examples
    --------
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 3
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]] * 3
    >>> SequenceTagger(templates=["lower", "suffix1"]).fit(X, y).predict([["the", "cat", "barks"]])
    [['DET', 'NOUN', 'VERB']]
    """

    _kind = TaggerSettings

    @property
    def tagger_(self) -> Tagger:
        """The trained model."""
        return self.model_

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "SequenceTagger":
        """One epoch over these data, going on from the call before; for solvers that learn piece by piece.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`. Features that the first call has not seen are ignored, but with `hash_bits`
        classes : all labels there will be, at the first call; None takes those of its `y`
        """
        settings = self._settings(TaggerSettings)
        online = self._online = settings.learn(self._online, X, y, classes, sample_weight)
        assert online.solution is not None
        return self._fitted(online.task.model(online.solution, settings), online.solution)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right labels; 0 where there are none at all."""
        return accuracy(as_sequences(X, y), self.predict(X), sample_weight)
