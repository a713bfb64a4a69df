"""Linear classifiers as scikit-learn estimators: one class, or any number of labels, for each row of a matrix."""

from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import AnyArray, FloatMatrix, FloatVector, LongMatrix
from widemargin.core.solution import Solution
from widemargin.errors import WidemarginError
from widemargin.tasks.abilities import AnsweringEstimator, NamedEstimator
from widemargin.tasks.classify import ClassifierParameters, MultilabelParameters
from widemargin.tasks.classify.compile import compile_classes, compile_sets, indicators, survey_classes, survey_sets
from widemargin.tasks.classify.model import Classifier, LinearModel, MultilabelModel
from widemargin.tasks.constraints import Constraints
from widemargin.tasks.parameters import documented
from widemargin.tasks.plan import solver_and_objective
from widemargin.tasks.scikit_learn import Classifying, available_if
from widemargin.tasks.training import Data
from widemargin.text.inputs import drain
from widemargin.text.matrices import in_shares

M = TypeVar("M", bound=LinearModel)

KINDS = (np.float64, np.float32)
"""Types of numbers that are not converted: a converted copy of a large matrix may not fit into memory."""


def _learns_online(estimator: Any) -> bool:
    try:
        return solver_and_objective(estimator)[0].online
    except WidemarginError:
        return False


def _has_probabilities(estimator: Any) -> bool:
    calibration = getattr(getattr(estimator, "model_", None), "calibration", None)
    if calibration is not None and calibration.beta is not None:
        return True
    try:
        return solver_and_objective(estimator)[1].kind == "smooth"
    except WidemarginError:
        return False


class LinearEstimator(NamedEstimator[M]):
    """Base of both classifiers."""

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The names of the columns of the training data, or their numbers if they had no names."""
        self._check_fitted()
        return getattr(self, "feature_names_in_", super().get_feature_names_out())

    @available_if(_learns_online)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on these data, starting from the current model; for solvers that learn piece by piece.

        `classes` are all labels that will ever occur (others are refused from then on); None learns those of `y`.
        """
        data = Data(*self._check_data(drain(X), drain(y), drain(sample_weight), reset=not self.__sklearn_is_fitted__()))
        return self._learn(data, None if classes is None else np.unique(classes).tolist())

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatMatrix:
        """The probability of every label for every row.

        For the objectives `likelihood` and `softmax-margin`, and for calibrated models of classes.
        """
        return self._ask("predict_proba", X)

    def _wrap(self, model: M, solution: Solution | None = None) -> Self:
        super()._wrap(model, solution)
        self.classes_ = np.array(model.labels)
        self.n_features_in_ = model.extractor.width
        return self

    @abstractmethod
    def _check_data(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> tuple[Any, Any, Any]:
        """The data given to `fit`, in the form that training takes."""

    def _inputs(self, X: Any) -> Any:
        self._check_fitted()
        X = drain(X)
        found = None if hasattr(self, "feature_names_in_") else _checked_matrix(X, self.n_features_in_)
        if found is not None:
            return found
        from sklearn.utils.validation import validate_data  # slow to import

        return validate_data(self, X, accept_sparse="csr", dtype=KINDS, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.two_d_array = True
        return tags


def _checked_matrix(X: Any, width: int | None) -> Any:
    """`X` as finite numbers in rows of this width; None if scikit-learn must convert it or report an error."""
    if isinstance(X, list):
        with suppress(ValueError):  # rows of different lengths
            X = np.asarray(X)
            X = X.astype(np.float64) if X.dtype.kind in "iu" else X
    is_sparse = hasattr(X, "tocsr") and X.format == "csr"
    if not (is_sparse or type(X) is np.ndarray) or X.ndim != 2 or X.dtype not in KINDS:
        return None
    finite = all(np.isfinite(share).all() for share in in_shares(X.data if is_sparse else X))
    return X if finite and X.shape[0] and X.shape[1] == width else None


@documented(Classifier)
@dataclass(kw_only=True, repr=False, eq=False)
class LinearClassifier(ClassifierParameters, Classifying, LinearEstimator[Classifier], AnsweringEstimator[Classifier]):
    """Large-margin classification into two or more classes, all at once (Crammer & Singer 2001), with costs.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    coef_, intercept_ : ndarray
        A row and a number per class; for two classes, those of the second minus those of the first.
    n_features_in_ : int
        The number of features.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [0.5, 1.0], [2.0, 0.0], [2.0, 0.5]], ["cat", "cat", "dog", "dog"]
    >>> LinearClassifier().fit(X, y).predict([[0.0, 2.0], [3.0, 0.0]])
    array(['cat', 'dog'], dtype='<U3')
    """

    _compile = staticmethod(compile_classes)
    _survey = staticmethod(survey_classes)

    def predict(self, X: Any, constraints: Constraints | None = None) -> AnyArray:
        """The best class of every row, among those that the `constraints` allow."""
        return np.array(super().predict(X, constraints), dtype=self.classes_.dtype)

    def decision_function(self, X: Any) -> FloatVector | FloatMatrix:
        """The score of every class for every row; for two classes, that of the second minus that of the first."""
        X = self._inputs(X)
        return _binary(self.model_.scores(X))

    @property
    def coef_(self) -> FloatMatrix:
        """The weights of the features, a row per class."""
        return np.atleast_2d(_binary(self._model.W).T)

    @property
    def intercept_(self) -> FloatVector:
        """The biases of the classes."""
        return np.atleast_1d(_binary(self._model.bias))

    @property
    def _model(self) -> Classifier:
        if not hasattr(self, "model_"):
            raise AttributeError("there are no weights before fit")
        return self.model_

    def _check_data(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> tuple[Any, Any, Any]:
        from sklearn.utils.multiclass import check_classification_targets  # slow to import
        from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=KINDS, reset=reset)
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        return X, column_or_1d(y, warn=True), sample_weight


def _binary(of_classes: FloatMatrix) -> FloatMatrix:
    """The input itself; for two classes along the last axis, the second minus the first."""
    return of_classes[..., 1] - of_classes[..., 0] if of_classes.shape[-1] == 2 else of_classes


@documented(MultilabelModel)
@dataclass(kw_only=True, repr=False, eq=False)
class MultilabelClassifier(MultilabelParameters, Classifying, LinearEstimator[MultilabelModel]):
    """Large-margin prediction of sets of labels, which may attract and repel each other.

    Attributes
    ----------
    classes_ : ndarray
        The labels, in the order of the columns that `predict` returns.
    n_features_in_ : int
        The number of features.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [["salty"], ["sweet"], ["salty", "sweet"]]
    >>> classifier = MultilabelClassifier(C=10.0).fit(X, y)
    >>> classifier.predict([[0.0, 1.0], [1.0, 1.0]])
    array([[1, 0],
           [1, 1]])
    """

    _compile = staticmethod(compile_sets)
    _survey = staticmethod(survey_sets)

    def predict(self, X: Any) -> LongMatrix:
        """A row of indicators, 0 or 1, for every row of `X`, with a column per label."""
        X = self._inputs(X)
        return self.model_.predict_codes(X, count_threads(self.n_jobs)).astype(np.int64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of examples whose labels are all right."""
        self._check_fitted()
        return super().score(X, indicators(y, self.model_.labels)[1], sample_weight)

    def _check_data(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> tuple[Any, Any, Any]:
        from sklearn.utils.multiclass import check_classification_targets  # slow to import
        from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

        if y is None:
            validate_data(self, X, y, accept_sparse="csr", reset=reset)
        X = validate_data(self, X, accept_sparse="csr", dtype=KINDS, reset=reset)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        if hasattr(y, "__array__"):
            y = _check_y(y, multi_output=True)
            check_classification_targets(y)
        return X, y, sample_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        return tags
