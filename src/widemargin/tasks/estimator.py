"""scikit-learn estimators: the library behind `fit`, `predict` and `score`.

An estimator is a dataclass of parameters that wraps a trained model, `model_`. It follows scikit-learn's protocol
(`tasks.scikit_learn`), and loading and predicting do not import scikit-learn.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import AnyArray
from widemargin.core.solution import Solution
from widemargin.core.solver import Solver
from widemargin.core.stop import Callback
from widemargin.errors import DataError, ModelFileError, WidemarginError
from widemargin.tasks import kinds
from widemargin.tasks.answers import Answers
from widemargin.tasks.base import Model, Reading, load_model
from widemargin.tasks.scikit_learn import Conforming
from widemargin.tasks.stacking import block_numbers, checked_folds
from widemargin.tasks.strongest import Learnt, of_label
from widemargin.tasks.training import Compiled, Data, Warm, compare_solvers, train, train_path
from widemargin.text.inputs import drain

if TYPE_CHECKING:
    from widemargin.report.comparison import Comparison

REMEDIES = "raise max_epochs or tol, lower C, or take another solver"

M = TypeVar("M", bound=Model)
A = TypeVar("A", bound=Answers)


class Estimator(Conforming, Generic[M]):
    """Base of the estimators."""

    _compile: ClassVar[Callable[..., Compiled[Any]]]
    _survey: ClassVar[Callable[..., Any] | None] = None
    _tags: ClassVar[Any] = None
    _solution: Solution | None = None
    _warm: Warm | None = None

    warm_start: bool
    n_jobs: int | None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on inputs `X` with gold outputs `y`.

        Parameters
        ----------
        X, y : inputs and gold outputs, in the forms that the class lists under Notes
        sample_weight : one weight per example
        dev : development data (X, y), scored after every epoch; the best epoch's weights are kept, the last of equals.
            While the gap is above 20 %, averages over the epochs so far are scored instead: early weights of a dual
            solver jump, and the best of them are best by luck.
        callbacks : informed as training proceeds
        checkpoint : a file that saves the run as it proceeds
        resume : continue from the checkpoint, if it exists, exactly as its run would have continued
        """
        data = self._data(X, y, sample_weight, dev)
        model, solution = self._train(data, callbacks, checkpoint=checkpoint, resume=resume)
        _warn(solution)
        return self._wrap(model, solution)

    def fit_stream(
        self,
        source: Any,
        *,
        cache: str | os.PathLike[str] | None = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        **reading: Any,
    ) -> Self:
        """Train on more data than fit into memory; the weights equal those of `fit`, bit for bit.

        Data are read once. Their features go into files, which are mapped into memory (docs/out-of-core.md).

        Parameters
        ----------
        source : a file, several, or patterns such as ``"corpus/*.conllu"``; or an iterable of pairs (x, y)
        cache : a folder that keeps the arrays, so that another `fit_stream` on the same files with the same features
            need not compile them again; None uses a temporary folder, which is removed
        dev, callbacks, checkpoint, resume : as in `fit`
        reading : how files are read: `label`, `format`, `columns`, … as on the command line
        """
        from widemargin.tasks.out_of_core import Stream, compile_stream  # seldom needed

        data = Data(Stream(source, Reading(**reading), cache), None, dev=self._checked_dev(dev))
        model, solution = self._train(data, callbacks, checkpoint=checkpoint, resume=resume, compiling=compile_stream)
        _warn(solution)
        return self._wrap(model, solution)

    def _train(
        self, data: Data, callbacks: Sequence[Callback], *, compiling: Any = None, **options: Any
    ) -> tuple[M, Solution]:
        """A model trained on these data, and its solution."""
        warm = self._last_run()
        model, solution = train(compiling or self._compile, self._parameters, data, callbacks, warm, **options)
        self._warm = warm
        return model, solution

    def fit_path(
        self, X: Any, y: Any, C: Sequence[float], sample_weight: Any = None, dev: tuple[Any, Any] | None = None
    ) -> list[Self]:
        """Train with each value in `C`: fitted clones in the order of `C`; the estimator itself is unchanged.

        Features are compiled once. Each training run starts where the one with the next smaller C ended. After Ctrl-C,
        values that were not reached are missing; the parameter `C` of a clone is its value.
        """
        from sklearn.base import clone  # slow to import

        path = train_path(self._compile, self._parameters, self._data(X, y, sample_weight, dev), C)
        for _, solution in path:
            _warn(solution)
        return [
            clone(self).set_params(C=model.summary["parameters"]["C"])._wrap(model, solution)
            for model, solution in path
        ]

    def compare(
        self,
        X: Any,
        y: Any,
        solvers: Iterable[str] | Mapping[str, Solver],
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
    ) -> "Comparison":
        """Train with each solver on the same features, and compare how far and how fast each gets.

        The estimator is unchanged. The result has tables; its `save` writes them, with pictures, into a folder.
        """
        data = self._data(X, y, sample_weight, dev)
        return compare_solvers(self._compile, self._parameters, data, solvers)

    def predict(self, X: Any) -> Any:
        """The best output for every input."""
        return joinable(self._ask("predict", X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file `path`, to be read by `widemargin.load`."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def from_model(cls, model: M, **given: Any) -> Self:
        """Wrap a trained model in a fitted estimator, with the training parameters that the model records."""
        names = cls._get_param_names()
        known = {name: value for name, value in model.summary["parameters"].items() if name in names}
        return cls(**{**known, **given})._wrap(model)

    @property
    def solution_(self) -> Solution:
        """Weights, trace, primal, dual, gap, whether it is certified, and why training stopped."""
        model = self.model_
        if self._solution is None:
            # Assembling the weights of a loaded model takes time, so it waits until they are needed.
            self._solution = model.solution
        return self._solution

    def strongest(self, label: Any = None, n: int = 10) -> Learnt:
        """The `n` largest and the `n` smallest weights of each part of the model, by name; they print as a table.

        Parameters
        ----------
        label : one of the labels; None for all
        n : how many weights of either sign
        """
        self._check_fitted()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise WidemarginError(f"n must be a whole number of at least 1, not {n!r}")
        model = self.model_
        parts = model.reporter.strongest(model.reporter.numbers_of([] if label is None else [label]), int(n))
        return Learnt(parts if label is None else of_label(parts, str(label)))

    def card(self, name: str | None = None) -> str:
        """A model card in Markdown; `name` is the name of its file. Facts that only its owner knows are blank."""
        from widemargin.tasks.card import card  # seldom needed

        self._check_fitted()
        return card(self.model_, name)

    @property
    def n_iter_(self) -> int:
        """The number of training epochs."""
        return len(self.model_.summary["solution"]["trace"])

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """The parameters and, once fitted, the certificate, for notebooks."""
        bundle = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._certificate()
        return bundle

    @property
    def _repr_html_(self) -> Callable[[], str]:
        shown = super()._repr_html_
        return lambda: shown() + self._certificate()

    def _certificate(self) -> str:
        course = self.model_.course if self.__sklearn_is_fitted__() else None
        return "" if course is None else f'<p class="widemargin-certificate">{escape(str(course))}</p>'

    @property
    def n_unreachable_(self) -> int:
        """How many gold outputs of the training data the model can never predict (`core.examples.Unreachable`)."""
        return sum(self.model_.summary.get("unreachable", {}).values())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Tags for scikit-learn: `fit` needs outputs, and inputs are not one matrix."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.input_tags.two_d_array = True, False
        return tags

    @property
    def _parameters(self) -> Any:
        """The estimator itself, which is the dataclass of its parameters."""
        return self

    def _last_run(self) -> Warm | None:
        """The run to continue, which may be that of a loaded model; None for a cold start."""
        if not self.warm_start:
            return None
        last = Warm() if self._warm is None else replace(self._warm)
        last.model = getattr(self, "model_", None)
        return last

    def _data(self, X: Any, y: Any, sample_weight: Any, dev: Any = None) -> Data:
        """The data given to `fit`, checked; iterators have become lists."""
        return Data(*self._check_data(self._read(X), self._read(y), drain(sample_weight)), self._checked_dev(dev))

    def _checked_dev(self, dev: Any) -> tuple[Any, Any] | None:
        """Development data, checked; iterators have become lists."""
        if dev is None:
            return None
        dev = tuple(drain(dev))
        if len(dev) != 2:
            raise DataError(f"dev must be a pair (X, y), not {len(dev)} things")
        return self._read(dev[0]), self._read(dev[1])

    def _read(self, values: Any) -> Any:
        """Inputs or outputs; iterators as lists."""
        return drain(values)

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """The data given to `fit`, in the form that training takes."""
        return X, y, sample_weight

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError  # slow to import

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first, or load a model")

    @property
    def _order(self) -> list[int]:
        """The numbers of the `classes_` among the labels of the model."""
        self._check_fitted()
        return [self.model_.labels.index(label) for label in self.classes_.tolist()]

    def _inputs(self, X: Any) -> Any:
        """The inputs of a prediction, checked."""
        self._check_fitted()
        return self._read(X)

    def _ask(self, question: str, X: Any, *more: Any, **options: Any) -> Any:
        X = self._inputs(X)
        return getattr(self.model_, question)(X, *more, n_threads=count_threads(self.n_jobs), **options)

    def _wrap(self, model: M, solution: Solution | None = None) -> Self:
        self.model_: M = model
        self._solution, self.classes_ = solution, np.sort(model.labels)
        return self

    def _learn(self, data: Data, classes: Any) -> Self:
        """Train for one epoch on a piece of the data, starting from the current model."""
        from widemargin.tasks.training import train_piece  # seldom needed

        before = getattr(self, "model_", None)
        return self._wrap(*train_piece(self._compile, self._parameters, before, data, classes))


class NestedOutputs(list[Any]):
    """A list of outputs that are themselves lists; NumPy takes it for one row of objects, whatever their lengths.

    So scikit-learn can join the outputs of several folds, as `cross_val_predict` does.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        found = np.empty(len(self), dtype=object)
        for k, output in enumerate(self):
            found[k] = output
        return found if dtype is None else found.astype(dtype)


def joinable(outputs: Any) -> Any:
    """The outputs in a form that scikit-learn can join."""
    nested = isinstance(outputs, list) and outputs and isinstance(outputs[0], list | tuple)
    return NestedOutputs(outputs) if nested else outputs


def _warn(solution: Solution) -> None:
    """Warn, as scikit-learn does, if training has not converged."""
    if solution.shortfall is not None:
        from sklearn.exceptions import ConvergenceWarning  # slow to import

        warnings.warn(f"training has not converged: {solution.shortfall}; {REMEDIES}", ConvergenceWarning, stacklevel=3)


def load(path: str | os.PathLike[str], **given: Any) -> Any:
    """The fitted estimator in the model file `path`; nothing in the file is ever executed.

    A custom structure is code, which the file does not hold; pass it: ``load(path, structure=…)``.
    """
    return estimator_of(load_model(path), os.fspath(path), **given)


def estimator_of(model: Model, name: str, **given: Any) -> Any:
    """The fitted estimator around the model in the file `name`."""
    estimator = dict(kinds())[model.kind].estimator()
    for each in given.keys() - set(estimator._get_param_names()):
        raise WidemarginError(f"the model {name} is one of a {estimator.__name__}, which has no {each!r}")
    # Another program's model file need not say how it was trained.
    if "trained_by" not in model.summary and not {"parameters", "solution"} <= model.summary.keys():
        raise ModelFileError(f"the model {name} is damaged: it does not tell how it was trained")
    return estimator.from_model(model, **given)


def stacked(estimator: Any, X: Any, y: Any, folds: Any = 5, **options: Any) -> Any:
    """Predictions for `X`, each by a clone of the estimator that has not learnt from the example.

    Train a second model on these if it will read predictions of the first: they are as wrong as those of new examples.

    Parameters
    ----------
    estimator : any estimator, which is unchanged
    X, y : inputs and gold outputs, as lists or arrays
    folds : the number of folds, each of neighbouring examples and predicted by a clone that has learnt from all others;
        or a splitter of scikit-learn, or pairs (training, test) of the numbers of examples
    options : other options of scikit-learn's `cross_val_predict`, such as `method` and `n_jobs`

    Examples
    --------
    >>> from widemargin import LinearClassifier
    >>> X, y = [[0.0], [0.2], [1.0], [0.1], [0.9], [1.1]], ["no", "no", "yes", "no", "yes", "yes"]
    >>> stacked(LinearClassifier(C=100.0), X, y, folds=2).tolist()
    ['no', 'no', 'yes', 'no', 'yes', 'yes']
    """
    from sklearn.model_selection import PredefinedSplit, cross_val_predict  # slow to import

    if isinstance(folds, int | np.integer):
        if len(X) < 2:
            raise DataError("stacking needs two examples or more to learn from")
        folds = PredefinedSplit(block_numbers(np.ones(len(X), dtype=bool), checked_folds(folds, "folds")))
    return cross_val_predict(estimator, X, y, cv=folds, **options)
