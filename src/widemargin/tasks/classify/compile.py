"""From the rows of a matrix and their labels to examples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from widemargin._types import AnyArray, FloatVector, IntMatrix, IntVector
from widemargin.core.checks import checked_weights
from widemargin.core.examples import on_disk
from widemargin.core.mapped import Pages
from widemargin.core.solution import Solution
from widemargin.core.sparse import Matrix, Rows, binary, of_width, take_rows
from widemargin.errors import DataError
from widemargin.structures.label_rows import LabelRows
from widemargin.tasks.classify import ClassifierParameters, LinearParameters, MultilabelParameters
from widemargin.tasks.classify.examples import ClassExamples, MultilabelExamples, multilabel_kind
from widemargin.tasks.classify.model import Classifier, LinearModel, MultilabelModel
from widemargin.tasks.survey import Survey, widened
from widemargin.tasks.training import Compiled, Data, score_of_outputs
from widemargin.text.labels import cost_matrix, fixed_labels, join_labels, label_weights, places_of, values_by_label
from widemargin.text.matrices import MatrixExtractor, as_matrix, warn_of_scales

if TYPE_CHECKING:
    from widemargin.tasks.warm import Matched

M = TypeVar("M", bound=LinearModel)

MIXED = "labels must be all strings or all whole numbers, and there must be at least one"


def survey_classes(parameters: ClassifierParameters, data: Data) -> Survey:
    """The classes of a piece of the data and their weights, and the number of features."""
    X, (labels, gold) = as_matrix(data.X), class_numbers(data.y)
    check_lengths(X.rows, gold)
    weights = np.bincount(gold, checked_weights(data.sample_weight, len(gold)), len(labels)).tolist()
    facts = {"size": {"width": X.width}, "weights of labels": Counter(dict(zip(labels, weights, strict=True)))}
    return Survey(Counter(dict(zip(labels, np.bincount(gold).tolist(), strict=True))), facts=facts | _kind_of(labels))


def survey_sets(parameters: MultilabelParameters, data: Data) -> Survey:
    """The labels of a piece of the data, and the number of features."""
    X, (labels, gold) = as_matrix(data.X), indicators(data.y)
    check_lengths(X.rows, gold)
    return Survey(facts={"size": {"width": X.width}, "labels": frozenset(labels), **_kind_of(labels)})


def _kind_of(labels: Sequence[Any]) -> dict[str, Any]:
    return {"kind of labels": type(labels[0]).__name__ if labels else "str"}


def compile_classes(
    parameters: ClassifierParameters,
    data: Data,
    labels: Sequence[Any] | None = None,
    *,
    piece: bool = False,
    after: Classifier | None = None,
    survey: Survey | None = None,
) -> Compiled[Classifier]:
    """Compile features and classes to arrays; without `labels`, they are those of the `survey`, or else of the data.

    A `piece` adds its labels to those of `after`, the model trained so far.
    """
    X, y, weight = widened(data.X, survey), data.y, data.sample_weight
    if survey is not None:
        labels = sorted(survey.labels)
    if not piece:
        X, y, weight = merge_equal_examples(X, y, _with_class_weights(parameters.class_weight, y, weight, survey))
    if after is not None:
        labels = _labels_after(after, labels, class_numbers(y)[0])
    known, gold = class_numbers(y, None if labels is None else list(labels))
    warn_of_scales(X.rows)
    return assemble_classes(parameters, known, X, gold, data.dev, weight)


def assemble_classes(
    parameters: ClassifierParameters,
    labels: list[Any],
    X: Matrix,
    gold: IntVector,
    dev: tuple[Any, Any] | None,
    weight: Any,
    pages: Pages | None = None,
) -> Compiled[Classifier]:
    """The examples with their development score, and how to make a model; arrays may be mapped files."""
    if len(labels) < 2:
        raise DataError(f"there is only one class, {labels[0]!r}; at least two are needed to tell them apart")
    number = {label: code for code, label in enumerate(labels)}
    if dev is not None:
        dev = dev[0], np.array([number.get(label, -1) for label in np.asarray(dev[1]).tolist()], dtype=np.int32)
    costs = cost_matrix(parameters.costs, labels)
    return _compile(parameters, Classifier, ClassExamples, labels, X, gold, costs, dev, weight, pages)


def compile_sets(
    parameters: MultilabelParameters,
    data: Data,
    labels: Sequence[Any] | None = None,
    *,
    piece: bool = False,
    after: MultilabelModel | None = None,
    survey: Survey | None = None,
) -> Compiled[MultilabelModel]:
    """Compile features and sets of labels to arrays; `labels`, `after` and `survey` as in `compile_classes`."""
    X = widened(data.X, survey)
    if survey is not None:
        labels = sorted(survey.facts["labels"])
    if after is not None:
        labels = _labels_after(after, labels, listed_labels(data.y))
    known, gold = indicators(data.y, None if labels is None else list(labels))
    warn_of_scales(X.rows)
    return assemble_sets(parameters, known, X, gold, data.dev, data.sample_weight)


def assemble_sets(
    parameters: MultilabelParameters,
    labels: list[Any],
    X: Matrix,
    gold: IntMatrix,
    dev: tuple[Any, Any] | None,
    weight: Any,
    pages: Pages | None = None,
) -> Compiled[MultilabelModel]:
    """As `assemble_classes`, for sets of labels."""
    kind, costs = multilabel_kind(len(labels), pairwise=parameters.pairwise), set_costs(parameters.costs, labels)
    dev = None if dev is None else (dev[0], indicators(dev[1], labels)[1])
    return _compile(parameters, MultilabelModel, kind, labels, X, gold, costs, dev, weight, pages)


def _compile(
    parameters: LinearParameters,
    model: type[M],
    kind: type[ClassExamples] | type[MultilabelExamples],
    labels: list[Any],
    X: Matrix,
    gold: AnyArray,
    costs: AnyArray | None,
    dev: tuple[Any, AnyArray] | None,
    sample_weight: Any,
    pages: Pages | None,
) -> Compiled[M]:
    """The examples with their development score, and how to make a model; gold in `dev` is encoded like outputs."""
    check_lengths(X.rows, gold)
    intercept, extractor, score = _intercept(parameters), MatrixExtractor(X.width), None
    examples = kind(binary(X.rows), X.width, len(labels), gold, costs=costs, intercept=intercept)
    if pages is not None:
        on_disk(examples, pages)
    if dev is not None:
        # Rows of a file may have columns that no training example has.
        X_dev = of_width(dev[0], X.width) if isinstance(dev[0], Matrix) else dev[0]
        found = kind(extractor.rows(X_dev), X.width, len(labels), intercept=intercept)
        score = score_of_outputs(found, parameters.n_jobs, partial(_f1 if model.several else _accuracy, dev[1]))
    return Compiled(
        examples,
        partial(_model, model, labels, extractor, examples.features),
        labels,
        score,
        "f1" if model.several else "accuracy",
        sample_weight,
        piecewise=True,
        matched=partial(_match, labels, extractor, examples.features),
    )


def _accuracy(gold: IntVector, predicted: IntVector) -> float:
    return float(np.mean(predicted == gold))


def _f1(gold: IntMatrix, predicted: IntMatrix) -> float:
    """F1 of the labels, over all examples."""
    return float(2.0 * (predicted * gold).sum() / max(predicted.sum() + gold.sum(), 1))


def _model(
    kind: type[M],
    labels: list[Any],
    extractor: MatrixExtractor,
    linear: LabelRows,
    solution: Solution,
    summary: dict[str, Any],
) -> M:
    W, pairs = solution.w[: linear.n_linear].reshape(-1, len(labels)), solution.w[linear.n_linear :]
    bias = linear.intercept * W[-1] if linear.intercept else np.zeros(len(labels))
    return kind(labels, extractor, W[: linear.n_features].copy(), bias, pairs.copy(), summary=summary)


def _labels_after(after: LinearModel, classes: Sequence[Any] | None, found: Sequence[Any]) -> list[Any]:
    """The labels of a piece that comes after a model: those of the model and those `found` in the piece."""
    given, online = None if classes is None else list(classes), after.online
    fixed = fixed_labels(given, after.labels, fixed=online is not None and online.fixed)
    return sorted(join_labels(after.labels, found) if fixed is None else fixed)


def _match(labels: list[Any], extractor: MatrixExtractor, linear: LabelRows, model: LinearModel) -> "Matched":
    """The weights of another classifier for the labels and columns that both have, matched by name."""
    from widemargin.tasks.warm import Matched, places, reorder_axes  # seldom needed

    codes, columns = places(labels, model.labels), places(extractor.names(), model.extractor.names())
    bias = [model.bias / linear.intercept] if linear.intercept else []
    w = np.concatenate([model.W.ravel(), *bias, model.pairs])
    n, n_linear, numbers = len(model.labels), len(w) - len(model.pairs), np.arange(len(w))
    moved_bias = [reorder_axes(numbers[model.W.size : n_linear], codes)] if bias else []
    pairs = np.full(linear.n_weights - linear.n_linear, -1)
    if len(pairs) and len(model.pairs):
        table = np.full((n, n), -1)
        first, second = np.triu_indices(n, 1)
        table[first, second] = table[second, first] = numbers[n_linear:]
        pairs = reorder_axes(table, codes, codes)[np.triu_indices(len(labels), 1)]
    W = reorder_axes(numbers[: model.W.size].reshape(model.W.shape), columns, codes)
    return Matched(w, np.concatenate([W.ravel(), *moved_bias, pairs]), (codes, columns))


def _intercept(parameters: LinearParameters) -> float:
    return float(parameters.intercept_scaling) if parameters.fit_intercept else 0.0


def _with_class_weights(
    class_weight: Mapping[Any, float] | str | None, y: Any, sample_weight: Any, survey: Survey | None = None
) -> Any:
    """The weights of examples, times those of their classes."""
    if class_weight is None:
        return sample_weight
    labels, gold = class_numbers(y, None if survey is None else sorted(survey.labels))
    weight = checked_weights(sample_weight, len(gold))
    counts = np.bincount(gold, weight, len(labels))
    if survey is not None:
        counts = np.array([survey.facts["weights of labels"][label] for label in labels])
    of_class: FloatVector = label_weights(class_weight, labels, counts)
    return weight * of_class[gold]


def merge_equal_examples(X: Matrix, y: Any, sample_weight: Any) -> tuple[Matrix, AnyArray, FloatVector]:
    """Every distinct example once, with the sum of its weights, in sorted order.

    So repeating an example equals raising its weight, to the last digit, and the order of examples does not matter.
    """
    rows, labels = X.rows, np.asarray(y)
    if labels.shape != (len(rows.indptr) - 1,):
        return X, labels, sample_weight  # a later check raises the error
    weight, numbers = checked_weights(sample_weight, len(labels)), class_numbers(labels)[1]
    keys = [
        (rows.indices[a:b].tobytes(), rows.values[a:b].tobytes(), number)
        for (a, b), number in zip(pairwise(rows.indptr.tolist()), numbers.tolist(), strict=True)
    ]
    # Drop examples of weight 0, except in classes that have no others.
    kept = np.flatnonzero((weight > 0) | (np.bincount(numbers, weight) == 0)[numbers])
    order = np.array(sorted(kept.tolist(), key=keys.__getitem__))
    first = np.flatnonzero([k == 0 or keys[order[k]] != keys[order[k - 1]] for k in range(len(order))])
    distinct = order[first]
    return Matrix(take_rows(rows, distinct), X.width), labels[distinct], np.add.reduceat(weight[order], first)


def check_lengths(features: Rows, gold: AnyArray) -> None:
    """Raise unless each row has a gold output."""
    if len(features.indptr) - 1 != len(gold):
        raise DataError(f"X has {len(features.indptr) - 1} rows, but y has {len(gold)}")


def class_numbers(y: Any, labels: list[Any] | None = None) -> tuple[list[Any], IntVector]:
    """The classes in ascending order, and every example's class number; `labels`, if given, must hold all of them.

    >>> class_numbers(["spam", "ham", "spam"])
    (['ham', 'spam'], array([1, 0, 1], dtype=int32))
    """
    given = np.asarray(y)
    if given.ndim != 1:
        raise DataError(f"y must be one class per example, not an array of the shape {given.shape}")
    if not len(given):
        raise DataError("there is no example to learn from")
    distinct, numbers = np.unique(given, return_inverse=True)
    found = distinct.tolist()
    if labels is None:
        return found, numbers.astype(np.int32)
    return labels, places_of(found, labels)[numbers]


def indicators(y: Any, labels: list[Any] | None = None) -> tuple[list[Any], IntMatrix]:
    """The labels, and a row of indicators per example; `labels`, if given, must hold all of them.

    `y` is a matrix of 0 and 1, dense, sparse or as lists, whose labels are then the numbers of its columns; or a list
    with the labels of each example, strings or whole numbers.

    >>> indicators([["b"], [], ["a", "b"]])[1].tolist()
    [[0, 1], [0, 0], [1, 1]]
    """
    matrix = _matrix(y)
    if matrix is None:
        return _indicators_of_lists(y, labels)
    if matrix.ndim != 2 or not np.isin(matrix, (0, 1)).all():
        raise DataError(
            "Only binary classification is supported, label by label: y must be a matrix of 0 and 1 with a row per "
            "example, or a list of lists of labels"
        )
    if labels is not None and len(labels) != matrix.shape[1]:
        raise DataError(f"y has {matrix.shape[1]} columns, but there are {len(labels)} labels")
    return list(range(matrix.shape[1])) if labels is None else labels, matrix.astype(np.int32)


def listed_labels(y: Any) -> list[Any]:
    """The labels in lists of labels; empty for a matrix, whose columns are the known labels."""
    return [] if _matrix(y) is not None else indicators(y)[0]


def _matrix(y: Any) -> AnyArray | None:
    """`y` as an array if it is one, or a list of lists that looks like one; None for lists of labels."""
    if hasattr(y, "toarray"):
        y = y.toarray()
    if isinstance(y, np.ndarray):
        return y if y.dtype != object else None
    rows = list(y)
    alike = len({len(row) for row in rows if isinstance(row, list | tuple | np.ndarray)}) == 1
    if not alike or not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return None
    return np.array(rows) if all(value in (0, 1) for row in rows for value in row) else None


def label_lists(y: Any) -> list[list[Any]]:
    """The labels of each example as a list."""
    for i, each in enumerate(y):
        if isinstance(each, str | bytes) or not hasattr(each, "__iter__"):
            raise DataError(f"y[{i}] must be a list of labels, not {each!r:.60}")
    return [each.tolist() if isinstance(each, np.ndarray) else list(each) for each in y]


def _indicators_of_lists(y: Any, labels: list[Any] | None) -> tuple[list[Any], IntMatrix]:
    sets = label_lists(y)
    flat = [label for each in sets for label in each]
    if {type(label) for label in flat} not in ({str}, {int}):
        raise DataError(MIXED)
    found = sorted(set(flat))
    chosen = found if labels is None else labels
    numbers = dict(zip(found, places_of(found, chosen).tolist(), strict=True))
    matrix = np.zeros((len(sets), len(chosen)), dtype=np.int32)
    for row, each in zip(matrix, sets, strict=True):
        row[[numbers[label] for label in each]] = 1
    return chosen, matrix


def set_costs(costs: Mapping[Any, float] | None, labels: list[Any]) -> FloatVector | None:
    """The cost of getting each label wrong; None for plain counting.

    >>> set_costs({"b": 2.0}, ["a", "b"])
    array([1., 2.])
    """
    if costs is None:
        return None
    if not isinstance(costs, Mapping):
        raise DataError(f"costs must be a dict of {{label: cost}}, not {costs!r:.60}")
    return values_by_label(costs, labels, "costs")
