"""Sequence labelling as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from widemargin.estimators.answers import Answers
from widemargin.labels import as_sequences
from widemargin.loop import Callback
from widemargin.metrics import accuracy
from widemargin.solution import Solution
from widemargin.tagger import Tagger
from widemargin.training import TaggerParameters, TaggerSettings


@dataclass(kw_only=True, repr=False, eq=False)
class SequenceTagger(TaggerParameters, Answers):
    """Large-margin sequence labelling: a first-order chain.

    Parameters
    ----------
    solver, C, objective, loss, penalty, max_epochs, tol, patience, max_seconds, n_jobs, random_state, cut_memory,
    verbose : see `widemargin.training.TrainingParameters`
    templates, lexicons, clusters, min_count, hash_bits, costs, dev_metric : see `widemargin.training.TaggerParameters`

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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> "SequenceTagger":
        """Train on sequences `X` with labels `y`.

        Parameters
        ----------
        X : a list of sequences of tokens (strings), of ready-made features, or of matrix rows
            (`widemargin.features.inputs`); or `Columns`, as readers return them
        y : a list of label lists, or a `Column`
        sample_weight : one weight per sequence
        dev : development data (X, y): scored after every epoch, and the best epoch's weights are kept
        callbacks : hear of training as it goes on
        """
        settings = self._settings(TaggerSettings)
        self._online = None
        return self._fitted(*settings.train(X, y, sample_weight, dev, callbacks))

    def fit_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list["SequenceTagger"]:
        """Train with every one of the `C`: fitted clones of this estimator, which stays as it is, in the order of `C`.

        Features are compiled once, and each training run starts from where the one with the next smaller C has ended.
        After Ctrl-C the points that were not reached are missing; each clone says its C.
        """
        path = self._settings(TaggerSettings).train_path(X, y, C, sample_weight, dev)
        return [
            clone(self).set_params(C=tagger.summary["parameters"]["C"])._fitted(tagger, solution)
            for tagger, solution in path
        ]

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
        return self._fitted(online.task.tagger(online.solution, settings), online.solution)

    def _fitted(self, tagger: Tagger, solution: Solution) -> "SequenceTagger":
        self.tagger_, self.solution_ = tagger, solution
        self.classes_ = np.sort(tagger.labels)
        return self

    @property
    def model_(self) -> Tagger:
        """The trained model."""
        return self.tagger_

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right labels; 0 where there are none at all."""
        return accuracy(as_sequences(X, y), self.predict(X), sample_weight)

    @classmethod
    def from_tagger(cls, tagger: Tagger) -> "SequenceTagger":
        """A fitted estimator around a trained model, with the parameters it was trained with as far as known."""
        names = cls._get_param_names()
        known = {name: value for name, value in tagger.summary["parameters"].items() if name in names}
        estimator = cls(**known)
        estimator.tagger_ = tagger
        estimator.classes_ = np.sort(tagger.labels)
        estimator.solution_ = Solution.restored(tagger.weights.flat(), tagger.summary["solution"])
        return estimator
