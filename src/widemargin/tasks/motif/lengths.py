"""The best of several lengths.

With development data, the length with the best development accuracy wins. Otherwise the training data are cut into
folds, and the length with the largest area under the curve on sequences that were not trained on wins. The objective is
no judge: a longer motif has more weights, so it is nearly always lower. Of equal lengths the shorter one wins.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from widemargin._types import BoolVector, LongVector
from widemargin.errors import WidemarginError
from widemargin.metrics import area_under_curve
from widemargin.tasks.motif.parameters import MotifParameters
from widemargin.tasks.training import Compiled, Data, train
from widemargin.text.sequences import Sequences

N_FOLDS = 3
LONGEST = 10_000


def lengths_of(length: Any) -> list[int]:
    """The lengths to try."""
    given = list(length) if isinstance(length, Sequence | np.ndarray) and not isinstance(length, str) else [length]
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int | np.integer) or not 1 <= each <= LONGEST:
            raise WidemarginError(f"the length of a motif must be a whole number from 1 to {LONGEST:,}, not {each!r}")
    if not given:
        raise WidemarginError("give at least one length")
    return sorted({int(each) for each in given})


def best_length(
    compile_data: Callable[..., Compiled[Any]],
    parameters: MotifParameters,
    data: Data,
    positive: BoolVector,
    lengths: Sequence[int],
) -> dict[str, float]:
    """The score of every length, the best first."""
    quiet = replace(parameters, verbose=False)
    fold = _folds(data.y, positive)
    scores = {}
    for length in lengths:
        each = replace(quiet, length=length)
        if data.dev is not None:
            scores[length] = _scored(compile_data, each, data, *data.dev)[1]
            continue
        areas = []
        for k in range(N_FOLDS):
            inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            part = data._replace(X=_part(data.X, inside), y=[data.y[i] for i in inside])
            if data.sample_weight is not None:
                part = part._replace(sample_weight=np.asarray(data.sample_weight)[inside])
            areas.append(_scored(compile_data, each, part, _part(data.X, outside), [data.y[i] for i in outside])[0])
        scores[length] = float(np.mean(areas))
    return {str(length): scores[length] for length in sorted(scores, key=lambda length: (-scores[length], length))}


def _scored(
    compile_data: Callable[..., Compiled[Any]], parameters: MotifParameters, data: Data, X: Any, y: Any
) -> tuple[float, float]:
    """The area under the curve and the accuracy on other data, after training."""
    model, solution = train(compile_data, parameters, data)
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt
    scores = model.scores(X)
    positive = np.array([str(label) == str(model.labels[1]) for label in y])
    return area_under_curve(scores, positive), float(np.mean((scores > 0.0) == positive))


def _folds(y: Sequence[Any], positive: BoolVector) -> LongVector:
    """A fold for every sequence, the same number of each class in each; background is never left out."""
    fold = np.full(len(y), -1, dtype=np.int64)
    background = np.array([label is None for label in y], dtype=bool)
    # If nothing else is negative, background must be what positive sequences are compared with.
    negative = ~positive & (~background if (~positive & ~background).any() else True)
    rng = np.random.default_rng(0)
    for members in (np.flatnonzero(positive), np.flatnonzero(negative)):
        fold[rng.permutation(members)] = np.arange(len(members)) % N_FOLDS
    return fold


def _part(X: Sequences, chosen: LongVector) -> Sequences:
    return Sequences([X.texts[i] for i in chosen.tolist()])
