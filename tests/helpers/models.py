"""Model files of earlier versions, one of every kind, and everything that a loaded model is asked for."""

import copy
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import widemargin
from helpers import Sign
from widemargin._threads import count_threads
from widemargin.cli import inspect
from widemargin.core.sparse import Matrix, expanded
from widemargin.tasks.answers import Answers

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))

Key = str | int


class CountedSign(Sign):
    """The structure of the fixture, which says how many weights it needs: a damaged file may have others."""

    n_weights = 1


def given_for(name: str) -> dict[str, Any]:
    """What must be given on loading a fixture."""
    return {"structure": CountedSign()} if name == "custom" else {}


def inputs_of(name: str) -> Any:
    """The inputs of a fixture, in the form that its kind of model takes."""
    given = EXPECTED[name]["inputs"]
    if name == "tag-matrix":
        return [np.array(each) for each in given]
    return [tuple(each) for each in given] if name == "bracket" else given


def exercise(path: Path, inputs: Any, as_json: Sequence[bool] = (False, True), **given: Any) -> None:
    """Load a model, and ask it for everything: its training, its predictions, and what it has learnt."""
    estimator = widemargin.load(path, **given)
    str(estimator.solution_)
    estimator.card(path.name).encode()
    with np.errstate(all="ignore"):  # weights of a damaged file may be anything
        # The model itself, as the command line does: scikit-learn has complaints of its own about inputs.
        model, n_threads = estimator.model_, count_threads(estimator.n_jobs)
        model.predict(inputs, n_threads)
        for kind in model.calibration.curves if isinstance(model, Answers) and model.calibration else ():
            (model.confidence if kind == "labels" or model.kind == "segment" else model.predict_spans)(inputs)
        for form in as_json:
            with redirect_stdout(io.StringIO()):
                options = {"explain": None, "sentence": 1, "token": None, "head": None, "span": None}
                inspect.run(model=str(path), top=3, labels=[], as_json=form, **options)


def train_on(path: Path, inputs: Any, gold: Any, **given: Any) -> None:
    """Load a model, and have it learn from a few examples with the parameters that its file records."""
    X = expanded(*inputs) if isinstance(inputs, Matrix) else inputs
    for method in ("fit", "partial_fit"):
        estimator = widemargin.load(path, **given)
        for name, most in (("max_epochs", 2), ("hash_bits", 12)):  # damaged numbers would be obeyed
            if isinstance(getattr(estimator, name, None), int):
                setattr(estimator, name, min(getattr(estimator, name), most))
        if method == "partial_fit" and estimator.solver == "auto":
            estimator.solver = "perceptron"
        if hasattr(estimator, method):
            with np.errstate(all="ignore"):
                getattr(estimator, method)(X, gold)


def places(tree: Any, path: tuple[Key, ...] = ()) -> Iterator[tuple[Key, ...]]:
    """The path to every value of a JSON value, itself first."""
    yield path
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield from places(value, (*path, key))


def value_at(tree: Any, path: tuple[Key, ...]) -> Any:
    """The value at a path."""
    for key in path:
        tree = tree[key]
    return tree


def replaced(tree: Any, path: tuple[Key, ...], value: Any) -> Any:
    """A copy with another value at a path."""
    if not path:
        return value
    tree = copy.copy(tree)
    tree[path[0]] = replaced(tree[path[0]], path[1:], value)
    return tree


def without(tree: Any, path: tuple[Key, ...]) -> Any:
    """A copy without the value at a path."""
    tree = copy.copy(tree)
    if len(path) == 1:
        del tree[path[0]]
    else:
        tree[path[0]] = without(tree[path[0]], path[1:])
    return tree
