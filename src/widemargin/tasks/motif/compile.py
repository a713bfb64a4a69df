"""From sequences and their classes to examples."""

from functools import partial
from typing import Any

import numpy as np

from widemargin._threads import count_threads
from widemargin._types import BoolVector, FloatVector, LongVector
from widemargin.core.checks import checked_weights, is_number
from widemargin.core.problem import predict
from widemargin.core.solution import Solution
from widemargin.core.stop import Score
from widemargin.errors import DataError, WidemarginError
from widemargin.tasks.motif.examples import MotifExamples
from widemargin.tasks.motif.labels import is_positive, plain_labels, two_labels
from widemargin.tasks.motif.lengths import best_length, lengths_of
from widemargin.tasks.motif.letters import checked_letters, letters_of
from widemargin.tasks.motif.model import MotifModel
from widemargin.tasks.motif.parameters import MotifParameters
from widemargin.tasks.motif.reads import Reads
from widemargin.tasks.motif.seeds import Reader
from widemargin.tasks.training import Compiled, Data
from widemargin.text.sequences import Sequences, Span, as_sequences


def compile_motif(parameters: MotifParameters, data: Data) -> Compiled[MotifModel]:
    """Compile sequences and classes to arrays; a label of None is a background sequence.

    With several lengths, each is tried first.
    """
    X, y = as_sequences(data.X), plain_labels(data.y)
    if len(X) != len(y):
        raise DataError(f"there are {len(X)} sequences, but {len(y)} labels")
    labels, lengths = two_labels(y, parameters.positive), lengths_of(parameters.length)
    positive, tried = is_positive(y, labels), {}
    if len(lengths) > 1:
        tried = best_length(compile_motif, parameters, data._replace(X=X, y=y), positive, lengths)
        lengths = [int(next(iter(tried)))]
    reads = Reads(letters_of(parameters.alphabet), lengths[0], parameters.order, _both_strands(parameters))
    checked_letters(X, reads.letters)
    _check_lengths(X, positive, reads.length)
    examples = reads.examples(X.texts, positive)
    score = None
    if data.dev is not None:
        right = is_positive(plain_labels(data.dev[1]), labels)
        score = _accuracy(reads.examples(as_sequences(data.dev[0]).texts), right, parameters.n_jobs)
    return Compiled(
        examples,
        partial(_model, labels, reads, examples, tried),
        labels,
        score,
        "accuracy",
        _weights(parameters, data.sample_weight, y),
        completions=partial(_completions, examples),
    )


def _both_strands(parameters: MotifParameters) -> bool:
    if parameters.strands not in ("one", "both", None):
        raise WidemarginError(f"strands must be 'one' or 'both', not {parameters.strands!r}")
    return parameters.strands == "both" or (parameters.strands is None and letters_of(parameters.alphabet) == "ACGT")


def _weights(parameters: MotifParameters, sample_weight: Any, y: list[Any]) -> FloatVector:
    """The weights of examples, times that of background."""
    each = parameters.background_weight
    if not is_number(each) or each < 0:
        raise WidemarginError(f"background_weight must be a number of at least 0, not {each!r}")
    return checked_weights(sample_weight, len(y)) * np.array([each if label is None else 1.0 for label in y])


def _check_lengths(X: Sequences, positive: BoolVector, length: int) -> None:
    for i in np.flatnonzero(positive).tolist():
        if len(X.texts[i]) < length:
            raise DataError(
                f"{X.place(i)} is positive, but has {len(X.texts[i])} letters, fewer than the {length} of the motif"
            )


def _accuracy(examples: MotifExamples, positive: BoolVector, n_jobs: int | None) -> Score:
    """The share of right classes as a function of the weights."""
    if len(positive) != examples.n_examples:
        raise DataError(f"there are {examples.n_examples} development sequences, but {len(positive)} labels")
    n_threads = count_threads(n_jobs)
    return lambda w: float(np.mean((np.concatenate(predict(examples, w, n_threads)) >= 0) == positive))


def _completions(examples: MotifExamples, given: Any) -> LongVector:
    """The user's own windows: for each sequence its start, a `Span`, or None where it is negative."""
    if len(given) != examples.n_examples:
        raise DataError(f"there are {examples.n_examples} sequences, but {len(given)} completions")
    places = [-1 if each is None else _place(each) for each in given]
    return np.where(examples.positive, np.array(places, dtype=np.int64), -1)


def _place(given: Any) -> int:
    if isinstance(given, tuple):
        start, _, strand = Span(*given[:3])
        return 2 * int(start) + (strand == "-")
    return 2 * int(given) if given >= 0 else -1


def _model(
    labels: list[Any],
    reads: Reads,
    examples: MotifExamples,
    tried: dict[str, float],
    solution: Solution,
    summary: dict[str, Any],
) -> MotifModel:
    """The model, with the letters counted where the positive sequences have their motif."""
    shape, w = examples.shape, solution.w
    # The length that was chosen, so that training again gives the same model.
    summary["parameters"]["length"] = reads.length
    batch = np.flatnonzero(examples.positive).astype(np.int32)
    places, scores = examples.best(w, batch)
    # Those that are predicted to have none would blur it; unless these are all.
    sure = scores > 0.0 if (scores > 0.0).any() else np.ones(len(scores), dtype=bool)
    reader = Reader(examples.coded, shape.length, shape.n_letters, shape.complement)
    return MotifModel(
        labels,
        reads,
        w[: shape.n_matrix].reshape(shape.length, shape.n_letters).copy(),
        w[shape.n_matrix :].copy(),
        reader.counted(batch[sure], places[sure]),
        reader.frequencies(),
        summary=summary | ({"lengths": tried} if tried else {}),
    )
