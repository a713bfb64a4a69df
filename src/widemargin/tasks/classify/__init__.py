"""Classify the rows of a matrix: one class, or a set of labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from widemargin.tasks import Kind, Task
from widemargin.tasks.parameters import Parameters, parameter, with_default


@dataclass(kw_only=True, repr=False, eq=False)
class LinearParameters(Parameters):
    """Parameters of all linear classifiers."""

    usual_C: ClassVar[float] = 1.0
    usual_epochs: ClassVar[int] = 1000

    tol: float | None = with_default(Parameters, "tol", 0.001)
    fit_intercept: bool = parameter(
        True, "Whether every label has a bias, penalised like the other weights.", option="--intercept/--no-intercept"
    )
    intercept_scaling: float = parameter(
        1.0, "The value of the feature behind the bias; the larger it is, the less the bias is penalised.", above=0
    )
    costs: "Mapping[Any, float] | None" = parameter(
        None,
        "The cost of errors; 1 unless named.",
        in_python="{(gold, predicted): cost} or {gold: cost} for classes, {label: cost} for sets of labels.",
        on_command_line='A JSON file: {"gold": 2, "other": {"predicted": 0.5}}.',
        given_as="costs",
        metavar="FILE",
    )


@dataclass(kw_only=True, repr=False, eq=False)
class ClassifierParameters(LinearParameters):
    """Parameters of classifiers into one class out of several."""

    class_weight: "Mapping[Any, float] | str | None" = parameter(
        None,
        'How much the examples of each class count: {class: weight}, 1 unless named; or "balanced", which gives all '
        "classes the same total weight.",
        option=None,
    )


@dataclass(kw_only=True, repr=False, eq=False)
class MultilabelParameters(LinearParameters):
    """Parameters of classifiers into sets of labels."""

    pairwise: bool = parameter(True, "Whether pairs of labels have weights too, which tell what labels go together.")


@dataclass(kw_only=True)
class ClassifyOptions:
    """Command-line options that are not training parameters."""

    balanced: bool = parameter(False, "Let all classes count the same, however many examples they have.")
    multilabel: bool = parameter(False, "Predict sets of labels even if every example has only one.")


def _classes_model() -> type[Any]:
    from widemargin.tasks.classify.model import Classifier

    return Classifier


def _classes_estimator() -> type[Any]:
    from widemargin.tasks.classify.estimator import LinearClassifier

    return LinearClassifier


def _classes_arrays() -> type[Any]:
    from widemargin.tasks.classify.out_of_core import ClassArrays

    return ClassArrays


def _sets_arrays() -> type[Any]:
    from widemargin.tasks.classify.out_of_core import SetArrays

    return SetArrays


def _sets_model() -> type[Any]:
    from widemargin.tasks.classify.model import MultilabelModel

    return MultilabelModel


def _sets_estimator() -> type[Any]:
    from widemargin.tasks.classify.estimator import MultilabelClassifier

    return MultilabelClassifier


def _files() -> Any:
    from widemargin.tasks.classify.files import ClassifyFiles

    return ClassifyFiles()


TASK = Task(
    {
        "classes": Kind(
            "LinearClassifier", ClassifierParameters, _classes_model, _classes_estimator, arrays=_classes_arrays
        ),
        "multilabel": Kind(
            "MultilabelClassifier", MultilabelParameters, _sets_model, _sets_estimator, arrays=_sets_arrays
        ),
    },
    does="Learn to classify the examples of svmlight files.\n\nA line holds labels and index:value pairs. If any line "
    "has several labels, separated by commas, the model predicts sets of labels.",
    example="--train news.svm --dev dev.svm --out news.wm",
    files=_files,
    options=ClassifyOptions,
)
