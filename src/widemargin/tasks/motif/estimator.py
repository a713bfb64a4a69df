"""Motif finders as scikit-learn estimators."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from widemargin._types import AnyArray, BoolVector, FloatMatrix, FloatVector, LongVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.core.stop import Callback, Score
from widemargin.errors import DataError, WidemarginError
from widemargin.metrics import area_under_curve
from widemargin.tasks.answers import Ranked
from widemargin.tasks.calibration import CalibrationReport
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.motif import MotifParameters
from widemargin.tasks.motif.examples import MotifExamples, Reads, checked_letters, letters_of
from widemargin.tasks.motif.files import Site, is_positive, plain_labels, two_labels
from widemargin.tasks.motif.logo import logo_picture
from widemargin.tasks.motif.model import MotifModel
from widemargin.tasks.motif.seeds import letter_counts, letter_shares
from widemargin.tasks.parameters import documented
from widemargin.tasks.scikit_learn import Classifying
from widemargin.tasks.training import Compiled, Data, score_of_outputs, train
from widemargin.text.sequences import Sequences, Span, as_sequences


def compile_motif(parameters: MotifParameters, data: Data) -> Compiled[MotifModel]:
    """Compile sequences and classes to arrays; a label of None is a background sequence.

    If there are several lengths, each is trained first, and the best is used.
    """
    X, y = as_sequences(data.X), plain_labels(data.y)
    if len(X) != len(y):
        raise DataError(f"there are {len(X)} sequences, but {len(y)} labels")
    labels, lengths = two_labels(y, parameters.positive), lengths_of(parameters.length)
    positive, tried = is_positive(y, labels), {}
    if len(lengths) > 1:
        tried = best_length(parameters, data._replace(X=X, y=y), positive, lengths)
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
    return parameters.strands == "both" or (parameters.strands is None and letters_of(parameters.alphabet) == "ACGT")


def _weights(parameters: MotifParameters, sample_weight: Any, y: list[Any]) -> FloatVector:
    """The weights of examples; those of background sequences are multiplied by `background_weight`."""
    each = parameters.background_weight
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
    return score_of_outputs(examples, n_jobs, lambda places: float(np.mean((places >= 0) == positive)))


def _completions(examples: MotifExamples, given: Any) -> LongVector:
    """The user's windows as completions: for each sequence the start, a `Span`, or None if it is negative."""
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
    """The model, with counts of letters at the sites of the motif in positive sequences."""
    shape, w = examples.shape, solution.w
    # Recorded, so that training again with these parameters gives the same model.
    summary["parameters"]["length"] = reads.length
    batch = np.flatnonzero(examples.positive).astype(np.int32)
    places, scores = examples.best(w, batch)
    # Sequences predicted to be negative would blur the motif, but are better than none.
    sure = scores > 0.0 if (scores > 0.0).any() else np.ones(len(scores), dtype=bool)
    return MotifModel(
        labels,
        reads,
        w[: shape.n_matrix].reshape(shape.length, shape.n_letters).copy(),
        w[shape.n_matrix :].copy(),
        letter_counts(examples, batch[sure], places[sure]),
        letter_shares(examples),
        summary=summary | ({"lengths": tried} if tried else {}),
    )


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
    parameters: MotifParameters, data: Data, positive: BoolVector, lengths: Sequence[int]
) -> dict[str, float]:
    """The score of every length, the best first; ties go to the shorter one.

    The score is the development accuracy. Without development data, it is the area under the curve on held-out folds of
    the training data. The objective cannot decide: a longer motif has more weights, so it is nearly always lower.
    """
    quiet = replace(parameters, verbose=False)
    fold = _folds(data.y, positive)
    scores = {}
    for length in lengths:
        each = replace(quiet, length=length)
        if data.dev is not None:
            scores[length] = _train_and_score(each, data, *data.dev)[1]
            continue
        areas = []
        for k in range(N_FOLDS):
            inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            part = data._replace(X=_part(data.X, inside), y=[data.y[i] for i in inside])
            if data.sample_weight is not None:
                part = part._replace(sample_weight=np.asarray(data.sample_weight)[inside])
            areas.append(_train_and_score(each, part, _part(data.X, outside), [data.y[i] for i in outside])[0])
        scores[length] = float(np.mean(areas))
    return {str(length): scores[length] for length in sorted(scores, key=lambda length: (-scores[length], length))}


def _train_and_score(parameters: MotifParameters, data: Data, X: Any, y: Any) -> tuple[float, float]:
    """Train, and return the area under the curve and the accuracy on other data."""
    model, solution = train(compile_motif, parameters, data)
    if solution.stopped == "interrupted":
        raise KeyboardInterrupt
    scores = model.scores(X)
    positive = np.array([str(label) == str(model.labels[1]) for label in y])
    return area_under_curve(scores, positive), float(np.mean((scores > 0.0) == positive))


def _folds(y: Sequence[Any], positive: BoolVector) -> LongVector:
    """A fold for every sequence, balanced by class; −1 for background, which is always trained on."""
    fold = np.full(len(y), -1, dtype=np.int64)
    background = np.array([label is None for label in y], dtype=bool)
    # If only background sequences are negative, folds need them to compare positive sequences with.
    negative = ~positive & (~background if (~positive & ~background).any() else True)
    rng = np.random.default_rng(0)
    for members in (np.flatnonzero(positive), np.flatnonzero(negative)):
        fold[rng.permutation(members)] = np.arange(len(members)) % N_FOLDS
    return fold


def _part(X: Sequences, chosen: LongVector) -> Sequences:
    return Sequences([X.texts[i] for i in chosen.tolist()])


@documented(MotifModel)
@dataclass(kw_only=True, repr=False, eq=False)
class MotifFinder(MotifParameters, Classifying, Estimator[MotifModel]):
    """Finds the motif that distinguishes positive sequences from negative ones (Yu & Joachims 2009).

    Attributes
    ----------
    classes_ : ndarray
        The negative and the positive label.
    matrix_ : ndarray
        The probability of each letter at each place of the motif, places × letters.
    consensus_ : str
        The most frequent letter at each place.
    length_ : int
        The length of the motif; if several were tried, the best of them.
    lengths_ : dict
        The score of every length that was tried.

    Notes
    -----
    `X` is a list of strings. `y` holds two labels; None stands for a background sequence, which is negative and has
    the weight `background_weight`.

    Examples
    --------
    >>> with_it = ["ATTTGACGTCATA", "CCTGACGTCAGGT", "GTGACGTCATTCA", "TTCATGACGTCAG", "CATGACGTCACCT"]
    >>> without = ["ATTTGAAATCATA", "CCTCAGGTGAGGT", "GTCCGATCATTCA", "TTCATGGGTTCAG", "CATAGCCTCACCT"]
    >>> finder = MotifFinder(length=8, order=0, C=1.0).fit(with_it + without, [1] * 5 + [0] * 5)
    >>> finder.predict(["GGGTGACGTCAAA", "GGGTCAGATCAAA"])
    array([1, 0])
    >>> finder.consensus_, finder.locate(["GGGTGACGTCAAA"])[0].start
    ('TGACGTCA', 3)
    """

    _compile = staticmethod(compile_motif)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        dev: tuple[Any, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        background: Any = None,
    ) -> Self:
        """Train on sequences `X` with labels `y`, and perhaps on `background` sequences.

        Parameters
        ----------
        X, y : sequences and labels, in the forms that the class lists under Notes
        sample_weight : one weight per sequence of `X`
        dev : development data (X, y): scored after every epoch, and the best epoch's weights are kept
        callbacks : informed as training proceeds
        checkpoint : a file that saves the run as it proceeds
        resume : continue from the checkpoint, if it exists, exactly as its run would have continued
        background : more negative sequences, with the weight `background_weight` each
        """
        if background is not None:
            X, more = as_sequences(X), as_sequences(background)
            if sample_weight is not None:
                sample_weight = np.append(checked_weights(sample_weight, len(X)), np.ones(len(more)))
            X, y = X.followed_by(more), [*plain_labels(y), *[None] * len(more)]
        return super().fit(X, y, sample_weight, dev, callbacks, checkpoint, resume)

    def predict(self, X: Any) -> AnyArray:
        """The label of each sequence."""
        return np.array(super().predict(X), dtype=self.classes_.dtype)

    def decision_function(self, X: Any) -> FloatVector:
        """The score of the best window of each sequence, positive if it holds the motif; −∞ if it is too short."""
        return self._ask("scores", X)

    def locate(self, X: Any, *, everywhere: bool = False) -> list[Site | None]:
        """The site of the motif in each positive sequence; with `everywhere`, also the best window of negative ones."""
        return self._ask("locate", X, everywhere=everywhere)

    def locate_best(self, X: Any, k: int) -> list[list[Site]]:
        """The `k` best sites of each sequence that do not overlap, whatever its label; fewer if fewer fit."""
        ranked: list[list[Ranked]] = self._ask("predict_best", X, k)
        return [[site for _, site in each] for each in ranked]

    def calibrate(self, X: Any, y: Any) -> CalibrationReport:
        """Learn to turn scores into probabilities, from labelled sequences not used for training."""
        return self._ask("calibrate", X, y)

    def confidence(self, X: Any) -> FloatVector:
        """The probability that each predicted label is right; the model must be calibrated."""
        return self._ask("confidence", X)

    def predict_proba(self, X: Any) -> FloatMatrix:
        """The probability of each of the `classes_`, a row per sequence; the model must be calibrated."""
        return self._ask("predict_proba", X)

    @property
    def matrix_(self) -> FloatMatrix:
        """The probability of each letter at each place of the motif."""
        return self._trained.motif.probabilities

    @property
    def consensus_(self) -> str:
        """The most frequent letter at each place."""
        return self._trained.motif.consensus

    @property
    def length_(self) -> int:
        """The length of the motif."""
        return self._trained.reads.length

    @property
    def lengths_(self) -> dict[int, float]:
        """The score of every length that was tried, the best first."""
        return {int(length): score for length, score in self._trained.summary.get("lengths", {}).items()}

    def to_meme(self, name: str = "motif") -> str:
        """The matrix in MEME's minimal format."""
        self._check_fitted()
        return self.model_.motif.meme(name)

    def logo(self) -> Any:
        """The sequence logo, a picture that notebooks show."""
        self._check_fitted()
        return logo_picture(self.model_.motif)

    @property
    def _trained(self) -> MotifModel:
        if not hasattr(self, "model_"):
            raise AttributeError("there is no motif before fit")
        return self.model_

    def _wrap(self, model: MotifModel, solution: Solution | None = None) -> Self:
        super()._wrap(model, solution)
        self.classes_ = np.array(model.labels)
        return self
