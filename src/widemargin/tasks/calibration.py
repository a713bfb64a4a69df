"""Margins (how far a prediction is ahead of all others), and the probability that a prediction with a margin is right.

    the margin of a label at t  = the best score of all − the best score with another label at t
    the margin of a span        = the best score of all − the best score without the span

Both follow from max-marginals. For a chain, these are m_t(l), the best scores with label l at t. An output without a
span has another label at one of the span's positions, or a label next to it that makes it longer.

    p(right | margin) = 1 / (1 + exp(−slope · margin − shift)),   slope ≥ 0

The curve is fitted by maximum likelihood on data not used for training. Its targets are those of Platt (1999),
(n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2) instead of 1 and 0: they keep the fit finite even if all predictions are right. On
gene names (bc2gm), it is as good as isotonic regression for labels, and better for spans, which are fewer.

The curve says how sure a prediction is, and nothing about labels that were not predicted. Probabilities of all labels
follow from

    p(y) ∝ exp(β⟨w, φ(x, y)⟩)

where β, one over the *temperature* (Guo et al. 2017), is fitted to the same data: it makes the right labels of tokens
most likely. Here, too, targets are a little below 1, so that β is finite.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from widemargin._types import BoolMatrix, BoolVector, FloatMatrix, FloatVector, IntVector
from widemargin.core.header import mapping, number, one_of, row
from widemargin.errors import DataError, WidemarginError
from widemargin.metrics import Bin, expected_calibration_error, reliability
from widemargin.text.spans import Span, SpanLabels

CALIBRATION = mapping(row(number(at_least=0), number()), keys=one_of("labels", "spans"), at_least=1)
"""A calibration in the header of a model file: slope and shift of each curve."""
LEAST = 1e-300  # smaller probabilities are raised to this before their logarithm is taken
RANGE = 1e3  # β · a typical margin is between 1 / RANGE and RANGE


class Ahead(NamedTuple):
    """Parts of one output, labels or spans, and their margins."""

    parts: list[Any]
    margins: FloatVector


@dataclass(frozen=True)
class Margins:
    """The predicted labels of one sequence, as numbers, and the scores behind their margins.

    `best` holds the max-marginals, `rivals` the best score with another label at each position.
    """

    codes: IntVector
    best: FloatMatrix
    rivals: FloatVector

    @classmethod
    def of(cls, codes: IntVector, best: FloatMatrix) -> "Margins":
        """The margins of the best labels, `codes`, from the max-marginals `best`."""
        others = best.copy()
        others[np.arange(len(codes)), codes] = -np.inf
        return cls(codes, best, others.max(axis=1))

    def of_labels(self) -> FloatVector:
        """The margin of every label; ∞ if no other label is possible."""
        return np.maximum(self.best[np.arange(len(self.codes)), self.codes] - self.rivals, 0.0)

    def of_spans(self, found: Sequence[Span], marks: SpanLabels) -> FloatVector:
        """The margins of the spans `found` in the labels."""
        return np.array([self._of_span(span, marks) for span in found])

    def _of_span(self, span: Span, marks: SpanLabels) -> float:
        codes = self.codes[span.start : span.end]
        without = self.rivals[span.start : span.end].max()
        for t, labels in marks.breaking(codes.tolist(), span):
            if t < len(self.codes):
                without = max(without, self.best[t, labels].max(initial=-np.inf))
        return max(float(self.best[span.start, codes[0]] - without), 0.0)


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


class Tempered(NamedTuple):
    """The probabilities of labels as a function of β, a row per token or example, and which labels are right there."""

    probabilities: Callable[[float], FloatMatrix]
    right: BoolMatrix

    def best(self, margin: float) -> float | None:
        """The β under which the right labels are most likely; None if no right label is known.

        The targets are those of Platt (1999): wrong labels share 1 / (n + 2). `margin` is a typical difference of
        scores.
        """
        from scipy.optimize import minimize_scalar

        n_right = self.right.sum(axis=1)
        known = (n_right > 0) & (n_right < self.right.shape[1])
        if not known.any():
            return None
        right, n_wrong = self.right[known], self.right.shape[1] - n_right[known]
        smooth = 1.0 / (np.count_nonzero(known) + 2)

        def loss(log_beta: float) -> float:
            p = np.maximum(self.probabilities(float(np.exp(log_beta)))[known], LEAST)
            likely = np.log(np.where(right, p, 0.0).sum(axis=1))
            unlikely = np.where(right, 0.0, np.log(p)).sum(axis=1) / n_wrong
            return -float(((1.0 - smooth) * likely + smooth * unlikely).mean())

        middle, reach = -np.log(margin), np.log(RANGE)
        found = minimize_scalar(
            loss, bounds=(middle - reach, middle + reach), method="bounded", options={"xatol": 1e-3}
        )
        return float(np.exp(found.x))


@dataclass(frozen=True)
class Calibration:
    """The curves of a model, under the keys ``"labels"`` and ``"spans"``, and the β of its probabilities, if any."""

    curves: Mapping[str, Sigmoid]
    beta: float | None = None

    @classmethod
    def fit(cls, judged: Mapping[str, Judged], tempered: Tempered | None = None) -> "Calibration":
        """The maximum-likelihood curves, and β."""
        margins = np.concatenate([each.margins for each in judged.values()])
        typical = max(float(margins[np.isfinite(margins)].mean()), 1e-12) if np.isfinite(margins).any() else 1.0
        curves = {kind: Sigmoid.fit(each) for kind, each in judged.items()}
        return cls(curves, None if tempered is None else tempered.best(typical))

    def report(self, judged: Mapping[str, Judged]) -> "CalibrationReport":
        """How well the curves fit."""
        return CalibrationReport(
            {kind: Reliability.of(curve, judged[kind]) for kind, curve in self.curves.items() if kind in judged}
        )

    def described(self) -> dict[str, Any]:
        """The curves for the header of a model file."""
        return {kind: [curve.slope, curve.shift] for kind, curve in self.curves.items()}

    @classmethod
    def restored(cls, header: Mapping[str, Sequence[float]], beta: float | None = None) -> "Calibration":
        """The inverse of `described`; the header fits `CALIBRATION`."""
        return cls({kind: Sigmoid(slope, shift) for kind, (slope, shift) in header.items()}, beta)


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
    def judge(self, X: Any, y: Any, n_threads: int = 1) -> dict[str, Judged]:
        """The predictions for `X`, judged by `y`; leaves out kinds with no predictions."""

    def temper(self, X: Any, y: Any, n_threads: int = 1) -> Tempered | None:
        """The probabilities of labels for `X`, and which are right by `y`; None for models without them."""
        return None

    def calibrate(self, X: Any, y: Any, n_threads: int = 1) -> CalibrationReport:
        """Fit the curves from margins to probabilities, and β, on labelled data not used for training."""
        judged = self.judge(X, y, n_threads)
        if not judged:
            raise DataError("there is nothing to calibrate on: nothing is predicted for these data")
        self.calibration = Calibration.fit(judged, self.temper(X, y, n_threads))
        return self.calibration.report(judged)

    def judge_confidence(self, X: Any, y: Any, n_threads: int = 1) -> CalibrationReport:
        """How well confidence and truth agree on labelled data; empty if the model is not calibrated."""
        calibration = self.calibration or Calibration({})
        return calibration.report(self.judge(X, y, n_threads))

    def curve(self, kind: Literal["labels", "spans"]) -> Sigmoid:
        """The curve from the margins of labels or spans to probabilities."""
        if self.calibration is None or kind not in self.calibration.curves:
            raise WidemarginError(
                f"the model is not calibrated for {kind}; calibrate it on labelled data that it was not trained on"
            )
        return self.calibration.curves[kind]
