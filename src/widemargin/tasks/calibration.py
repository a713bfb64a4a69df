"""From margins to probabilities: how often predictions with a given margin are right.

    p(right | margin) = 1 / (1 + exp(−slope · margin − shift)),   slope ≥ 0

The curve is fitted by maximum likelihood on data not used for training. Its targets are those of Platt (1999),
(n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2) instead of 1 and 0: they keep the fit finite even if all predictions are right. On
gene names (bc2gm), it is as good as isotonic regression for labels, and better for spans, which are fewer.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from widemargin._types import BoolVector, FloatVector
from widemargin.core.header import mapping, number, one_of, row
from widemargin.errors import DataError, WidemarginError
from widemargin.metrics import Bin, expected_calibration_error, reliability

CALIBRATION = mapping(row(number(at_least=0), number()), keys=one_of("labels", "spans"), at_least=1)
"""A calibration in the header of a model file: slope and shift of each curve."""


class Judged(NamedTuple):
    """The margin of each prediction, and whether it was right."""

    margins: FloatVector
    right: BoolVector

    @classmethod
    def of(cls, margins: Sequence[FloatVector], right: Sequence[bool | None]) -> "Judged":
        """Join the margins of all sequences; `right` has one judgement per prediction, None to leave it out."""
        known = np.array([each is not None for each in right], dtype=bool)
        return cls(np.concatenate([*margins, np.empty(0)])[known], np.array(right, dtype=bool)[known])


@dataclass(frozen=True)
class Sigmoid:
    """A curve from margins to probabilities; by default, the plain logistic function."""

    slope: float = 1.0
    shift: float = 0.0

    def __call__(self, margins: FloatVector) -> FloatVector:
        """The probability that predictions with these margins are right."""
        from scipy.special import expit

        # A margin is ∞ if nothing else can be predicted.
        certain = np.isinf(margins)
        return np.where(certain, 1.0, expit(self.slope * np.where(certain, 0.0, margins) + self.shift))

    @classmethod
    def fit(cls, judged: Judged) -> "Sigmoid":
        """The maximum-likelihood curve for judged predictions."""
        from scipy.optimize import minimize
        from scipy.special import expit

        known = np.isfinite(judged.margins)
        margins, right = judged.margins[known], judged.right[known]
        if not len(margins):
            raise DataError("there is nothing to calibrate on: the data hold no prediction that might be wrong")
        n_right = np.count_nonzero(right)
        target = np.where(right, (n_right + 1) / (n_right + 2), 1 / (len(right) - n_right + 2))
        scale = max(float(margins.mean()), 1e-12)

        def loss(curve: FloatVector) -> tuple[float, FloatVector]:
            z = curve[0] * margins / scale + curve[1]
            slope = expit(z) - target
            return float((np.logaddexp(0.0, z) - target * z).mean()), np.array(
                [(slope * margins / scale).mean(), slope.mean()]
            )

        found = minimize(loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]).x
        return cls(float(found[0]) / scale, float(found[1]))


@dataclass(frozen=True)
class Calibration:
    """The curves of a model, under the keys ``"labels"`` and ``"spans"``."""

    curves: Mapping[str, Sigmoid]

    @classmethod
    def fit(cls, judged: Mapping[str, Judged]) -> "Calibration":
        """The maximum-likelihood curves."""
        return cls({kind: Sigmoid.fit(each) for kind, each in judged.items()})

    def report(self, judged: Mapping[str, Judged]) -> "CalibrationReport":
        """How well the curves fit."""
        return CalibrationReport(
            {kind: Reliability.of(curve, judged[kind]) for kind, curve in self.curves.items() if kind in judged}
        )

    def described(self) -> dict[str, Any]:
        """The curves for the header of a model file."""
        return {kind: [curve.slope, curve.shift] for kind, curve in self.curves.items()}

    @classmethod
    def restored(cls, header: Mapping[str, Sequence[float]]) -> "Calibration":
        """The inverse of `described`; the header fits `CALIBRATION`."""
        return cls({kind: Sigmoid(slope, shift) for kind, (slope, shift) in header.items()})


@dataclass(frozen=True)
class Reliability:
    """How well confidence and truth agree on some predictions.

    `before` and `after` are expected calibration errors: of the plain logistic function, and of the fitted curve.
    """

    n: int
    right: float
    before: float
    after: float
    bins: list[Bin]

    @classmethod
    def of(cls, curve: Sigmoid, judged: Judged) -> "Reliability":
        """Measure a curve on judged predictions."""
        confidence, right = curve(judged.margins), judged.right
        return cls(
            len(right),
            float(right.mean()) if len(right) else 0.0,
            expected_calibration_error(Sigmoid()(judged.margins), right),
            expected_calibration_error(confidence, right),
            reliability(confidence, right),
        )


class CalibrationReport(dict[str, Reliability]):
    """How well confidence and truth agree, under the keys ``"labels"`` and ``"spans"``."""

    def __str__(self) -> str:
        return "; ".join(
            f"{each.n:,} {kind}, {100 * each.right:.1f} % right: expected calibration error {each.after:.4f}"
            f" (uncalibrated {each.before:.4f})"
            for kind, each in self.items()
        )


class Calibrated(ABC):
    """A model whose `calibration` turns margins into confidence."""

    calibration: Calibration | None

    @abstractmethod
    def judged(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The predictions for `X`, judged by `y`; leaves out kinds with no predictions."""

    def calibrate(self, X: Any, y: Any, n_threads: int = 1) -> CalibrationReport:
        """Fit the curves from margins to probabilities, on labelled data not used for training."""
        judged = self.judged(X, y, n_threads)
        if not judged:
            raise DataError("there is nothing to calibrate on: nothing is predicted for these data")
        self.calibration = Calibration.fit(judged)
        return self.calibration.report(judged)

    def judge_confidence(self, X: Any, y: Any, n_threads: int = 1) -> CalibrationReport:
        """How well confidence and truth agree on labelled data; empty if the model is not calibrated."""
        calibration = self.calibration or Calibration({})
        return calibration.report(self.judged(X, y, n_threads))

    def curve(self, kind: Literal["labels", "spans"]) -> Sigmoid:
        """The curve from the margins of labels or spans to probabilities."""
        if self.calibration is None or kind not in self.calibration.curves:
            raise WidemarginError(
                f"the model is not calibrated for {kind}; calibrate it on labelled data that it was not trained on"
            )
        return self.calibration.curves[kind]
