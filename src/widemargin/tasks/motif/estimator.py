"""Motif finders as scikit-learn estimators."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from widemargin._types import AnyArray, FloatMatrix, FloatVector
from widemargin.core.checks import checked_weights
from widemargin.core.solution import Solution
from widemargin.core.stop import Callback
from widemargin.tasks.answers import Ranked
from widemargin.tasks.calibration import CalibrationReport
from widemargin.tasks.estimator import Estimator
from widemargin.tasks.motif import MotifParameters
from widemargin.tasks.motif.compile import compile_motif
from widemargin.tasks.motif.files import Site, plain_labels
from widemargin.tasks.motif.logo import logo_picture
from widemargin.tasks.motif.model import MotifModel
from widemargin.tasks.parameters import documented
from widemargin.tasks.scikit_learn import Classifying
from widemargin.text.sequences import as_sequences


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

    def _fitted(self, model: MotifModel, solution: Solution | None = None) -> Self:
        super()._fitted(model, solution)
        self.classes_ = np.array(model.labels)
        return self
