"""Sequence labelling as a scikit-learn estimator."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import FloatMatrix, FloatVector, IntVector
from widemargin.columns import split
from widemargin.estimators.base import Estimator
from widemargin.features.attributes import Resources
from widemargin.features.base import Features
from widemargin.features.inputs import choose_extractor, prepared
from widemargin.labels import as_sequences, cost_matrix, encode_labels
from widemargin.loop import Callback, Score
from widemargin.metrics import accuracy, is_bio, sequence_scorer
from widemargin.problem import predict
from widemargin.solution import Solution
from widemargin.solvers import Solver
from widemargin.structures.chain import Chain, ChainExamples
from widemargin.tagger import Tagger


class SequenceTagger(Estimator):
    """Large-margin sequence labelling: a first-order chain.

    Parameters
    ----------
    solver, C, max_epochs, tol, patience, max_seconds, n_jobs, random_state, verbose : see `Estimator`
    templates : feature templates (`widemargin.features.templates`); None takes `DEFAULT_TEMPLATES` where sequences are
        tokens, and features as they are where they are given ready-made
    lexicons, clusters : what the templates ``lexicon(name)`` and ``cluster(name)`` refer to: lists of entries, and
        dicts from word to cluster
    min_count : features rarer than this in the training data are left out
    hash_bits : hash features into 2^hash_bits rows instead of keeping an alphabet
    costs : how bad it is to predict one label for another: ``{(gold, predicted): cost}``, ``{gold: cost}`` for any
        confusion of a label, or None to count wrong labels; what is not named costs 1
    dev_metric : the development score: ``"accuracy"``, ``"f1"`` (of spans), ``"sequence_accuracy"``, or ``"auto"``:
        F1 where labels are BIO, else accuracy

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

    def __init__(
        self,
        *,
        solver: str | Solver = "dcd",
        C: float = 0.1,
        max_epochs: int | None = 30,
        tol: float | None = 0.01,
        patience: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = -1,
        random_state: int | None = 0,
        templates: str | Sequence[str] | None = None,
        lexicons: Mapping[str, Sequence[str]] | None = None,
        clusters: Mapping[str, Mapping[str, str]] | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        costs: Mapping[Any, float] | None = None,
        dev_metric: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.solver = solver
        self.C = C
        self.max_epochs = max_epochs
        self.tol = tol
        self.patience = patience
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.templates = templates
        self.lexicons = lexicons
        self.clusters = clusters
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.costs = costs
        self.dev_metric = dev_metric
        self.verbose = verbose

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
        resources = Resources(self.lexicons or {}, self.clusters or {})
        extractor = choose_extractor(X, self.templates, resources, min_count=self.min_count, hash_bits=self.hash_bits)
        X = prepared(X, extractor)
        labels, gold = encode_labels(X, y)
        features = extractor.fit(X)
        chain = Chain(len(labels), extractor.n_features, extractor.n_transition_features)
        tagger = Tagger(labels, extractor, np.empty(0))
        score = None if dev is None else self._dev_score(tagger, chain, *dev)
        examples = _examples(chain, features, gold, cost_matrix(self.costs, labels))
        self.solution_ = self._solve(examples, sample_weight, score, callbacks)
        tagger.w, tagger.summary = self.solution_.w, self._summary(self.solution_)
        self.classes_ = np.array(labels)
        self.tagger_ = tagger
        return self

    def predict(self, X: Any) -> list[list[Any]]:
        """The labels of every sequence."""
        self._check_fitted()
        return self.tagger_.predict(X, count_threads(self.n_jobs))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right labels; 0 where there are none at all."""
        return accuracy(as_sequences(X, y), self.predict(X), sample_weight)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, to be read by `widemargin.load`."""
        self._check_fitted()
        self.tagger_.save(path)

    @classmethod
    def from_tagger(cls, tagger: Tagger) -> "SequenceTagger":
        """A fitted estimator around a trained model, with the parameters it was trained with as far as known."""
        known = tagger.summary.get("parameters", {})
        estimator = cls(**{name: value for name, value in known.items() if name in cls().get_params()})
        estimator.tagger_ = tagger
        estimator.classes_ = np.array(tagger.labels)
        estimator.solution_ = Solution.restored(tagger.w, tagger.summary["solution"])
        return estimator

    def _dev_score(self, tagger: Tagger, chain: Chain, X: Any, y: Any) -> Score:
        """The development score as a function of the weights; the features are worked out once."""
        X = prepared(X, tagger.extractor)
        gold = as_sequences(X, y)
        examples = _examples(chain, tagger.extractor.transform(X), None, None)
        n_threads = count_threads(self.n_jobs)
        metric = self.dev_metric
        if metric == "auto":
            metric = "f1" if is_bio(tagger.labels) else "accuracy"
        measure = sequence_scorer(metric).measure
        indptr = examples.data.indptr

        def score(w: FloatVector) -> float:
            codes = np.concatenate(predict(examples, w, n_threads))
            return measure(gold, split([tagger.labels[code] for code in codes.tolist()], indptr))

        return score


def _examples(chain: Chain, features: Features, gold: IntVector | None, costs: FloatMatrix | None) -> ChainExamples:
    return ChainExamples(
        chain, features.indptr, features.rows, gold, costs=costs, transition_features=features.transition_rows
    )
