"""Sequence labelling as a scikit-learn estimator."""

from dataclasses import dataclass
from typing import Any

from widemargin.tasks.abilities import TokenEstimator
from widemargin.tasks.parameters import documented
from widemargin.tasks.tag import TaggerParameters
from widemargin.tasks.tag.compile import compile_tags, survey_tags
from widemargin.tasks.tag.model import Tagger
from widemargin.tasks.token_scores import metric_for


@documented(Tagger)
@dataclass(kw_only=True, repr=False, eq=False)
class SequenceTagger(TaggerParameters, TokenEstimator[Tagger]):
    """Large-margin sequence labelling: a first-order chain.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    tagger_ : Tagger
        Another name of `model_`.

    Notes
    -----
    X is a list of sequences of tokens (strings), of ready-made features, or of matrix rows (`widemargin.text.inputs`);
    or `Columns`, as readers return them. y is a list of label lists, or a `Column`. A label may be None if it is
    unknown, or a set of labels if one of them is right; the model then fills in the rest as it learns (`core.latent`).

    Examples
    --------
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 3
    >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]] * 3
    >>> tagger = SequenceTagger(templates=["lower", "suffix1"], tol=1e-7).fit(X, y)
    >>> tagger.predict([["the", "cat", "barks"]])
    [['DET', 'NOUN', 'VERB']]
    >>> tagger.score(X, y)
    1.0
    >>> tagger.strongest("VERB", 1)
    Features for and against VERB
      +0.257 suffix1=s  -0.084 suffix1=t
    Transitions
      +0.159 NOUN → VERB  -0.199 VERB → DET
    First label
        -0.109 VERB
    Last label
      +0.257 VERB
    >>> round(tagger.transition_features_["DET", "NOUN"], 3), tagger.get_feature_names_out()[0]
    (0.168, 'suffix1=s')
    """

    _compile = staticmethod(compile_tags)
    _survey = staticmethod(survey_tags)

    @property
    def tagger_(self) -> Tagger:
        """The trained model."""
        return self.model_

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "SequenceTagger":
        """Train for one epoch on these data, starting from the current model; for solvers that learn piece by piece.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`; new features are learnt if they occur `min_count` times in these data
        classes : all labels that will ever occur (others are refused from then on); None learns those of `y`
        """
        return self._learn(self._data(X, y, sample_weight), classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score that `dev_metric` names: by default F1 of spans if labels are BIO, else the share of right labels.

        `sample_weight` has a weight per sequence. The score of empty data is 0.
        """
        self._check_fitted()
        return self._score(metric_for(self.dev_metric, self.classes_.tolist()), X, y, sample_weight)
